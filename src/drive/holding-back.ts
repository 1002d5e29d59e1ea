/** Which entries a driver without `autoSave` may hold back until the next append. */

import { isLarge } from '../loop/index.ts'
import { kindOf, type NewEntry } from '../protocol/index.ts'

/** May these be held back? Not the intent of an effect (R3), nothing that others wait for or the store may refuse. */
export function mayWait(entries: readonly NewEntry[]): boolean {
  return !entries.some(
    ({ type, takes = [], data }) => kindOf(type)?.prompt === true || takes.length > 0 || isLarge(data),
  )
}
