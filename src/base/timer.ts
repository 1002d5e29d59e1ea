/** Waiting as a port, so that tests decide when time has passed. */
import { setTimeout as sleep } from 'node:timers/promises'

export interface Timer {
  /** Resolves after so many milliseconds, or at once when the signal aborts; never rejects. */
  wait(ms: number, options?: WaitOptions): Promise<void>
}

export interface WaitOptions {
  readonly signal?: AbortSignal
  /** Does not keep the process alive. */
  readonly background?: true
}

/** Node fires at once for anything longer. */
const LONGEST_MS = 2 ** 31 - 1

export const systemTimer: Timer = {
  wait: async (ms, { signal, background } = {}) => {
    const options = signal === undefined ? { ref: !background } : { ref: !background, signal }
    await sleep(Math.min(ms, LONGEST_MS), undefined, options).catch(() => {})
  },
}
