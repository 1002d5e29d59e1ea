/**
 * The program of a process that reads documents. A process of its own, because a document decides how much time and
 * memory its reading takes: a process can be ended, and a thread that runs out of memory may take its process along.
 */
import { isMainThread, Worker } from 'node:worker_threads'
import { parseDocx } from './docx-text.ts'
import { parseHtml } from './html-text.ts'
import { DocumentError, type DocumentLimits, type ParsedDocument, type SkipCode } from './parser.ts'
import { parsePdf } from './pdf-text.ts'

export type ProcessFormat = 'pdf' | 'docx' | 'html'

export interface ProcessRequest {
  readonly format: ProcessFormat
  readonly bytes: Uint8Array
  readonly limits: Required<DocumentLimits>
}

export type ProcessReply = ParsedDocument | { readonly code: SkipCode; readonly reason: string }

type Parse = (bytes: Uint8Array, limits: Required<DocumentLimits>) => Promise<ParsedDocument>

const FORMATS: Readonly<Record<ProcessFormat, Parse>> = { pdf: parsePdf, docx: parseDocx, html: parseHtml }

/** No document may cause a request. The parsers make none; this holds when one of them changes. */
function closeNetwork(): void {
  for (const name of ['fetch', 'WebSocket', 'EventSource', 'XMLHttpRequest'])
    Object.defineProperty(globalThis, name, { value: undefined })
}

async function parse({ format, bytes, limits }: ProcessRequest): Promise<ProcessReply> {
  try {
    return await FORMATS[format](bytes, limits)
  } catch (error) {
    if (error instanceof DocumentError) return { code: error.code, reason: error.message }
    if (error instanceof RangeError)
      return { code: 'too-complex', reason: 'The parts of the document are nested too deeply, or too large.' }
    return { code: 'malformed', reason: `The document cannot be read: ${(error as Error).message}` }
  }
}

const POLL_MS = 25
const MEGABYTE = 1024 * 1024

/** A thread that ends the process when it is too large or its parent is gone. The main thread may be busy for long. */
function watchProcess(): void {
  const most = Number(process.argv[2]) * MEGABYTE
  const parent = process.ppid
  setInterval(() => {
    if (process.memoryUsage.rss() > most || process.ppid !== parent) process.kill(process.pid, 'SIGKILL')
  }, POLL_MS)
}

function serve(): void {
  closeNetwork()
  new Worker(new URL(import.meta.url), { argv: process.argv.slice(2) }).unref()
  // Ctrl-C in a terminal reaches the whole group. The parent decides.
  process.on('SIGINT', () => undefined)
  process.on('disconnect', () => process.exit())
  process.on('message', (request: ProcessRequest) => {
    void parse(request).then((reply) => process.send?.(reply))
  })
}

if (isMainThread) serve()
else watchProcess()
