/** Reads documents in a process with a limit of time and memory, one at a time. */
import { LimitedProcess, ProcessFailure } from '../base/index.ts'
import type { DocumentReply, DocumentRequest, ProcessFormat } from './document-process.ts'
import { DocumentError, type DocumentFile, type DocumentLimits, type ParsedDocument } from './parser.ts'
import { Slots } from './slots.ts'

export class DocumentProcess {
  readonly #limits: Required<DocumentLimits>
  readonly #process: LimitedProcess
  readonly #closing = new AbortController()
  readonly #turns = new Slots(1)

  constructor(limits: Required<DocumentLimits>) {
    const { megabytes, timeoutMs } = limits
    this.#limits = limits
    this.#process = new LimitedProcess({
      module: new URL('./document-process.ts', import.meta.url),
      megabytes,
      timeoutMs,
    })
  }

  /** Rejects with a `DocumentError`, or with the reason of the signal. */
  parse(format: ProcessFormat, file: DocumentFile): Promise<ParsedDocument> {
    const signals = [this.#closing.signal, ...(file.signal === undefined ? [] : [file.signal])]
    const signal = AbortSignal.any(signals)
    return this.#turns.run(() => this.#parse(format, { ...file, signal }), signal)
  }

  async #parse(format: ProcessFormat, file: DocumentFile): Promise<ParsedDocument> {
    const isUsed = this.#process.isRunning
    try {
      return await this.#attempt(format, file)
    } catch (error) {
      // Memory that an earlier document has left behind is no fault of this one.
      const isFair = !isUsed || !(error instanceof DocumentError) || error.code !== 'too-complex'
      if (isFair) throw error
      return this.#attempt(format, file)
    }
  }

  async #attempt(format: ProcessFormat, { bytes, signal }: DocumentFile): Promise<ParsedDocument> {
    // A plain array: parsers refuse the buffers of Node.
    const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    const request: DocumentRequest = { format, bytes: plain, limits: this.#limits }
    try {
      const reply = await this.#process.ask<DocumentReply>(request, signal)
      if (!('code' in reply)) return reply
      // The process may be full.
      if (reply.code === 'too-complex') await this.#process.close()
      throw new DocumentError(reply.code, reply.reason)
    } catch (error) {
      throw error instanceof ProcessFailure ? this.#documentError(error) : error
    }
  }

  #documentError({ kind, message }: ProcessFailure): DocumentError {
    const { megabytes, timeoutMs } = this.#limits
    if (kind === 'time')
      return new DocumentError('too-slow', `Reading the document takes more than ${timeoutMs} ms.`)
    if (kind === 'memory')
      return new DocumentError(
        'too-complex',
        `Reading the document takes more than ${megabytes} MB of memory.`,
      )
    return new DocumentError('malformed', `The document cannot be read: ${message}`)
  }

  /** Ends the process, whatever it does; documents that wait for it start no other one. */
  async close(): Promise<void> {
    this.#closing.abort()
    await this.#process.close()
    // Another one may have been about to start.
    await this.#turns.run(async () => {})
  }
}
