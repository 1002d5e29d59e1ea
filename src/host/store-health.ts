/** Whether the store of a host takes messages, as far as it is known without writing. */
import { type Clock, endsWithin, type Timer } from '../base/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { HostOutcome } from './hosted.ts'

/** Longer than a healthy store needs under load, shorter than a load balancer asks again. */
const ANSWER_MS = 3000

/** Then the server is ready again: only a further message can find out whether the store takes it. */
const REFUSED_MS = 10_000

const REFUSALS: readonly string[] = ['store-full', 'store-failed']

interface HealthParts {
  readonly store: Store
  readonly timer: Timer
  readonly clock: Clock
}

export class StoreHealth {
  readonly #parts: HealthParts
  /** The newest refusal of a message, unless a turn came to its end after it. */
  #refused: { readonly at: number; readonly message: string } | undefined

  constructor(parts: HealthParts) {
    this.#parts = parts
  }

  /** Throws the failure of a store that does not answer a read, or not in time, or that has just refused a message. */
  async check(): Promise<void> {
    const { store, timer, clock } = this.#parts
    if (!(await endsWithin(store.due(1), ANSWER_MS, timer)))
      throw failed(`The store has not answered for ${ANSWER_MS} ms.`)
    if (this.#refused !== undefined && clock.elapsed() - this.#refused.at < REFUSED_MS)
      throw failed(`The store has refused a message: ${this.#refused.message}`)
  }

  /** The outcome of a message that this host was sent. */
  note({ turn, error }: Pick<HostOutcome, 'turn' | 'error'>): void {
    if (error === undefined) this.#refused = undefined
    // A turn that began was stored: its failure may be of another store, such as a corpus.
    else if (turn === 0 && REFUSALS.includes(error.code))
      this.#refused = { at: this.#parts.clock.elapsed(), message: error.message }
  }
}

function failed(message: string): HoldfastError {
  return new HoldfastError('store-failed', { message })
}
