/** A person's active values, in a journal of the person's own (R20). */
import type { ActiveValue, ContextKey, Owner } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { ActorState } from '../turn/index.ts'
import { changeValues, newestValues } from './actor-journal.ts'

/** The contextId of every person's state journal. */
export const STATE_CONTEXT = '~state'

export function actorState(store: Store, { tenant, actor }: Owner): ActorState {
  const key: ContextKey = { tenant, actor, contextId: STATE_CONTEXT }
  return {
    read: async () => (await newestValues<ActiveValue>(store, key, 'active')).values,
    change: (by, change) =>
      changeValues<ActiveValue>(store, key, { type: 'active', reason: 'chosen', change, more: { by } }),
  }
}
