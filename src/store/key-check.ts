/** Names that a store is asked for. Whoever drives a conversation asks for the same one again and again. */
import { type ContextKey, contextKey, sameKey } from '../protocol/index.ts'

export class KeyCheck {
  #good: ContextKey | undefined

  /** Throws `invalid-key`. */
  check(key: ContextKey): void {
    if (this.#good !== undefined && sameKey(this.#good, key)) return
    // A copy: what the caller holds may be changed.
    this.#good = contextKey(key)
  }
}
