/** One sleep of the pump: what the watch and the head tell of a paused turn (C4). It must not decide what follows. */
import { dataOf } from '../loop/index.ts'
import type { Entry } from '../protocol/index.ts'
import type { Head } from '../store/index.ts'

export interface SleepOptions {
  /** Another process owns the conversation. */
  readonly isElsewhere: boolean
  readonly isPaused: boolean
  /** Called when the pump begins to rest. */
  readonly onRest: () => void
}

export class Sleep {
  readonly wake: AbortController = new AbortController()
  readonly isElsewhere: boolean
  readonly #onRest: () => void
  #isPaused = false

  constructor({ isElsewhere, isPaused, onRest }: SleepOptions) {
    this.isElsewhere = isElsewhere
    this.#onRest = onRest
    this.#set(isPaused)
  }

  /** True while the turn that another process has paused is left alone. */
  get isResting(): boolean {
    return this.#isPaused && !this.wake.signal.aborted
  }

  /** Receives an entry. True for a release after which the turn may be taken over. */
  follow(entry: Entry): boolean {
    // An entry that is recorded under a claim of its own leaves the turn paused.
    if (entry.type === 'claim' && dataOf(entry, 'claim').drives !== false) this.#set(false)
    if (entry.type !== 'release') return false
    if (dataOf(entry, 'release').pause === true) this.#set(true)
    return !this.#isPaused
  }

  followHead({ status }: Head): void {
    this.#set(status === 'paused')
  }

  #set(isPaused: boolean): void {
    this.#isPaused = isPaused
    if (this.isResting) this.#onRest()
  }
}
