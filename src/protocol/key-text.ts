/** The form of the keys and ids of appends: stores index them, and people read them in entries. */

const MAX_LENGTH = 256
/** Fast path: most keys are printable ASCII. */
const PRINTABLE_ASCII = /^[ -~]*$/
/** Control, formatting and broken characters. */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u

export const KEY_FORM = 'a text of 1 to 256 visible characters'

export function isKeyText(value: unknown): value is string {
  if (typeof value !== 'string' || value === '' || value.length > MAX_LENGTH) return false
  return PRINTABLE_ASCII.test(value) || !UNPRINTABLE.test(value)
}
