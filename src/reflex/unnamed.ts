/**
 * Arguments whose parameter is not named: a value goes to the only parameter that it fits. Where it fits several, the
 * words around it decide; where these do not either, nothing is taken and the parameter is unsure.
 */
import type { Json } from '../protocol/index.ts'
import type { Claims } from './claims.ts'
import { fitSpan, formOfParam } from './coerce.ts'
import { FROM, NEGATION, STOP, TO } from './grammar.ts'
import { isContent } from './request.ts'
import type { Param } from './schema.ts'
import type { Span, SpanKind } from './values.ts'
import { stemOf, tokenise } from './words.ts'

interface Hit {
  readonly value: string | number | boolean
  readonly from: number
  readonly to: number
}

/** Choices are recognised by themselves, wherever they stand. */
export function fillChoices(claims: Claims, params: readonly Param[]): void {
  const open = params.filter(
    (param) => claims.isOpen(param) && (param.choices ?? param.items?.choices) !== undefined,
  )
  const found = open
    .map((param) => ({ param, hits: hitsOf(claims, param) }))
    .filter(({ hits }) => hits.length > 0)
  for (const { param, hits } of found) {
    const rivals = found.filter(
      (other) =>
        other.param !== param && other.hits.some(({ from }) => hits.some((hit) => hit.from === from)),
    )
    const values = [...new Set(hits.map(({ value }) => value))]
    if (rivals.some((rival) => rival.param.required === param.required)) claims.unsure.push({ param })
    else if (rivals.length > 0 && !param.required) continue
    else if (param.type === 'array') take(claims, param, { value: values, hits })
    else if (values.length === 1) take(claims, param, { value: values[0] as Json, hits })
    else claims.unsure.push({ param, options: values })
  }
}

function take(claims: Claims, param: Param, { value, hits }: { value: Json; hits: readonly Hit[] }): void {
  claims.set(param, value)
  for (const { from, to } of hits) claims.takeTokens(from, to)
}

function hitsOf(claims: Claims, { choices, items }: Param): Hit[] {
  const all = (choices ?? items?.choices ?? []).flatMap((value): Hit[] => {
    if (typeof value === 'boolean') return []
    const tokens = tokenise(String(value))
    const stems = tokens.map(({ stem }) => stem)
    // A word that says nothing elsewhere is a choice only where one is due.
    const isPlain = stems.every((stem) => STOP.has(stem))
    return claims
      .runsOf(stems)
      .filter((at) => isMeant(claims, at, stems.length) && (!isPlain || isDue(claims, at)))
      .map((from) => ({ value, from, to: from + stems.length }))
  })
  const isInside = (hit: Hit, other: Hit): boolean => {
    return other.from <= hit.from && other.to >= hit.to && other.to - other.from > hit.to - hit.from
  }
  return all.filter((hit) => !all.some((other) => isInside(hit, other)))
}

/** A word that is part of the tool's own name is no choice, and neither is one that is ruled out. */
function isMeant(claims: Claims, at: number, length: number): boolean {
  const { tokens } = claims.request
  const own = tokens.slice(at, at + length).every(({ stem }) => claims.profile.name.includes(stem))
  return !own && !NEGATION.has(tokens[at - 1]?.word ?? '')
}

/** `… as done`, `… to done`. */
function isDue({ request: { tokens } }: Claims, at: number): boolean {
  return /^(?:as|to)$/.test(tokens[at - 1]?.word ?? '')
}

/** Dates, addresses and the like, for the parameters that ask for them. */
export function fillForms(claims: Claims, params: readonly Param[]): void {
  const kinds: readonly (readonly SpanKind[])[] = [['email'], ['url'], ['uuid'], ['date', 'datetime']]
  for (const kind of kinds) {
    const wanting = params.filter(
      (param) => kind.includes((formOfParam(param) ?? 'id') as SpanKind) && !param.isId,
    )
    distribute(claims, wanting, claims.spans(...kind))
  }
}

export function fillNumbers(claims: Claims, params: readonly Param[]): void {
  const wanting = params.filter(
    ({ type, isId, choices }) => (type === 'number' || type === 'integer') && !isId && choices === undefined,
  )
  distribute(
    claims,
    wanting,
    claims.spans('number').filter((span) => !countsOther(claims, span)),
  )
}

/** `ten minutes`: a number of something that the tool does not speak of. */
function countsOther(claims: Claims, span: Span): boolean {
  const at = claims.placeOf(span) + 1
  if (claims.followsTool(at - 1)) return false
  const { stem = '' } = claims.request.tokens[at] ?? {}
  if (!isContent(claims.request, at) || !/^\s+$/.test(claims.gapBefore(at))) return false
  return !claims.profile.weights.has(stem)
}

/** Values of one kind to parameters of that kind. */
function distribute(claims: Claims, wanting: readonly Param[], spans: readonly Span[]): void {
  const left = new Set(spans)
  const give = (param: Param, span: Span): void => {
    const value = fitSpan(param, span)
    if (value === undefined) return
    claims.set(param, value)
    claims.takeSpan(span)
    left.delete(span)
  }
  for (const param of wanting) {
    if (!claims.isOpen(param)) continue
    const near = [...left].filter((span) => isNear(claims, param, span))
    if (near.length === 1) give(param, near[0] as Span)
  }
  const nameless = wanting.filter((param) => claims.isOpen(param))
  const inOrder = nameless.length === left.size && nameless.every(({ name }) => name.length <= 2)
  if (inOrder) for (const [at, span] of [...left].entries()) give(nameless[at] as Param, span)
  const open = wanting.filter((param) => claims.isOpen(param))
  const needed = open.filter(({ required }) => required)
  const fits = (param: Param): Span[] => [...left].filter((span) => fitSpan(param, span) !== undefined)
  if (needed.length === 1 && needed[0] && fits(needed[0]).length === 1)
    give(needed[0], fits(needed[0])[0] as Span)
  else if (needed.length === 0 && open.length === 1 && open[0] && fits(open[0]).length === 1) {
    give(open[0], fits(open[0])[0] as Span)
  } else if (left.size > 0) {
    for (const param of needed.length > 0 ? needed : open.slice(0, 1)) {
      const options = fits(param).map(({ value }) => value)
      if (options.length > 0) claims.unsure.push(options.length > 1 ? { param, options } : { param })
    }
  }
}

/** Whether the words next to a value are words of the parameter, or point to the same end of a range. */
function isNear(claims: Claims, param: Param, span: Span): boolean {
  const { tokens } = claims.request
  const at = claims.placeOf(span)
  const before = [tokens[at - 1], tokens[at - 2]].map((token) => token?.word ?? '')
  const after = [tokens[at + 1]?.word ?? '']
  const words = new Set([...param.stems, ...[...param.about].filter((word) => !STOP.has(word)).map(stemOf)])
  if ([...before, ...after].some((word) => word !== '' && words.has(stemOf(word)) && !STOP.has(word)))
    return true
  const ends = (cues: ReadonlySet<string>): boolean =>
    param.stems.some((stem) => cues.has(stem)) && cues.has(before[0] ?? '')
  return ends(FROM) || ends(TO)
}

/** Lists of numbers or quoted texts, when only one parameter can take them. */
export function fillLists(claims: Claims, params: readonly Param[]): void {
  const open = params.filter(
    (param) => param.type === 'array' && claims.isOpen(param) && param.items !== undefined,
  )
  const only = open.filter(({ required }) => required)[0] ?? (open.length === 1 ? open[0] : undefined)
  if (only?.items === undefined || only.items.choices !== undefined) return
  const { items } = only
  const kinds: readonly SpanKind[] =
    items.type === 'string' || items.type === 'any' ? ['quoted', 'literal', 'email', 'url', 'id'] : ['number']
  const fitting = claims.spans(...kinds).filter((span) => fitSpan(items, span) !== undefined)
  if (fitting.length < (only.required ? 1 : 2)) return
  claims.set(
    only,
    fitting.map((span) => fitSpan(items, span) as Json),
  )
  for (const span of fitting) claims.takeSpan(span)
}
