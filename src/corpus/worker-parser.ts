/** Parsers that run in a worker thread with a limit of time and memory. One thread reads many documents, one at a time. */
import { Worker } from 'node:worker_threads'
import { systemTimer, type Timer } from '../base/index.ts'
import type { WorkerFormat, WorkerReply, WorkerRequest } from './document-worker.ts'
import { DocumentError, type DocumentFile, type DocumentLimits, type ParsedDocument } from './parser.ts'

const STACK_MB = 2
/** Buffers are outside of the heap that Node limits, so their size is polled. */
const POLL_MS = 50
const MEGABYTE = 1024 * 1024

export class DocumentWorker {
  readonly #limits: Required<DocumentLimits>
  readonly #timer: Timer
  #worker: Worker | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(limits: Required<DocumentLimits>, timer: Timer = systemTimer) {
    this.#limits = limits
    this.#timer = timer
  }

  /** Rejects with a `DocumentError`, or with the reason of the signal. */
  parse(format: WorkerFormat, file: DocumentFile): Promise<ParsedDocument> {
    const result = this.#last.then(() => this.#parse(format, file))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #parse(format: WorkerFormat, file: DocumentFile): Promise<ParsedDocument> {
    const isUsed = this.#worker !== undefined
    try {
      return await this.#attempt(format, file)
    } catch (error) {
      // Memory that an earlier document has left behind is no fault of this one.
      const isFair = !isUsed || !(error instanceof DocumentError) || error.code !== 'too-complex'
      if (isFair) throw error
      await this.close()
      return this.#attempt(format, file)
    }
  }

  async #attempt(format: WorkerFormat, { bytes, signal }: DocumentFile): Promise<ParsedDocument> {
    signal?.throwIfAborted()
    const worker = this.#open()
    const { promise, resolve, reject } = Promise.withResolvers<WorkerReply>()
    const fail = (error: Error): void => reject(failureOf(error, this.#limits))
    const exit = (): void => fail(new Error('its reading has ended early'))
    const cancel = (): void => reject(signal?.reason as Error)
    const stopTimer = this.#timer.after(this.#limits.timeoutMs, () =>
      reject(
        new DocumentError('too-slow', `Reading the document took more than ${this.#limits.timeoutMs} ms.`),
      ),
    )
    const stopPoll = this.#watchMemory(worker, reject)
    worker.on('message', resolve).on('error', fail).on('exit', exit)
    signal?.addEventListener('abort', cancel)
    worker.ref()
    try {
      // A copy: the caller keeps its bytes, which may share their memory with others.
      const copy = new Uint8Array(bytes)
      const request: WorkerRequest = { format, bytes: copy, limits: this.#limits }
      worker.postMessage(request, [copy.buffer])
      const reply = await promise
      worker.unref()
      if ('code' in reply) throw new DocumentError(reply.code, reply.reason)
      return reply
    } catch (error) {
      if (!(error instanceof DocumentError) || HARMFUL.has(error.code)) await this.close()
      throw error
    } finally {
      stopTimer()
      stopPoll()
      worker.off('message', resolve).off('error', fail).off('exit', exit)
      signal?.removeEventListener('abort', cancel)
    }
  }

  #open(): Worker {
    if (this.#worker !== undefined) return this.#worker
    const worker = new Worker(new URL('./document-worker.ts', import.meta.url), {
      resourceLimits: { maxOldGenerationSizeMb: this.#limits.megabytes, stackSizeMb: STACK_MB },
      env: {},
      execArgv: [],
      stdout: true,
      stderr: true,
    })
    // Warnings of parsers quote the document: nobody reads them.
    for (const stream of [worker.stdout, worker.stderr]) stream.resume()
    // Errors reach the attempt; this listener keeps those between two documents from ending the process.
    worker.on('error', () => undefined)
    worker.once('exit', () => {
      if (this.#worker === worker) this.#worker = undefined
    })
    this.#worker = worker
    return worker
  }

  #watchMemory(worker: Worker, reject: (error: Error) => void): () => void {
    let isOver = false
    let stop = (): void => undefined
    const check = async (): Promise<void> => {
      // Rejects when the thread has ended: its attempt ends by that.
      const { external_memory: external } = await worker
        .getHeapStatistics()
        .catch(() => ({ external_memory: 0 }))
      if (isOver) return
      if (external > this.#limits.megabytes * MEGABYTE) reject(overMemory(this.#limits))
      else stop = this.#timer.after(POLL_MS, () => void check())
    }
    stop = this.#timer.after(POLL_MS, () => void check())
    return () => {
      isOver = true
      stop()
    }
  }

  async close(): Promise<void> {
    const worker = this.#worker
    this.#worker = undefined
    await worker?.terminate()
  }
}

/** After these the thread may still be busy, or full. */
const HARMFUL: ReadonlySet<string> = new Set(['too-slow', 'too-complex', 'too-large'])

function failureOf(error: Error, limits: Required<DocumentLimits>): DocumentError {
  const isMemory = (error as NodeJS.ErrnoException).code === 'ERR_WORKER_OUT_OF_MEMORY'
  if (isMemory) return overMemory(limits)
  return new DocumentError('too-complex', `The document cannot be read: ${error.message}.`)
}

function overMemory({ megabytes }: Required<DocumentLimits>): DocumentError {
  return new DocumentError('too-complex', `Reading the document takes more than ${megabytes} MB of memory.`)
}
