/**
 * A second specification of random graphs, without a journal: a plain interpreter of their data. Its only other input
 * is the set of effects of unknown outcome.
 */
import { isDeepStrictEqual } from 'node:util'
import { END, START } from '../../src/graph/index.ts'
import {
  answerOf,
  type GraphSpec,
  keyOf,
  mixed,
  type NodeSpec,
  questionsOf,
  routeOf,
  type Seen,
  sayingOf,
} from './random-graphs.ts'
import { type Reading, taskLine } from './recovery-checks.ts'

interface Task {
  readonly name: string
  readonly node: NodeSpec
  readonly input: unknown
  state: 'begun' | 'ended' | 'failed' | 'asking'
  attempt: number
  failures: number
  code: string
  said?: Seen
  readonly known: Map<string, 'ok' | 'unknown' | { readonly failedAt: number; readonly tries: number }>
  readonly answered: Set<string>
}

class Failure extends Error {
  readonly code: string

  constructor(code: string) {
    super(code)
    this.code = code
  }
}

class Asks extends Error {
  readonly question: string

  constructor(question: string) {
    super(question)
    this.question = question
  }
}

const MOST_TURNS = 200

/** `isUnknown`: by the call. */
export function modelOf(spec: GraphSpec, isUnknown: (callId: string) => boolean): Reading {
  return new Model(spec, isUnknown).play()
}

class Model {
  readonly #spec: GraphSpec
  readonly #isUnknown: (callId: string) => boolean
  readonly #steps: string[] = []
  readonly #ends: string[] = []
  readonly #attempts = new Map<string, string[]>()
  #state: Seen = { log: ['begun'], seen: {}, count: 0, mix: 7 }
  #tasks: Task[] = []
  #after: readonly string[] = []
  #waiting: Record<string, readonly string[]> = {}
  #turn = 1
  #step = 0
  #count = 0

  constructor(spec: GraphSpec, isUnknown: (callId: string) => boolean) {
    this.#spec = spec
    this.#isUnknown = isUnknown
  }

  play(): Reading {
    this.#note()
    let failures = 0
    for (; this.#turn < MOST_TURNS; this.#turn++) {
      const end = this.#turnLoop()
      this.#ends.push(`turn ${this.#turn}: ${end}`)
      if (end === 'stop') break
      if (end.startsWith('failed')) failures += 1
      if (end.startsWith('failed') && (failures > this.#spec.tries || end.includes('unknown-outcome'))) break
      this.#step = 0
      for (const task of this.#tasks) if (task.state !== 'ended') this.#takeUp(task)
    }
    const tasks = [...this.#attempts].map(([task, attempts]) => taskLine(task, attempts))
    return { steps: this.#steps, tasks, ends: this.#ends }
  }

  #takeUp(task: Task): void {
    if (task.state === 'failed') task.failures = 0
    task.state = 'begun'
  }

  #turnLoop(): string {
    for (;;) {
      for (const task of this.#tasks) if (task.state === 'begun') this.#run(task)
      const failed = this.#tasks.find(({ state }) => state === 'failed')
      if (failed !== undefined) return `failed ${failed.code} ${failed.node.name} ${failed.name}`
      const asking = this.#tasks.filter(({ state }) => state === 'asking')
      for (const task of asking) task.answered.add(task.code)
      if (asking.length > 0) return 'input-required'
      const sayings = this.#tasks.map(({ said }) => said as Seen)
      if (sayings.filter(({ last }) => last !== undefined).length > 1) return 'failed conflicting-update'
      this.#join(sayings)
      if (this.#tasks.length > 0) this.#after = this.#tasks.map(({ node }) => node.name)
      const end = this.#continueTurn()
      if (end !== undefined) return end
    }
  }

  #join(sayings: readonly Seen[]): void {
    for (const { log, seen, count, mix, last } of sayings)
      this.#state = {
        log: [...this.#state.log, ...log],
        seen: { ...this.#state.seen, ...seen },
        count: this.#state.count + count,
        mix: mixed(this.#state.mix, mix),
        ...(last === undefined ? { last: this.#state.last } : { last }),
      }
  }

  #continueTurn(): string | undefined {
    const { stepLimit = 50 } = this.#spec
    const { targets, waiting } = this.#leading()
    const isAtLimit = targets.length > 0 && this.#step >= stepLimit
    if (!isAtLimit) this.#waiting = waiting
    const begun = isAtLimit ? [] : targets
    this.#tasks = begun.map(({ node, input }, index) => ({
      name: `${node}.${this.#count + index + 1}`,
      node: this.#spec.nodes.find(({ name }) => name === node) as NodeSpec,
      input,
      state: 'begun',
      attempt: 1,
      failures: 0,
      code: '',
      known: new Map(),
      answered: new Set(),
    }))
    this.#count += begun.length
    for (const { name } of this.#tasks) this.#attempts.set(name, [])
    if (begun.length > 0) this.#step += 1
    this.#note()
    if (isAtLimit) return 'limit steps'
    return targets.length === 0 ? 'stop' : undefined
  }

  #leading() {
    const { edges, branches, nodes, bound } = this.#spec
    const ended = new Set(this.#after.length === 0 ? [START] : this.#after)
    const names = new Set<string>()
    const sent: { node: string; input: unknown }[] = []
    const waiting: Record<string, readonly string[]> = {}
    for (const { from, to } of edges) {
      const join = `${from.join('+')}>${to}`
      const arrived = from.filter((node) => ended.has(node) || this.#waiting[join]?.includes(node))
      if (arrived.length === from.length) names.add(to)
      else if (arrived.length > 0) waiting[join] = arrived
    }
    for (const branch of branches.filter(({ from }) => ended.has(from)))
      for (const one of routeOf(branch, this.#state, bound))
        if (typeof one === 'string') names.add(one)
        else sent.push(one)
    const plain = nodes
      .filter(({ name }) => names.has(name))
      .map(({ name: node }) => ({ node, input: undefined }))
    return { targets: [...plain, ...sent].filter(({ node }) => node !== END), waiting }
  }

  /** Runs until the node ends, asks, or is not retried. */
  #run(task: Task): void {
    const attempts = this.#attempts.get(task.name) ?? []
    while (task.state === 'begun') {
      try {
        task.said = this.#attempt(task)
        task.state = 'ended'
        attempts.push('ended')
      } catch (error) {
        if (error instanceof Asks) {
          task.state = 'asking'
          task.code = error.question
          return
        }
        if (!(error instanceof Failure)) throw error
        task.attempt += 1
        task.failures += 1
        task.code = error.code
        if (task.failures >= task.node.attempts || error.code === 'unknown-outcome') task.state = 'failed'
        attempts.push(`${error.code} ${task.state === 'failed' ? 'fail' : 'retry'}`)
      }
    }
  }

  #attempt(task: Task): Seen {
    const { node, attempt, input } = task
    const told: string[] = []
    const ask = (name: string) => {
      if (!task.answered.has(name)) throw new Asks(name)
      told.push(answerOf({ name }))
    }
    for (const name of questionsOf(node.asks, 0)) ask(name)
    if (!node.failsLate && attempt <= node.fails) throw new Failure('node-failed')
    let failure: Failure | undefined
    for (const index of node.steps.keys()) {
      if (failure !== undefined && !node.isParallel) break
      const done = this.#doStep(task, index)
      if (typeof done === 'string') told.push(done)
      else failure ??= done
    }
    if (failure !== undefined) throw failure
    for (const name of questionsOf(node.asks, 1)) ask(name)
    if (attempt <= node.fails) throw new Failure('node-failed')
    return sayingOf(node, this.#state, [...told, `end ${JSON.stringify(input ?? null)}`])
  }

  #doStep({ name, node, attempt, known }: Task, index: number): string | Failure {
    const key = keyOf(index)
    const before = known.get(key)
    if (before === undefined || (typeof before === 'object' && before.failedAt < attempt)) {
      const tries = (before?.tries ?? 0) + 1
      const callId = `${name}/${key}${tries === 1 ? '' : `/${tries}`}`
      const isFailing = attempt <= (node.steps[index]?.fails ?? 0)
      known.set(key, this.#isUnknown(callId) ? 'unknown' : isFailing ? { failedAt: attempt, tries } : 'ok')
    }
    const how = known.get(key)
    if (how === 'ok') return key
    if (how === 'unknown') return node.catches ? 'unknown' : new Failure('unknown-outcome')
    return new Failure('node-failed')
  }

  #note(): void {
    const begun = this.#tasks.map(({ name, input }) =>
      input === undefined ? name : `${name}=${JSON.stringify(input)}`,
    )
    this.#steps.push(
      `turn ${this.#turn} step ${this.#step}: ${begun.join(' ')} ${JSON.stringify(this.#waiting)}`,
    )
    const { log, seen, count, mix, last } = this.#state
    this.#steps.push(`count: ${count}`)
    if (last !== undefined) this.#steps.push(`last: ${JSON.stringify(last)}`)
    this.#steps.push('log:', ...log.map((item, index) => `  ${index + 1}: ${item}`))
    this.#steps.push(`mix: ${mix}`, `seen: ${JSON.stringify(seen)}`)
  }
}

export function differenceOf(here: Reading, model: Reading): string[] {
  if (isDeepStrictEqual(here, model)) return []
  const lines = [...here.steps, ...here.tasks, ...here.ends]
  const wanted = [...model.steps, ...model.tasks, ...model.ends]
  const at = wanted.findIndex((line, index) => line !== lines[index])
  return [
    `line ${at}: it reads ${lines[at]} instead of ${wanted[at]}; ${here.ends.join(', ')}; ${model.ends.join(', ')}`,
  ]
}
