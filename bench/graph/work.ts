/**
 * The work that both do: a graph that goes round. Each step adds one item of about 200 bytes to a list and counts. What is
 * measured is when nodes begin, so the time of a step is all that lies between two of them: the node, its route, and making
 * both durable.
 */

export interface State {
  readonly items: readonly Item[]
  readonly count: number
}

export interface Item {
  readonly n: number
  readonly text: string
}

export interface Work {
  readonly name: string
  /** One after the other, and then from the front. */
  readonly nodes: readonly string[]
  /** Do nodes look at the list? */
  readonly reads: boolean
}

/** A framework under test. */
export interface Engine {
  readonly name: string
  open(place: StorageOptions): OpenEngine
}

export interface StorageOptions {
  /** In memory if there is none. */
  readonly path?: string
  readonly synchronous: 'FULL' | 'NORMAL'
}

/** An engine with its storage open. */
export interface OpenEngine {
  run(job: Job): Promise<State>
  /** The state of `THREAD` as it is stored. */
  load(work: Work): Promise<State>
  close(): Promise<void>
}

/** One run of some work. */
export interface Job {
  readonly work: Work
  readonly steps: number
  /** Names the conversation. */
  readonly thread: string
  /** Called when a node begins, before it does anything else. */
  readonly begins: (step: number) => void
}

export const THREAD = 'bench'
export const FIRST: State = { items: [], count: 0 }
const FILLER = 'The quarterly report for the northern region is due on Friday. '.repeat(3).slice(0, 172)

function itemOf(n: number): Item {
  return { n, text: `${n}: ${FILLER}` }
}

/** The function of every node. */
export function nodeOf({ work, begins }: Job): (state: State) => { items: Item[]; count: number } {
  return (state) => {
    const n = state.count + 1
    begins(n)
    if (work.reads && state.items.length !== n - 1)
      throw new Error(`Step ${n} was shown ${state.items.length} items.`)
    return { items: [itemOf(n)], count: n }
  }
}

export type Way = 'on' | 'over'

/** The function of every route. */
export function routeOf({ steps }: Job): (state: State) => Way {
  return ({ count }) => (count < steps ? 'on' : 'over')
}

/** A job for whoever only looks. */
export function idle(work: Work): Job {
  return { work, steps: 0, begins: () => {}, thread: THREAD }
}

/** Throws unless it is what `steps` steps leave. */
export function checkState({ items, count }: State, steps: number, who: string): void {
  const isRight =
    count === steps &&
    items.length === steps &&
    items.every(({ n, text }, index) => n === index + 1 && text === itemOf(n).text)
  if (!isRight)
    throw new Error(`${who} has counted ${count} and has ${items.length} items after ${steps} steps.`)
}
