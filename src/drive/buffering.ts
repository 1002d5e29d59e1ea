/** Decides which entries a driver without `autoSave` may buffer until the next append. */

import { isLarge } from '../loop/index.ts'
import { ENTRY_KINDS, type NewEntry } from '../protocol/index.ts'

/** False for the intent of an effect (R3), entries that others wait for, and entries that the store may refuse. */
export function mayBuffer(entries: readonly NewEntry[]): boolean {
  return !entries.some(
    ({ type, takes = [], data }) =>
      ENTRY_KINDS.get(type)?.unbuffered === true || takes.length > 0 || isLarge(data),
  )
}
