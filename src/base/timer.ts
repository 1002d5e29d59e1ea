/** Waiting as a port, so that tests decide when time has passed. */

export interface Timer {
  /** Resolves after `ms`, or at once when the signal aborts; never rejects. */
  wait(ms: number, options?: WaitOptions): Promise<void>
  /** Calls `act` after `ms` unless the returned function is called before. Does not keep the process alive. */
  after(ms: number, act: () => void): () => void
}

export interface WaitOptions {
  readonly signal?: AbortSignal
  /** Does not keep the process alive. */
  readonly background?: true
}

/** Node fires a longer timeout at once. */
const LONGEST_MS = 2 ** 31 - 1

export const systemTimer: Timer = {
  wait: (ms, { signal, background } = {}) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      const done = () => {
        clearTimeout(timeout)
        signal?.removeEventListener('abort', done)
        resolve()
      }
      const timeout = setTimeout(done, Math.min(ms, LONGEST_MS))
      if (background) timeout.unref()
      signal?.addEventListener('abort', done)
    }),
  after: (ms, act) => {
    const timeout = setTimeout(act, Math.min(ms, LONGEST_MS)).unref()
    return () => clearTimeout(timeout)
  },
}
