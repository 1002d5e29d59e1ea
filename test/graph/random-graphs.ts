/**
 * Random graphs as data: each node is a pure function of the state, its input, its answers and the results of its
 * effects. So every run can be compared with every other, and with the model.
 */
import * as fc from 'fast-check'
import {
  type Channels,
  END,
  type Graph,
  graph,
  list,
  merge,
  type NodeContext,
  reduce,
  Send,
  START,
  value,
} from '../../src/graph/index.ts'
import type { RequestData } from '../../src/protocol/index.ts'
import type { GraphPlay, GraphProcess } from './recovery-world.ts'

export interface StepSpec {
  readonly replay: 'never' | 'safe'
  /** How long it takes beside others. */
  readonly length: number
  /** The effect itself fails up to this attempt of its node. */
  readonly fails: number
}

export interface NodeSpec {
  readonly name: string
  readonly steps: readonly StepSpec[]
  readonly isParallel: boolean
  /** Continues when the outcome of an effect is unknown. */
  readonly catches: boolean
  /** How many questions it asks before its steps, and after them. */
  readonly asks: readonly [number, number]
  /** Fails up to this attempt, before its steps or after them. */
  readonly fails: number
  readonly failsLate: boolean
  readonly attempts: number
  /** Writes the state's value channel: two nodes of a step cannot. */
  readonly saysLast: boolean
}

export interface EdgeSpec {
  readonly from: readonly string[]
  readonly to: string
}

/** `pick`: one of several by the state. `back`: to an earlier node as long as few tasks have run. `send`: tasks with inputs. */
export type BranchSpec =
  | { readonly kind: 'pick'; readonly from: string; readonly to: readonly string[] }
  | { readonly kind: 'back'; readonly from: string; readonly to: string; readonly on: string }
  | { readonly kind: 'send'; readonly from: string; readonly to: string; readonly count: number }

export interface GraphSpec {
  readonly nodes: readonly NodeSpec[]
  readonly edges: readonly EdgeSpec[]
  readonly branches: readonly BranchSpec[]
  /** The number of tasks after which no branch leads back. */
  readonly bound: number
  readonly stepLimit?: number
  /** How often it is continued after a failure. */
  readonly tries: number
}

/** The state as nodes and routes see it. */
export interface Seen {
  readonly log: readonly string[]
  readonly seen: Readonly<Record<string, number>>
  readonly count: number
  readonly mix: number
  readonly last?: string | undefined
}

export function mixed(sum: number, said: number): number {
  return (sum * 31 + said) % 9973
}

/** The update of a node. */
export function sayingOf({ name, saysLast }: NodeSpec, state: Seen, told: readonly string[]): Seen {
  const { log, count, last = '' } = state
  return {
    log: told.map((word) => (word === 'unknown' ? word : `${name} ${word} ${log.length} ${count} ${last}`)),
    seen: { [name]: log.length, newest: count },
    count: 1,
    mix: log.length + name.length * count + Number(name.slice(1)),
    ...(saysLast ? { last: `${name} of ${count}` } : {}),
  }
}

/** The targets of a branch: names of nodes, and sent inputs. */
export function routeOf(branch: BranchSpec, state: Seen, bound: number): readonly (string | Send)[] {
  if (branch.kind === 'pick') return [branch.to[state.count % branch.to.length] ?? END]
  if (branch.kind === 'back') return [state.count < bound ? branch.to : branch.on]
  const { to, count } = branch
  return Array.from({ length: count }, (_, n) => new Send(to, { n, count: state.count }))
}

export function keyOf(index: number): string {
  return `step ${index + 1}`
}

export function questionsOf(asks: NodeSpec['asks'], when: 0 | 1): readonly string[] {
  return Array.from({ length: asks[when] }, (_, n) => `${when === 0 ? 'before' : 'after'}-${n + 1}`)
}

export const answerOf = ({ name = '' }: Pick<RequestData, 'name'>): string => `told ${name}`

async function behave(
  process: GraphProcess,
  spec: NodeSpec,
  { state, context }: { readonly state: Seen; readonly context: NodeContext },
): Promise<Seen> {
  const { steps, isParallel, catches, asks, fails, failsLate } = spec
  const { attempt, input } = context
  const told: string[] = []
  const ask = async (name: string) => {
    told.push(await context.interrupt({ kind: 'text', prompt: name, name }))
  }
  for (const name of questionsOf(asks, 0)) await ask(name)
  if (!failsLate && attempt <= fails) throw new Error(`${spec.name} fails early at ${attempt}`)
  const doings = steps.map((step, index) => () => {
    const failing = attempt <= step.fails ? { fails: `${keyOf(index)} fails at ${attempt}` } : {}
    const { replay, length } = step
    const tool = replay === 'safe' ? 'look' : 'pay'
    return process[catches ? 'tryStep' : 'step'](context, keyOf(index), { replay, length, tool, ...failing })
  })
  if (isParallel) {
    // The first failure ends the attempt while other effects are under way.
    const begun = doings.map((begin) => begin())
    for (const doing of begun) doing.catch(() => {})
    for (const doing of begun) told.push(await doing)
  } else for (const doing of doings) told.push(await doing())
  for (const name of questionsOf(asks, 1)) await ask(name)
  if (attempt <= fails) throw new Error(`${spec.name} fails late at ${attempt}`)
  return sayingOf(spec, state, [...told, `end ${JSON.stringify(input ?? null)}`])
}

const channels = {
  log: list<string>(),
  seen: merge<Record<string, number>>({}),
  count: reduce<number>((sum, said) => sum + said, 0),
  mix: reduce<number>(mixed, 7),
  last: value<string>(),
}

function build(spec: GraphSpec, process: GraphProcess): Graph<Channels> {
  const { nodes, edges, branches, bound, stepLimit } = spec
  const builder = graph({ state: channels })
  for (const node of nodes)
    builder.addNode(node.name, (state, context) => behave(process, node, { state, context }), {
      retry: { attempts: node.attempts, waitMs: 3 },
    })
  const places = builder as unknown as {
    addEdge(from: string | readonly string[], to: string): void
    addConditionalEdges(from: string, route: (state: Seen) => unknown, paths: Record<string, string>): void
  }
  for (const { from, to } of edges) places.addEdge(from.length === 1 ? (from[0] ?? START) : from, to)
  for (const branch of branches) {
    const targets =
      branch.kind === 'pick' ? branch.to : [branch.to, ...(branch.kind === 'back' ? [branch.on] : [])]
    const named = (to: string) => `to ${to}`
    const paths = Object.fromEntries(targets.map((to) => [named(to), to]))
    places.addConditionalEdges(
      branch.from,
      (state) =>
        routeOf(branch, state, bound).map((one) =>
          typeof one === 'string' ? named(one) : new Send(named(one.node), one.input),
        ),
      paths,
    )
  }
  return process.compile(builder, stepLimit === undefined ? {} : { limits: { steps: stepLimit } })
}

export function playOf(spec: GraphSpec): GraphPlay {
  const { tries } = spec
  return {
    name: 'random',
    inputs: [{ log: ['begun'] }],
    build: (process) => build(spec, process),
    answer: answerOf,
    tries,
  }
}

const few = <T>(arbitrary: fc.Arbitrary<T>, maxLength: number) => fc.array(arbitrary, { maxLength })

function rarely<T>(usual: T, others: readonly T[]): fc.Arbitrary<T> {
  const rare = fc.constantFrom(...others)
  return fc.oneof({ arbitrary: fc.constant(usual), weight: 9 }, { arbitrary: rare, weight: 1 })
}

const stepSpec: fc.Arbitrary<StepSpec> = fc.record({
  replay: fc.constantFrom('never', 'safe'),
  length: fc.nat(3),
  fails: rarely(0, [1, 2, 4]),
})

const nodeSpec: fc.Arbitrary<Omit<NodeSpec, 'name'>> = fc.record({
  steps: few(stepSpec, 3),
  isParallel: fc.boolean(),
  catches: fc.boolean(),
  asks: rarely<NodeSpec['asks']>(
    [0, 0],
    [
      [1, 0],
      [0, 1],
      [2, 1],
    ],
  ),
  fails: rarely(0, [1, 2, 4]),
  failsLate: fc.boolean(),
  attempts: fc.constantFrom(1, 2, 3, 3),
  saysLast: rarely(false, [true]),
})

type Draw = { readonly kind: 'edge' | 'join' | 'pick' | 'back' | 'send'; readonly numbers: readonly number[] }

const draw: fc.Arbitrary<Draw> = fc.record({
  kind: fc.constantFrom('edge', 'edge', 'join', 'pick', 'back', 'send'),
  numbers: fc.array(fc.nat(100), { minLength: 4, maxLength: 4 }),
})

export const graphs: fc.Arbitrary<GraphSpec> = fc
  .record({
    nodes: fc.array(nodeSpec, { minLength: 2, maxLength: 7 }),
    draws: fc.array(draw, { maxLength: 8 }),
    ways: fc.array(fc.nat(100), { minLength: 7, maxLength: 7 }),
    bound: fc.nat(12),
    stepLimit: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    tries: fc.nat(4),
  })
  .map(({ nodes, draws, ways, bound, stepLimit, tries }) => {
    const named = nodes.map((node, index): NodeSpec => ({ name: `n${index + 1}`, ...node }))
    const names = named.map(({ name }) => name)
    const drawn = draws.map((one) => wayOf(one, names))
    const edges = drawn.filter((way): way is EdgeSpec => !('kind' in way))
    const branches = drawn.filter((way): way is BranchSpec => 'kind' in way)
    return {
      nodes: named,
      edges: completed(names, { edges, branches }, ways),
      branches,
      bound,
      ...(stepLimit === undefined ? {} : { stepLimit }),
      tries,
    }
  })

function wayOf(
  { kind, numbers: [a = 0, b = 0, c = 0, d = 0] }: Draw,
  names: readonly string[],
): EdgeSpec | BranchSpec {
  const at = a % names.length
  const from = names[at] ?? START
  const later = (n: number) => [...names.slice(at + 1), END][n % (names.length - at)] ?? END
  const target = later(b)
  if (kind === 'join' && at > 0) {
    const other = names[c % at] ?? START
    return { from: [other, from], to: target }
  }
  if (kind === 'pick') return { kind, from, to: [target, later(c), later(d)].slice(0, 1 + (d % 3)) }
  if (kind === 'back') return { kind, from, to: names[c % (at + 1)] ?? END, on: target }
  if (kind === 'send' && target !== END) return { kind, from, to: target, count: d % 4 }
  return { from: [from], to: target }
}

/** Every node is reached from an earlier one, and leads on. */
function completed(
  names: readonly string[],
  { edges, branches }: Pick<GraphSpec, 'edges' | 'branches'>,
  ways: readonly number[],
): EdgeSpec[] {
  const all = [...edges]
  for (const [index, to] of names.entries()) {
    const isLedTo = all.some(
      (edge) => edge.to === to && edge.from.every((from) => names.indexOf(from) < index),
    )
    if (!isLedTo)
      all.push({ from: [[START, ...names.slice(0, index)][(ways[index] ?? 0) % (index + 1)] ?? START], to })
  }
  for (const from of names) {
    const leads =
      all.some((edge) => edge.from.includes(from)) || branches.some((branch) => branch.from === from)
    if (!leads) all.push({ from: [from], to: END })
  }
  return all
}
