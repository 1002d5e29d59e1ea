/** The targets after a step: edges, joins and branches, in the order of `addNode`. */
import { HoldfastError, type Json, quote, type TaskData } from '../protocol/index.ts'
import { thrownText, toJson } from '../tool/index.ts'
import {
  type Branch,
  END,
  type GraphDefinition,
  type NodeDefinition,
  type RouteContext,
  START,
} from './definition.ts'
import { readInput } from './read-input.ts'
import { Send } from './send.ts'

/** A task without its name. */
export type Target = Omit<TaskData, 'task'>

export interface NextTargets {
  readonly targets: readonly Target[]
  readonly waiting?: { readonly [join: string]: readonly string[] }
}

export interface FinishedStep {
  /** The nodes of the step that has ended; none at the start of a run. */
  readonly after: readonly string[]
  readonly state: object
  readonly waiting?: NextTargets['waiting']
}

export async function nextTargets(
  definition: GraphDefinition,
  { after, state, waiting = {} }: FinishedStep,
  context: RouteContext,
): Promise<NextTargets> {
  const ended = new Set(after.length === 0 ? [START] : after)
  const names = new Set<string>()
  const sent: Target[] = []
  const incomplete: Record<string, readonly string[]> = {}
  for (const { from, to } of definition.edges) {
    const join = from.join('+')
    const arrived = from.filter((node) => ended.has(node) || waiting[`${join}>${to}`]?.includes(node))
    if (arrived.length === from.length) names.add(to)
    else if (arrived.length > 0) incomplete[`${join}>${to}`] = arrived
  }
  for (const branch of definition.branches) {
    if (!ended.has(branch.from)) continue
    for (const target of await routeTargets(definition, branch, () => branch.route(state as never, context)))
      if (target.input === undefined) names.add(target.node)
      else sent.push(target)
  }
  const nodes = [...definition.nodes.keys()]
  return {
    targets: [...nodes.filter((node) => names.has(node)).map((node): Target => ({ node })), ...sent],
    ...(Object.keys(incomplete).length === 0 ? {} : { waiting: incomplete }),
  }
}

async function routeTargets(
  definition: GraphDefinition,
  { from, paths }: Branch,
  route: () => unknown,
): Promise<readonly Target[]> {
  const source = from === START ? 'the start' : from
  let answer: unknown
  try {
    answer = await route()
  } catch (error) {
    throw new HoldfastError('route-failed', {
      message: `The route after ${source} failed: ${thrownText(error)}`,
      details: { from },
      cause: error,
    })
  }
  const answers: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  const targets: Target[] = []
  for (const one of answers) {
    const node: unknown = one instanceof Send ? one.node : one
    const target = targetOf(definition, paths, node)
    if (target === undefined)
      throw noSuchTarget(source, node, paths ? Object.keys(paths) : [...definition.nodes.keys(), END])
    if (target === END) continue
    const sent = one instanceof Send ? inputOf(source, one.input) : {}
    if (one instanceof Send) await checkSent(source, definition.nodes.get(target), sent.input)
    targets.push({ node: target, ...sent })
  }
  return targets
}

/** Stored as sent: the node reads it by its schema again, which may transform it. */
async function checkSent(source: string, node: NodeDefinition | undefined, input: unknown): Promise<void> {
  if (node?.input === undefined) return
  const { problem } = await readInput(
    node.input,
    structuredClone(input),
    `The \`input\` schema of ${node.name}`,
  )
  if (problem === undefined) return
  throw new HoldfastError('route-failed', {
    message: `The input that the route after ${source} sends to ${node.name} is invalid: ${problem}.`,
    details: { node: node.name },
  })
}

function targetOf({ nodes }: GraphDefinition, paths: Branch['paths'], answer: unknown): string | undefined {
  const key = typeof answer === 'boolean' ? String(answer) : answer
  if (typeof key !== 'string') return undefined
  const target = paths === undefined ? key : Object.hasOwn(paths, key) ? paths[key] : undefined
  return target === END || (target !== undefined && nodes.has(target)) ? target : undefined
}

function inputOf(source: string, input: unknown): { readonly input?: Json } {
  if (input === undefined) return {}
  const json = toJson(input, { isExact: true })
  if (!(json instanceof Error)) return { input: json }
  throw new HoldfastError('route-failed', {
    message: `The input that the route after ${source} sends cannot be written as JSON: ${json.message}.`,
  })
}

function noSuchTarget(source: string, answer: unknown, known: readonly string[]): HoldfastError {
  return new HoldfastError('route-failed', {
    message: `The route after ${source} answered ${quote(answer)}, which leads nowhere. Known are ${known.map((name) => (name === END ? 'END' : name)).join(', ')}.`,
    details: { known: [...known] },
  })
}
