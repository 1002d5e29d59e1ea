/** Fork, prune, erase, recreate and rebuild (R6, R15), and the number of snapshots kept: decisions that all stores share. */
import {
  type ContextKey,
  type Entry,
  type EntryData,
  formatOf,
  HoldfastError,
  type JsonObject,
  keyText,
  type Position,
} from '../protocol/index.ts'
import { advanceHead, headAt, newHead } from './head.ts'
import type { ForkRequest, Head, PruneRequest, Receipt, RecreateRequest } from './port.ts'
import { begunAnew, erased, isOfErased, orphan } from './rules.ts'

/** Enough for a fork at a recent point to find a snapshot that is not newer. */
export const KEPT_SNAPSHOTS = 4

/** The types of entries that pruning keeps: a base starts a fold, and no fold has the content of artifacts. */
export const TYPES_THAT_OUTLIVE_PRUNE: readonly string[] = ['base', 'artifact']

export function outlivesPrune(type: string): boolean {
  return TYPES_THAT_OUTLIVE_PRUNE.includes(type)
}

/** The first entry of a fork; throws if refused. `parentBase`: where the parent's readable past begins. */
export function forkEntry(request: ForkRequest, heads: ForkFacts, now: number): Entry {
  const { parent, child, at, position } = request
  if (parent.tenant !== child.tenant || parent.actor !== child.actor) {
    throw new HoldfastError('invalid-key', {
      message: 'A fork belongs to the owner of its parent; give it the same tenant and actor.',
    })
  }
  if (heads.parent === undefined) throw notFound(parent)
  if (heads.parent.status === 'erased') throw erased(parent)
  if (heads.child !== undefined) throw exists(child, heads.child)
  if (!Number.isSafeInteger(at) || at < 1 || at > heads.parent.seq) {
    throw new HoldfastError('not-found', {
      message: `${keyText(parent)} has no entry ${at} to fork after; its last one is ${heads.parent.seq}.`,
      details: { at, seq: heads.parent.seq },
    })
  }
  if (isOfErased(heads.parent, at)) throw begunAnew(parent, heads.parent)
  if (at < heads.parentBase) throw pruned(parent, at, heads.parentBase)
  const data = { parent: parent.contextId, at, position: { ...position } }
  return { seq: at + 1, turn: 0, at: Math.max(position.at, now), type: 'fork', v: formatOf('fork'), data }
}

export interface ForkFacts {
  readonly parent: Head | undefined
  readonly child: Head | undefined
  readonly parentBase: number
}

export function forkHead(request: ForkRequest, entry: Entry): Head {
  const head = advanceHead(headAt(request.child, request.at, request.position), entry)
  return { ...head, parent: { contextId: request.parent.contextId, kind: 'fork', at: request.at } }
}

export function forkReceipt(entry: Entry, { epoch }: Head): Receipt {
  const { seq, at } = entry
  return { first: seq, last: seq, at, epoch, entries: [entry], inbox: [], repeated: false }
}

/**
 * True for a fork of a sub-conversation that is named below `key`: it was made together with the fork of its parent, is
 * erased with that one, and is not listed as a conversation of its own.
 */
export function isForkedBelow({ key, parent }: Head, { contextId, ...owner }: ContextKey): boolean {
  const isOwn = key.tenant === owner.tenant && key.actor === owner.actor
  return parent?.kind === 'fork' && isOwn && parentName(key) === contextId
}

/** True for a conversation below another one, created there or forked with it. */
export function isSubConversation({ key, parent }: Head): boolean {
  return parent?.kind === 'child' || (parent?.kind === 'fork' && parentName(key) !== undefined)
}

function parentName({ contextId }: ContextKey): string | undefined {
  const end = contextId.lastIndexOf('/')
  return end < 0 ? undefined : contextId.slice(0, end)
}

/** Refuses to erase a context that was used after position `at`, or that has a fork. */
export function checkUnused(head: Head, at: number | undefined, hasFork: () => boolean): void {
  if (at === undefined) return
  const { key, seq } = head
  if (seq !== at)
    throw new HoldfastError('moved', {
      message: `${keyText(key)} ends at ${seq}, not at ${at}: it was used in the meantime.`,
      retry: 'later',
      details: { seq, at },
    })
  if (hasFork())
    throw new HoldfastError('in-use', {
      message: `${keyText(key)} has a fork, which reads its entries. Erase the fork first.`,
      details: { ...key },
    })
}

/** The head of an erased context: refuses every writer, and stays below its parent. */
export function tombstone(head: Head, now: number): Head {
  const { key, seq, turn, epoch, createdAt, parent } = head
  const last = { seq, turn, epoch, createdAt, base: seq, at: Math.max(now, head.at), activeAt: now }
  return { ...newHead(key, now), ...last, status: 'erased', ...(parent && { parent }) }
}

/**
 * The first entry of a recreated context: a base without a past. Undefined if it was recreated before; throws if
 * refused. Holds nothing of the erased context but its last position and epoch.
 */
export function recreateEntry(
  request: RecreateRequest,
  facts: RecreateFacts,
  now: number,
): Entry | undefined {
  const { key, upTo, session } = request
  const { head, parent } = facts
  if (head === undefined) throw notFound(key)
  if (head.status !== 'erased') {
    if (head.erasedUpTo === upTo) return undefined
    throw notErased(key)
  }
  if (head.seq !== upTo) throw endsElsewhere(key, head, upTo)
  const isChild = head.parent?.kind === 'child'
  if (isChild && (parent === undefined || parent.status === 'erased'))
    throw orphan(key, head.parent?.contextId ?? '')
  const at = Math.max(head.at, now)
  const { epoch } = head
  const times = { at, createdAt: at, activeAt: at }
  const position: Position = { ...times, turn: 0, epoch, claims: 0, running: false, erasedUpTo: upTo }
  const data = { upTo, kept: 0, position, session }
  return { seq: upTo + 1, turn: 0, at, type: 'base', v: formatOf('base'), data }
}

export interface RecreateFacts {
  readonly head: Head | undefined
  readonly parent: Head | undefined
}

/** The head after `recreateEntry`: still a child of its parent, no longer a fork. */
export function recreatedHead({ key, parent }: Head, entry: Entry): Head {
  const head = advanceHead(startAt(key, entry), entry)
  return parent?.kind === 'child' ? { ...head, parent } : head
}

/** The base entry; undefined if that much is pruned already; throws if refused. */
export function baseEntry(request: PruneRequest, facts: PruneFacts, now: number): Entry | undefined {
  const { key, upTo, position, session } = request
  const { head } = facts
  if (head === undefined) throw notFound(key)
  if (head.status === 'erased') throw erased(key)
  if (upTo <= head.base) return undefined
  if (!Number.isSafeInteger(upTo) || upTo > head.seq || upTo <= facts.forkedAt) {
    throw new HoldfastError('not-found', {
      message: `${keyText(key)} can be pruned from ${facts.forkedAt + 1} to ${head.seq}, not to ${upTo}.`,
      details: { upTo, seq: head.seq },
    })
  }
  if (facts.needed !== undefined && facts.needed <= upTo) throw inUse(key, upTo, facts.needed)
  const data = { upTo, kept: facts.kept, position: { ...position, ...ownershipOf(head) }, session }
  return { seq: head.seq + 1, turn: 0, at: Math.max(head.at, now), type: 'base', v: formatOf('base'), data }
}

export interface PruneFacts {
  readonly head: Head | undefined
  /** Position of the fork; entries below belong to the parent. */
  readonly forkedAt: number
  /** The oldest position that the open turn, an untaken inbox entry or a later taking entry refers to. */
  readonly needed: number | undefined
  /** The highest position that a fork still reads. */
  readonly kept: number
}

/** The head row recomputed from the context's own entries above its newest base. Lease times are the entries'. */
export function headFrom(stored: Head, base: Entry | undefined, entries: Iterable<Entry>): Head | undefined {
  let head = base === undefined ? undefined : startAt(stored.key, base)
  for (const entry of entries) {
    head ??= entry.type === 'fork' ? startAt(stored.key, entry) : newHead(stored.key, entry.at)
    head = advanceHead(head, entry)
  }
  return head === undefined || stored.parent === undefined ? head : { ...head, parent: stored.parent }
}

/** Equal but for the lease's time, which renewals move without an entry. */
export function sameHead(a: Head, b: Head): boolean {
  const plain = ({ lease, ...head }: Head): JsonObject => ({
    ...head,
    key: { ...head.key },
    driver: lease?.driver,
    leaseMs: lease?.leaseMs,
    parent: head.parent === undefined ? undefined : { ...head.parent },
  })
  const [left, right] = [plain(a), plain(b)]
  return Object.keys({ ...left, ...right }).every(
    (name) => JSON.stringify(left[name]) === JSON.stringify(right[name]),
  )
}

/**
 * The current lease and wake time, for a base in the past: either nothing changed them since, or the entry that did
 * comes after the base and is read again. Every base repeats `erasedUpTo`.
 */
function ownershipOf({ lease, wakeAt, erasedUpTo }: Head): Pick<Position, 'lease' | 'wakeAt' | 'erasedUpTo'> {
  return {
    ...(erasedUpTo === undefined ? {} : { erasedUpTo }),
    ...(lease === undefined ? {} : { lease: { driver: lease.driver, leaseMs: lease.leaseMs } }),
    ...(wakeAt === undefined ? {} : { wakeAt }),
  }
}

function startAt(key: ContextKey, entry: Entry): Head {
  if (entry.type === 'fork') {
    const { at, position } = entry.data as EntryData['fork']
    return headAt(key, at, position)
  }
  const { upTo, position } = entry.data as EntryData['base']
  return headAt(key, upTo, position)
}

function notFound(key: ContextKey): HoldfastError {
  return new HoldfastError('not-found', {
    message: `There is no conversation ${keyText(key)}.`,
    details: { ...key },
  })
}

function exists(key: ContextKey, head: Head): HoldfastError {
  if (head.status === 'erased') return erased(key)
  return new HoldfastError('exists', {
    message: `${keyText(key)} exists already. Fork into a new contextId.`,
    details: { ...key },
  })
}

function notErased(key: ContextKey): HoldfastError {
  return new HoldfastError('exists', {
    message: `${keyText(key)} is not erased. To recreate it, erase it first.`,
    details: { ...key },
  })
}

function endsElsewhere(key: ContextKey, { seq }: Head, upTo: number): HoldfastError {
  return new HoldfastError('moved', {
    message: `The erased conversation ${keyText(key)} ended at ${seq}, not at ${upTo}: read its head again.`,
    retry: 'later',
    details: { seq, upTo },
  })
}

function pruned(key: ContextKey, at: number, base: number): HoldfastError {
  return new HoldfastError('pruned', {
    message: `Entry ${at} of ${keyText(key)} was pruned; fork at ${base} or later.`,
    details: { at, base },
  })
}

function inUse(key: ContextKey, upTo: number, needed: number): HoldfastError {
  return new HoldfastError('in-use', {
    message: `${keyText(key)} cannot be pruned to ${upTo}: entry ${needed} is still needed by the open turn, the inbox or an entry that stays. Prune to ${needed - 1} at most.`,
    retry: 'later',
    details: { upTo, needed },
  })
}
