/** The operator's API for many conversations: find stuck ones and get them going again. */
import { processIdentity, processLiveness, systemClock, systemIds } from '../base/index.ts'
import { isStarted, isUnknown, loadSession } from '../journal/index.ts'
import {
  type ContextKey,
  checkOptions,
  HoldfastError,
  invalidOption,
  type Json,
  keyText,
  type OptionSet,
  type SettledStatus,
} from '../protocol/index.ts'
import { type Head, isOwned, persist, requireStore, type Store } from '../store/index.ts'

export interface StuckConversation {
  readonly head: Head
  /** Why it is due. */
  readonly why: 'turn without a driver' | 'unread inbox' | 'overdue wake-up'
  readonly sinceMs: number
  /** How often it was claimed without progress. */
  readonly claims: number
}

export interface StuckQuery {
  readonly olderThanMs?: number
  readonly limit?: number
}

const STUCK: OptionSet<StuckQuery> = {
  place: 'listStuck()',
  options: { olderThanMs: 'a number', limit: 'a number' },
}

/** Conversations that have been due for a while, the longest first. */
export async function listStuck(
  store: Store,
  options: StuckQuery = {},
): Promise<readonly StuckConversation[]> {
  requireStore('listStuck()', store)
  checkOptions(options, STUCK)
  const { olderThanMs = 60_000, limit = 100 } = options
  const now = systemClock.now()
  const due = await store.due(limit)
  const stuck = due.map((head): StuckConversation => {
    const since = head.wakeAt !== undefined && head.wakeAt <= now ? head.wakeAt : head.at
    return { head, why: reasonOf(head, now), sinceMs: now - since, claims: head.claims }
  })
  return stuck.filter(({ sinceMs }) => sinceMs >= olderThanMs).toSorted((a, b) => b.sinceMs - a.sinceMs)
}

const SETTLE: OptionSet<Parameters<typeof settleCall>[2]> = {
  place: 'settleCall()',
  options: { callId: 'a text', status: ['ok', 'error', 'not-run'], output: null },
  foreign: { result: 'output', id: 'callId', toolCallId: 'callId' },
}

/**
 * Settles a call of unknown outcome. The next driver takes the result like a late one; a call that is still running, or
 * is settled already, keeps its own result.
 */
export async function settleCall(
  store: Store,
  key: ContextKey,
  call: {
    readonly callId: string
    readonly status: Extract<SettledStatus, 'ok' | 'error' | 'not-run'>
    readonly output: Json
  },
): Promise<void> {
  requireStore('settleCall()', store)
  checkOptions(call, SETTLE)
  const { callId, status, output } = call
  for (const [name, value] of Object.entries({ callId, status, output }))
    if (value === undefined)
      throw invalidOption('settleCall()', `needs \`${name}\` in { callId, status, output }`)
  const session = await loadSession(store, key)
  if (!isUnknown(session, callId) && !isStarted(session, callId)) {
    throw new HoldfastError('not-found', {
      message: `${keyText(key)} has no call ${callId} of unknown outcome. It may be settled already; look at its entries.`,
      details: { contextId: key.contextId, callId },
    })
  }
  const inbox = [{ type: 'late-result', key: `settle:${callId}`, data: { callId, status, output } }] as const
  await persist(store, { key, id: systemIds.next('append'), since: session.seq, inbox })
}

/**
 * Takes a conversation from its driver, alive or not, and releases it. The former driver is fenced: it starts nothing
 * more and posts the results that it still finishes.
 */
export async function takeOver(store: Store, key: ContextKey): Promise<Head> {
  requireStore('takeOver()', store)
  const head = await store.head(key)
  if (head === undefined)
    throw new HoldfastError('not-found', { message: `There is no conversation ${keyText(key)}.` })
  if (!isOwned(head, { now: systemClock.now(), liveness: processLiveness })) return head
  await persist(store, {
    key,
    id: systemIds.next('append'),
    since: head.seq,
    claim: { driver: `${processIdentity()}#operator`, leaseMs: 1, force: true },
  })
  const now = await store.head(key)
  if (now?.epoch !== head.epoch + 1) return now ?? head
  await persist(store, {
    key,
    id: systemIds.next('append'),
    since: now.seq,
    epoch: now.epoch,
    entries: [{ type: 'release', turn: now.turn, data: { reason: 'taken over' } }],
  })
  return (await store.head(key)) ?? now
}

function reasonOf(head: Head, now: number): StuckConversation['why'] {
  if (head.wakeAt !== undefined && head.wakeAt <= now) return 'overdue wake-up'
  return head.status === 'running' ? 'turn without a driver' : 'unread inbox'
}
