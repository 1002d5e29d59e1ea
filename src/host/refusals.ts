/** The newest refusals of a host, for its operators. Bounded: a flood of them costs no memory. */
import type { ContextKey } from '../protocol/index.ts'
import { callEmbedder } from './call-embedder.ts'

export interface Refusal {
  readonly at: string
  readonly key: ContextKey
  readonly name: string
  readonly reason: string
}

const MOST = 1000

export class Refusals {
  readonly #listener: ((refusal: Refusal) => void) | undefined
  #newest: Refusal[] = []

  constructor(listener: ((refusal: Refusal) => void) | undefined) {
    this.#listener = listener
  }

  /** Newest last. */
  get newest(): readonly Refusal[] {
    return this.#newest.slice(-MOST)
  }

  add(refusal: Refusal): void {
    this.#newest.push(refusal)
    if (this.#newest.length >= 2 * MOST) this.#newest = this.#newest.slice(-MOST)
    callEmbedder('onRefusal', () => this.#listener?.(refusal))
  }
}
