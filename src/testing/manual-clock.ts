/** A clock that moves only when told to, forwards and backwards. */
import type { Clock } from '../base/index.ts'

export class ManualClock implements Clock {
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

  /** Time passes. */
  advance(ms: number): void {
    this.#now += ms
    this.#elapsed += ms
  }

  /** Somebody sets the wall clock; no time passes. */
  set(now: number): void {
    this.#now = now
  }
}
