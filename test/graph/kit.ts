/** Shared by the tests of graphs: stores, runs as short lines, and the updates of each node. */
import type { Channels, Graph, GraphEvent, GraphRun, GraphSnapshot, StateOf } from '../../src/graph/index.ts'
import { type EntryData, type EntryType, isDelta, LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { openSqlite, sqlitePath } from '../turn/kit.ts'

export interface Place {
  readonly store: Store
  /** The same journals as another process finds them, where possible. */
  readonly another: () => Store
}

/** For `describe.each`: the same sequences on every store. */
export const PLACES: readonly (readonly [string, () => Place])[] = [
  ['memory', memoryPlace],
  ['sqlite', sqlitePlace],
]

function memoryPlace(): Place {
  const store = memoryStore()
  return { store, another: () => store }
}

function sqlitePlace(): Place {
  const path = sqlitePath()
  return { store: openSqlite(path), another: () => openSqlite(path) }
}

/** All events of a run, one line each: the type, the subject, and after an `@` the path. */
export async function lines<C extends Channels>(run: GraphRun<C>): Promise<string[]> {
  const told: string[] = []
  for await (const event of run) told.push(line(event))
  return told
}

function line(event: GraphEvent): string {
  const about = isDelta(event) ? [] : (WORDS[event.type] as About | undefined)?.(event.data)
  const place = event.path.length === 0 ? '' : `@${event.path.join('/')}`
  return [event.type, ...(about ?? []), place].filter((word) => word !== '').join(' ')
}

type Words = readonly string[]
type About = (data: EntryData[EntryType]) => Words

const WORDS: { readonly [T in EntryType]?: (data: EntryData[T]) => Words } = {
  input: ({ values = {} }) => Object.keys(values),
  'graph.step': ({ tasks }) => (tasks.length === 0 ? ['-'] : tasks.map(({ node }) => node)),
  'node.end': ({ node, error }) => (error === undefined ? [node] : [node, 'failed']),
  'effect.start': ({ key }) => [key],
  'effect.end': ({ status }) => [status],
  'request.start': ({ requestId }) => [requestId],
  'request.end': ({ requestId, how }) => [requestId, how],
  warning: ({ code }) => [code],
  'turn.end': ({ outcome, limit = '' }) => [outcome, limit],
}

/** The ended nodes of a conversation, in the order of their ends. */
export async function nodesOf(store: Store, contextId: string): Promise<string[]> {
  const entries = await store.read({ ...LOCAL_OWNER, contextId })
  return entries.flatMap(({ type, data }) =>
    type === 'node.end' && data['error'] === undefined ? [data['node'] as string] : [],
  )
}

export async function historyOf<C extends Channels>(
  graph: Graph<C>,
  contextId: string,
): Promise<GraphSnapshot<C>[]> {
  const snapshots: GraphSnapshot<C>[] = []
  for await (const snapshot of graph.history({ contextId })) snapshots.push(snapshot)
  return snapshots
}

/** After each step of a conversation: its nodes, and their updates. */
export async function statesAfter<C extends Channels>(
  graph: Graph<C>,
  contextId: string,
): Promise<[string, StateOf<C>][]> {
  const snapshots = await historyOf(graph, contextId)
  return snapshots.flatMap(({ state }, index) => {
    const ran = snapshots[index - 1]?.next ?? []
    return ran.length === 0 ? [] : [[ran.map(({ node }) => node).join('+'), state]]
  })
}
