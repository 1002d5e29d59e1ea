/**
 * Runs code on input that decides how much time and memory it takes, in a process of its own: a process can be ended, and a
 * thread that runs out of memory takes its process along. One process answers many requests, one at a time.
 */
import type { ChildProcess } from 'node:child_process'
import { systemTimer, type Timer } from './timer.ts'

export interface ProcessLimits {
  /** The program of the process: it calls `answerRequests`. */
  readonly module: URL
  /** The most memory of the process. */
  readonly megabytes: number
  /** The most time for one request. */
  readonly timeoutMs: number
  readonly timer?: Timer | undefined
}

/** `memory`: the process has ended. `failed`: its function threw. The message is a clause: `it took more than 30000 ms`. */
export class ProcessFailure extends Error {
  readonly kind: 'memory' | 'time' | 'failed'

  constructor(kind: ProcessFailure['kind'], message: string) {
    super(message)
    this.name = 'ProcessFailure'
    this.kind = kind
  }
}

export type ProcessReply = { readonly result: unknown } | { readonly failure: string }

/** The part of the memory that is the heap; buffers have the rest. */
const HEAP_SHARE = 0.6

export class LimitedProcess {
  readonly #limits: ProcessLimits
  #child: ChildProcess | undefined

  constructor(limits: ProcessLimits) {
    this.#limits = limits
  }

  /** True once it has been asked, until it has ended. */
  get isRunning(): boolean {
    return this.#child !== undefined
  }

  /**
   * Starts the process if there is none. Rejects with a `ProcessFailure`, or with the reason of the signal; the process, which
   * may be busy or full, is then ended, unless its function threw.
   */
  async ask<Result>(request: unknown, signal?: AbortSignal): Promise<Result> {
    signal?.throwIfAborted()
    const { megabytes, timeoutMs, timer = systemTimer } = this.#limits
    const { promise, resolve, reject } = Promise.withResolvers<ProcessReply>()
    // A rejection while the process starts is reported by the await below.
    promise.catch(() => {})
    const cancel = (): void => reject(signal?.reason as Error)
    const end = (): void =>
      reject(new ProcessFailure('memory', `it took more than ${megabytes} MB of memory`))
    const stop = timer.after(timeoutMs, () =>
      reject(new ProcessFailure('time', `it took more than ${timeoutMs} ms`)),
    )
    signal?.addEventListener('abort', cancel)
    const child = this.#child?.connected === true ? this.#child : await this.#start()
    child.on('message', resolve).on('error', end).on('exit', end)
    holdOpen(child, true)
    try {
      child.send(request as object)
      const reply = await promise
      if ('result' in reply) return reply.result as Result
      throw new ProcessFailure('failed', reply.failure)
    } catch (error) {
      if (!(error instanceof ProcessFailure) || error.kind !== 'failed') await this.close()
      throw error
    } finally {
      // Whoever ends it waits for that.
      if (this.#child === child) holdOpen(child, false)
      stop()
      child.off('message', resolve).off('error', end).off('exit', end)
      signal?.removeEventListener('abort', cancel)
    }
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

  /** Every program loads this room and few need processes, so their module is loaded here. */
  async #start(): Promise<ChildProcess> {
    const { fork } = await import('node:child_process')
    const { module, megabytes } = this.#limits
    const child = fork(module, [String(megabytes)], {
      execArgv: [`--max-old-space-size=${Math.round(megabytes * HEAP_SHARE)}`, '--no-warnings'],
      // Windows starts no process without this variable.
      env: process.env['SystemRoot'] === undefined ? {} : { SystemRoot: process.env['SystemRoot'] },
      // Warnings of parsers quote their input.
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
}

/** One request to a process of its own. */
export async function runInProcess<Result>(
  request: unknown,
  { signal, ...limits }: ProcessLimits & { readonly signal?: AbortSignal | undefined },
): Promise<Result> {
  const limited = new LimitedProcess(limits)
  try {
    return await limited.ask<Result>(request, signal)
  } finally {
    await limited.close()
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
