/** The program of a process that reads documents: a document decides how much time and memory its reading takes. */
import { answerRequests } from '../base/index.ts'
import { parseDocx } from './docx-text.ts'
import { parseHtml } from './html-text.ts'
import { DocumentError, type DocumentLimits, type ParsedDocument, type SkipCode } from './parser.ts'
import { parsePdf } from './pdf-text.ts'

export type ProcessFormat = 'pdf' | 'docx' | 'html'

export interface DocumentRequest {
  readonly format: ProcessFormat
  readonly bytes: Uint8Array
  readonly limits: Required<DocumentLimits>
}

export type DocumentReply = ParsedDocument | { readonly code: SkipCode; readonly reason: string }

type Parse = (bytes: Uint8Array, limits: Required<DocumentLimits>) => Promise<ParsedDocument>

const FORMATS: Readonly<Record<ProcessFormat, Parse>> = { pdf: parsePdf, docx: parseDocx, html: parseHtml }

async function parse({ format, bytes, limits }: DocumentRequest): Promise<DocumentReply> {
  try {
    return await FORMATS[format](bytes, limits)
  } catch (error) {
    if (error instanceof DocumentError) return { code: error.code, reason: error.message }
    if (error instanceof RangeError)
      return { code: 'too-complex', reason: 'The parts of the document are nested too deeply, or too large.' }
    return { code: 'malformed', reason: `The document cannot be read: ${(error as Error).message}` }
  }
}

answerRequests(parse)
