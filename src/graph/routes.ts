/** Where it goes on after a step: edges, joins and branches, in the order in which nodes were added. */
import { HoldfastError, type Json, quote, type TaskData } from '../protocol/index.ts'
import { thrownText, toJson } from '../tool/index.ts'
import { type Branch, END, type GraphDefinition, type RouteContext, START } from './definition.ts'
import { Send } from './send.ts'

/** A task without its name. */
export type Target = Omit<TaskData, 'task'>

export interface Leading {
  readonly targets: readonly Target[]
  readonly waiting?: { readonly [join: string]: readonly string[] }
}

export interface Ended {
  /** The nodes of the step that has ended; none at the start of a run. */
  readonly after: readonly string[]
  readonly state: object
  readonly waiting?: Leading['waiting']
}

export async function leadingOn(
  definition: GraphDefinition,
  { after, state, waiting = {} }: Ended,
  context: RouteContext,
): Promise<Leading> {
  const ended = new Set(after.length === 0 ? [START] : after)
  const names = new Set<string>()
  const sent: Target[] = []
  const still: Record<string, readonly string[]> = {}
  for (const { from, to } of definition.edges) {
    const join = from.join('+')
    const arrived = from.filter((node) => ended.has(node) || waiting[`${join}>${to}`]?.includes(node))
    if (arrived.length === from.length) names.add(to)
    else if (arrived.length > 0) still[`${join}>${to}`] = arrived
  }
  for (const branch of definition.branches) {
    if (!ended.has(branch.from)) continue
    for (const target of await routed(definition, branch, () => branch.route(state as never, context)))
      if (target.input === undefined) names.add(target.node)
      else sent.push(target)
  }
  const nodes = [...definition.nodes.keys()]
  return {
    targets: [...nodes.filter((node) => names.has(node)).map((node): Target => ({ node })), ...sent],
    ...(Object.keys(still).length === 0 ? {} : { waiting: still }),
  }
}

async function routed(
  definition: GraphDefinition,
  { from, paths }: Branch,
  route: () => unknown,
): Promise<readonly Target[]> {
  const who = from === START ? 'the start' : from
  let answer: unknown
  try {
    answer = await route()
  } catch (error) {
    throw new HoldfastError('route-failed', {
      message: `The route after ${who} failed: ${thrownText(error)}`,
      details: { from },
      cause: error,
    })
  }
  const answers: readonly unknown[] = Array.isArray(answer) ? answer : [answer]
  return answers.flatMap((one) => {
    const node: unknown = one instanceof Send ? one.node : one
    const target = placeOf(definition, paths, node)
    if (target === undefined)
      throw lost(who, node, [...(paths ? Object.keys(paths) : definition.nodes.keys())])
    return target === END ? [] : [{ node: target, ...(one instanceof Send ? inputOf(who, one.input) : {}) }]
  })
}

function placeOf({ nodes }: GraphDefinition, paths: Branch['paths'], answer: unknown): string | undefined {
  const key = typeof answer === 'boolean' ? String(answer) : answer
  if (typeof key !== 'string') return undefined
  const place = paths === undefined ? key : Object.hasOwn(paths, key) ? paths[key] : undefined
  return place === END || (place !== undefined && nodes.has(place)) ? place : undefined
}

function inputOf(who: string, input: unknown): { readonly input?: Json } {
  if (input === undefined) return {}
  const json = toJson(input, { isExact: true })
  if (!(json instanceof Error)) return { input: json }
  throw new HoldfastError('route-failed', {
    message: `What the route after ${who} sends cannot be written as JSON: ${json.message}.`,
  })
}

function lost(who: string, answer: unknown, known: readonly string[]): HoldfastError {
  return new HoldfastError('route-failed', {
    message: `The route after ${who} answered ${quote(answer)}, which leads nowhere. Known are ${known.join(', ')} and END.`,
    details: { known: [...known] },
  })
}
