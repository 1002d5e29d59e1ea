/** Types of what one question leaves in the state: results of searches, claims and sources. All of it is JSON. */

/** A passage of a document, as it was found. */
export type PdfResult = {
  readonly id: string
  readonly documentId: string
  readonly title: string
  readonly source: string
  /** Null: the document has no pages. */
  readonly page: number | null
  readonly start: number
  readonly end: number
  readonly text: string
  /** The heading and the last sentences before it on its page. */
  readonly lead?: string
  readonly score: number
}

/** The part of a web page that fits the query best. */
export type WebResult = {
  readonly id: string
  readonly url: string
  readonly title: string
  readonly text: string
  /** The part of the query's content words that it has, from 0 to 1. */
  readonly score: number
}

/** A source of the answer, with the sentences that support it. */
export type Source = {
  /** As in the answer. */
  readonly number: number
  readonly kind: 'document' | 'web'
  readonly passageId: string
  readonly documentId: string
  readonly title: string
  /** A path or an address. */
  readonly source: string
  /** Null for a web page, and for a document without pages. */
  readonly page: number | null
  readonly quote: string
  readonly score: number
}

/**
 * `weak`: the cited passages lack too many of its words, or a model refuted it.
 * `unsupported`: they lack one of its figures or names, or say the opposite.
 * `uncited`: it cites nothing that exists.
 */
export type ClaimVerdict = 'supported' | 'weak' | 'unsupported' | 'uncited'

export type CheckedClaim = {
  readonly text: string
  readonly citations: readonly number[]
  /** The part of its content words that the cited passages have, from 0 to 1. */
  readonly support: number
  readonly verdict: ClaimVerdict
}

/** Set anew by each question. */
export type ResearchContext = {
  /** The question that is researched, with the replies to clarifications. */
  readonly question?: string
  /** Words of the question before, if this one refers back to it. */
  readonly about?: string
  /** The answer to the question before; null for the first. */
  readonly answer_before?: string | null
  /** Stated in the answer: a clarification was not answered. */
  readonly assumption?: string | null
  /** Passages for each query of the next research, from 1 to 20; null: the default. */
  readonly top_k?: number | null
  /** Sentences about each call of a tool. A failure is one, and no evidence. */
  readonly observations?: readonly string[]
  /** The tools that were called, each once. */
  readonly tool_history?: readonly string[]
  readonly pdf_results?: readonly PdfResult[]
  readonly web_results?: readonly WebResult[]
  /** The last message of the research. */
  readonly final_output?: string
  /** The cited sources, by the numbers in the answer. */
  readonly sources?: readonly Source[]
  /** Every claim of the answer, and whether its sources support it. */
  readonly claims?: readonly CheckedClaim[]
  /** Numbers that the model cited and that no source has. */
  readonly invented?: readonly number[]
  /** Sentences: where sources contradict each other. */
  readonly conflicts?: readonly string[]
}
