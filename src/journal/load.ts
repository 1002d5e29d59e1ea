/** Loads a session from a store: the newest snapshot or base, and the entries after it. */
import { type ContextKey, type EntryData, HoldfastError, keyText } from '../protocol/index.ts'
import { requireStore, type Store } from '../store/index.ts'
import { fold } from './fold.ts'
import { withoutAbsent } from './fold-draft.ts'
import { sizeOf } from './graph-state.ts'
import { newSession, SESSION_FORMAT, type Session } from './session.ts'

type Source = Pick<Store, 'read' | 'base' | 'loadSnapshot'>

const PAGE = 500
/** Attempts under concurrent prunes. */
const ATTEMPTS = 5
/** A snapshot pays off when it spares the next reader about this many entries, and its own write. */
const SNAPSHOT_EVERY = 200

/** The session at the newest entry, or after entry `at`. A conversation without entries gives a new one. */
export async function loadSession(
  store: Source,
  key: ContextKey,
  at: number = Number.MAX_SAFE_INTEGER,
): Promise<Session> {
  requireStore('loadSession()', store)
  return (await loadSince(store, key, at)).session
}

/** The same, with the position of its snapshot or base; 0 if there is none. */
export async function loadSince(
  store: Source,
  key: ContextKey,
  at: number = Number.MAX_SAFE_INTEGER,
): Promise<{ readonly session: Session; readonly since: number }> {
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const start = await startingPoint(store, key, at)
    const session = await foldFrom(start, { store, key, at })
    if (session !== undefined) return { session, since: start.seq }
  }
  throw new HoldfastError('entry-corrupt', {
    message: `Entries of ${keyText(key)} are missing between its base and its end. Check the store; for a SQLite file, call checkSqlite() from holdfast/sqlite/repair.`,
    details: { contextId: key.contextId },
  })
}

/** Undefined if the entries do not follow: a concurrent prune has made a newer base. */
async function foldFrom(
  start: Session,
  { store, key, at }: { store: Source; key: ContextKey; at: number },
): Promise<Session | undefined> {
  let session = start
  for (;;) {
    const entries = await store.read(key, { from: session.seq + 1, to: at, limit: PAGE })
    const [first] = entries
    if (first === undefined) return session
    if (first.seq !== session.seq + 1) return undefined
    session = fold(entries, session)
    if (entries.length < PAGE) return session
  }
}

/** Saves a snapshot if it spares the next reader enough work. `since`: position of the last known snapshot. */
export async function saveSession(
  store: Pick<Store, 'saveSnapshot'>,
  key: ContextKey,
  save: { session: Session; since: number },
): Promise<boolean> {
  const { session } = save
  if (!isWorthSaving(save)) return false
  await store.saveSnapshot(key, { seq: session.seq, format: SESSION_FORMAT, state: withoutAbsent(session) })
  return true
}

/** Measures a graph's state only when enough was written for a session without one. */
export function isWorthSaving({ session, since }: { session: Session; since: number }): boolean {
  const written = session.seq - since
  return written >= SNAPSHOT_EVERY && written >= SNAPSHOT_EVERY + sizeOf(session.graph?.state ?? {})
}

async function startingPoint(store: Source, key: ContextKey, at: number): Promise<Session> {
  const snapshot = await store.loadSnapshot(key, { format: SESSION_FORMAT, atMost: at })
  if (snapshot !== undefined) return snapshot.state as Session
  const base = (await store.base(key))?.data as EntryData['base'] | undefined
  if (base === undefined) return newSession()
  if (base.upTo <= at) return base.session as Session
  throw new HoldfastError('pruned', {
    message: `Entry ${at} of ${keyText(key)} was pruned; the oldest readable position is ${base.upTo}.`,
    details: { at, base: base.upTo },
  })
}
