/**
 * The arguments of one call, from the words of a request and from what tools have told before. A value that is not there
 * is never made up: it is a gap.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { Claims, type Gap } from './claims.ts'
import { fillText, isName, nameLeft, nameOf, restOf } from './free-text.ts'
import type { Things } from './knowledge.ts'
import { activeOf, fillMarked, isMarked, markedRows, nounStems } from './marked.ts'
import type { Match, Profile } from './match.ts'
import { fillNamed } from './named.ts'
import type { Request } from './request.ts'
import { idFor, type Row } from './results.ts'
import type { Param } from './schema.ts'
import { fillFromRows, fillLeftId, fillWrittenId, nounsOf, takeLabel } from './things.ts'
import { fillChoices, fillForms, fillLists, fillNumbers } from './unnamed.ts'

export interface UnknownThing {
  readonly param: Param
  readonly nouns: readonly string[]
  /** The rows that are meant equally well; empty if none is. */
  readonly rows: readonly Row[]
  /** One was named that is not there, so that the chosen one is not meant. */
  readonly isMissed?: boolean
  /** The one spoken of last. */
  readonly pointed?: Row
}

export interface Filled {
  readonly args: JsonObject
  /** Required parameters without a value, and those between whose values the request does not decide. */
  readonly gaps: readonly Gap[]
  /** Required ids of things that are not known, or not known well enough. */
  readonly things: readonly UnknownThing[]
  /** How many values of the request found a place. */
  readonly used: number
  /** How many things were found among those that are known. */
  readonly known: number
  /** How many of them were named. */
  readonly named: number
  /** How many ids are only what was left over. */
  readonly guessed: number
  /** The words that nothing has explained. */
  readonly rest: string
  /** Of those, what may be the name of a thing. */
  readonly mention: string
  /** Whether it is written as names are. */
  readonly isNamed: boolean
}

export interface FillInput {
  readonly match: Pick<Match, 'profile' | 'tokens'>
  readonly request: Request
  readonly things: Things
  /** What is already settled. */
  readonly preset?: JsonObject
  /** Whether ids that are not known can be looked up; then a left-over value is a name rather than an id. */
  readonly canLookUp?: (nouns: readonly string[]) => boolean
  /** Whether a name that is left over belongs to something else, as in a search on the way. */
  readonly isInner?: boolean
}

export function fillArguments({
  match,
  request,
  things,
  preset = {},
  canLookUp = () => false,
  isInner = false,
}: FillInput): Filled {
  const nounPlaces = kindWords(match.profile, request, things)
  const claims = new Claims(request, match.profile, new Set([...match.tokens, ...nounPlaces]))
  const { params } = match.profile.tool
  Object.assign(claims.args, preset)
  const plain = params.filter(({ isId }) => !isId)
  const ids = params.filter(({ isId }) => isId)
  const unknown = new Map<string, UnknownThing>()
  let known = 0
  let guessed = 0
  takePreset(claims, preset, things)
  fillNamed(claims, params)
  for (const param of ids) if (claims.isOpen(param) && !isMarked(param)) fillWrittenId(claims, param)
  fillForms(claims, plain)
  fillChoices(claims, plain)
  for (const param of ids.filter((each) => claims.isOpen(each))) {
    if (fillThing(claims, param, { things, unknown })) known++
  }
  fillNumbers(claims, plain)
  const named = known
  for (const at of nounPlaces) claims.takeTokens(at, at + 1)
  known += fillChosen(claims, unknown, { things, isInner })
  for (const { param, nouns } of [...unknown.values()].filter((thing) => !isMarked(thing.param))) {
    const kinds = canLookUp(nouns) ? (['number'] as const) : (['number', 'quoted'] as const)
    if (unknown.size === 1 && fillLeftId(claims, param, kinds)) {
      unknown.delete(param.name)
      guessed++
    }
  }
  fillText(claims, plain, unknown.size === 0)
  fillLists(claims, plain)
  fillObjects(claims, { match, request, things })
  fillDefaults(claims, params)
  const gaps = params
    .filter((param) => param.required && claims.isOpen(param) && !unknown.has(param.name))
    .map((param) => ({ param }))
  const mention = mentionIn(claims, [...unknown.values()])
  return {
    args: claims.args,
    gaps: [...claims.unsure, ...gaps],
    things: [...unknown.values()],
    used: claims.used,
    known,
    named,
    guessed,
    rest: restOf(claims),
    mention,
    isNamed: isName(claims, mention),
  }
}

/** The names of things that are settled are explained. */
function takePreset(claims: Claims, preset: JsonObject, things: Things): void {
  for (const param of claims.profile.tool.params) {
    if (!param.isId || !Object.hasOwn(preset, param.name)) continue
    const rows = isMarked(param) ? markedRows(things, param.entity) : things.rows
    const row = rows.find((each) => idFor(each, param) === preset[param.name])
    if (row) takeLabel(claims, row)
  }
}

/** What may be the name of a thing that is not known; of marked ones, rather what is written as names are. */
function mentionIn(claims: Claims, unknown: readonly UnknownThing[]): string {
  const name = nameOf(claims)
  const isOpen = unknown.some(({ param }) => isMarked(param))
  return isOpen && !isName(claims, name) ? nameLeft(claims) || name : name
}

interface Search {
  readonly things: Things
  readonly unknown: Map<string, UnknownThing>
}

function fillThing(claims: Claims, param: Param, { things, unknown }: Search): boolean {
  const found = isMarked(param) ? fillMarked(claims, param, things) : fillFromRows(claims, param, things)
  if (found.kind === 'filled') return true
  const rows = found.kind === 'several' ? found.rows : []
  const more = found.kind === 'pointed' ? { pointed: found.row } : { isMissed: found.kind === 'missed' }
  if (param.required) unknown.set(param.name, { param, nouns: nounsOf(claims, param), rows, ...more })
  return false
}

/** Where a kind of things is called what it is called, which is no name of one and speaks for the tool. */
function kindWords({ tool }: Profile, { tokens }: Request, { marked }: Things): readonly number[] {
  const kinds = tool.params.filter(isMarked).map(({ entity }) => entity)
  const nouns = new Set(kinds.flatMap((kind) => nounStems(marked, kind)))
  return tokens.flatMap(({ stem }, at) => (nouns.has(stem) ? [at] : []))
}

/** What nobody named is the chosen one, or else the one spoken of last. */
function fillChosen(
  claims: Claims,
  unknown: Map<string, UnknownThing>,
  { things, isInner }: { readonly things: Things; readonly isInner: boolean },
): number {
  let filled = 0
  for (const { param, rows, isMissed, pointed } of [...unknown.values()]) {
    if (!isMarked(param) || isMissed || rows.length > 0) continue
    if (!isInner && nameLeft(claims) !== '') continue
    const active = activeOf(things.marked, param.entity)
    const chosen = markedRows(things, param.entity).find(({ id }) => id === active?.id) ?? pointed
    const value = chosen && idFor(chosen, param)
    if (value === undefined) continue
    claims.set(param, value)
    unknown.delete(param.name)
    filled++
  }
  return filled
}

function fillObjects(claims: Claims, { match, request, things }: FillInput): void {
  for (const param of match.profile.tool.params) {
    if (param.params === undefined || !claims.isOpen(param)) continue
    const tool = { ...match.profile.tool, params: param.params.map((each) => ({ ...each, isId: false })) }
    const inner = new Claims(request, { ...match.profile, tool }, match.tokens)
    fillNamed(inner, tool.params)
    fillForms(inner, tool.params)
    fillChoices(inner, tool.params)
    fillObjects(inner, { match: { ...match, profile: inner.profile }, request, things })
    fillDefaults(inner, tool.params)
    const open = tool.params.some((each) => each.required && inner.isOpen(each))
    if (!open && inner.unsure.length === 0 && (Object.keys(inner.args).length > 0 || param.required)) {
      claims.set(param, inner.args)
    }
  }
}

/** What the schema itself decides. */
function fillDefaults(claims: Claims, params: readonly Param[]): void {
  for (const param of params) {
    if (!param.required || !claims.isOpen(param)) continue
    if (param.choices?.length === 1) claims.set(param, param.choices[0] as Json)
    else if (param.default !== undefined) claims.set(param, param.default)
  }
}
