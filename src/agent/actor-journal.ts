/**
 * A list of values in a journal of a person's own: shared by all conversations with that person and by no others (R20).
 * Each entry holds all values, so only the newest counts.
 */
import { processIdentity, systemIds } from '../base/index.ts'
import { type ContextKey, HoldfastError, type JsonObject } from '../protocol/index.ts'
import { persist, type Store } from '../store/index.ts'

const NEWEST = 10
const LEASE_MS = 5000
/** How often a concurrent change is retried. */
const MOST_ATTEMPTS = 20

export interface ActorValues<T> {
  readonly type: 'active' | 'grants'
  /** The reason of the release after a change. */
  readonly reason: string
  readonly change: (values: readonly T[]) => readonly T[]
  readonly more?: JsonObject
}

/** Applies a change to the newest values; repeats it if others change them meanwhile. */
export async function changeValues<T>(
  store: Store,
  key: ContextKey,
  { type, reason, change, more }: ActorValues<T>,
): Promise<readonly T[]> {
  for (let attempt = 1; ; attempt++) {
    const { seq, values } = await newestValues<T>(store, key, type)
    const changed = change(values)
    // The same list: nothing to write.
    if (changed === values) return values
    try {
      await persist(store, {
        key,
        id: systemIds.next('append'),
        since: seq,
        claim: { driver: `${processIdentity()}#state`, leaseMs: LEASE_MS },
        entries: [
          { type, turn: 0, data: { values: changed as readonly JsonObject[], ...more } },
          { type: 'release', turn: 0, data: { reason } },
        ],
      })
      return changed
    } catch (error) {
      const isRace = HoldfastError.is(error, 'moved') || HoldfastError.is(error, 'owned')
      if (!isRace || attempt >= MOST_ATTEMPTS) throw error
    }
  }
}

export async function newestValues<T>(
  store: Store,
  key: ContextKey,
  type: ActorValues<T>['type'],
): Promise<{ readonly seq: number; readonly values: readonly T[] }> {
  const entries = await store.read(key, { order: 'newest', limit: NEWEST })
  const newest = entries.find((entry) => entry.type === type)
  const { values = [] } = (newest?.data ?? {}) as { readonly values?: readonly T[] }
  return { seq: entries[0]?.seq ?? 0, values }
}
