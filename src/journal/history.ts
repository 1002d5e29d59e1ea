/** Fork and prune with the fold's help (R15): a store needs to be told where the conversation stood. */
import { type ContextKey, HoldfastError, keyText } from '../protocol/index.ts'
import type { PruneReceipt, Receipt, Store } from '../store/index.ts'
import { loadSession } from './load.ts'
import { positionOf } from './session.ts'

/** Branches off after entry `at` (the newest if not given), by reference. An open turn stays open but never inherits calls. */
export async function forkContext(
  store: Store,
  parent: ContextKey,
  to: { contextId: string; at?: number },
): Promise<Receipt> {
  const session = await loadSession(store, parent, to.at)
  if (session.seq === 0)
    throw new HoldfastError('not-found', { message: `${keyText(parent)} has no entries to fork from.` })
  const child = { ...parent, contextId: to.contextId }
  return store.fork({ parent, child, at: to.at ?? session.seq, position: positionOf(session) })
}

/** Deletes the oldest part and keeps at least the newest `keepTurns` turns whole, with everything that they refer to. */
export async function pruneContext(
  store: Store,
  key: ContextKey,
  { keepTurns }: { keepTurns: number },
): Promise<PruneReceipt> {
  if (!Number.isSafeInteger(keepTurns) || keepTurns < 1) {
    throw new HoldfastError('invalid-option', {
      message: `keepTurns must be a whole number from 1 on, not ${keepTurns}.`,
    })
  }
  const head = await store.head(key)
  // What lies below the fork point is the parent's.
  const floor = Math.max(head?.base ?? 0, head?.parent?.at ?? 0)
  const { window } = await loadSession(store, key)
  const kept = await firstEntryOf(store, key, (head?.turn ?? 0) - keepTurns + 1)
  let upTo = Math.min(kept, window.summary ?? kept) - 1
  while (upTo > floor) {
    const session = await loadSession(store, key, upTo)
    try {
      return await store.prune({ key, upTo, position: positionOf(session), session })
    } catch (error) {
      if (!HoldfastError.is(error, 'in-use')) throw error
      upTo = (error.details['needed'] as number) - 1
    }
  }
  return { deleted: 0, base: head?.base ?? 0 }
}

async function firstEntryOf(store: Store, key: ContextKey, turn: number): Promise<number> {
  if (turn < 1) return 1
  const entries = await store.read(key, { turn, limit: 1 })
  return entries[0]?.seq ?? 1
}
