/** Whether the store of a host answers. */
import { endsWithin, type Timer } from '../base/index.ts'
import { HoldfastError } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'

/** Longer than a healthy store needs under load, shorter than a load balancer asks again. */
const ANSWER_MS = 3000

interface HealthParts {
  readonly store: Store
  readonly timer: Timer
}

export class StoreHealth {
  readonly #store: Store
  readonly #timer: Timer

  constructor({ store, timer }: HealthParts) {
    this.#store = store
    this.#timer = timer
  }

  /** Throws the failure of a store that does not answer a read, or not in time. */
  async check(): Promise<void> {
    if (await endsWithin(this.#store.due(1), ANSWER_MS, this.#timer)) return
    throw new HoldfastError('store-failed', { message: `The store has not answered for ${ANSWER_MS} ms.` })
  }
}
