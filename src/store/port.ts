/**
 * The Store port: what every database of journals promises. `rules.ts` holds the decisions that all adapters share,
 * `holdfast/testing/store` the contract suite that each must pass.
 *
 * All methods may reject with a `HoldfastError`; its `retry` says whether repeating the same call can help. Every
 * method checks the key it is given (`invalid-key`). A method that only reads creates and changes
 * nothing but derived data.
 */
import type {
  ContextKey,
  Entry,
  JsonObject,
  NewEntry,
  NewInboxEntry,
  OutcomeReason,
  Owner,
  Position,
} from '../protocol/index.ts'

export interface Store {
  /**
   * The only way to write entries: one request is one transaction, all of it or nothing (R5).
   *
   * In this order: inbox entries are added (a key that is there already adds nothing), ownership is claimed if asked
   * for, driver entries are appended. Nothing is acknowledged, and no refusal reported, before the transaction that it
   * was decided in is durable.
   *
   * Repeating a request with the same `id` and `since` never appends twice: it returns the first receipt, with
   * `repeated` set. So after any error the writer may simply call again; `persist` does.
   *
   * Rejects with: `fenced` (the epoch is not the owner's any more; stop), `owned` (claim refused: a live driver has
   * it), `moved` (the journal is not where the writer thought: `since` lies beyond it, or a claim that brought
   * entries is behind), `not-pending` (an
   * inbox key that was never posted, or was taken before), `key-reused` (same inbox key, other content), `inbox-full`,
   * `erased`, `invalid-entry`, `too-large`, `ambiguous` (it may or may not have happened: call again), or the trouble
   * of the store itself (`store-…`, nothing was written).
   */
  append(request: AppendRequest): Promise<Receipt>

  /**
   * Holds the lease without appending, and shows what has come into the inbox. A driver calls it about once a second
   * while something long is running (R2). Rejects with `fenced` or `erased` when the context is no longer its own.
   */
  renew(request: RenewRequest): Promise<Renewal>

  /** The head row, or undefined if nothing was ever written under this key. An erased context has one, and it says so. */
  head(key: ContextKey): Promise<Head | undefined>

  /**
   * Entries in a range, oldest first unless asked otherwise, at most `limit` (1,000 if not given). A fork reads
   * through to its parent. What was pruned is not there; `Head.base` tells. An unknown or erased context has none.
   * Rejects with `entry-corrupt` when an entry in the range is damaged, naming its position; `damaged: 'skip'` leaves
   * such entries out instead.
   */
  read(key: ContextKey, range?: ReadRange): Promise<readonly Entry[]>

  /** Inbox entries that no driver has taken yet, oldest first. */
  inbox(key: ContextKey): Promise<readonly Entry[]>

  /** What a fold starts from where the entries before it were pruned (R15); undefined if it starts at the beginning. */
  base(key: ContextKey): Promise<Entry | undefined>

  /** Rows of a derived index (see `derive.ts`), in the order of their keys by code point; the newest version of each. */
  lookup(key: ContextKey, query: LookupQuery): Promise<readonly IndexRow[]>

  /**
   * Every entry after `since`, in order, then each new one as it becomes durable, whoever wrote it. Ends when the
   * signal aborts, the store closes or the context is erased. Reading is by position, so a slow reader costs no memory
   * and loses nothing (R18); what was pruned before it got there is skipped, which shows as a gap in the positions.
   * Leaving the loop ends it at once.
   */
  watch(key: ContextKey, options?: WatchOptions): AsyncIterable<Entry>

  /** Conversations of one owner, most recently active first, a page at a time. Erased ones are left out. */
  list(query: ListQuery): Promise<ListPage>

  /**
   * Contexts of all owners that want a driver now: an unowned or lapsed turn, an inbox with nobody looking at it, a
   * wake time that has come (R6). For hosts; paused ones wait for their wake time, if they have one. Oldest activity first, at most `limit`.
   */
  due(limit?: number): Promise<readonly Head[]>

  /** Keeps bytes under their SHA-256 (hex) for one owner. Putting the same bytes again is cheap and harmless (R16). */
  putBlob(owner: Owner, bytes: Uint8Array): Promise<string>
  getBlob(owner: Owner, hash: string): Promise<Uint8Array | undefined>

  /** Snapshots are derived data: losing one costs time, never truth (R12). A few of the newest are kept. */
  saveSnapshot(key: ContextKey, snapshot: Snapshot): Promise<void>
  /** The newest snapshot of this format at or below `atMost`; a fork finds its parent's. */
  loadSnapshot(key: ContextKey, query: SnapshotQuery): Promise<Snapshot | undefined>
  dropSnapshots(key: ContextKey): Promise<void>

  /**
   * Creates `child` as a fork of `parent` after entry `at`, by reference: nothing is copied. Rejects with `exists`,
   * `not-found`, `pruned` (the fork point is gone) or `invalid-key` (another owner).
   */
  fork(request: ForkRequest): Promise<Receipt>

  /**
   * Appends a base and deletes entries up to `upTo`, except what a fork still reads. May be called while a driver
   * runs: it neither needs nor takes ownership. Repeating it does nothing. Rejects with `in-use` if the open turn or
   * an untaken inbox entry would lose something.
   */
  prune(request: PruneRequest): Promise<PruneReceipt>

  /**
   * Removes the context and everything below it (forks, sub-conversations) with entries, blobs that nobody else uses
   * and derived data, and leaves a tombstone that refuses every later write. Returns how many contexts went.
   */
  erase(key: ContextKey): Promise<number>

  /**
   * Begins an erased context anew, as a new and empty one under its old name, and returns its head. Positions and epochs
   * go on where the erased one ended (`Head.erasedUpTo`), so writers, watchers and snapshots that go back to it are told
   * apart: an append or renewal whose `since` is not past it is refused with `erased`, `since: 0` included; a fork there
   * too. What was erased with it stays erased. A sub-conversation still belongs to its parent, a fork becomes a
   * conversation of its own. Repeating it does nothing. Rejects with `not-found`, `exists` (it is not erased), `moved`
   * (`upTo` is not where it ended) or, for a sub-conversation of an erased one, `not-found`.
   */
  recreate(request: RecreateRequest): Promise<Head>

  /** Recomputes head row and derived indexes from the journal. Returns the head as it is then, and whether it was wrong. */
  rebuild(key: ContextKey): Promise<{ readonly repaired: boolean; readonly head: Head | undefined }>

  /** Finishes what was accepted and lets go of the database. Later calls reject with `store-closed`. Idempotent. */
  close(): Promise<void>
}

export interface AppendRequest {
  readonly key: ContextKey
  /** The append's own id. A repetition carries the same one. */
  readonly id: string
  /** The last position that the writer has seen; 0 for none. The receipt tells what has come into the inbox since. */
  readonly since: number
  readonly inbox?: readonly NewInboxEntry[]
  /**
   * Become the driver. Refused while a live driver owns the context. If `entries` come with it they are appended only
   * if the journal stands exactly at `since`: they were computed from that position. `force` passes over a live driver,
   * for an operator who knows better; that driver is fenced.
   */
  readonly claim?: { readonly driver: string; readonly leaseMs: number; readonly force?: true }
  /** The fence of a driver that has claimed before. Entries need either this or `claim`. */
  readonly epoch?: number
  readonly entries?: readonly NewEntry[]
  /** Only for a context that this request creates: the conversation that it belongs to and is erased with (R17). */
  readonly parent?: string
  /** The last position of `parent` that the writer has seen. If given, a parent that was erased since, and begun anew, is refused. */
  readonly parentSince?: number
}

export interface Receipt {
  /** Position of the first and last entry appended; `last < first` when there was nothing to add. */
  readonly first: number
  readonly last: number
  readonly at: number
  /** The epoch that it was appended under, also in a repetition; for a post, the newest one. */
  readonly epoch: number
  /** What was appended, as stored. */
  readonly entries: readonly Entry[]
  /** Inbox entries after `since` that nobody has taken, the ones of this request included. */
  readonly inbox: readonly Entry[]
  readonly repeated: boolean
}

export interface RenewRequest {
  readonly key: ContextKey
  readonly epoch: number
  readonly since: number
}

export interface Renewal {
  readonly seq: number
  readonly inbox: readonly Entry[]
}

/**
 * One row per context, changed in the same transaction as the journal, and always what `rebuild` would compute from it
 * (R6), the lease aside: a rebuilt lease counts from the last entry.
 */
export interface Head {
  readonly key: ContextKey
  readonly seq: number
  readonly at: number
  readonly turn: number
  readonly status: HeadStatus
  /** How the last finished turn ended. */
  readonly outcome?: OutcomeReason
  readonly epoch: number
  readonly lease?: Lease
  /** Claims in a row that led nowhere (R7). */
  readonly claims: number
  readonly wakeAt?: number
  /** Untaken inbox entries. */
  readonly pending: number
  /** Entries up to here were pruned. */
  readonly base: number
  /** Positions up to here were those of an earlier conversation of this name, which was erased (`recreate`). */
  readonly erasedUpTo?: number
  readonly parent?: { readonly contextId: string; readonly kind: 'fork' | 'child'; readonly at: number }
  readonly createdAt: number
  /** Start of the last turn, or creation; what `list` sorts by. */
  readonly activeAt: number
}

/** `waiting`: the last turn ended with a request to somebody. `paused`: an open turn that only an explicit claim continues. */
export type HeadStatus = 'idle' | 'running' | 'waiting' | 'paused' | 'erased'

export interface Lease {
  readonly driver: string
  /** By the store's wall clock, not bent to be monotonic. */
  readonly renewedAt: number
  readonly leaseMs: number
}

export interface ReadRange {
  /** First position, inclusive. */
  readonly from?: number
  /** Last position, inclusive. */
  readonly to?: number
  /** Only this turn: from the first input that it took to its end. */
  readonly turn?: number
  readonly limit?: number
  readonly order?: 'oldest' | 'newest'
  readonly damaged?: 'throw' | 'skip'
}

export interface LookupQuery {
  readonly index: string
  /** One key exactly; or, without it, all keys that start with `prefix` and come after `after`. */
  readonly key?: string
  readonly prefix?: string
  readonly after?: string
  readonly limit?: number
  readonly order?: 'first' | 'last'
}

export interface IndexRow {
  readonly key: string
  /** The entry that this row was derived from. */
  readonly seq: number
  readonly value: JsonObject
}

export interface WatchOptions {
  readonly since?: number
  readonly signal?: AbortSignal
}

export interface ListQuery {
  readonly owner: Owner
  readonly status?: HeadStatus
  readonly prefix?: string
  /** Sub-conversations and forks of this one; without it, sub-conversations are left out. */
  readonly parent?: string
  readonly activeSince?: number
  readonly limit?: number
  readonly cursor?: string
}

export interface ListPage {
  readonly heads: readonly Head[]
  /** Pass it back for the next page. Absent on the last one. */
  readonly next?: string
}

export interface Snapshot {
  readonly seq: number
  /** Version of the fold that made it; another version's snapshot is of no use. */
  readonly format: number
  readonly state: JsonObject
}

export interface SnapshotQuery {
  readonly format: number
  readonly atMost?: number
}

export interface ForkRequest {
  readonly parent: ContextKey
  readonly child: ContextKey
  readonly at: number
  /** Where the parent stood at `at`, by its fold. */
  readonly position: Position
}

export interface PruneRequest {
  readonly key: ContextKey
  readonly upTo: number
  readonly position: Position
  /** The fold of everything up to `upTo`. */
  readonly session: JsonObject
}

export interface RecreateRequest {
  readonly key: ContextKey
  /** Where the erased context ended: the `seq` of its head. */
  readonly upTo: number
  /** The fold of a conversation without entries that begins after `upTo`. */
  readonly session: JsonObject
}

export interface PruneReceipt {
  readonly deleted: number
  readonly base: number
}
