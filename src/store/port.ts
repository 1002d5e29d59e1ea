/**
 * The Store port: the promises of every journal database. `rules.ts` holds the decisions that all adapters share,
 * `holdfast/testing/store` the contract suite that each must pass.
 *
 * All methods may reject with a `HoldfastError`; its `retry` tells whether repeating the same call can help. Every
 * method checks its key (`invalid-key`). A method that only reads creates and changes nothing but derived data.
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
  /** The file of the journals, if they lie in one on this machine; logs are kept by default then. */
  readonly path?: string

  /**
   * The only way to write entries: one request is one transaction, all of it or nothing (R5).
   *
   * In this order: inbox entries are added (a known key adds nothing), ownership is claimed if requested, driver
   * entries are appended. Receipts and refusals are reported only after their transaction is durable.
   *
   * Repeating a request with the same `id` and `since` never appends twice: it returns the first receipt, with
   * `repeated` set. So after any error the writer may simply call again; `persist` does.
   *
   * Rejects with: `fenced` (the epoch is no longer the owner's; stop), `owned` (claim refused: a live driver has it),
   * `moved` (the writer's position does not fit: `since` is beyond the journal, a claim with entries has not seen all of
   * it, or a driver's `since` is below the base, where an earlier append may have been pruned), `not-pending` (an inbox
   * key that was never posted, or was taken before), `key-reused` (same inbox key, other content), `inbox-full`,
   * `erased`, `invalid-entry`, `too-large`, `ambiguous` (it may or may not have happened: call again), or a failure of
   * the store itself (`store-…`, nothing was written).
   */
  append(request: AppendRequest): Promise<Receipt>

  /**
   * Renews the lease without appending, and returns new inbox entries. A driver calls it about once a second during
   * long work (R2). Rejects with `fenced` or `erased` when it no longer owns the context.
   */
  renew(request: RenewRequest): Promise<Renewal>

  /** The head row; undefined if nothing was ever written under this key. An erased context has one, with status `erased`. */
  head(key: ContextKey): Promise<Head | undefined>

  /**
   * Entries in a range, oldest first by default, at most `limit` (1,000 if not given). A fork reads through to its
   * parent. Pruned entries are missing; see `Head.base`. An unknown or erased context has none. Rejects with
   * `entry-corrupt` and the position of a damaged entry in the range; `damaged: 'skip'` leaves such entries out
   * instead.
   */
  read(key: ContextKey, range?: ReadRange): Promise<readonly Entry[]>

  /** Inbox entries that no driver has taken yet, oldest first. */
  inbox(key: ContextKey): Promise<readonly Entry[]>

  /** The start of a fold where older entries were pruned (R15); undefined if it starts at the beginning. */
  base(key: ContextKey): Promise<Entry | undefined>

  /** Rows of a derived index (see `derive.ts`), by key in code point order; the newest version of each. */
  lookup(key: ContextKey, query: LookupQuery): Promise<readonly IndexRow[]>

  /**
   * Every entry after `since`, in order, then each new one as it becomes durable, from any writer. Ends when the signal
   * aborts, the store closes or the context is erased. Reading is by position, so a slow reader costs no memory and
   * loses nothing (R18); entries pruned before it got there are skipped, which shows as a gap in the positions. Leaving
   * the loop ends it at once.
   */
  watch(key: ContextKey, options?: WatchOptions): AsyncIterable<Entry>

  /** Conversations of one owner, most recently active first, a page at a time. Erased ones are left out. */
  list(query: ListQuery): Promise<ListPage>

  /**
   * Contexts of all owners that need a driver now: an unowned or lapsed turn, an unread inbox, a wake time that has
   * come (R6). For hosts; paused ones wait for their wake time, if they have one. Oldest activity first, at most
   * `limit`.
   */
  due(limit?: number): Promise<readonly Head[]>

  /**
   * Contexts of all owners, by contextId, actor and tenant, a page at a time: those after `after`, at most `limit` (100 if
   * not given). Sub-conversations and erased ones are included, so that every page costs the same. For hosts.
   */
  scan(query?: ScanQuery): Promise<readonly Head[]>

  /**
   * Keeps bytes under their SHA-256 (hex) for one owner. Putting the same bytes again is cheap and harmless (R16). Until
   * your entry names them, they are deleted with the last other entry that does. An append that names deleted bytes
   * rejects with `invalid-entry`, `retry: 'later'` and the hash in its details: put them again, and repeat it.
   */
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
   * Appends a base and deletes entries up to `upTo`, except those that a fork still reads, and `artifact` entries with
   * their blobs: the fold in the base does not have their content. Those are read with `kept` only. May run beside a driver: it
   * neither needs nor takes ownership. Idempotent. Rejects with `in-use` if the open turn or an untaken inbox entry
   * would lose an entry.
   */
  prune(request: PruneRequest): Promise<PruneReceipt>

  /**
   * Removes the context and everything below it (forks, sub-conversations, forks of sub-conversations that are named below
   * it: `fork/task` goes with `fork`) with entries, unshared blobs and derived
   * data, and leaves a tombstone that refuses every later write. Returns the number of contexts removed. With `at`, rejects
   * with `moved` if that is not the position of its newest entry any more, and with `in-use` if it has a fork.
   */
  erase(key: ContextKey, options?: EraseOptions): Promise<number>

  /**
   * Recreates an erased context, new and empty, under its old name, and returns its head. Positions and epochs continue
   * where the erased one ended (`Head.erasedUpTo`), so its writers, watchers and snapshots are recognised: an append or
   * renewal whose `since` is not past it is refused with `erased`, `since: 0` included; a fork there too. Contexts
   * erased with it stay erased. A sub-conversation keeps its parent, a fork becomes a conversation of its own.
   * Idempotent. Rejects with `not-found`, `exists` (it is not erased), `moved` (`upTo` is not where it ended) or, for a
   * sub-conversation of an erased one, `not-found`.
   */
  recreate(request: RecreateRequest): Promise<Head>

  /** Recomputes head row and derived indexes from the journal. Returns the new head, and whether the old one was wrong. */
  rebuild(key: ContextKey): Promise<{ readonly repaired: boolean; readonly head: Head | undefined }>

  /** Finishes accepted work and releases the database. Later calls reject with `store-closed`. Idempotent. */
  close(): Promise<void>
}

export interface AppendRequest {
  readonly key: ContextKey
  /** The append's own id. A repetition has the same one. */
  readonly id: string
  /** The last position that the writer has seen; 0 for none. The receipt returns newer inbox entries. */
  readonly since: number
  readonly inbox?: readonly NewInboxEntry[]
  /**
   * Claims ownership. Refused while a live driver owns the context. `entries` of a claim are appended only if the
   * journal stands exactly at `since`: they were computed from that position. `force` overrides a live driver, for an
   * operator who knows better; that driver is fenced.
   */
  readonly claim?: { readonly driver: string; readonly leaseMs: number; readonly force?: true }
  /** The fence of a driver with an earlier claim. Entries need either this or `claim`. */
  readonly epoch?: number
  readonly entries?: readonly NewEntry[]
  /** Only for a context that this request creates: its parent conversation, with which it is erased (R17). */
  readonly parent?: string
  /** The last position of `parent` that the writer has seen. A parent that was recreated since is then refused. */
  readonly parentSince?: number
}

export interface Receipt {
  /** Position of the first and last entry appended; `last < first` when there was nothing to add. */
  readonly first: number
  readonly last: number
  readonly at: number
  /** The epoch of the append, also in a repetition; for a post, the newest one. */
  readonly epoch: number
  readonly entries: readonly Entry[]
  /** Untaken inbox entries after `since`, those of this request included. */
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
 * One row per context, changed in the same transaction as the journal, and always equal to what `rebuild` computes from
 * it (R6), except for the lease: a rebuilt lease counts from the last entry.
 */
export interface Head {
  readonly key: ContextKey
  readonly seq: number
  readonly at: number
  readonly turn: number
  readonly status: HeadStatus
  /** Outcome of the last finished turn. */
  readonly outcome?: OutcomeReason
  readonly epoch: number
  readonly lease?: Lease
  /** Claims in a row without progress (R7). */
  readonly claims: number
  readonly wakeAt?: number
  readonly pending: number
  /** Entries up to here were pruned. */
  readonly base: number
  /** Positions up to here belonged to an erased conversation of this name (`recreate`). */
  readonly erasedUpTo?: number
  readonly parent?: { readonly contextId: string; readonly kind: 'fork' | 'child'; readonly at: number }
  readonly createdAt: number
  /** Start of the last turn, or creation; the sort key of `list`. */
  readonly activeAt: number
}

/** `waiting`: the last turn ended with an open request. `paused`: an open turn that only an explicit claim continues. */
export type HeadStatus = 'idle' | 'running' | 'waiting' | 'paused' | 'erased'

export interface Lease {
  readonly driver: string
  /** By the store's wall clock, not forced to be monotonic. */
  readonly renewedAt: number
  readonly leaseMs: number
}

export interface ReadRange {
  /** First position, inclusive. */
  readonly from?: number
  /** Last position, inclusive. */
  readonly to?: number
  /** Only this turn: from its first input to its end. */
  readonly turn?: number
  readonly limit?: number
  readonly order?: 'oldest' | 'newest'
  readonly damaged?: 'throw' | 'skip'
  /** Also the entries below a base that pruning keeps: those of type `artifact`. Not part of any fold. */
  readonly kept?: boolean
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
  /**
   * Sub-conversations and forks of this one; without it, sub-conversations are left out, and so are their forks that are
   * named below another conversation.
   */
  readonly parent?: string
  readonly activeSince?: number
  readonly limit?: number
  readonly cursor?: string
}

export interface ScanQuery {
  readonly after?: ContextKey
  readonly limit?: number
}

export interface EraseOptions {
  /** The position of its newest entry, as you know it. */
  readonly at?: number
}

export interface ListPage {
  readonly heads: readonly Head[]
  /** Pass it back for the next page. Absent on the last one. */
  readonly next?: string
}

export interface Snapshot {
  readonly seq: number
  /** Version of the fold that made it; snapshots of other versions are useless. */
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
  /** Position of the parent at `at`, by its fold. */
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
  /** Last position of the erased context: the `seq` of its head. */
  readonly upTo: number
  /** The fold of a conversation without entries that begins after `upTo`. */
  readonly session: JsonObject
}

export interface PruneReceipt {
  readonly deleted: number
  readonly base: number
}
