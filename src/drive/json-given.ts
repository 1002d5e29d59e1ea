/** What callers hand in as an object, copied: it is shared with the fold and must not change under it. */
import { HoldfastError, type JsonObject } from '../protocol/index.ts'

export function jsonGiven(what: string, value: unknown): JsonObject {
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value))
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as JsonObject
  } catch {
    // said below
  }
  throw new HoldfastError('invalid-option', { message: `${what} must be an object that JSON can carry.` })
}
