/** What callers hand in as an object, copied: it is shared with the fold and must not change under it. */
import { boundedReplacer, HoldfastError, type JsonObject } from '../protocol/index.ts'

export function jsonGiven(what: string, value: unknown): JsonObject {
  let why = ''
  try {
    const copy: unknown = JSON.parse(JSON.stringify(value, boundedReplacer()))
    if (typeof copy === 'object' && copy !== null && !Array.isArray(copy)) return copy as JsonObject
  } catch (error) {
    if (error instanceof RangeError) why = `, and ${error.message}`
  }
  throw new HoldfastError('invalid-option', {
    message: `${what} must be an object that JSON can carry${why}.`,
  })
}
