/** Checks keys, and skips the last valid one: a driver uses the same key over and over. */
import { type ContextKey, contextKey, sameKey } from '../protocol/index.ts'

export class KeyCheck {
  #good: ContextKey | undefined

  /** Throws `invalid-key`. */
  check(key: ContextKey): void {
    if (this.#good !== undefined && sameKey(this.#good, key)) return
    // A copy: the caller may change its object.
    this.#good = contextKey(key)
  }
}
