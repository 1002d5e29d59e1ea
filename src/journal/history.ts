/** Clear, prune and recreate (R15). Uses the fold: a store needs the position of the conversation. */
import { processIdentity, systemIds } from '../base/index.ts'
import {
  type ContextKey,
  checkOptions,
  defined,
  HoldfastError,
  keyText,
  type OptionSet,
} from '../protocol/index.ts'
import {
  type Head,
  type PruneReceipt,
  persist,
  type Receipt,
  requireStore,
  type Store,
} from '../store/index.ts'
import { isKnown } from './format.ts'
import { loadSession } from './load.ts'
import { newSession, positionOf, type Session, stillOpen } from './session.ts'

const PAGE = 200

const PRUNE: OptionSet<{ keepTurns: number }> = { place: 'pruneContext()', options: { keepTurns: null } }

/**
 * Clears the messages for prompts and transcripts, with the requests that wait, those of sub-agents included; the journal keeps
 * them. Rejects with `in-use` while a turn is open, and with `owned` or `moved` if one begins meanwhile.
 */
export async function clearContext(store: Store, key: ContextKey, reason?: string): Promise<Receipt> {
  requireStore('clearContext()', store)
  const head = await store.head(key)
  if (head === undefined)
    throw new HoldfastError('not-found', { message: `There is no conversation ${keyText(key)}.` })
  if (head.status === 'running' || head.status === 'paused') throw turnOpen(key, head.turn)
  const { active = [] } = await loadSession(store, key)
  const receipt = await persist(store, {
    key,
    id: systemIds.next('append'),
    since: head.seq,
    claim: { driver: `${processIdentity()}#clear`, leaseMs: 10_000 },
    entries: [
      { type: 'clear', turn: 0, data: { reason } },
      // A selection is cleared with the messages and results that led to it.
      ...(active.length === 0 ? [] : [{ type: 'active', turn: 0, data: { values: [], by: 'clear' } }]),
      { type: 'release', turn: 0, data: { reason: 'cleared' } },
    ],
  })
  if (head.status === 'waiting') await clearWaitingBelow(store, key, { reason })
  return receipt
}

export interface ClearBelow {
  readonly reason: string | undefined
  /** Chooses by the names below the conversation. Default: all. */
  readonly isOver?: (name: string) => boolean
}

/**
 * Clears the waiting conversations below one that waits no more: nobody could answer them, and they would be due for ever.
 */
export async function clearWaitingBelow(
  store: Store,
  { contextId, ...owner }: ContextKey,
  { reason, isOver = () => true }: ClearBelow,
): Promise<void> {
  let cursor: string | undefined
  do {
    const page = await store.list({ owner, parent: contextId, status: 'waiting', ...defined({ cursor }) })
    for (const { key } of page.heads)
      if (isOver(key.contextId.slice(contextId.length + 1))) await clearUnlessDriven(store, key, reason)
    cursor = page.next
  } while (cursor !== undefined)
}

const DRIVEN = ['in-use', 'owned', 'moved'] as const

async function clearUnlessDriven(store: Store, key: ContextKey, reason: string | undefined): Promise<void> {
  try {
    await clearContext(store, key, reason)
  } catch (error) {
    const isDriven = DRIVEN.some((code) => HoldfastError.is(error, code))
    if (!isDriven) throw error
  }
}

/**
 * Deletes the oldest part and keeps at least the newest `keepTurns` turns whole, with everything that they refer to.
 * Never cuts between a question and its answer: a reply with calls, and a request, stay until they are settled and old
 * (R9).
 */
export async function pruneContext(
  store: Store,
  key: ContextKey,
  options: { keepTurns: number },
): Promise<PruneReceipt> {
  requireStore('pruneContext()', store)
  checkOptions(options, PRUNE)
  const { keepTurns } = options
  if (!Number.isSafeInteger(keepTurns) || keepTurns < 1) {
    throw new HoldfastError('invalid-option', {
      message: `keepTurns must be a whole number from 1 on, not ${keepTurns}.`,
    })
  }
  const head = await store.head(key)
  // Entries below the fork point are the parent's.
  const floor = Math.max(head?.base ?? 0, head?.parent?.at ?? 0)
  const { window } = await loadSession(store, key)
  const kept = await firstEntryOf(store, key, (head?.turn ?? 0) - keepTurns + 1)
  let upTo = Math.min(kept, window.summary ?? kept) - 1
  while (upTo > floor) {
    const session = await loadSession(store, key, upTo)
    const since = await oldestOpen(store, key, session)
    if (since <= upTo) {
      upTo = since - 1
      continue
    }
    try {
      return await store.prune({ key, upTo, position: positionOf(session), session })
    } catch (error) {
      if (!HoldfastError.is(error, 'in-use')) throw error
      upTo = (error.details['needed'] as number) - 1
    }
  }
  return { deleted: 0, base: head?.base ?? 0 }
}

/**
 * Recreates an erased conversation as a new and empty one with the same contextId. Nothing of the old one comes back,
 * its forks and sub-conversations stay erased, and processes that still have it open are refused with `erased`. Rejects
 * with `exists` if the conversation is not erased, and with `not-found` if there never was one.
 */
export async function recreateContext(store: Store, key: ContextKey): Promise<Head> {
  requireStore('recreateContext()', store)
  const head = await store.head(key)
  const { seq: upTo = 0, epoch = 0 } = head ?? {}
  const window = { from: upTo + 1, messages: 0 }
  const session: Session = { ...newSession(), seq: upTo, epoch, window, erasedUpTo: upTo }
  return store.recreate({ key, upTo, session })
}

/** Position of the oldest open call or request; after the session if there is none, or if it is gone. */
async function oldestOpen(store: Store, key: ContextKey, session: Session): Promise<number> {
  const { calls, requests } = stillOpen(session)
  const unseen = new Set(requests.map(({ requestId }) => requestId))
  let inRound = calls.length > 0
  let since = session.seq + 1
  for (let to = session.seq; to > 0 && (inRound || unseen.size > 0); ) {
    const page = await store.read(key, { to, limit: PAGE, order: 'newest' })
    for (const entry of page.filter(isKnown)) {
      if (entry.type === 'request.start' && unseen.delete(entry.data.requestId)) since = entry.seq
      if (entry.type === 'model.end' && inRound) {
        inRound = false
        since = entry.seq
      }
    }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return since
}

async function firstEntryOf(store: Store, key: ContextKey, turn: number): Promise<number> {
  if (turn < 1) return 1
  const entries = await store.read(key, { turn, limit: 1 })
  return entries[0]?.seq ?? 1
}

function turnOpen(key: ContextKey, turn: number): HoldfastError {
  return new HoldfastError('in-use', {
    message: `Turn ${turn} of ${keyText(key)} is open. Let it end, or cancel it, before you clear the conversation.`,
    retry: 'later',
    details: { contextId: key.contextId, turn },
  })
}
