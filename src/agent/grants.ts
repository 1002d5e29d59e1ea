/** Grants: those of a person in all conversations, and the list and revocation of both kinds. */
import { processIdentity, systemIds } from '../base/index.ts'
import { loadSession } from '../journal/index.ts'
import type { PersonGrants } from '../loop/index.ts'
import {
  type ContextKey,
  contextKey,
  type Grant,
  type GrantScope,
  HoldfastError,
  keyText,
  type Owner,
  patternsOf,
  withGrants,
  withoutGrants,
} from '../protocol/index.ts'
import { persist, requireStore, type Store } from '../store/index.ts'
import { changeValues, newestValues } from './actor-journal.ts'

/** The contextId of the journal of every person's grants. */
export const GRANTS_CONTEXT = '~grants'

export interface ListedGrant {
  readonly pattern: string
  readonly scope: Exclude<GrantScope, 'once'>
  /** The person that it counts for: one of the conversation's, or its owner. */
  readonly actor: string
  readonly at: Date
}

export function personGrants(store: Store, { tenant, actor }: Owner): PersonGrants {
  const key = grantsKey({ tenant, actor })
  return {
    read: async () => (await newestValues<Grant>(store, key, 'grants')).values,
    add: async (patterns, at) => {
      const change = (values: readonly Grant[]): readonly Grant[] => {
        const known = patternsOf(values, { tenant, actor })
        const isNew = patterns.some((pattern) => !known.includes(pattern))
        return isNew ? withGrants(values, patterns, { tenant, actor, at }) : values
      }
      await changeValues<Grant>(store, key, { type: 'grants', reason: 'granted', change })
    },
  }
}

/** The grants of a conversation, and those of its owner in all conversations, each kind oldest first. */
export async function listGrants(store: Store, key: ContextKey): Promise<readonly ListedGrant[]> {
  requireStore('listGrants()', store)
  const { grants = [] } = await loadSession(store, key)
  const { values } = await newestValues<Grant>(store, grantsKey(key), 'grants')
  const given =
    (scope: ListedGrant['scope']) =>
    ({ pattern, actor, at }: Grant) => ({
      pattern,
      scope,
      actor,
      at: new Date(at),
    })
  return [...grants.map(given('session')), ...values.map(given('always'))]
}

/**
 * Ends the grants with this text, or all without one: every person's in the conversation, and the owner's own in all
 * conversations. Returns the number of grants that ended. Rejects with `in-use` while a turn of the conversation is open.
 */
export async function revokeGrants(store: Store, key: ContextKey, pattern?: string): Promise<number> {
  requireStore('revokeGrants()', store)
  const { tenant, actor } = contextKey(key)
  const patterns = pattern === undefined ? undefined : [pattern]
  const owner = { tenant, actor }
  let ended = 0
  const change = (values: readonly Grant[]): readonly Grant[] => {
    const left = withoutGrants(values, owner, patterns)
    ended = values.length - left.length
    return ended === 0 ? values : left
  }
  await changeValues<Grant>(store, grantsKey(key), { type: 'grants', reason: 'revoked', change })
  return ended + (await revokeInConversation(store, key, patterns))
}

/** Revokes grants in the conversation, for every person of it. */
async function revokeInConversation(
  store: Store,
  key: ContextKey,
  patterns: readonly string[] | undefined,
): Promise<number> {
  const head = await store.head(key)
  if (head === undefined) return 0
  const { grants = [] } = await loadSession(store, key)
  const left = patterns === undefined ? [] : grants.filter(({ pattern }) => !patterns.includes(pattern))
  if (left.length === grants.length) return 0
  if (head.status === 'running' || head.status === 'paused')
    throw new HoldfastError('in-use', {
      message: `Turn ${head.turn} of ${keyText(key)} is open: its grants can be revoked when it has ended.`,
      details: { contextId: key.contextId, turn: head.turn },
    })
  await persist(store, {
    key,
    id: systemIds.next('append'),
    since: head.seq,
    claim: { driver: `${processIdentity()}#grants`, leaseMs: 10_000 },
    entries: [
      { type: 'grants', turn: 0, data: { values: left } },
      { type: 'release', turn: 0, data: { reason: 'revoked' } },
    ],
  })
  return grants.length - left.length
}

function grantsKey({ tenant, actor }: Owner): ContextKey {
  return { tenant, actor, contextId: GRANTS_CONTEXT }
}
