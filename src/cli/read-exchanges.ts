/** Reads turns from a store, a page at a time, without cleared ones. */
import type { ContextKey, Store, TurnEvent } from 'holdfast'
import { type Entry, loadSession, type Session } from 'holdfast/journal'
import { type Exchange, exchangesOf } from './exchange.ts'

const PAGE = 1000

export async function readAll(
  store: Store,
  key: ContextKey,
): Promise<{ readonly exchanges: readonly Exchange[]; readonly session: Session }> {
  const session = await loadSession(store, key)
  const entries: Entry[] = []
  for (let from = (session.cleared ?? 0) + 1; ; ) {
    const page = await store.read(key, { from, limit: PAGE })
    entries.push(...page)
    const last = page.at(-1)
    if (last === undefined || page.length < PAGE) break
    from = last.seq + 1
  }
  return { exchanges: exchangesOf(entries, session), session }
}

/** Requested calls without a result. */
export async function waitingCalls(store: Store, key: ContextKey): Promise<Parked['calls']> {
  const { open, parked } = await loadSession(store, key)
  return (open ?? parked)?.calls ?? []
}

/** The journal before this process: its requested calls, and where it ends. */
export interface Earlier {
  readonly calls: Parked['calls']
  /** The last entry of the conversation, and of each sub-agent under way by the path of its events. */
  readonly positions: ReadonlyMap<string, number>
}

export async function readEarlier(store: Store, key: ContextKey): Promise<Earlier> {
  const calls = await waitingCalls(store, key)
  const positions = new Map<string, number>()
  await addPositions(store, key, { path: [], positions })
  return { calls, positions }
}

export function isEarlier(
  { positions }: Earlier,
  { seq, path = [] }: Pick<TurnEvent, 'seq' | 'path'>,
): boolean {
  return seq !== undefined && seq <= (positions.get(path.join('/')) ?? 0)
}

async function addPositions(
  store: Store,
  key: ContextKey,
  { path, positions }: { readonly path: readonly string[]; readonly positions: Map<string, number> },
): Promise<void> {
  if ((await store.head(key)) === undefined) return
  const { seq, open } = await loadSession(store, key)
  positions.set(path.join('/'), seq)
  for (const { callId, state } of open?.calls ?? [])
    if (state !== 'settled')
      await addPositions(
        store,
        { ...key, contextId: `${key.contextId}/${callId}` },
        { path: [...path, callId], positions },
      )
}

type Parked = NonNullable<Session['parked']>

/** The newest few turns, oldest first. */
export async function readLast(store: Store, key: ContextKey, count: number): Promise<readonly Exchange[]> {
  const { turn, cleared = 0 } = await loadSession(store, key)
  const turns = Array.from({ length: Math.min(count, turn) }, (_, index) => turn - index).toReversed()
  const entries = await Promise.all(turns.map((number) => store.read(key, { turn: number })))
  return exchangesOf(entries.flat().filter(({ seq }) => seq > cleared))
}
