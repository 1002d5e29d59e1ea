/**
 * A person's active values, in a journal of the person's own: shared by all conversations with that person and by no
 * others (R20). Each entry holds all values, so only the newest counts.
 */
import { processIdentity, systemIds } from '../base/index.ts'
import {
  type ActiveValue,
  type ContextKey,
  type EntryData,
  HoldfastError,
  type Owner,
} from '../protocol/index.ts'
import { persist, type Store } from '../store/index.ts'
import type { ActorState } from '../turn/index.ts'

/** The contextId of every person's state journal. */
export const STATE_CONTEXT = '~state'

const NEWEST = 10
const LEASE_MS = 5000
/** How often a concurrent change is retried. */
const MOST_ATTEMPTS = 20

export function actorState(store: Store, { tenant, actor }: Owner): ActorState {
  const key: ContextKey = { tenant, actor, contextId: STATE_CONTEXT }
  return {
    read: async () => (await newest(store, key)).values,
    change: async (by, change) => {
      for (let attempt = 1; ; attempt++) {
        const { seq, values } = await newest(store, key)
        const changed = change(values)
        try {
          await persist(store, {
            key,
            id: systemIds.next('append'),
            since: seq,
            claim: { driver: `${processIdentity()}#state`, leaseMs: LEASE_MS },
            entries: [
              { type: 'active', turn: 0, data: { values: changed, by } },
              { type: 'release', turn: 0, data: { reason: 'chosen' } },
            ],
          })
          return changed
        } catch (error) {
          const isRace = HoldfastError.is(error, 'moved') || HoldfastError.is(error, 'owned')
          if (!isRace || attempt >= MOST_ATTEMPTS) throw error
        }
      }
    },
  }
}

async function newest(
  store: Store,
  key: ContextKey,
): Promise<{ seq: number; values: readonly ActiveValue[] }> {
  const entries = await store.read(key, { order: 'newest', limit: NEWEST })
  const chosen = entries.find(({ type }) => type === 'active')
  const { values = [] } = (chosen?.data ?? {}) as Partial<EntryData['active']>
  return { seq: entries[0]?.seq ?? 0, values }
}
