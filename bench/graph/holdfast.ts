/** The work on Holdfast. Every step is durable before the next one begins. */
import { memoryStore, type Store } from 'holdfast'
import { type Channel, END, type Graph, graph, list, START, value } from 'holdfast/graph'
import { sqliteStore } from 'holdfast/sqlite'
import {
  type Engine,
  FIRST,
  type Item,
  idle,
  type Job,
  nodeOf,
  type OpenEngine,
  routeOf,
  type StorageOptions,
  THREAD,
} from './work.ts'

type Parts = {
  readonly items: Channel<readonly Item[], Item | readonly Item[]>
  readonly count: Channel<number>
}

const MOST_STEPS = 100_000

export const holdfast: Engine = { name: 'holdfast', open: seatOn }

function seatOn({ path, synchronous }: StorageOptions): OpenEngine {
  const store = path === undefined ? memoryStore() : sqliteStore(path, { synchronous })
  return {
    run: async (job) => {
      const outcome = await graphFor(job, store).invoke({ count: FIRST.count }, { contextId: job.thread })
      return outcome.state
    },
    load: async (work) => (await graphFor(idle(work), store).getState({ contextId: THREAD }))?.state ?? FIRST,
    close: () => store.close(),
  }
}

function graphFor(job: Job, store: Store): Graph<Parts> {
  const [first = '', ...others] = job.work.nodes
  const state: Parts = { items: list<Item>(), count: value(0) }
  const builder = graph({ state }).addNode(first, nodeOf(job)).addEdge(START, first)
  for (const node of others) builder.addNode(node, nodeOf(job))
  job.work.nodes.forEach((node, index) => {
    builder.addConditionalEdges(node, routeOf(job), { on: others[index] ?? first, over: END })
  })
  return builder.compile({ store, limits: { steps: MOST_STEPS } })
}
