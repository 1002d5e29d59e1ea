/** Entries before a store has given them their position. */
import type { Entry } from './entry.ts'
import { formatOf, type InboxType } from './entry-table.ts'
import type { JsonObject } from './json.ts'

/** A writer's entry; the store adds `seq` and `at`, and resolves the keys in `takes` to positions. */
export interface NewEntry {
  readonly type: string
  readonly turn: number
  readonly data: JsonObject
  readonly v?: number
  readonly takes?: readonly string[]
  readonly refs?: readonly string[]
  readonly optional?: true
}

/** An inbox entry from anyone authorised. Posting the same key twice is posting once. */
export interface NewInboxEntry {
  readonly type: InboxType
  readonly key: string
  readonly data: JsonObject
}

/** Where and when an entry is placed. `takes`: the positions of the inbox entries that it takes. */
export interface EntryStamp {
  readonly seq: number
  readonly at: number
  readonly takes?: readonly number[]
}

/** An entry as a store makes it, for folding before it is stored. */
export function stampEntry(
  entry: Omit<NewEntry, 'turn'> & { readonly turn?: number; readonly key?: string },
  { seq, at, takes }: EntryStamp,
): Entry {
  const { type, turn = 0, data, v = formatOf(type), key } = entry
  const stamped: { -readonly [K in keyof Entry]: Entry[K] } = { seq, turn, at, type, v, data }
  if (key !== undefined) stamped.key = key
  if (takes !== undefined) stamped.takes = takes
  return stamped
}
