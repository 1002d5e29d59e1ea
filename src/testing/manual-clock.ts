/** A clock that only `advance` and `set` move. Timers on it fire in `advance`. */
import type { Clock, Timer, WaitOptions } from '../base/index.ts'

export class ManualClock implements Clock, Timer {
  readonly #waits = new Set<{ readonly until: number; readonly wake: () => void }>()
  #now: number
  #elapsed = 0

  constructor(now: number = Date.UTC(2026, 0, 1)) {
    this.#now = now
  }

  now(): number {
    return this.#now
  }

  elapsed(): number {
    return this.#elapsed
  }

  wait(ms: number, { signal }: WaitOptions = {}): Promise<void> {
    if (ms <= 0 || signal?.aborted) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    const waiting = { until: this.#elapsed + ms, wake: () => wake() }
    const wake = () => {
      this.#waits.delete(waiting)
      signal?.removeEventListener('abort', wake)
      resolve()
    }
    this.#waits.add(waiting)
    signal?.addEventListener('abort', wake)
    return promise
  }

  after(ms: number, act: () => void): () => void {
    const waiting = {
      until: this.#elapsed + ms,
      wake: () => {
        this.#waits.delete(waiting)
        act()
      },
    }
    this.#waits.add(waiting)
    return () => this.#waits.delete(waiting)
  }

  /** Moves time forward and fires due timers, the earliest first. */
  advance(ms: number): void {
    this.#now += ms
    this.#elapsed += ms
    const due = [...this.#waits].filter(({ until }) => until <= this.#elapsed)
    // An earlier one may have cancelled a later one.
    for (const each of due.toSorted((a, b) => a.until - b.until)) if (this.#waits.has(each)) each.wake()
  }

  /** The number of pending timers, so that a test can wait for one before it advances. */
  get waiting(): number {
    return this.#waits.size
  }

  /** Sets the wall clock; no time passes. */
  set(now: number): void {
    this.#now = now
  }
}
