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

/** False if `work` has not ended after `ms`: its failure is nobody's then. Before, a failure rejects. */
export async function endsWithin(work: Promise<unknown>, ms: number, timer: Timer): Promise<boolean> {
  const ended = new AbortController()
  const late = timer.wait(ms, { signal: ended.signal }).then(() => false)
  try {
    return await Promise.race([work.then(() => true), late])
  } finally {
    ended.abort()
  }
}

/** How long a shutdown waits for effects under way by default. */
export const SHUTDOWN_GRACE_MS = 30_000

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
