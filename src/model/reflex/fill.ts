/**
 * The arguments of one call, from the words of a request and from what tools have told before. A value that is not there
 * is never made up: it is a gap.
 */
import type { Json, JsonObject } from '../../protocol/index.ts'
import { Claims, type Gap } from './claims.ts'
import { fillText, nameOf, restOf } from './free-text.ts'
import type { Match } from './match.ts'
import { fillNamed } from './named.ts'
import type { Request } from './request.ts'
import { idFor, type Row } from './results.ts'
import type { Param } from './schema.ts'
import { fillFromRows, fillLeftId, fillWrittenId, nounsOf, type Things, takeLabel } from './things.ts'
import { fillChoices, fillForms, fillLists, fillNumbers } from './unnamed.ts'

export interface UnknownThing {
  readonly param: Param
  readonly nouns: readonly string[]
  /** The rows that are meant equally well; empty if none is. */
  readonly rows: readonly Row[]
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
  /** How many ids are only what was left over. */
  readonly guessed: number
  /** The words that nothing has explained. */
  readonly rest: string
  /** Of those, what may be the name of a thing. */
  readonly mention: string
}

export interface FillInput {
  readonly match: Pick<Match, 'profile' | 'tokens'>
  readonly request: Request
  readonly things: Things
  /** What is already settled. */
  readonly preset?: JsonObject
  /** Whether ids that are not known can be looked up; then a left-over value is a name rather than an id. */
  readonly canLookUp?: (nouns: readonly string[]) => boolean
}

export function fillArguments({
  match,
  request,
  things,
  preset = {},
  canLookUp = () => false,
}: FillInput): Filled {
  const claims = new Claims(request, match.profile, match.tokens)
  const { params } = match.profile.tool
  Object.assign(claims.args, preset)
  const plain = params.filter(({ isId }) => !isId)
  const ids = params.filter(({ isId }) => isId)
  const unknown = new Map<string, UnknownThing>()
  let known = 0
  let guessed = 0
  for (const param of ids) {
    const row = things.rows.find(
      (each) => Object.hasOwn(preset, param.name) && idFor(each, param) === preset[param.name],
    )
    if (row) takeLabel(claims, row)
  }
  fillNamed(claims, params)
  for (const param of ids) if (claims.isOpen(param)) fillWrittenId(claims, param)
  fillForms(claims, plain)
  fillChoices(claims, plain)
  for (const param of ids.filter((each) => claims.isOpen(each))) {
    if (fillThing(claims, param, { things, unknown })) known++
  }
  fillNumbers(claims, plain)
  for (const { param, nouns } of [...unknown.values()]) {
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
  return {
    args: claims.args,
    gaps: [...claims.unsure, ...gaps],
    things: [...unknown.values()],
    used: claims.used,
    known,
    guessed,
    rest: restOf(claims),
    mention: nameOf(claims),
  }
}

interface Search {
  readonly things: Things
  readonly unknown: Map<string, UnknownThing>
}

function fillThing(claims: Claims, param: Param, { things, unknown }: Search): boolean {
  const found = fillFromRows(claims, param, things)
  if (found.kind === 'filled') return true
  const rows = found.kind === 'several' ? found.rows : []
  if (param.required) unknown.set(param.name, { param, nouns: nounsOf(claims, param), rows })
  return false
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
