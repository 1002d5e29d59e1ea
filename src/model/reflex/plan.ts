/**
 * From a goal to the next step towards it: the call itself, a call that looks up what the goal needs, or a question.
 * It repeats no call, and looks something up only with tools that say that they only look.
 */
import type { Json, JsonObject } from '../../protocol/index.ts'
import type { Done } from './conversation.ts'
import { type Filled, fillArguments, type UnknownThing } from './fill.ts'
import { type Match, matchTools, type Profile } from './match.ts'
import { type Request, readRequest } from './request.ts'
import { idFor, type Row } from './results.ts'
import type { Param } from './schema.ts'
import { isOfKind, type Things } from './things.ts'
import { askParam, askRow } from './wording.ts'

/** Something that the person wants, as far as it is settled. */
export interface Goal {
  readonly text: string
  readonly tool: Profile
  readonly preset: JsonObject
}

export interface Call {
  readonly tool: string
  readonly args: JsonObject
}

/** What a question was about, so that the next message can be understood as its answer. */
export type Pending =
  | { readonly of: 'tool'; readonly text: string; readonly tools: readonly Profile[] }
  | { readonly of: 'param'; readonly goal: Goal; readonly param: Param; readonly options: readonly Json[] }
  | { readonly of: 'row'; readonly goal: Goal; readonly param: Param; readonly rows: readonly Row[] }

export type Step =
  | { readonly kind: 'call'; readonly calls: readonly Call[] }
  | { readonly kind: 'ask'; readonly text: string; readonly pending: Pending }

export interface Situation {
  readonly profiles: readonly Profile[]
  readonly things: Things
  /** What was called in this turn. */
  readonly calls: readonly Done[]
}

export function nextStep(goal: Goal, situation: Situation): Step {
  const { profiles, things } = situation
  const request = readRequest(goal.text)
  const match = matchOf(goal.tool, request)
  const canLookUp = (nouns: readonly string[]): boolean => lookupsFor(nouns, goal.tool, profiles).length > 0
  const filled = fillArguments({ match, request, things, preset: goal.preset, canLookUp })
  const searched = filled.things.filter(({ rows }) => rows.length === 0)
  const lookups = searched.flatMap(
    (thing) => lookUp(thing, { goal, request, filled, situation, depth: 0 }) ?? [],
  )
  if (lookups.length > 0) return { kind: 'call', calls: unique(lookups) }
  const only = searched.map((thing) => onlyRow(thing, filled, things))
  const preset = { ...goal.preset }
  for (const [at, thing] of searched.entries()) {
    const row = only[at]
    const id = row && idFor(row, thing.param)
    if (id !== undefined) preset[thing.param.name] = id
  }
  if (Object.keys(preset).length > Object.keys(goal.preset).length)
    return nextStep({ ...goal, preset }, situation)
  return (
    ask(goal, filled, things) ?? { kind: 'call', calls: [{ tool: goal.tool.tool.name, args: filled.args }] }
  )
}

export function matchOf(profile: Profile, request: Request): Pick<Match, 'profile' | 'tokens'> {
  return matchTools([profile], request)[0] ?? { profile, tokens: new Set() }
}

function unique(calls: readonly Call[]): Call[] {
  return calls.filter((call, at) => calls.findIndex((other) => isSame(other, call)) === at)
}

/** When nothing was said about which one, and there is just one. */
function onlyRow({ param, nouns }: UnknownThing, { rest }: Filled, { rows }: Things): Row | undefined {
  const kind = rows.filter((row) => isOfKind(row, param, nouns))
  return kind.length === 1 && rest === '' ? kind[0] : undefined
}

function ask(goal: Goal, filled: Filled, { rows: known }: Things): Step | undefined {
  const { tool } = goal.tool
  const [thing] = filled.things
  if (thing) {
    const { param, nouns } = thing
    const several = thing.rows.length > 0
    const rows = several ? thing.rows : known.filter((row) => isOfKind(row, param, nouns))
    if (rows.length === 0) {
      return { kind: 'ask', text: askParam(tool, param), pending: { of: 'param', goal, param, options: [] } }
    }
    const text = askRow(tool, param, { rows, said: several ? '' : filled.mention })
    return { kind: 'ask', text, pending: { of: 'row', goal, param, rows } }
  }
  const [gap] = filled.gaps
  if (gap === undefined) return undefined
  const { param, options = [] } = gap
  return { kind: 'ask', text: askParam(tool, param, options), pending: { of: 'param', goal, param, options } }
}

/** Tools that look for such things: those that list many first, and those that have the noun in their name. */
function lookupsFor(nouns: readonly string[], goal: Profile, profiles: readonly Profile[]): Profile[] {
  const rate = ({ name, weights, lists, tool }: Profile): number => {
    const named = nouns.some((noun) => name.includes(noun))
    if (!named && !(lists && nouns.some((noun) => (weights.get(noun) ?? 0) >= 0.35))) return 0
    const needs = tool.params.filter(({ required }) => required).length
    return (named ? 4 : 1) + (lists ? 2 : 0) - Math.min(needs, 3) / 2
  }
  return profiles
    .filter((profile) => profile.looks && profile.tool.name !== goal.tool.name && rate(profile) > 0)
    .sort((a, b) => rate(b) - rate(a))
}

interface Search {
  readonly goal: Goal
  readonly request: Request
  readonly filled: Filled
  readonly situation: Situation
  readonly depth: number
}

const DEEPEST = 2

/** A call that may tell of the thing, or one that it needs first; undefined if all were made or none can be. */
function lookUp({ nouns, param }: UnknownThing, search: Search): Call[] | undefined {
  const { goal, request, filled, situation, depth } = search
  const known = situation.things.rows.some((row) => isOfKind(row, param, nouns))
  for (const profile of lookupsFor(nouns, goal.tool, situation.profiles)) {
    const found = fillArguments({ match: matchOf(profile, request), request, things: situation.things })
    const args = requiredOf(profile, found, filled.mention)
    if (args !== undefined && found.things.length === 0) {
      const call = { tool: profile.tool.name, args }
      if (!situation.calls.some((done) => isSame(done, call))) return [call]
    } else if (found.things.length > 0 && depth < DEEPEST && !known) {
      const inner = { ...search, goal: { ...goal, tool: profile }, depth: depth + 1 }
      const calls = found.things.flatMap((thing) =>
        thing.rows.length > 0 ? [] : (lookUp(thing, inner) ?? []),
      )
      if (calls.length > 0) return calls
    }
  }
  return undefined
}

/** Only what a search needs; a text that it needs is what was said of the thing. */
function requiredOf({ tool }: Profile, { args, gaps }: Filled, rest: string): JsonObject | undefined {
  const given: Record<string, Json> = {}
  for (const { name, required, type, isId, choices } of tool.params) {
    if (!required) continue
    const value = args[name]
    const isText = type === 'string' && !isId && choices === undefined
    if (isText && rest !== '') given[name] = rest
    else if (value !== undefined && !gaps.some(({ param }) => param.name === name)) given[name] = value
    else return undefined
  }
  return given
}

export function isSame(done: { readonly tool: string; readonly args: unknown }, call: Call): boolean {
  return done.tool === call.tool && canonical(done.args) === canonical(call.args)
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? ''
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${entries.map(([key, each]) => `${JSON.stringify(key)}:${canonical(each)}`).join(',')}}`
}
