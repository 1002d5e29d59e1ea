/** Entries before a store has given them their position. */
import type { InboxType } from './entry-table.ts'
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
