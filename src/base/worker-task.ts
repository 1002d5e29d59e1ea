/**
 * One task in a worker thread of its own, with limits of time and memory: hostile input decides how long its parser runs,
 * and a thread can be ended.
 */
import type { Worker } from 'node:worker_threads'
import { systemTimer, type Timer } from './timer.ts'

export interface WorkerTask {
  /** The module of the worker. It reads `data` as its `workerData`, and posts one message: the result. */
  readonly module: URL
  readonly data: unknown
  readonly timeoutMs: number
  readonly memoryMb: number
  readonly signal?: AbortSignal | undefined
  readonly timer?: Timer | undefined
}

/** The time of nested elements grows with the square of their depth: a small stack ends it early. */
const STACK_MB = 1

/** Rejects with the reason of the signal, or with an error whose message is a clause: `it took more than 30000 ms`. */
export async function runWorkerTask<Result>(task: WorkerTask): Promise<Result> {
  const { signal, timer = systemTimer, timeoutMs } = task
  signal?.throwIfAborted()
  const { promise, resolve, reject } = Promise.withResolvers<Result>()
  // A rejection while the module loads is reported by the await below.
  promise.catch(() => {})
  const cancel = (): void => reject(signal?.reason as Error)
  const stop = timer.after(timeoutMs, () => reject(new Error(`it took more than ${timeoutMs} ms`)))
  signal?.addEventListener('abort', cancel)
  const worker = await startWorker(task)
  worker.on('message', resolve)
  worker.on('error', reject)
  worker.on('exit', () => reject(new Error('its conversion has ended early')))
  try {
    return await promise
  } finally {
    stop()
    signal?.removeEventListener('abort', cancel)
    await worker.terminate()
  }
}

/** Every program loads this room and few need threads, so their module is loaded here. */
async function startWorker({ module, data, memoryMb }: WorkerTask): Promise<Worker> {
  const threads = await import('node:worker_threads')
  return new threads.Worker(module, {
    workerData: data,
    resourceLimits: { maxOldGenerationSizeMb: memoryMb, stackSizeMb: STACK_MB },
    env: {},
    execArgv: [],
  })
}
