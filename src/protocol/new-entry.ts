/** Entries before a store has given them their place. */
import type { InboxType } from './entry-table.ts'
import type { JsonObject } from './json.ts'

/** What a writer hands to the store; the store adds `seq` and `at`, and turns the keys in `takes` into positions. */
export interface NewEntry {
  readonly type: string
  readonly turn: number
  readonly data: JsonObject
  readonly v?: number
  readonly takes?: readonly string[]
  readonly refs?: readonly string[]
  readonly optional?: true
}

/** What anyone authorised may put into the inbox. Posting the same key twice is posting once. */
export interface NewInboxEntry {
  readonly type: InboxType
  readonly key: string
  readonly data: JsonObject
}
