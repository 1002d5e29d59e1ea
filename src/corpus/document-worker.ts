/**
 * A worker thread that reads documents. A thread of its own, because a document decides how much time and memory its
 * reading takes, and a thread can be ended.
 */
import { parentPort } from 'node:worker_threads'
import { parseDocx } from './docx-text.ts'
import { parseHtml } from './html-text.ts'
import { DocumentError, type DocumentLimits, type ParsedDocument, type SkipCode } from './parser.ts'
import { parsePdf } from './pdf-text.ts'

export type WorkerFormat = 'pdf' | 'docx' | 'html'

export interface WorkerRequest {
  readonly format: WorkerFormat
  readonly bytes: Uint8Array
  readonly limits: Required<DocumentLimits>
}

export type WorkerReply = ParsedDocument | { readonly code: SkipCode; readonly reason: string }

type Parse = (bytes: Uint8Array, limits: Required<DocumentLimits>) => Promise<ParsedDocument>

const FORMATS: Readonly<Record<WorkerFormat, Parse>> = { pdf: parsePdf, docx: parseDocx, html: parseHtml }

/** No document may cause a request. The parsers make none; this holds when one of them changes. */
function closeNetwork(): void {
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'])
    Object.defineProperty(globalThis, name, { value: undefined })
}

async function parse({ format, bytes, limits }: WorkerRequest): Promise<WorkerReply> {
  try {
    return await FORMATS[format](bytes, limits)
  } catch (error) {
    if (error instanceof DocumentError) return { code: error.code, reason: error.message }
    if (error instanceof RangeError)
      return { code: 'too-complex', reason: 'The parts of the document are nested too deeply, or too large.' }
    return { code: 'malformed', reason: `The document cannot be read: ${(error as Error).message}` }
  }
}

closeNetwork()
parentPort?.on('message', (request: WorkerRequest) => {
  void parse(request).then((reply) => parentPort?.postMessage(reply, []))
})
