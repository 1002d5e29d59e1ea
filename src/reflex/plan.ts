/**
 * From a goal to the next step towards it: the call itself, a call that looks up what the goal needs, or a question.
 * It repeats no call, looks something up only with tools that only look, and does what a refusal says instead of guessing.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { matchOf } from './choose.ts'
import { Claims } from './claims.ts'
import type { Done } from './conversation.ts'
import { type Filled, fillArguments, type UnknownThing } from './fill.ts'
import { type Request, readRequest } from './request.ts'
import { idFor, type Row } from './rows.ts'
import { fitSpan, isLabel, type Param } from './schema.ts'
import { isMarked, kindOf, rowsFor, severalNamed, type Things } from './things.ts'
import { lookupsFor, type Profile } from './tools.ts'
import { findSpans } from './values.ts'
import type { Wording } from './wording.ts'
import { foldText } from './words.ts'

/** Something that the person wants, as far as it is settled. */
export interface Goal {
  readonly text: string
  readonly tool: Profile
  readonly preset: JsonObject
  /** Whether the person wants it although some words are left out. */
  readonly isAgreed?: boolean
  /** Whether words that its arguments do not explain are explained by what it was made from. */
  readonly isCovered?: boolean
}

export interface Call {
  readonly tool: string
  readonly args: JsonObject
}

/** The subject of a question, so that the next message is read as its answer. */
export type Pending =
  | { readonly of: 'tool'; readonly text: string; readonly tools: readonly Profile[]; readonly row?: Row }
  | { readonly of: 'param'; readonly goal: Goal; readonly param: Param; readonly options: readonly Json[] }
  | { readonly of: 'row'; readonly goal: Goal; readonly param: Param; readonly rows: readonly Row[] }
  | { readonly of: 'without'; readonly goal: Goal }

export type Step =
  | { readonly kind: 'call'; readonly calls: readonly Call[] }
  | {
      readonly kind: 'ask'
      readonly text: string
      readonly pending: Pending
      /** What else was asked for, and waits for the answer. */
      readonly rest?: readonly Goal[]
    }

export interface Situation {
  readonly profiles: readonly Profile[]
  readonly things: Things
  /** The calls of this turn. */
  readonly calls: readonly Done[]
  readonly wording: Wording
}

/** A goal for each of the things, where a request or a refusal names several for a tool that takes one. */
export function goalsFor(goal: Goal, situation: Situation): readonly Goal[] {
  const refused = refusedBy(goal, situation)
  const each = (name: string, ids: readonly Json[]): Goal[] =>
    ids.map((id) => ({ ...goal, preset: { ...goal.preset, [name]: id }, isCovered: true }))
  if (refused?.refusal.do === 'one-by-one') return each(refused.param.name, refused.refusal.ids)
  const isNew = goal.tool.verbs.some(({ verbs }) => verbs.includes('!create'))
  const ids = goal.tool.tool.params.filter(
    (param) => param.required && (param.isId || (isLabel(param) && !isNew)),
  )
  const [param] = ids.filter(({ name }) => !Object.hasOwn(goal.preset, name))
  const values = ids.some(({ isId }) => isId) ? undefined : severalValues(goal, situation)
  if (values !== undefined) return each(values.name, values.values)
  if (param === undefined || ids.length > 1) return [goal]
  const written = joinedIds(goal.text, param)
  if (written.length > 1 && !isMarked(param)) return each(param.name, written)
  const isFinal = goal.tool.verbs.some(({ verbs }) => verbs.includes('!delete')) && !isMarked(param)
  if (isFinal && !/\b(?:both|les deux)\b/i.test(goal.text)) return [goal]
  const request = readRequest(goal.text, situation.things.lexicon)
  const { profile, tokens } = matchOf(goal.tool, request)
  const rows = severalNamed(new Claims(request, profile, tokens), param, situation.things)
  const found = rows.flatMap((row) => idFor(row, param) ?? [])
  return found.length < 2 ? [goal] : each(param.name, found)
}

const JOIN = /^\s*(?:,|(?:,\s*)?(?:and|et|&))\s+(?:(?:the|la|le|les)\s+)?(?:\p{L}+\s+)?$/iu

/** `f-1 and f-2`, `lights 1 and 2`: ids that are written one after the other. */
function joinedIds(text: string, param: Param): readonly Json[] {
  const spans = findSpans(text).filter(
    ({ kind }) => kind === 'id' || (kind === 'number' && param.type !== 'string'),
  )
  const [first, ...rest] = spans
  if (first === undefined || rest.length === 0) return []
  const isJoined = rest.every((span, at) => JOIN.test(text.slice(spans[at]?.end, span.start)))
  const values = spans.map((span) => fitSpan(param, span))
  return isJoined && values.every((value) => value !== undefined) ? values : []
}

const NAMES =
  /^(\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*)(?:,? (?:and|et|&) )(?:in |at |for |à |a |de |pour )?(\p{Lu}[\p{L}'’-]*(?: \p{Lu}[\p{L}'’-]*)*)$/u

/** `the kitchen and the bathroom`, `Paris and London`: several values where a tool takes one. */
function severalValues(
  { text, tool, preset }: Goal,
  { things }: Situation,
): { readonly name: string; readonly values: readonly Json[] } | undefined {
  if (!/\s(?:and|et|&)\s/i.test(text) || Object.keys(preset).length > 0) return undefined
  const request = readRequest(text, things.lexicon)
  const { gaps, args } = fillArguments({ match: matchOf(tool, request), request, things })
  const [gap, more] = gaps
  if (gap?.options !== undefined && gap.options.length > 1 && more === undefined && gap.param.choices)
    return { name: gap.param.name, values: gap.options }
  for (const { name, required, type } of tool.tool.params) {
    const value = args[name]
    const names = required && type === 'string' && typeof value === 'string' ? NAMES.exec(value) : null
    if (names !== null) return { name, values: names.slice(1) }
  }
  return undefined
}

export function nextStep(wanted: Goal, situation: Situation): Step {
  const advice = adviceOn(wanted, situation)
  if (advice !== undefined && 'kind' in advice) return advice
  const goal = advice ?? wanted
  const { profiles, things, wording } = situation
  const request = readRequest(goal.text, things.lexicon)
  const match = matchOf(goal.tool, request)
  const canLookUp = (nouns: readonly string[]): boolean => lookupsFor(nouns, goal.tool, profiles).length > 0
  const filled = fillArguments({ match, request, things, preset: goal.preset, canLookUp })
  const searched = filled.things.filter(({ rows }) => rows.length === 0)
  const lookups = searched.flatMap((thing) =>
    foundRow(thing, situation) ? [] : (lookUp(thing, { goal, request, filled, situation, depth: 0 }) ?? []),
  )
  if (lookups.length > 0) return { kind: 'call', calls: unique(lookups) }
  const preset = { ...goal.preset }
  for (const thing of searched) {
    const row = foundRow(thing, situation) ?? onlyRow(thing, filled, situation)
    const id = row && idFor(row, thing.param)
    if (id !== undefined) preset[thing.param.name] = id
  }
  if (Object.keys(preset).length > Object.keys(goal.preset).length)
    return nextStep(
      { ...goal, preset, isCovered: goal.isCovered || filled.residue === filled.mention },
      situation,
    )
  const check = checkLabel(goal, { request, filled }, situation)
  if (check !== undefined) return check
  const call = { tool: goal.tool.tool.name, args: filled.args }
  const isCalled = situation.calls.some((done) => isSame(done, call))
  const question = askFor(goal, filled, situation)
  if (question !== undefined) return question
  const left = filled.limit || (goal.isCovered ? '' : filled.residue)
  if (left === '' || goal.isAgreed || isCalled) return { kind: 'call', calls: [call] }
  const text = wording.askWithout(left, goal.tool.tool, valuesOf(goal, filled, things))
  return { kind: 'ask', text, pending: { of: 'without', goal } }
}

/** The arguments of a call as a person reads them: things by their names. */
function valuesOf({ tool }: Goal, { args }: Filled, { seen }: Things): readonly string[] {
  return tool.tool.params.flatMap((param) => {
    const value = args[param.name]
    if (value === undefined) return []
    const row = param.isId ? seen.findLast((each) => idFor(each, param) === value) : undefined
    return [`${param.name}: ${row?.label ?? (typeof value === 'string' ? value : JSON.stringify(value))}`]
  })
}

/** Verbs whose thing must exist already. */
const EXISTING = new Set(['!delete', '!rename', '!copy', '!read', '!detail', '!archive'])

/** The name of a thing is looked for among those that there are, before something is done to it or it is shown. */
function checkLabel(
  goal: Goal,
  { request, filled }: Pick<Search, 'request' | 'filled'>,
  situation: Situation,
): Step | undefined {
  const families = goal.tool.verbs.flatMap(({ verbs }) => verbs)
  const param = goal.tool.tool.params.find(isLabel)
  const value = param && filled.args[param.name]
  const isExisting = families.some((family) => EXISTING.has(family)) && !families.includes('!create')
  if (typeof value !== 'string' || !isExisting || families.includes('!search')) return undefined
  if (param === undefined || Object.hasOwn(goal.preset, param.name)) return undefined
  const nouns = kindOf(param, goal.tool, situation.things)
  const rows = rowsFor(param, nouns, situation.things)
  if (rows.length > 0)
    return rows.some(({ label }) => foldText(label) === foldText(value))
      ? undefined
      : askWhich(goal, { param, rows, said: value }, situation)
  const unknown = { param, nouns, rows, isMissed: false }
  const calls = lookUp(unknown, { goal, request, filled, situation, depth: DEEPEST }) ?? []
  return calls.length > 0 ? { kind: 'call', calls } : undefined
}

function askFor(
  goal: Goal,
  { things: unknown, gaps, mention }: Filled,
  situation: Situation,
): Step | undefined {
  const [thing] = unknown
  if (thing) {
    const { param, nouns } = thing
    const several = thing.rows.length > 0
    const rows = several ? thing.rows : rowsFor(param, nouns, situation.things)
    return askWhich(goal, { param, rows, said: several ? '' : mention }, situation)
  }
  const [gap] = gaps
  if (gap === undefined) return undefined
  const { param, options = [] } = gap
  const text = situation.wording.askParam(goal.tool.tool, param, options)
  return { kind: 'ask', text, pending: { of: 'param', goal, param, options } }
}

interface Wanted {
  readonly param: Param
  readonly rows: readonly Row[]
  /** The name that the message used, if no thing has it. */
  readonly said: string
}

function askWhich(goal: Goal, { param, rows, said }: Wanted, { things, wording }: Situation): Step {
  const { tool } = goal.tool
  const pending: Pending =
    rows.length === 0 ? { of: 'param', goal, param, options: [] } : { of: 'row', goal, param, rows }
  if (isMarked(param)) {
    const called = things.entities[param.entity]?.called ?? {}
    const noun = called[wording.language] ?? called['en'] ?? param.entity
    return { kind: 'ask', text: wording.askThing(noun, { rows, said }), pending }
  }
  const text = rows.length === 0 ? wording.askParam(tool, param) : wording.askRow(tool, param, { rows, said })
  return { kind: 'ask', text, pending }
}

function unique(calls: readonly Call[]): Call[] {
  return calls.filter((call, at) => calls.findIndex((other) => isSame(other, call)) === at)
}

/** The only one that a search by name in this turn has found, whatever it is called. */
function foundRow({ param, nouns }: UnknownThing, { things, calls }: Situation): Row | undefined {
  if (!isMarked(param)) return undefined
  const search = calls.findLast(({ tool }) => tool === things.lookups[param.entity])
  const [first, second] = search?.seen ?? []
  if (first === undefined || second !== undefined || outcomeOf(search?.output) === 'none') return undefined
  return [...things.seen, ...rowsFor(param, nouns, things)].findLast(
    ({ id, entity }) => id === first.id && entity === param.entity,
  )
}

function outcomeOf(output: unknown): unknown {
  return (output as { readonly outcome?: unknown } | null | undefined)?.outcome
}

/** When nothing was said about which one, and there is just one; of things that may be chosen, just one now. */
function onlyRow(
  { param, nouns, isMissed }: UnknownThing,
  { rest }: Filled,
  { things, calls }: Situation,
): Row | undefined {
  const isNow = ({ id }: Row): boolean => calls.some(({ seen = [] }) => seen.some((one) => one.id === id))
  const kind = rowsFor(param, nouns, things).filter((row) => !isMarked(param) || isNow(row))
  return kind.length === 1 && rest === '' && !isMissed ? kind[0] : undefined
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
  const first = depth === 0 ? lookUpMarked({ param, nouns }, filled, situation) : undefined
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
function lookUpMarked(
  { param, nouns }: Pick<UnknownThing, 'param' | 'nouns'>,
  { mention, isNamed }: Filled,
  situation: Situation,
): Call[] | undefined {
  if (!isMarked(param)) return undefined
  if (!isNamed) return rowsFor(param, nouns, situation.things).length > 0 ? [] : undefined
  const tool = situation.things.lookups[param.entity]
  const call = tool === undefined ? undefined : callByName(mention, tool, situation)
  return call === undefined || situation.calls.some((done) => isSame(done, call)) ? undefined : [call]
}

/** The call of a tool that finds things by their name. */
export function callByName(name: string, tool: string, { profiles }: Pick<Situation, 'profiles'>): Call {
  const params = profiles.find((profile) => profile.tool.name === tool)?.tool.params ?? []
  const text = params.find(({ type, required, isId }) => type === 'string' && required && !isId)
  return { tool, args: { [text?.name ?? 'name']: name } }
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

/** A call that was not run because an id in it was not good, and what the refusal says to do instead. */
interface Refusal {
  /** The parameter whose id was refused. */
  readonly path: string
  readonly given: Json
  readonly reason: string
  readonly do: string
  readonly ids: readonly string[]
  /** The tool that finds things by their name. */
  readonly tool?: string
}

export function refusalOf({ output, failed }: Pick<Done, 'output' | 'failed'>): Refusal | undefined {
  if (!failed || !isRecord(output) || output['error'] !== 'ungrounded') return undefined
  const { path, given, reason, next } = output
  if (typeof path !== 'string' || !isRecord(next)) return undefined
  const { do: advice, ids, tool } = next
  return {
    path,
    given: given as Json,
    reason: String(reason),
    do: String(advice),
    ids: Array.isArray(ids) ? ids.filter((id) => typeof id === 'string') : [],
    ...(typeof tool === 'string' ? { tool } : {}),
  }
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

interface Refused {
  readonly refusal: Refusal
  readonly param: Param
  /** The calls after it. */
  readonly later: readonly Done[]
}

/** The latest refusal of a call for this goal. */
function refusedBy({ tool, preset }: Goal, { calls }: Situation): Refused | undefined {
  const at = calls.findLastIndex((call) => {
    const refusal = call.tool === tool.tool.name ? refusalOf(call) : undefined
    const settled = refusal && preset[refusal.path]
    return refusal !== undefined && (settled === undefined || settled === refusal.given)
  })
  const refusal = at < 0 ? undefined : refusalOf(calls[at] as Done)
  const param = tool.tool.params.find(({ name }) => name === refusal?.path)
  return refusal === undefined || param === undefined
    ? undefined
    : { refusal, param, later: calls.slice(at + 1) }
}

/** Turns a refusal into another goal or the next step. Undefined if nothing was refused. */
function adviceOn(goal: Goal, situation: Situation): Goal | Step | undefined {
  const refused = refusedBy(goal, situation)
  if (refused === undefined || refused.refusal.do === 'one-by-one') return undefined
  const { refusal, param, later } = refused
  const { things } = situation
  const settled = (id: string): Goal => ({
    ...goal,
    preset: { ...goal.preset, [param.name]: id },
    isAgreed: true,
  })
  const known = isMarked(param)
    ? rowsFor(param, [], { ...things, active: things.active.filter(({ entity }) => entity === param.entity) })
    : []
  const askAmong = (rows: readonly Row[]): Step => askWhich(goal, { param, rows, said: '' }, situation)
  const { tool, ids } = refusal
  const given = typeof refusal.given === 'string' ? refusal.given : JSON.stringify(refusal.given)
  // The person spoke of another thing than the chosen one, so the chosen one is no way out.
  const isOther = refusal.reason === 'not-active'
  if (refusal.do === 'use' && !isOther) {
    const [id, more] = ids
    return id !== undefined && more === undefined
      ? settled(id)
      : askAmong(known.filter((row) => ids.includes(String(row.id))))
  }
  if (tool === undefined) {
    const isShown = later.some(({ seen = [] }) => seen.some(({ id }) => id === given))
    if (isShown && later.every((call) => refusalOf(call) === undefined)) return settled(given)
    const look = later.length === 0 && isOther ? lookAgain(goal, param, situation) : []
    return look.length > 0 ? { kind: 'call', calls: look } : askAmong(known)
  }
  const found = later.find((call) => call.tool === tool)
  if (found === undefined) {
    const label = known.find(({ id }) => id === given)?.label ?? given
    return { kind: 'call', calls: [callByName(label, tool, situation)] }
  }
  const seen = outcomeOf(found.output) === 'none' ? [] : (found.seen ?? [])
  const [first, second] = seen
  if (first !== undefined && second === undefined) return settled(first.id)
  if (seen.some(({ id }) => id === given)) return settled(given)
  if (first?.label !== undefined && seen.every(({ label }) => label === first.label))
    return settled(first.label)
  const shown = known.filter((row) => (found.seen ?? []).some(({ id }) => id === row.id))
  return askAmong(shown.length > 0 ? shown : known)
}

/** Things of this kind are listed once more: what a tool of this turn shows is good. */
function lookAgain(goal: Goal, param: Param, situation: Situation): readonly Call[] {
  const request = readRequest(goal.text, situation.things.lexicon)
  const filled = fillArguments({ match: matchOf(goal.tool, request), request, things: situation.things })
  const nouns = isMarked(param) ? situation.things.words(param.entity) : param.keys.flat()
  const unknown = { param, nouns, rows: [], isMissed: false }
  return lookUp(unknown, { goal, request, filled, situation, depth: DEEPEST }) ?? []
}
