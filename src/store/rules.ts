/**
 * Decides what an append may do, as a pure function for all stores: an adapter gathers the facts in a transaction,
 * calls it, and writes the decision. Keeps R1, R2, R5 and R6.
 */
import {
  type ContextKey,
  ENTRY_KINDS,
  ENTRY_TABLE,
  type Entry,
  type EntryType,
  HoldfastError,
  isInboxType,
  isKeyText,
  isObject,
  type JsonObject,
  KEY_FORM,
  keyText,
  type NewEntry,
  quote,
  shapeProblem,
} from '../protocol/index.ts'
import { headDraft, headOf, moveHead, newHead, renewLease } from './head.ts'
import { isOwned, type LeaseJudge } from './lease.ts'
import type { AppendRequest, Head, RenewRequest } from './port.ts'

/**
 * The largest number of untaken inputs: beyond it, senders have to wait. A cancel or an answer still gets through, up to
 * twice as many. A late result always does: its driver takes nothing from the inbox before that is stored.
 */
export const MAX_PENDING = 1000
const MAX_LEASE_MS = 24 * 60 * 60 * 1000
const ENTRY_TYPE = /^[a-z][a-z0-9.-]{0,63}$/
const STORE_TYPES: ReadonlySet<string> = new Set<EntryType>(['claim', 'fork', 'base'])

/** The adapter's knowledge, read inside the transaction of the append. */
export interface AppendFacts {
  readonly head: Head | undefined
  /** An append with this id is stored after `since`. Possible only if the head is past `since`. */
  readonly earlier: boolean
  /** State of the inbox keys that the request posts or takes. */
  readonly inbox: ReadonlyMap<string, InboxFact>
}

export interface InboxFact {
  readonly seq: number
  /** Position of the entry that took it; 0 while it is pending. */
  readonly taken: number
  /** `digestOf` type and data. */
  readonly digest: string
}

export type AppendDecision =
  | { readonly kind: 'refused'; readonly error: HoldfastError }
  | { readonly kind: 'repeated' }
  | { readonly kind: 'accepted'; readonly entries: readonly StampedEntry[]; readonly head: Head }

/** An entry made for this decision alone. Its data is the caller's; the adapter replaces it with a reader's. */
export interface StampedEntry extends Entry {
  data: JsonObject
}

export interface DecideOptions extends LeaseJudge {
  readonly digestOf: (type: string, data: JsonObject) => string
}

export function decideAppend(
  request: AppendRequest,
  facts: AppendFacts,
  options: DecideOptions,
): AppendDecision {
  const head = facts.head ?? newHead(request.key, options.now)
  if (head.status === 'erased') return refuse(erased(request.key))
  if (isOfErased(head, request.since)) return refuse(begunAnew(request.key, head))
  if (facts.earlier) return { kind: 'repeated' }
  const refusal = fence(request, head, options)
  if (refusal !== undefined) return refuse(refusal)
  // A later repetition would not be recognised.
  if (request.since > head.seq) return refuse(moved(request, head))
  // An earlier append of this id may have been pruned. Inbox entries are recognised by their keys.
  if (request.since < head.base && isByDriver(request)) return refuse(behindBase(request, head))
  try {
    const { earlier, inbox } = facts
    return accept(request, { head: childHead(request, facts.head, head), earlier, inbox }, options)
  } catch (error) {
    if (HoldfastError.is(error)) return refuse(error)
    throw error
  }
}

/** Undefined if the epoch still owns the context, else the error. */
export function refuseRenewal(request: RenewRequest, head: Head | undefined): HoldfastError | undefined {
  if (head?.status === 'erased') return erased(request.key)
  if (head !== undefined && isOfErased(head, request.since)) return begunAnew(request.key, head)
  if (head?.lease !== undefined && head.epoch === request.epoch) return undefined
  return fenced(request.key, request.epoch, head?.epoch ?? 0)
}

/**
 * The epoch of a stored append. A repetition may come after another driver's claim; the newest epoch would give it a
 * fence that is not its own (R1). Refuses requests that are no repetition: the same id for other entries, or an append
 * that was pruned in part.
 */
export function epochOf(request: AppendRequest, entries: readonly Entry[], head: Head): number {
  const { entries: requested = [], inbox = [] } = request
  let claim: Entry | undefined
  let index = 0
  let isSame = true
  for (const entry of entries) {
    if (entry.type === 'claim') claim = entry
    else if (isInboxType(entry.type)) isSame &&= inbox.some(({ key }) => key === entry.key)
    else isSame &&= requested[index++]?.type === entry.type
  }
  isSame &&= index === requested.length && (claim !== undefined) === (request.claim !== undefined)
  if (!isSame) throw head.base > request.since ? repetitionPruned(request) : idReused(request)
  return request.epoch ?? (claim?.data['epoch'] as number | undefined) ?? head.epoch
}

/** Misuse that is visible without facts. Throws before anything is queued. */
export function checkRequest(request: AppendRequest): void {
  const { entries = [], inbox = [], claim, epoch } = request
  if (entries.length + inbox.length === 0 && claim === undefined)
    throw misuse('an append needs inbox entries, entries or a claim')
  if (entries.length > 0 && claim === undefined && epoch === undefined) {
    throw misuse('driver entries need the epoch of a claim, or a claim beside them')
  }
  if (claim !== undefined && epoch !== undefined) throw misuse('give either a claim or an epoch, not both')
  if (claim !== undefined) checkClaim(claim)
  if (!Number.isSafeInteger(request.since) || request.since < 0)
    throw misuse('`since` must be a position, 0 for none')
  checkText('the append id', request.id)
  if (inbox.length > 1 && new Set(inbox.map(({ key }) => key)).size < inbox.length)
    throw misuse('it posts the same inbox key twice')
  for (const entry of inbox) {
    if (!isInboxType(entry.type)) throw misuse(`${quote(entry.type)} is not an inbox type`)
    checkText('an inbox key', entry.key)
    // `encode` refuses data that is no object.
    const problem = shapeProblem(entry.type, entry.data ?? {})
    if (problem !== undefined) throw misuse(`${entry.type}: ${problem}`)
  }
  for (const entry of entries) checkDriverEntry(entry)
}

/** True if a position belongs to the erased conversation of the same name (R15). */
export function isOfErased({ erasedUpTo }: Pick<Head, 'erasedUpTo'>, seq: number): boolean {
  return erasedUpTo !== undefined && seq <= erasedUpTo
}

/** Refuses a parent that is missing, or was erased and recreated since the writer read it (R17). */
export function checkParent(request: AppendRequest, parent: Head | undefined): void {
  const { key, parent: name = '', parentSince } = request
  const isGone = parent === undefined || parent.status === 'erased'
  if (isGone || (parentSince !== undefined && isOfErased(parent, parentSince))) throw orphan(key, name)
}

export function begunAnew(key: ContextKey, { erasedUpTo = 0 }: Pick<Head, 'erasedUpTo'>): HoldfastError {
  return new HoldfastError('erased', {
    message: `The conversation ${keyText(key)} was erased and recreated. Nothing was written. To write to the new one, open it again: with a new Agent, or from its head, which begins after position ${erasedUpTo}.`,
    details: { contextId: key.contextId, erasedUpTo },
  })
}

export function erased(key: ContextKey): HoldfastError {
  return new HoldfastError('erased', {
    message: `The conversation ${keyText(key)} was erased and cannot be written to again. Use a new contextId, or recreate it with recreateContext().`,
    details: { contextId: key.contextId },
  })
}

export function orphan(key: ContextKey, parent: string): HoldfastError {
  return new HoldfastError('not-found', {
    message: `${keyText(key)} cannot belong to ${parent}: there is no such conversation, or it was erased.`,
    details: { contextId: key.contextId, parent },
  })
}

export function missingBlob(hash: string, { contextId }: ContextKey): HoldfastError {
  return new HoldfastError('invalid-entry', {
    message: `An entry for ${contextId} names blob ${hash}, which is not stored. Put the blob, then append again.`,
    retry: 'later',
    details: { contextId, hash },
  })
}

function fence(request: AppendRequest, head: Head, options: DecideOptions): HoldfastError | undefined {
  const { claim, epoch, entries = [], key } = request
  if (epoch !== undefined) {
    return head.lease !== undefined && head.epoch === epoch ? undefined : fenced(key, epoch, head.epoch)
  }
  if (claim === undefined) return undefined
  if (!claim.force && isOwned(head, options)) return owned(key, head)
  return entries.length > 0 && head.seq !== request.since ? moved(request, head) : undefined
}

function accept(
  request: AppendRequest,
  facts: AppendFacts & { head: Head },
  options: DecideOptions,
): AppendDecision {
  const posted = new Map<string, number>()
  const entries: StampedEntry[] = []
  const head = headDraft(facts.head)
  const at = Math.max(head.at, options.now)
  const push = (entry: StampedEntry) => {
    entries.push(entry)
    moveHead(head, entry)
  }
  for (const { key, type, data } of request.inbox ?? []) {
    const known = facts.inbox.get(key)
    if (known === undefined) {
      const limit = type === 'input' ? MAX_PENDING : 2 * MAX_PENDING
      if (head.pending >= limit && type !== 'late-result') throw inboxFull(request.key, limit)
      posted.set(key, head.seq + 1)
      push({ seq: head.seq + 1, at, turn: 0, type, v: ENTRY_KINDS.get(type)?.v ?? 1, data, key })
    } else if (known.digest !== options.digestOf(type, data)) {
      throw keyReused(request.key, key)
    }
  }
  if (request.claim !== undefined) {
    const { driver, leaseMs } = request.claim
    const turn = head.status === 'running' || head.status === 'paused' ? head.turn : 0
    const isReleased = request.entries?.at(-1)?.type === 'release'
    const attempt = isReleased ? { attempt: head.claims, drives: false } : { attempt: head.claims + 1 }
    const data = { epoch: head.epoch + 1, driver, leaseMs, ...attempt }
    push({ seq: head.seq + 1, at, turn, type: 'claim', v: ENTRY_TABLE.claim.v, data })
  }
  const taking: TakeContext = { request, facts, posted, taken: new Set() }
  for (const entry of request.entries ?? []) {
    const takes = entry.takes?.map((key) => take(key, taking))
    push(stamped(entry, { seq: head.seq + 1, at, takes }))
  }
  if (isByDriver(request)) renewLease(head, options.now)
  return { kind: 'accepted', entries, head: headOf(head) }
}

function isByDriver({ claim, epoch }: AppendRequest): boolean {
  return claim !== undefined || epoch !== undefined
}

interface TakeContext {
  readonly request: AppendRequest
  readonly facts: AppendFacts
  readonly posted: ReadonlyMap<string, number>
  readonly taken: Set<number>
}

interface Stamp {
  readonly seq: number
  readonly at: number
  readonly takes: readonly number[] | undefined
}

function stamped(entry: NewEntry, { seq, at, takes }: Stamp): StampedEntry {
  const { turn, type, data, refs, optional } = entry
  const v = entry.v ?? ENTRY_KINDS.get(type)?.v ?? 1
  // No spreads: this runs for every entry, and few have any of the other fields.
  const whole: { -readonly [K in keyof Entry]: Entry[K] } = { seq, at, turn, type, v, data }
  if (takes !== undefined && takes.length > 0) whole.takes = takes
  if (refs !== undefined && refs.length > 0) whole.refs = refs
  if (optional === true) whole.optional = true
  return whole
}

function take(key: string, { request, facts, posted, taken }: TakeContext): number {
  const known = facts.inbox.get(key)
  const seq = posted.get(key) ?? (known?.taken === 0 ? known.seq : undefined)
  if (seq === undefined || taken.has(seq)) {
    throw new HoldfastError('not-pending', {
      message: `${keyText(request.key)} has no untaken inbox entry ${quote(key)}: it was ${known || seq ? 'taken before' : 'never posted'}.`,
      details: { key },
    })
  }
  taken.add(seq)
  return seq
}

function childHead(request: AppendRequest, existing: Head | undefined, head: Head): Head {
  if (existing !== undefined || request.parent === undefined) return head
  return { ...head, parent: { contextId: request.parent, kind: 'child', at: 0 } }
}

function checkDriverEntry(entry: NewEntry): void {
  const kind = ENTRY_KINDS.get(entry.type)
  if (kind?.inbox) throw misuse(`${quote(entry.type)} is an inbox type; post it with inbox, not with entries`)
  if (STORE_TYPES.has(entry.type)) throw misuse(`${quote(entry.type)} is written by the store alone`)
  if (kind === undefined && !ENTRY_TYPE.test(entry.type))
    throw misuse(`${quote(entry.type)} is not an entry type`)
  if (!Number.isSafeInteger(entry.turn) || entry.turn < 0)
    throw misuse(`${entry.type}: turn must be 0 or a turn number`)
  if (entry.v !== undefined && !(Number.isSafeInteger(entry.v) && entry.v >= 1))
    throw misuse(`${entry.type}: v must be a format version, from 1 on`)
  if (!isObject(entry.data)) throw misuse(`${entry.type}: data must be an object`)
  for (const key of entry.takes ?? []) checkText(`${entry.type}: a key that it takes`, key)
  for (const hash of entry.refs ?? []) {
    if (!/^[0-9a-f]{64}$/.test(hash)) throw misuse(`${entry.type}: ${quote(hash)} is not the hash of a blob`)
  }
  const isCurrent = entry.v === undefined || entry.v === kind?.v
  const problem = isCurrent ? shapeProblem(entry.type, entry.data) : undefined
  if (problem !== undefined) throw misuse(`${entry.type}: ${problem}`)
}

function checkClaim({ driver, leaseMs }: { driver: string; leaseMs: number }): void {
  checkText('the driver id', driver)
  if (!Number.isSafeInteger(leaseMs) || leaseMs < 1 || leaseMs > MAX_LEASE_MS) {
    throw misuse(`leaseMs must be a whole number between 1 and ${MAX_LEASE_MS}, not ${leaseMs}`)
  }
}

function checkText(what: string, text: unknown): void {
  if (!isKeyText(text)) throw misuse(`${what} must be ${KEY_FORM}, not ${quote(text)}`)
}

function misuse(why: string): HoldfastError {
  return new HoldfastError('invalid-entry', { message: `Invalid append: ${why}.` })
}

function refuse(error: HoldfastError): AppendDecision {
  return { kind: 'refused', error }
}

function fenced(key: ContextKey, epoch: number, current: number): HoldfastError {
  const message =
    epoch === current
      ? `Epoch ${epoch} of ${keyText(key)} ended with its turn or its release. Claim again to continue.`
      : `Epoch ${epoch} no longer owns ${keyText(key)} (now at ${current}). Stop; post finished work as late-result.`
  return new HoldfastError('fenced', { message, details: { contextId: key.contextId, epoch, current } })
}

function moved({ key, since }: AppendRequest, head: Head): HoldfastError {
  return new HoldfastError('moved', {
    message: `${keyText(key)} is at ${head.seq}, not at ${since}: read the entries in between, then decide again.`,
    retry: 'later',
    details: { seq: head.seq, since },
  })
}

function behindBase({ key, since }: AppendRequest, { seq, base }: Head): HoldfastError {
  return new HoldfastError('moved', {
    message: `${keyText(key)} was pruned up to ${base}, and this append was decided at ${since}: it may be there already. Read the head, and decide again.`,
    retry: 'later',
    details: { seq, since, base },
  })
}

export function owned(key: ContextKey, head: Head): HoldfastError {
  const { driver, renewedAt, leaseMs } = head.lease ?? { driver: '', renewedAt: 0, leaseMs: 0 }
  return new HoldfastError('owned', {
    message: `${keyText(key)} is being driven by ${driver}. Watch it, post to its inbox, or try again when its lease has lapsed.`,
    retry: 'later',
    details: { contextId: key.contextId, driver, epoch: head.epoch, until: renewedAt + leaseMs },
  })
}

function inboxFull(key: ContextKey, limit: number): HoldfastError {
  return new HoldfastError('inbox-full', {
    message: `${keyText(key)} has ${limit} untaken inbox entries, which is the limit. Nothing was stored. Send it again later under the same key.`,
    retry: 'later',
    details: { contextId: key.contextId, limit },
  })
}

function idReused({ key, id }: AppendRequest): HoldfastError {
  return new HoldfastError('key-reused', {
    message: `The append id ${quote(id)} of ${keyText(key)} was used before for other entries. Every append needs an id of its own.`,
    details: { contextId: key.contextId, id },
  })
}

function repetitionPruned({ key, id }: AppendRequest): HoldfastError {
  return new HoldfastError('pruned', {
    message: `The append ${quote(id)} of ${keyText(key)} is stored, but a part of it was pruned since. Read the head and continue from there.`,
    details: { contextId: key.contextId, id },
  })
}

function keyReused(context: ContextKey, key: string): HoldfastError {
  return new HoldfastError('key-reused', {
    message: `The inbox key ${quote(key)} of ${keyText(context)} was used before with other content. Use a new key for a new message.`,
    details: { contextId: context.contextId, key },
  })
}
