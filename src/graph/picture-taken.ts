/** The way that a run took through its graph, from the journal alone. */
import { isKnown } from '../journal/index.ts'
import type { ContextKey, EntryData, KnownEntry, OutcomeReason } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { END, START } from './definition.ts'

/** What a run has done so far. Plain data: it can be stored, and drawn elsewhere. */
export type Taken = {
  /** The last turn that was looked at; 0 if there is none. */
  readonly turn: number
  /** How that turn ended; absent while it goes on. */
  readonly outcome?: OutcomeReason
  /** In the order in which they were first begun. */
  readonly nodes: readonly TakenNode[]
  /** From one place to the next, by name; START and END included. */
  readonly ways: readonly TakenWay[]
}

export type TakenNode = {
  readonly node: string
  /** How many tasks of it were begun. */
  readonly runs: number
  /** How many of them have failed for good. */
  readonly failed: number
  /** How many have not come to an end. */
  readonly open: number
  /** How many of the open ones wait for somebody's answer. */
  readonly waiting: number
}

export type TakenWay = { readonly from: string; readonly to: string; readonly times: number }

type Source = Pick<Store, 'read'>

const PAGE = 500
const GRAPH_TYPES: ReadonlySet<string> = new Set(['graph.start', 'graph.step', 'node.end'])

/**
 * The run that the turn belongs to, from its start to the end of that turn; the newest turn in which a graph did
 * something, unless one is named. Nothing is taken in a conversation that has no such turn. The journal says what was
 * begun after what, not by which route: where two nodes of one step lead to the same next one, both ways count.
 */
export async function takenWays(store: Source, key: ContextKey, turn?: number): Promise<Taken> {
  const trace = new Trace()
  const entries = await runUpTo(store, key, turn)
  for (const entry of entries) trace.follow(entry)
  return trace.taken(turn ?? entries.at(-1)?.turn ?? 0)
}

/** Oldest first. Without its `graph.start` only if that was pruned. */
async function runUpTo(
  store: Source,
  key: ContextKey,
  turn: number | undefined,
): Promise<readonly KnownEntry[]> {
  const found: KnownEntry[] = []
  let last = turn
  let to = turn === undefined ? undefined : await endOf(store, key, turn)
  while (to !== 0) {
    const page = await store.read(key, { order: 'newest', limit: PAGE, ...(to === undefined ? {} : { to }) })
    for (const entry of page) {
      if (!isKnown(entry)) continue
      if (GRAPH_TYPES.has(entry.type)) last ??= entry.turn
      if (last === undefined) found.push(entry)
      else if (entry.turn <= last) found.push(entry)
      if (entry.type === 'graph.start') return found.filter((one) => one.turn <= last!).reverse()
    }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return last === undefined ? [] : found.reverse()
}
