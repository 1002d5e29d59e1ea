/** The trace of a run through its graph: nodes and edges with their counts, from the journal alone. */
import { isKnown } from '../journal/index.ts'
import type { ContextKey, EntryData, KnownEntry, OutcomeReason } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { END, START } from './definition.ts'

/** The nodes and edges that a run has used so far, as plain data. */
export type RunTrace = {
  /** The last turn included; 0 if there is none. */
  readonly turn: number
  /** The outcome of that turn; absent while it runs. */
  readonly outcome?: OutcomeReason
  /** In the order of their first start. */
  readonly nodes: readonly TracedNode[]
  /** By the names of their ends; START and END included. */
  readonly edges: readonly TracedEdge[]
}

export type TracedNode = {
  readonly node: string
  /** The number of tasks started. */
  readonly runs: number
  /** The number of tasks that have failed for good. */
  readonly failed: number
  /** The number of tasks that have not ended. */
  readonly open: number
  /** The number of open tasks that wait for an answer. */
  readonly waiting: number
}

export type TracedEdge = { readonly from: string; readonly to: string; readonly times: number }

type Source = Pick<Store, 'read'>

const PAGE = 500
const OF_GRAPHS: ReadonlySet<string> = new Set(['graph.start', 'graph.step', 'node.end'])
const READ: ReadonlySet<string> = new Set([
  ...OF_GRAPHS,
  ...['request.start', 'request.end', 'turn.start', 'turn.end'],
])

/**
 * Traces the run of `turn` from its start to the end of that turn; by default the newest turn with entries of a graph.
 * Without such a turn the trace is empty. The journal has the order of tasks, not their routes: where two nodes of one
 * step lead to the same next one, both edges count.
 */
export async function traceRun(store: Source, key: ContextKey, turn?: number): Promise<RunTrace> {
  const trace = new Trace()
  const entries = await runUpTo(store, key, turn)
  for (const entry of entries) trace.follow(entry)
  return trace.result(turn ?? entries.at(-1)?.turn ?? 0)
}

/** Oldest first. Lacks its `graph.start` only if that was pruned. */
async function runUpTo(
  store: Source,
  key: ContextKey,
  turn: number | undefined,
): Promise<readonly KnownEntry[]> {
  const found: KnownEntry[] = []
  let to = turn === undefined ? Number.MAX_SAFE_INTEGER : await lastOf(store, key, turn)
  let isWhole = false
  while (to > 0 && !isWhole) {
    const page = await store.read(key, { to, order: 'newest', limit: PAGE })
    for (const entry of page) {
      if (isWhole || !isKnown(entry) || !READ.has(entry.type)) continue
      found.push(entry)
      isWhole = entry.type === 'graph.start'
    }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  const last = found.find(({ type }) => OF_GRAPHS.has(type))?.turn ?? 0
  return found.filter((entry) => entry.turn <= (turn ?? last)).reverse()
}

async function lastOf(store: Source, key: ContextKey, turn: number): Promise<number> {
  const [last] = await store.read(key, { turn, order: 'newest', limit: 1 })
  return last?.seq ?? 0
}

interface TracedTask {
  readonly node: string
  state: 'open' | 'ended' | 'failed'
}

class Trace {
  readonly #tasks = new Map<string, TracedTask>()
  readonly #asking = new Map<string, string>()
  readonly #edges = new Map<string, { readonly from: string; readonly to: string; times: number }>()
  #before: readonly string[] = []
  #waiting: NonNullable<EntryData['graph.step']['waiting']> = {}
  #isOver = false
  #outcome: OutcomeReason | undefined

  follow({ type, data }: KnownEntry): void {
    if (type === 'graph.start') this.#before = [START]
    else if (type === 'graph.step') this.#step(data)
    else if (type === 'node.end') this.#end(data)
    else if (type === 'request.start') this.#asking.set(data.requestId, data.callId ?? '')
    else if (type === 'request.end') this.#asking.delete(data.requestId)
    else if (type === 'turn.end') this.#outcome = data.outcome
    else if (type === 'turn.start') this.#resume()
  }

  result(turn: number): RunTrace {
    if (this.#isOver && this.#outcome === 'stop') this.#lead(this.#before, [END])
    const asking = new Set(this.#asking.values())
    const nodes = new Map<string, TracedNode>()
    for (const [task, { node, state }] of this.#tasks) {
      const { runs, failed, open, waiting } = nodes.get(node) ?? { runs: 0, failed: 0, open: 0, waiting: 0 }
      nodes.set(node, {
        node,
        runs: runs + 1,
        failed: failed + Number(state === 'failed'),
        open: open + Number(state === 'open'),
        waiting: waiting + Number(state === 'open' && asking.has(task)),
      })
    }
    const outcome = this.#outcome === undefined ? {} : { outcome: this.#outcome }
    const edges = [...this.#edges.values()].map((edge): TracedEdge => ({ ...edge }))
    return { turn, ...outcome, nodes: [...nodes.values()], edges }
  }

  #step({ tasks, waiting = {} }: EntryData['graph.step']): void {
    const begun = [...new Set(tasks.map(({ node }) => node))]
    this.#isOver = begun.length === 0
    this.#lead(this.#before, begun)
    for (const [join, arrived] of Object.entries(this.#waiting)) {
      const to = join.slice(join.indexOf('>') + 1)
      const earlier = arrived.filter((node) => !this.#before.includes(node))
      if (!Object.hasOwn(waiting, join) && begun.includes(to)) this.#lead(earlier, [to])
    }
    this.#waiting = waiting
    for (const { task, node } of tasks) this.#tasks.set(task, { node, state: 'open' })
    if (begun.length > 0) this.#before = begun
  }

  #lead(from: readonly string[], to: readonly string[]): void {
    for (const one of from)
      for (const other of to) {
        const edge = this.#edges.get(`${one}>${other}`) ?? { from: one, to: other, times: 0 }
        edge.times++
        this.#edges.set(`${one}>${other}`, edge)
      }
  }

  #end({ task, node, error }: EntryData['node.end']): void {
    const known = this.#tasks.get(task) ?? { node, state: 'open' }
    this.#tasks.set(task, known)
    if (known.state === 'ended') return
    if (error === undefined) known.state = 'ended'
    else if (error['next'] !== 'retry') known.state = 'failed'
  }

  #resume(): void {
    this.#outcome = undefined
    for (const task of this.#tasks.values()) if (task.state === 'failed') task.state = 'open'
  }
}
