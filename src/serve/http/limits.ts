/** Bounds of a server: requests in a time, by caller. */
import type { Clock } from '../../base/index.ts'
import { HttpProblem } from '../problem.ts'

/** A bucket for each name: `perMinute` requests in the long run, as many at once. Forgets names that are full again. */
export class RateLimit {
  readonly #perMinute: number
  readonly #clock: Clock
  readonly #buckets = new Map<string, { left: number; at: number }>()

  constructor(perMinute: number, clock: Clock) {
    this.#perMinute = perMinute
    this.#clock = clock
  }

  /** Throws `rate-limited` with the time to wait. */
  take(name: string): void {
    const now = this.#clock.now()
    const { left, at } = this.#buckets.get(name) ?? { left: this.#perMinute, at: now }
    const filled = Math.min(this.#perMinute, left + ((now - at) / 60_000) * this.#perMinute)
    if (filled < 1) {
      const retryAfterS = Math.ceil(((1 - filled) / this.#perMinute) * 60)
      throw new HttpProblem({
        status: 429,
        code: 'rate-limited',
        detail: 'Too many requests. Wait before the next.',
        retryAfterS,
      })
    }
    this.#buckets.set(name, { left: filled - 1, at: now })
    if (this.#buckets.size > MOST_BUCKETS) this.#forget(now)
  }

  #forget(now: number): void {
    for (const [name, { left, at }] of this.#buckets)
      if (left + ((now - at) / 60_000) * this.#perMinute >= this.#perMinute) this.#buckets.delete(name)
    // All are in use: the oldest go, which lets their callers begin anew, and memory stays bounded.
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_BUCKETS) return
      this.#buckets.delete(name)
    }
  }
}

const MOST_BUCKETS = 10_000
