/**
 * The arguments of one call, from the words of a request and from what tools have told before. A value that is not there
 * is never made up: it is a gap.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { Claims, type Gap } from './claims.ts'
import { fillChoices, fillForms, fillLists, fillNamed, fillNumbers } from './fill-values.ts'
import { fillText, isName, nameLeft, nameOf, restOf } from './free-text.ts'
import { limitOf } from './limits.ts'
import { type Request, shares } from './request.ts'
import { idFor, latestOf, type Row } from './rows.ts'
import { fitSpan, isLabel, type Param } from './schema.ts'
import { fillThing, isMarked, kindOf, rowsFor, type Things, takeLabel } from './things.ts'
import type { Profile } from './tools.ts'

export interface UnknownThing {
  readonly param: Param
  readonly nouns: readonly string[]
  /** The rows that are meant equally well; empty if none is. */
  readonly rows: readonly Row[]
  /** One was named that is not there, so that the chosen one is not meant. */
  readonly isMissed: boolean
}

export interface Filled {
  readonly args: JsonObject
  /** Required parameters without a value, and those between whose values the request does not decide. */
  readonly gaps: readonly Gap[]
  /** Required ids of things that are not known, or not known well enough. */
  readonly things: readonly UnknownThing[]
  /** How many values of the request found a place. */
  readonly used: number
  /** How many things were found among those that are known, and how many of them were named. */
  readonly known: number
  readonly named: number
  /** How many ids are only what was left over. */
  readonly guessed: number
  /** The words that nothing has explained; of those, the ones beside words of the tool. */
  readonly rest: string
  /** How many words nothing has explained, but for those of a name that can be looked up. */
  readonly left: number
  readonly residue: string
  /** A little word that changes what is asked for and that no argument has. */
  readonly limit: string
  /** The tokens that are explained as values. */
  readonly taken: ReadonlySet<number>
  /** A possible name of a thing, and whether it is written as a name. */
  readonly mention: string
  readonly isNamed: boolean
}

export interface FillInput {
  /** The tool, the tokens of the request that spoke for it, and those that say what it does. */
  readonly match: {
    readonly profile: Profile
    readonly tokens: ReadonlySet<number>
    readonly verbAt: ReadonlySet<number>
  }
  readonly request: Request
  readonly things: Things
  /** Arguments that are filled already. */
  readonly preset?: JsonObject
  /** Whether ids that are not known can be looked up; then a left-over value is a name rather than an id. */
  readonly canLookUp?: (nouns: readonly string[]) => boolean
  /** Whether a name that is left over belongs to something else, as in a search on the way. */
  readonly isInner?: boolean
}

export function fillArguments(input: FillInput): Filled {
  const { match, request, things, preset = {}, canLookUp = () => false, isInner = false } = input
  const { profile } = match
  const { params } = profile.tool
  const marked = params.filter(isMarked).flatMap((param) => kindOf(param, profile, things))
  const kindAt = request.tokens.flatMap(({ keys }, at) => (shares(keys, marked) ? [at] : []))
  const claims = new Claims(request, profile, new Set([...match.tokens, ...kindAt]))
  Object.assign(claims.args, preset)
  const plain = params.filter(({ isId }) => !isId)
  fillChoices(claims, plain)
  takePreset(claims, preset, things)
  fillNamed(claims, params)
  fillForms(claims, plain)
  fillChoices(claims, plain)
  const unknown = fillThings(claims, things)
  const named = params.filter(
    ({ isId, name }) => isId && Object.hasOwn(claims.args, name) && !Object.hasOwn(preset, name),
  ).length
  fillNumbers(claims, plain)
  for (const at of kindAt) claims.takeTokens(at, at + 1)
  const chosen = fillChosen(claims, unknown, { things, isInner })
  const guessed = fillLeftIds(claims, unknown, canLookUp)
  fillText(claims, plain, unknown.size === 0)
  fillLists(claims, plain)
  fillDefaults(claims, params)
  const gaps = params
    .filter((param) => param.required && claims.isOpen(param) && !unknown.has(param.name))
    .map((param) => ({ param }))
  const mention = mentionIn(claims, [...unknown.values()])
  const isNamed = isName(claims, mention)
  return {
    args: Object.fromEntries(
      params.flatMap(({ name }) =>
        Object.hasOwn(claims.args, name) ? [[name, claims.args[name] as Json]] : [],
      ),
    ),
    gaps: [...claims.unsure, ...gaps],
    things: [...unknown.values()],
    used: claims.used,
    known: named + chosen,
    named,
    guessed,
    rest: restOf(claims),
    left: leftBeside(claims, unknown.size === 1 && mayName(claims, isNamed) ? mention : ''),
    residue: claims.residue(match.verbAt.size > 0),
    limit: limitOf(claims, match.verbAt),
    taken: claims.taken,
    mention,
    isNamed,
  }
}

/** Whether left-over words may be the name of a thing; for a tool that shows one, only if little else was said. */
function mayName({ profile, request }: Claims, isNamed: boolean): boolean {
  const isShort = request.tokens.length <= 4
  return isNamed || !profile.looks || profile.lists || isShort || request.places.has('!detail')
}

function leftBeside({ left, request: { text, tokens } }: Claims, mention: string): number {
  const start = mention === '' ? -1 : text.indexOf(mention)
  const isInside = (at: number): boolean =>
    start >= 0 &&
    !tokens[at]?.isTool &&
    !(
      /^\p{Lu}/u.test(mention) && /^\p{Ll}.*(?:ed|ing)$/u.test(text.slice(tokens[at]?.start, tokens[at]?.end))
    ) &&
    (tokens[at]?.start ?? 0) >= start &&
    (tokens[at]?.end ?? 0) <= start + mention.length
  return left.filter((at) => !isInside(at)).length
}

/** The names of things that are settled are explained. */
function takePreset(claims: Claims, preset: JsonObject, things: Things): void {
  for (const param of claims.profile.tool.params) {
    if (!param.isId || !Object.hasOwn(preset, param.name)) continue
    const rows = latestOf(things.seen)
    const row = rows.find(
      (each) => idFor(each, param) === preset[param.name] || each.label === preset[param.name],
    )
    if (row) takeLabel(claims, row)
    else claims.takeText(JSON.stringify(preset[param.name]))
  }
}

function fillThings(claims: Claims, things: Things): Map<string, UnknownThing> {
  const unknown = new Map<string, UnknownThing>()
  for (const param of claims.profile.tool.params) {
    if (!claims.isOpen(param)) continue
    if (!param.isId && !(isLabel(param) && isKnownByName(claims.profile))) continue
    const found = fillThing(claims, param, things)
    if (found.kind === 'filled' || !param.required || !param.isId) continue
    const nouns = kindOf(param, claims.profile, things)
    const rows = found.kind === 'several' ? found.rows : []
    unknown.set(param.name, { param, nouns, rows, isMissed: found.kind === 'missed' })
  }
  return unknown
}

/** A tool that makes something gives it a name of its own. */
function isKnownByName({ verbs }: Profile): boolean {
  return !verbs.some(({ verbs: families }) => families.includes('!create'))
}

/** A thing that no word names is the active one. */
function fillChosen(
  claims: Claims,
  unknown: Map<string, UnknownThing>,
  { things, isInner }: { readonly things: Things; readonly isInner: boolean },
): number {
  let filled = 0
  for (const { param, rows, nouns, isMissed } of [...unknown.values()]) {
    if (!isMarked(param) || isMissed || rows.length > 0 || (!isInner && nameLeft(claims) !== '')) continue
    const active = things.active.find(({ entity }) => entity === param.entity)
    const known = rowsFor(param, nouns, things)
    const isPointed = things.focus?.entity === param.entity && claims.points()
    const chosen = known.find(({ id }) => id === active?.id) ?? (isPointed ? things.focus : undefined)
    const value = chosen && idFor(chosen, param)
    if (value === undefined) continue
    claims.set(param, value)
    unknown.delete(param.name)
    filled++
  }
  return filled
}

/** A value that nothing else has taken, right behind words of the tool, where no thing can be looked up by it. */
function fillLeftIds(
  claims: Claims,
  unknown: Map<string, UnknownThing>,
  canLookUp: (nouns: readonly string[]) => boolean,
): number {
  const [only] = [...unknown.values()]
  if (unknown.size !== 1 || only === undefined || isMarked(only.param)) return 0
  const { param, nouns } = only
  const fitting = claims
    .spans(...(canLookUp(nouns) ? (['number'] as const) : (['number', 'quoted'] as const)))
    .filter((span) => {
      const at = claims.placeOf(span)
      const counts = claims.profile.nouns.some(({ keys }) =>
        shares(keys, claims.request.tokens[at + 1]?.keys ?? []),
      )
      const isFree = span.kind === 'quoted' || (/\d/.test(span.raw) && claims.followsTool(at) && !counts)
      return isFree && fitSpan(param, span) !== undefined
    })
  const [span] = fitting
  if (fitting.length !== 1 || span === undefined) return 0
  claims.set(param, fitSpan(param, span) as Json)
  claims.takeSpan(span)
  unknown.delete(param.name)
  return 1
}

/** A possible name of an unknown thing; for marked ids, texts written as names come first. */
function mentionIn(claims: Claims, unknown: readonly UnknownThing[]): string {
  const name = nameOf(claims)
  // `I cannot go to X, cancel it`
  if (name === '' && unknown.length === 1 && claims.points()) return restOf(claims)
  const isOpen = unknown.some(({ param }) => isMarked(param))
  return isOpen && !isName(claims, name) ? nameLeft(claims) || name : name
}

/** Values that the schema itself decides. */
function fillDefaults(claims: Claims, params: readonly Param[]): void {
  for (const param of params) {
    if (!param.required || !claims.isOpen(param)) continue
    if (param.choices?.length === 1) claims.set(param, param.choices[0] as Json)
    else if (param.default !== undefined) claims.set(param, param.default)
  }
}
