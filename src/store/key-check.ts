/** Checks keys, and skips the last valid one: a driver uses the same key over and over. */
import { type ContextKey, contextKey, isObject, sameKey } from '../protocol/index.ts'

export class KeyCheck {
  #lastValid: ContextKey | undefined

  /** Throws `invalid-key`. */
  check(key: ContextKey): void {
    if (this.#lastValid !== undefined && isObject(key) && sameKey(this.#lastValid, key)) return
    // A copy: the caller may change its object.
    this.#lastValid = contextKey(key)
  }
}
