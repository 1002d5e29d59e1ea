/** The ports of research: documents that can be searched by passage, and the web. Knows no parser, index or vendor. */

/** A piece of one page of one document, with its place. Its id and its place stay the same as long as the document does. */
export interface Passage {
  readonly id: string
  readonly documentId: string
  /** The title of the document. */
  readonly title: string
  /** The path or address that the document was read from. */
  readonly source: string
  /** From 1; null if the document has no pages. */
  readonly page: number | null
  /** Offsets in the text of the page, or of the document. */
  readonly start: number
  readonly end: number
  readonly text: string
}

export interface FoundPassage extends Passage {
  /** From 0 to 1, comparable within one corpus and ranking. */
  readonly score: number
}

/** As much of the page as the corpus keeps next to the passage; empty at the beginning and the end of the page. */
export interface PassageSurroundings {
  readonly before: string
  readonly after: string
}

export interface CorpusDocument {
  readonly id: string
  readonly title: string
  readonly source: string
  /** Null if its format has none. */
  readonly pages: number | null
  readonly passages: number
  /** SHA-256 of the content. */
  readonly hash: string
  readonly addedAt: number
}

export interface PassageQuery {
  /** From 1 to 20. Default: 5. */
  readonly topK?: number
  /** Passages below this score are left out. Default: the corpus' own threshold. */
  readonly minScore?: number
  readonly signal?: AbortSignal
}

/** Documents that can be searched. Safe to use from several processes at once. */
export interface Corpus {
  /** Best first. Empty if nothing is good enough. */
  search(query: string, options?: PassageQuery): Promise<readonly FoundPassage[]>
  passage(id: string): Promise<Passage | undefined>
  /** The text of its page next to a passage, for readers. Undefined if there is no such passage. */
  surroundings?(id: string): Promise<PassageSurroundings | undefined>
  documents(): Promise<readonly CorpusDocument[]>
  close(): Promise<void>
}

export interface WebPage {
  readonly url: string
  readonly title: string
  /** The text of the page without navigation and scripts, or the vendor's excerpt. */
  readonly text: string
}

export interface WebQuery {
  /** The most pages. Default: 5. */
  readonly limit?: number
  readonly signal?: AbortSignal
}

/** Searches the web. Throws if the search failed: an empty list says that there is nothing. */
export interface WebSearch {
  readonly name: string
  search(query: string, options?: WebQuery): Promise<readonly WebPage[]>
}
