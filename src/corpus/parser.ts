/** The port of parsers: from the bytes of a file to the text of its pages. Knows no format. */

export interface DocumentFile {
  /** The path or address of the document. */
  readonly source: string
  readonly bytes: Uint8Array
  readonly signal?: AbortSignal
}

export interface ParsedDocument {
  /** Without one, the name of the file is the title. */
  readonly title?: string
  /** The text of each page; of a format without pages, one with all of it. */
  readonly pages: readonly string[]
  /** False: the format has no pages, and its passages no page number. Default: true. */
  readonly isPaged?: boolean
}

/** Reads one kind of file. */
export interface Parser {
  /** Changes whenever the same file would be read differently: documents are then indexed again. */
  readonly id: string
  /** Endings of file names, lower case, without a dot. A parser of yours goes before the built-in ones. */
  readonly extensions: readonly string[]
  /** Rejects with a `DocumentError` if the document cannot be used. */
  parse(file: DocumentFile): Promise<ParsedDocument>
}

/** Why a document was skipped. */
export type SkipCode =
  /** There is no such file, or this user may not read it. */
  | 'unreadable'
  /** No parser reads files with this ending. */
  | 'unsupported'
  /** An optional package is missing. */
  | 'missing-package'
  /** It needs a password. */
  | 'encrypted'
  /** It is no file of its format, or a broken one. */
  | 'malformed'
  /** It has no text: it is empty, or its pages are images. */
  | 'no-text'
  /** The file, or its content when it is unpacked, is over a limit. */
  | 'too-large'
  /** Reading it takes more memory than it may, or its parts are nested too deeply. */
  | 'too-complex'
  /** Reading it takes more time than it may. */
  | 'too-slow'

/** A document that cannot be used. The message is a whole sentence. */
export class DocumentError extends Error {
  readonly code: SkipCode

  constructor(code: SkipCode, message: string) {
    super(message)
    this.name = 'DocumentError'
    this.code = code
  }
}

export interface DocumentLimits {
  /** The largest file, in bytes. Default: 64 MB. */
  readonly bytes?: number
  /** The most characters of text in a document. Default: 16 million. */
  readonly characters?: number
  /** The most pages. Default: 10,000. */
  readonly pages?: number
  /** The most memory for reading one document, in MB. Default: 512. */
  readonly megabytes?: number
  /** The most time for reading one document. Default: 2 minutes. */
  readonly timeoutMs?: number
}

export const LIMITS: Required<DocumentLimits> = {
  bytes: 64 * 1024 * 1024,
  characters: 16_000_000,
  pages: 10_000,
  megabytes: 512,
  timeoutMs: 120_000,
}

/** The number of an exceeded limit, for people. */
export function tooLarge(what: string, limit: number): DocumentError {
  const counted = limit === 1 ? what.replace(/s$/, '') : what
  return new DocumentError(
    'too-large',
    `The document has more than ${limit.toLocaleString('en')} ${counted}.`,
  )
}
