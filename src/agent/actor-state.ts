/**
 * What a person has chosen, in a journal of the person's own: it holds in all conversations with that person, and in
 * nobody else's (R20). Each entry has everything that is chosen, so the newest one says it all.
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

/** Every person's journal of what is chosen has this name. */
export const STATE_CONTEXT = '~state'

const NEWEST = 10
const LEASE_MS = 5000
/** How often to try again when others choose at the same time. */
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
