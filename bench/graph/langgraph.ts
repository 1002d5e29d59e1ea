/**
 * The work on LangGraph.js and its savers. The packages are in the lock file of this folder, not in that of the project,
 * so they are loaded by name and only what is used of them is described here.
 */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import {
  type Engine,
  FIRST,
  type Item,
  idle,
  type Job,
  nodeOf,
  type OpenEngine,
  routeOf,
  type State,
  type StorageOptions,
  THREAD,
  type Way,
} from './work.ts'

interface Builder {
  addNode(name: string, node: (state: State) => object): Builder
  addEdge(from: string, to: string): Builder
  addConditionalEdges(from: string, route: (state: State) => Way, paths: Record<Way, string>): Builder
  compile(options: { readonly checkpointer: unknown }): Compiled
}

interface Compiled {
  invoke(input: object, config: object): Promise<State>
  getState(config: object): Promise<{ readonly values: Partial<State> }>
}

interface Connection {
  pragma(text: string): unknown
  close(): void
}

interface Packages {
  readonly StateGraph: new (state: unknown) => Builder
  readonly Annotation: ((channel?: object) => unknown) & { Root(channels: object): unknown }
  readonly START: string
  readonly END: string
  readonly MemorySaver: new () => unknown
  readonly SqliteSaver: (new (
    db: Connection,
  ) => { readonly db: Connection }) & {
    fromConnString(path: string): { readonly db: Connection }
  }
  readonly default: new (path: string) => Connection
}

const NAMES: readonly string[] = [
  '@langchain/langgraph',
  '@langchain/langgraph-checkpoint-sqlite',
  'better-sqlite3',
]
const MOST_STEPS = 100_000

/** When it says that a step is kept: before the next one, or while the next one runs, as it does unless told otherwise. */
type Durability = 'sync' | 'async'

interface Manner {
  readonly durability: Durability
  /** Leave the connection as its saver opens it. */
  readonly isAsShipped: boolean
}

/** Undefined if it is not installed. Both engines: one that is told to be as careful as Holdfast, and one that is told nothing. */
export async function langgraph(): Promise<
  { readonly careful: Engine; readonly shipped: Engine } | undefined
> {
  if (!existsSync(join(import.meta.dirname, 'node_modules/@langchain'))) return undefined
  const loaded = await Promise.all(NAMES.map((name) => import(name) as Promise<object>))
  const packages = Object.assign({}, ...loaded) as Packages
  const engine = (manner: Manner): Engine => ({
    name: 'langgraph.js',
    open: (place) => seatOn(packages, manner, place),
  })
  return {
    careful: engine({ durability: 'sync', isAsShipped: false }),
    shipped: engine({ durability: 'async', isAsShipped: true }),
  }
}

function seatOn(
  packages: Packages,
  { durability, isAsShipped }: Manner,
  { path, synchronous }: StorageOptions,
): OpenEngine {
  const config = (thread: string) => ({
    configurable: { thread_id: thread },
    recursionLimit: MOST_STEPS,
    durability,
  })
  const saver =
    path === undefined
      ? new packages.MemorySaver()
      : isAsShipped
        ? packages.SqliteSaver.fromConnString(path)
        : new packages.SqliteSaver(connection(packages, path, synchronous))
  const graphFor = (job: Job): Compiled => graphOf(packages, job).compile({ checkpointer: saver })
  return {
    run: (job) => graphFor(job).invoke({ count: FIRST.count }, config(job.thread)),
    load: async (work) => ({ ...FIRST, ...(await graphFor(idle(work)).getState(config(THREAD))).values }),
    close: async () => {
      if (path !== undefined) (saver as { readonly db: Connection }).db.close()
    },
  }
}

function connection(
  packages: Packages,
  path: string,
  synchronous: StorageOptions['synchronous'],
): Connection {
  const db = new packages.default(path)
  db.pragma('journal_mode = WAL')
  db.pragma(`synchronous = ${synchronous}`)
  return db
}

function graphOf({ StateGraph, Annotation, START, END }: Packages, job: Job): Builder {
  const [first = '', ...others] = job.work.nodes
  const items = Annotation({
    reducer: (held: readonly Item[], said: readonly Item[]) => held.concat(said),
    default: () => [],
  })
  const builder = new StateGraph(Annotation.Root({ items, count: Annotation() }))
  for (const node of job.work.nodes) builder.addNode(node, nodeOf(job))
  builder.addEdge(START, first)
  job.work.nodes.forEach((node, index) => {
    builder.addConditionalEdges(node, routeOf(job), { on: others[index] ?? first, over: END })
  })
  return builder
}
