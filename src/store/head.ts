/**
 * The head row as a pure function of the journal (R6): `advanceHead` over all entries gives the stored row. Knows only
 * ownership, waking and listing; the meaning of a conversation is the fold's.
 */
import {
  type ContextKey,
  ENTRY_KINDS,
  type Entry,
  type EntryData,
  isWaiting,
  type OutcomeReason,
  type Position,
  type TypesThat,
} from '../protocol/index.ts'
import type { Head } from './port.ts'

export function newHead(key: ContextKey, now: number): Head {
  return {
    // A copy: the caller may change its object.
    key: { ...key },
    seq: 0,
    at: 0,
    turn: 0,
    status: 'idle',
    epoch: 0,
    claims: 0,
    pending: 0,
    base: 0,
    createdAt: now,
    activeAt: now,
  }
}

/** The head at the start of a fork, or at a base whose older entries are gone. */
export function headAt(key: ContextKey, seq: number, position: Position): Head {
  const { outcome, lease, wakeAt, erasedUpTo } = position
  return {
    ...newHead(key, position.createdAt),
    seq,
    at: position.at,
    turn: position.turn,
    epoch: position.epoch,
    claims: position.claims,
    status: position.running ? 'running' : statusAfter(outcome),
    activeAt: position.activeAt,
    ...(outcome === undefined ? {} : { outcome }),
    ...(lease === undefined ? {} : { lease: { ...lease, renewedAt: position.at } }),
    ...(wakeAt === undefined ? {} : { wakeAt }),
    ...(erasedUpTo === undefined ? {} : { erasedUpTo }),
  }
}

/** A copy for a caller, who may change it. */
export function copyHead(head: Head): Head {
  const { key, lease, parent } = head
  return {
    ...head,
    key: { ...key },
    ...(lease && { lease: { ...lease } }),
    ...(parent && { parent: { ...parent } }),
  }
}

export function advanceHead(head: Head, entry: Entry): Head {
  const draft = headDraft(head)
  moveHead(draft, entry)
  return headOf(draft)
}

/** A mutable copy of a head, for folding many entries. Absent fields are undefined. */
export type HeadDraft = { -readonly [K in keyof Required<Head>]: Head[K] }

export function headDraft(head: Head): HeadDraft {
  const { key, seq, at, turn, status, outcome, epoch, lease, claims, wakeAt } = head
  const { pending, base, erasedUpTo, parent, createdAt, activeAt } = head
  return {
    key,
    seq,
    at,
    turn,
    status,
    outcome,
    epoch,
    lease,
    claims,
    wakeAt,
    pending,
    base,
    erasedUpTo,
    parent,
    createdAt,
    activeAt,
  }
}

export function headOf(draft: HeadDraft): Head {
  const { key, seq, at, turn, status, outcome, epoch, lease, claims, wakeAt } = draft
  const { pending, base, erasedUpTo, parent, createdAt, activeAt } = draft
  const head: { -readonly [K in keyof Head]: Head[K] } = {
    key,
    seq,
    at,
    turn,
    status,
    epoch,
    claims,
    pending,
    base,
    createdAt,
    activeAt,
  }
  if (outcome !== undefined) head.outcome = outcome
  if (lease !== undefined) head.lease = lease
  if (wakeAt !== undefined) head.wakeAt = wakeAt
  if (erasedUpTo !== undefined) head.erasedUpTo = erasedUpTo
  if (parent !== undefined) head.parent = parent
  return head
}

export function moveHead(head: HeadDraft, entry: Entry): void {
  head.seq = entry.seq
  head.at = entry.at
  head.pending -= entry.takes?.length ?? 0
  const kind = ENTRY_KINDS.get(entry.type)
  if (kind?.inbox) {
    head.pending += 1
    return
  }
  if (entry.type === 'base') {
    // The store writes bases, not the driver: no lease, no progress.
    head.base = Math.max(head.base, (entry.data as EntryData['base']).upTo)
    return
  }
  if (kind?.progress) head.claims = 0
  renewLease(head, entry.at)
  if (kind?.head) reducers[entry.type as TypesThat<'head'>](head, entry)
}

/** Entries of one append share their time, and so the lease. */
export function renewLease(head: HeadDraft, renewedAt: number): void {
  const { lease } = head
  if (lease === undefined || lease.renewedAt === renewedAt) return
  head.lease = { driver: lease.driver, leaseMs: lease.leaseMs, renewedAt }
}

const reducers: { readonly [T in TypesThat<'head'>]: (head: HeadDraft, entry: Entry) => void } = {
  claim(head, entry) {
    const { epoch, driver, leaseMs, attempt, drives } = entry.data as EntryData['claim']
    head.epoch = epoch
    head.lease = { driver, leaseMs, renewedAt: entry.at }
    head.claims = attempt
    // The pause of an open turn, or its wait, lasts until somebody drives.
    if (drives === false && (head.status === 'paused' || head.status === 'running')) return
    if (head.status === 'paused') head.status = 'running'
    // A wait ends with the next turn: an owner that opens none must not lose its time to wake.
    if (head.status !== 'waiting') head.wakeAt = undefined
  },
  release(head, entry) {
    const { wakeAt, pause } = entry.data as EntryData['release']
    head.lease = undefined
    // A requested pause is no failure of the turn (R7).
    if (pause) head.claims = 0
    if (wakeAt !== undefined) head.wakeAt = Math.ceil(wakeAt)
    if (pause && head.status === 'running') head.status = 'paused'
  },
  'turn.start'(head, entry) {
    head.turn = entry.turn
    head.status = 'running'
    head.wakeAt = undefined
    head.activeAt = entry.at
  },
  'turn.end'(head, entry) {
    const { outcome, wakeAt } = entry.data as EntryData['turn.end']
    head.lease = undefined
    head.outcome = outcome
    head.status = statusAfter(outcome)
    if (wakeAt !== undefined) head.wakeAt = Math.ceil(wakeAt)
  },
  clear(head) {
    head.outcome = undefined
    if (head.status === 'waiting') head.status = 'idle'
    head.wakeAt = undefined
  },
  fork(head, entry) {
    head.lease = undefined
    head.createdAt = entry.at
    head.activeAt = entry.at
    if (head.status === 'running') head.status = 'paused'
  },
}

function statusAfter(outcome: OutcomeReason | undefined): Head['status'] {
  return outcome !== undefined && isWaiting(outcome) ? 'waiting' : 'idle'
}
