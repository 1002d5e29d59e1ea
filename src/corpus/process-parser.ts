/** Reads documents in a process with a limit of time and memory. One process reads many documents, one at a time. */
import { type ChildProcess, fork } from 'node:child_process'
import { systemTimer, type Timer } from '../base/index.ts'
import type { ProcessFormat, ProcessReply, ProcessRequest } from './document-process.ts'
import { DocumentError, type DocumentFile, type DocumentLimits, type ParsedDocument } from './parser.ts'

/** The part of the memory that is the heap; buffers have the rest. */
const HEAP_SHARE = 0.6

export class DocumentProcess {
  readonly #limits: Required<DocumentLimits>
  readonly #timer: Timer
  #child: ChildProcess | undefined
  #last: Promise<unknown> = Promise.resolve()

  constructor(limits: Required<DocumentLimits>, timer: Timer = systemTimer) {
    this.#limits = limits
    this.#timer = timer
  }

  /** Rejects with a `DocumentError`, or with the reason of the signal. */
  parse(format: ProcessFormat, file: DocumentFile): Promise<ParsedDocument> {
    const result = this.#last.then(() => this.#parse(format, file))
    this.#last = result.catch(() => undefined)
    return result
  }

  async #parse(format: ProcessFormat, file: DocumentFile): Promise<ParsedDocument> {
    const isUsed = this.#child !== undefined
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
    signal?.throwIfAborted()
    const child = this.#start()
    const { promise, resolve, reject } = Promise.withResolvers<ProcessReply>()
    const { megabytes, timeoutMs } = this.#limits
    const fail = (): void =>
      reject(
        new DocumentError('too-complex', `Reading the document takes more than ${megabytes} MB of memory.`),
      )
    const cancel = (): void => reject(signal?.reason as Error)
    const stopTimer = this.#timer.after(timeoutMs, () =>
      reject(new DocumentError('too-slow', `Reading the document takes more than ${timeoutMs} ms.`)),
    )
    child.on('message', resolve).on('error', fail).on('exit', fail)
    signal?.addEventListener('abort', cancel)
    holdOpen(child, true)
    try {
      // A plain array: parsers refuse the buffers of Node.
      const plain = new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
      const request: ProcessRequest = { format, bytes: plain, limits: this.#limits }
      child.send(request)
      const reply = await promise
      if (!('code' in reply)) return reply
      throw new DocumentError(reply.code, reply.reason)
    } catch (error) {
      // The process may still be busy, or full.
      if (!(error instanceof DocumentError) || HARMFUL.has(error.code)) await this.close()
      throw error
    } finally {
      holdOpen(child, false)
      stopTimer()
      child.off('message', resolve).off('error', fail).off('exit', fail)
      signal?.removeEventListener('abort', cancel)
    }
  }

  #start(): ChildProcess {
    if (this.#child?.connected === true) return this.#child
    const { megabytes } = this.#limits
    const child = fork(new URL('./document-process.ts', import.meta.url), [String(megabytes)], {
      execArgv: [`--max-old-space-size=${Math.round(megabytes * HEAP_SHARE)}`, '--no-warnings'],
      // Windows starts no process without this variable.
      env: process.env['SystemRoot'] === undefined ? {} : { SystemRoot: process.env['SystemRoot'] },
      // Warnings of parsers quote the document.
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
      serialization: 'advanced',
    })
    child.on('error', () => undefined)
    child.once('exit', () => {
      if (this.#child === child) this.#child = undefined
    })
    this.#child = child
    return child
  }

  /** Ends the process, whatever it does. */
  async close(): Promise<void> {
    const child = this.#child
    this.#child = undefined
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    const { promise, resolve } = Promise.withResolvers<void>()
    child.once('exit', () => resolve())
    child.once('error', () => resolve())
    child.kill('SIGKILL')
    // The caller waits for the end, also when nothing else keeps this process alive.
    child.ref()
    await promise
  }
}

/** An idle process must not keep its parent alive. */
function holdOpen(child: ChildProcess, isBusy: boolean): void {
  const channel = child.channel as { ref(): void; unref(): void } | null | undefined
  if (isBusy) child.ref()
  else child.unref()
  if (isBusy) channel?.ref()
  else channel?.unref()
}

const HARMFUL: ReadonlySet<string> = new Set(['too-slow', 'too-complex'])
