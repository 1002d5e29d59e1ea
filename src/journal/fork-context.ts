/**
 * Forks a conversation, and with it those below that the fork goes on with: of a graph, the conversations of unfinished
 * tasks and those that all tasks of a node share. Without them, the fork would repeat their effects.
 */
import {
  type ContextKey,
  checkOptions,
  childKey,
  HoldfastError,
  keyText,
  type OptionSet,
} from '../protocol/index.ts'
import { type Head, type Receipt, requireStore, type Store } from '../store/index.ts'
import { loadSession } from './load.ts'
import { positionOf, type Session } from './session.ts'
import { nameBelow, subConversations } from './sub-conversations.ts'

const PAGE = 200

const FORK: OptionSet<{ contextId: string; at?: number }> = {
  place: 'forkContext()',
  options: { contextId: null, at: 'a number' },
}

/** Forks after entry `at` (the newest if not given), by reference. An open turn stays open but never inherits calls. */
export async function forkContext(
  store: Store,
  parent: ContextKey,
  to: { contextId: string; at?: number },
): Promise<Receipt> {
  requireStore('forkContext()', store)
  checkOptions(to, FORK)
  const session = await loadSession(store, parent, to.at)
  if (session.seq === 0) {
    const missing = to.at === undefined ? 'entries to fork from' : `entry ${to.at} to fork after`
    throw new HoldfastError('not-found', { message: `${keyText(parent)} has no ${missing}.` })
  }
  const { at = session.seq } = to
  const child = { ...parent, contextId: to.contextId }
  const isPossible = at === session.seq && (await store.head(child)) === undefined
  const isPast = isPossible && at !== (await store.head(parent))?.seq
  // Those below come first: a fork that exists is complete.
  if (isPossible) await forkBelow(store, { parent, child, session, ...(isPast ? { until: session.at } : {}) })
  return store.fork({ parent, child, at, position: positionOf(session) })
}

interface Fork {
  readonly parent: ContextKey
  readonly child: ContextKey
  /** The parent at the fork point. */
  readonly session: Session
  /** The time of the fork point, if it is in the past. */
  readonly until?: number
}

async function forkBelow(store: Store, { parent, child, session, ...time }: Fork): Promise<void> {
  if (session.graph === undefined) return
  for await (const head of subConversations(store, parent)) {
    const name = nameBelow(head.key)
    if (isContinued(session.graph.tasks, name))
      await forkOne(store, { parent: head.key, child: childKey(child, name), ...time })
  }
}

/** The conversation of a task is named after it, perhaps with a key; one that all tasks share, after its node (R17). */
function isContinued(tasks: NonNullable<Session['graph']>['tasks'], name: string): boolean {
  const isOfTask = tasks.some(
    ({ task, state }) => state !== 'ended' && (name === task || name.startsWith(`${task}.`)),
  )
  return isOfTask || name.indexOf('~') > 0
}

async function forkOne(store: Store, fork: Omit<Fork, 'session'>): Promise<void> {
  const { parent, child, until } = fork
  const at = until === undefined ? undefined : await lastBy(store, parent, until)
  if (at === 0) return
  const session = await loadSession(store, parent, at)
  if (isUnusedFork(await store.head(child), parent, session.seq)) return
  await forkBelow(store, { ...fork, session })
  await store.fork({ parent, child, at: session.seq, position: positionOf(session) })
}

/** True for the fork that an earlier attempt made before it was cut off. */
function isUnusedFork(head: Head | undefined, of: ContextKey, at: number): boolean {
  const { kind, contextId, at: forkedAt } = head?.parent ?? {}
  return kind === 'fork' && contextId === of.contextId && forkedAt === at && head?.seq === at + 1
}

/**
 * The last position by a time, 0 if there is none. Entries of the same millisecond count: an effect that is known is not
 * repeated.
 */
async function lastBy(store: Store, key: ContextKey, time: number): Promise<number> {
  for (let to = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.read(key, { to, limit: PAGE, order: 'newest' })
    const found = page.find(({ at }) => at <= time)
    if (found !== undefined) return found.seq
    const { seq = 1 } = page.at(-1) ?? {}
    if (page.length < PAGE || seq === 1) return 0
    to = seq - 1
  }
}
