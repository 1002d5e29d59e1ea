/**
 * From a goal to the next step towards it: the call itself, a call that looks up what the goal needs, or a question.
 * It repeats no call, and looks something up only with tools that say that they only look.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { adviceOn, lookUpBy, oneByOne, outcomeOf } from './advice.ts'
import { askWhich } from './asking.ts'
import { Claims } from './claims.ts'
import { type Filled, fillArguments, type UnknownThing } from './fill.ts'
import type { Call, Goal, Situation, Step } from './goal.ts'
import type { Things } from './knowledge.ts'
import { isMarked, markedRows, nounStems, offeredRows, severalMarked } from './marked.ts'
import { type Match, matchTools, type Profile } from './match.ts'
import { type Request, readRequest } from './request.ts'
import { idFor, type Row } from './results.ts'
import type { Param } from './schema.ts'
import { rowsFor } from './things.ts'
import { askParam } from './wording.ts'

/** A goal for each of the things, where a request names several for a tool that takes one. */
export function goalsFor(goal: Goal, situation: Situation): readonly Goal[] {
  const advised = oneByOne(goal, situation)
  if (advised !== undefined) return advised
  const { things } = situation
  const marked = goal.tool.tool.params.filter(isMarked).filter(({ required }) => required)
  const [param] = marked.filter(({ name }) => !Object.hasOwn(goal.preset, name))
  if (param === undefined || marked.length > 1) return [goal]
  const request = readRequest(goal.text, things.lexicon)
  const { profile, tokens } = matchOf(goal.tool, request)
  const rows = severalMarked(new Claims(request, profile, tokens), param, things)
  const ids = rows.flatMap((row) => idFor(row, param) ?? [])
  return ids.length < 2
    ? [goal]
    : ids.map((id) => ({ ...goal, preset: { ...goal.preset, [param.name]: id } }))
}

export function nextStep(wanted: Goal, situation: Situation): Step {
  const advice = adviceOn(wanted, situation)
  if (advice?.kind === 'step') return advice.step
  if (advice?.kind === 'look') return lookAgain(wanted, advice, situation)
  const goal = advice?.goal ?? wanted
  const { profiles, things } = situation
  const request = readRequest(goal.text, things.lexicon)
  const match = matchOf(goal.tool, request)
  const canLookUp = (nouns: readonly string[]): boolean => lookupsFor(nouns, goal.tool, profiles).length > 0
  const filled = fillArguments({ match, request, things, preset: goal.preset, canLookUp })
  const searched = filled.things.filter(({ rows }) => rows.length === 0)
  const lookups = searched.flatMap((thing) =>
    foundRow(thing, situation) ? [] : (lookUp(thing, { goal, request, filled, situation, depth: 0 }) ?? []),
  )
  if (lookups.length > 0) return { kind: 'call', calls: unique(lookups) }
  const only = searched.map((thing) => foundRow(thing, situation) ?? onlyRow(thing, filled, situation))
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

function lookAgain(
  goal: Goal,
  { param, orElse }: { readonly param: Param; readonly orElse: Step },
  situation: Situation,
): Step {
  const request = readRequest(goal.text, situation.things.lexicon)
  const filled = fillArguments({ match: matchOf(goal.tool, request), request, things: situation.things })
  const nouns = isMarked(param) ? nounStems(situation.things.marked, param.entity) : param.stems
  const calls = lookUp({ param, nouns, rows: [] }, { goal, request, filled, situation, depth: DEEPEST })
  return calls === undefined || calls.length === 0 ? orElse : { kind: 'call', calls }
}

export function matchOf(profile: Profile, request: Request): Pick<Match, 'profile' | 'tokens'> {
  return matchTools([profile], request)[0] ?? { profile, tokens: new Set() }
}

function unique(calls: readonly Call[]): Call[] {
  return calls.filter((call, at) => calls.findIndex((other) => isSame(other, call)) === at)
}

/** The only one that a search by name in this turn has found, whatever it is called. */
function foundRow({ param }: UnknownThing, { things, calls }: Situation): Row | undefined {
  if (!isMarked(param)) return undefined
  const search = calls.findLast(({ tool }) => tool === things.marked.lookups[param.entity])
  const [first, second] = search?.seen ?? []
  if (first === undefined || second !== undefined || outcomeOf(search?.output) === 'none') return undefined
  return markedRows(things, param.entity).find(({ id }) => id === first.id)
}

/** When nothing was said about which one, and there is just one; of things that may be chosen, just one now. */
function onlyRow(
  { param, nouns }: UnknownThing,
  { rest }: Filled,
  { things, calls }: Situation,
): Row | undefined {
  const isNow = ({ id }: Row): boolean => calls.some(({ seen = [] }) => seen.some((one) => one.id === id))
  const kind = rowsFor(param, nouns, things).filter((row) => !isMarked(param) || isNow(row))
  return kind.length === 1 && rest === '' ? kind[0] : undefined
}

function ask(goal: Goal, filled: Filled, things: Things): Step | undefined {
  const { tool } = goal.tool
  const [thing] = filled.things
  if (thing) {
    const { param, nouns } = thing
    const several = thing.rows.length > 0
    const rows = several ? thing.rows : rowsFor(param, nouns, things)
    return askWhich(goal, { param, rows, said: several ? '' : filled.mention }, things)
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
  const first = depth === 0 ? lookUpMarked(param, filled, situation) : undefined
  if (first !== undefined) return first
  const known = rowsFor(param, nouns, situation.things).length > 0
  for (const profile of lookupsFor(nouns, goal.tool, situation.profiles)) {
    const match = matchOf(profile, request)
    const found = fillArguments({ match, request, things: situation.things, isInner: isMarked(param) })
    const args = requiredOf(profile, found, depth === 0 ? filled.mention : '')
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

/** By its name, with the tool that is made for that; nothing to call if no name was said and some are known. */
function lookUpMarked(param: Param, { mention, isNamed }: Filled, situation: Situation): Call[] | undefined {
  if (!isMarked(param)) return undefined
  const tool = situation.things.marked.lookups[param.entity]
  if (!isNamed) return offeredRows(situation.things, param.entity).length > 0 ? [] : undefined
  const step = tool === undefined ? undefined : lookUpBy(mention, tool, situation)
  const calls = step?.kind === 'call' ? step.calls : []
  return calls.length > 0 && !calls.some((call) => situation.calls.some((done) => isSame(done, call)))
    ? [...calls]
    : undefined
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
