/** Which entries a driver without `autoSave` may hold back until the next append. */

import { isLarge } from '../loop/index.ts'
import type { NewEntry } from '../protocol/index.ts'

const BEFORE_EFFECTS: ReadonlySet<string> = new Set([
  'turn.start',
  'tool.start',
  'request.start',
  'request.end',
  'release',
  'graph.start',
  'effect.start',
])

/** May these be held back? Not the intent of an effect (R3), nothing that others wait for or the store may refuse. */
export function mayWait(entries: readonly NewEntry[]): boolean {
  return !entries.some(
    ({ type, takes = [], data }) => BEFORE_EFFECTS.has(type) || takes.length > 0 || isLarge(data),
  )
}
