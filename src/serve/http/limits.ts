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
    const now = this.#clock.elapsed()
    const { left, at } = this.#buckets.get(name) ?? { left: this.#perMinute, at: now }
    const filled = Math.min(this.#perMinute, left + ((now - at) / 60_000) * this.#perMinute)
    // Set anew, so that the names come in the order of their last use.
    this.#buckets.delete(name)
    this.#buckets.set(name, { left: filled < 1 ? filled : filled - 1, at: now })
    if (this.#buckets.size > MOST_BUCKETS) this.#forget(now)
    if (filled >= 1) return
    throw new HttpProblem({
      status: 429,
      code: 'rate-limited',
      detail: 'Too many requests. Wait before the next.',
      retryAfterS: Math.ceil(((1 - filled) / this.#perMinute) * 60),
    })
  }

  /** Undoes one `take`. */
  giveBack(name: string): void {
    const bucket = this.#buckets.get(name)
    if (bucket !== undefined) bucket.left = Math.min(this.#perMinute, bucket.left + 1)
  }

  #forget(now: number): void {
    for (const [name, { left, at }] of this.#buckets)
      if (left + ((now - at) / 60_000) * this.#perMinute >= this.#perMinute) this.#buckets.delete(name)
    // All are in use: a tenth goes, so that it is not needed at each call. Those unused for longest begin anew.
    for (const name of this.#buckets.keys()) {
      if (this.#buckets.size <= MOST_BUCKETS * 0.9) return
      this.#buckets.delete(name)
    }
  }
}

const MOST_BUCKETS = 10_000
