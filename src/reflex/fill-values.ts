/**
 * Arguments whose value has a form: behind the name of a parameter (`limit 5`, `colour: red`, `with tags a, b and c`), or
 * anywhere if one parameter alone can take it. Where a value fits several, the words around it decide; where these do not
 * either, nothing is taken and the parameter is unsure.
 */
import type { Json } from '../protocol/index.ts'
import type { Claims } from './claims.ts'
import {
  ASKING,
  BEFORE_NOUNS,
  FALSE,
  FLAG_WORDS,
  FROM,
  LINKS,
  LOOSE_LINKS,
  NEGATION,
  STOP,
  TO,
  TRUE,
} from './lexicon.ts'
import { clauseBefore, isContent, shares } from './request.ts'
import { fitSpan, fitText, formOfParam, type Param } from './schema.ts'
import type { Span, SpanKind } from './values.ts'
import { stemOf } from './words.ts'

type Range = readonly [from: number, to: number]

const LONGEST_CHOICE = 4
/** Hits are compared with each other. */
const MOST_HITS = 100

export function fillNamed(claims: Claims, params: readonly Param[]): void {
  for (const nameOf of [({ keys }: Param) => keys, (param: Param) => shortName(param, params)]) {
    for (const param of params) {
      if (!claims.isOpen(param) || param.type === 'object') continue
      const name = nameOf(param)
      if (name.length > 0) claims.runsOf(name).some((at) => takeNamed(claims, param, [at, at + name.length]))
    }
  }
}

/** People leave out what goes without saying: `is` of a flag, and all but the last word, if no other parameter has it. */
function shortName({ stems, keys, type, isId }: Param, params: readonly Param[]): Param['keys'] {
  if (type === 'boolean' && stems.at(-1) === 'onli') return keys.slice(0, -1)
  if (type === 'boolean') return FLAG_WORDS.has(stems[0] ?? '') ? keys.slice(1) : []
  const last = stems.at(-1) ?? ''
  const isOwn = stems.length > 1 && !isId && params.filter((each) => each.stems.includes(last)).length === 1
  return isOwn ? keys.slice(-1) : []
}

function takeNamed(claims: Claims, param: Param, [from, to]: Range): boolean {
  if (param.type === 'boolean') return takeFlag(claims, param, [from, to])
  const wordAt = (at: number): string => claims.request.tokens[at]?.word ?? ''
  let at = to
  let explicit = /[=:]/.test(claims.gapBefore(at))
  while (at - to < 3 && !explicit && LINKS.has(wordAt(at)) && !isBreak(claims, at)) {
    explicit = !LOOSE_LINKS.has(wordAt(at))
    at++
  }
  if (explicit && wordAt(at) === 'the' && !/[=:]/.test(claims.gapBefore(at))) at++
  const end = isBreak(claims, at) && !explicit ? undefined : takeAt(claims, param, { at, explicit })
  if (end !== undefined) claims.takeTokens(from, end)
  return end !== undefined || takeNumberBefore(claims, param, [from, to])
}

function isBreak(claims: Claims, at: number): boolean {
  const gap = claims.gapBefore(at).replaceAll(/\.(?=\d)/g, '')
  return at >= claims.request.tokens.length || /[.!?;\n]/.test(gap)
}

interface Spot {
  readonly at: number
  /** Whether a sign or a word says that a value comes. */
  readonly explicit: boolean
}

/** Takes the value that begins at a token, and says where it ends. */
function takeAt(claims: Claims, param: Param, { at, explicit }: Spot): number | undefined {
  const { tokens, spanOf } = claims.request
  if (param.type === 'array') return takeList(claims, param, at)
  const span = spanOf[at]
  if (span !== undefined && claims.isFree(at)) {
    const isOther = span.kind === 'id' && !param.isId && claims.profile.tool.params.some(({ isId }) => isId)
    const value = isOther || (span.kind === 'quoted' && param.isId) ? undefined : fitSpan(param, span)
    if (value === undefined) return undefined
    claims.set(param, value)
    claims.takeSpan(span)
    return at
  }
  const end = param.choices === undefined ? claims.runEnd(at) : Math.min(at + LONGEST_CHOICE, tokens.length)
  for (let to = end; to > at; to--) {
    const value = fitText(param, claims.textOf(at, to))
    const isWords = param.choices === undefined
    if (isWords && !mayBeWords(claims, param, { at, explicit })) return undefined
    if (value !== undefined) {
      claims.set(param, value)
      return to
    }
    if (isWords) return undefined
  }
  return undefined
}

function isInName({ profile }: Claims, { stems }: Param): boolean {
  return stems.every((stem) => profile.name.some((word) => word.stem === stem))
}

function mayBeWords(claims: Claims, param: Param, { at, explicit }: Spot): boolean {
  const isText = (param.type === 'string' || param.type === 'any') && !param.isId
  if (!isText || formOfParam(param) !== undefined) return false
  const isToolWord = isInName(claims, param)
  const isOther =
    STOP.has(claims.request.tokens[at]?.word ?? '') || claims.spoken.has(at) || claims.isTurn(at)
  return explicit || !(isOther || (isToolWord && !param.required))
}

/** `5 tries`: right before the name, and not the value of something else. */
function takeNumberBefore(claims: Claims, param: Param, [from, to]: Range): boolean {
  const span = claims.request.spanOf[from - 1]
  const isNumber = (param.type === 'number' || param.type === 'integer') && span?.kind === 'number'
  if (!isNumber || !claims.isFree(from - 1) || !/^[\s%]*$/.test(claims.gapBefore(from))) return false
  const value = fitSpan(param, span)
  if (value === undefined) return false
  claims.set(param, value)
  claims.takeSpan(span)
  claims.takeTokens(from, to)
  return true
}

/** Every item of `a, b and c`, to where something else begins. */
function takeList(claims: Claims, param: Param, at: number): number | undefined {
  const { tokens, spanOf } = claims.request
  const { items } = param
  if (items === undefined || items.type === 'array' || items.type === 'object') return undefined
  let end = at
  const isIn = (place: number): boolean =>
    place === at ||
    spanOf[place] !== undefined ||
    (!(isBreak(claims, place) || /[()]/.test(claims.gapBefore(place)) || claims.isTurn(place)) &&
      (!STOP.has(tokens[place]?.word ?? '') || /^(?:and|or)$/.test(tokens[place]?.word ?? '')))
  while (end < tokens.length && claims.isFree(end) && isIn(end)) end++
  while (end > at && STOP.has(tokens[end - 1]?.word ?? '')) end--
  if (end === at || STOP.has(tokens[at]?.word ?? '')) return undefined
  const parts = claims
    .textOf(at, end)
    .split(/\s*(?:[,;]|\b(?:and|or|et|ou)\b)\s*/)
    .filter((part) => part !== '')
  const values = parts.map((part) => fitText(items, part.replaceAll(/^["'“«]+|["'”»]+$/g, '')))
  if (values.includes(undefined)) return undefined
  claims.set(param, values as Json[])
  for (let place = at; place < end; place++) if (spanOf[place]) claims.takeSpan(spanOf[place] as Span)
  return end
}

/** A yes-or-no parameter is yes when it is named, unless something says no. */
function takeFlag(claims: Claims, param: Param, [from, to]: Range): boolean {
  if (isInName(claims, param)) return false
  const wordsAt = (...places: number[]): string[] => places.map((at) => claims.request.tokens[at]?.word ?? '')
  const after = wordsAt(to, to + 1)
  const said = after.find((word) => TRUE.has(word) || FALSE.has(word))
  const isDenied =
    wordsAt(from - 1, from - 2, from - 3).some((word) => NEGATION.has(word)) || after[0] === 'not'
  claims.set(param, said === undefined || /[.!?,;\n]/.test(claims.gapBefore(to)) ? !isDenied : TRUE.has(said))
  claims.takeTokens(from, to)
  return true
}

interface Hit {
  readonly value: string | number | boolean
  readonly from: number
  readonly to: number
}

/** Choices are recognised by themselves, wherever they stand. */
export function fillChoices(claims: Claims, params: readonly Param[]): void {
  const found = params
    .filter((param) => claims.isOpen(param))
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
    else if (param.type !== 'array' && values.length > 1) claims.unsure.push({ param, options: values })
    else {
      claims.set(param, param.type === 'array' ? values : (values[0] as Json))
      for (const { from, to } of hits) claims.takeTokens(from, to)
    }
  }
}

/** `open it`; not `any open ones`. */
function opens({ request }: Claims, at: number): boolean {
  return clauseBefore(request, at).every(
    ({ word }) => STOP.has(word) && !ASKING.has(word) && !BEFORE_NOUNS.has(word),
  )
}

/** `not paid`, `not yet paid`: only little words stand between. */
function isNegated({ request: { tokens, clauseOf } }: Claims, at: number): boolean {
  let before = at - 1
  while (/^(?:again|yet|already|been|be|have|so)$/.test(tokens[before]?.word ?? '')) before--
  return NEGATION.has(tokens[before]?.word ?? '') && clauseOf[before] === clauseOf[at]
}

function hitsOf(claims: Claims, { choices, items, choiceWords = [] }: Param): Hit[] {
  const { tokens, clauseOf } = claims.request
  const { name, settings, verbs } = claims.profile
  const all = (choices ?? items?.choices ?? []).flatMap((value, nth): Hit[] => {
    const words = choiceWords[nth]
    if (typeof value === 'boolean' || words === undefined) return []
    // A word that says nothing elsewhere is a choice only where one is due: `… as done`, `… to done`.
    const isPlain = words.every(({ word }) => STOP.has(word))
    const alike = tokens.flatMap(({ verbs: said }, at) =>
      said.some((family) => settings.get(family) === value) && claims.isFree(at) ? [at] : [],
    )
    const runs = claims.runsOf(words.map(({ keys }) => keys))
    return [...new Set([...runs, ...alike])].slice(0, MOST_HITS).flatMap((at) => {
      const before = tokens[at - 1]?.word ?? ''
      const said = tokens.slice(at, at + words.length)
      const isOwn = said.every(({ keys }) =>
        name.some((word) => !verbs.includes(word) && shares(word.keys, keys)),
      )
      const isVerb =
        !alike.includes(at) &&
        claims.spoken.has(at) &&
        said.every(({ word }) => word === 'open') &&
        !tokens[at + 1]?.isPlural &&
        clauseOf[at + 1] === clauseOf[at] &&
        tokens[at + 1]?.word !== 'only' &&
        opens(claims, at)
      const isNot = isNegated(claims, at)
      if (isNot && choices?.length === 2) {
        const other = choices.find((choice) => choice !== value)
        return other === undefined ? [] : [{ value: other, from: at, to: at + words.length }]
      }
      if (isOwn || isVerb || isNot || (isPlain && before !== 'as' && before !== 'to')) return []
      return [{ value, from: at, to: at + words.length }]
    })
  })
  const isInside = (hit: Hit, other: Hit): boolean =>
    other.from <= hit.from && other.to >= hit.to && other.to - other.from > hit.to - hit.from
  return all.filter((hit) => !all.some((other) => isInside(hit, other)))
}

const FORMS: readonly (readonly SpanKind[])[] = [['email'], ['url'], ['uuid'], ['date', 'datetime']]

/** Dates, addresses and the like, for the parameters that ask for them. */
export function fillForms(claims: Claims, params: readonly Param[]): void {
  for (const kinds of FORMS) {
    const wanting = params.filter((param) => kinds.includes((formOfParam(param) ?? 'id') as SpanKind))
    distribute(claims, wanting, claims.spans(...kinds))
  }
}

export function fillNumbers(claims: Claims, params: readonly Param[]): void {
  const wanting = params.filter(
    ({ type, choices }) => (type === 'number' || type === 'integer') && choices === undefined,
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
  if (claims.followsTool(at - 1) || !isContent(claims.request, at) || !/^\s+$/.test(claims.gapBefore(at)))
    return false
  return !(claims.request.tokens[at]?.keys ?? []).some((key) => claims.profile.weights.has(key))
}

/** Values of one kind to parameters of that kind: by the words around them, in order, or because nothing else fits. */
function distribute(claims: Claims, wanting: readonly Param[], spans: readonly Span[]): void {
  const left = new Set(spans)
  const give = (param: Param | undefined, span: Span | undefined): void => {
    const value = param && span && fitSpan(param, span)
    if (value === undefined) return
    claims.set(param as Param, value)
    claims.takeSpan(span as Span)
    left.delete(span as Span)
  }
  const isOpen = (param: Param): boolean => claims.isOpen(param)
  const isEither = spans.some((span, at) => {
    const next = spans[at + 1]
    return next !== undefined && /^\s*(?:or|ou)\s*$/i.test(claims.request.text.slice(span.end, next.start))
  })
  if (isEither) {
    const options = spans.map(({ value }) => value)
    claims.unsure.push(
      ...wanting
        .filter(isOpen)
        .slice(0, 1)
        .map((param) => ({ param, options })),
    )
    return
  }
  for (const param of wanting.filter(isOpen)) {
    const near = [...left].filter((span) => isNear(claims, param, span))
    if (near.length === 1) give(param, near[0])
  }
  const nameless = wanting.filter(isOpen)
  if (nameless.length === left.size && nameless.every(({ name }) => name.length <= 2))
    for (const [at, span] of [...left].entries()) give(nameless[at], span)
  const open = wanting.filter(isOpen)
  const needed = open.filter(({ required }) => required)
  const fits = (param: Param): Span[] => [...left].filter((span) => fitSpan(param, span) !== undefined)
  const [only, more] = needed.length > 0 ? needed : open
  if (only && more === undefined && fits(only).length === 1) give(only, fits(only)[0])
  else if (left.size > 0) {
    for (const param of needed.length > 0 ? needed : open.slice(0, 1)) {
      const options = fits(param).map(({ value }) => value)
      if (options.length > 0) claims.unsure.push(options.length > 1 ? { param, options } : { param })
    }
  }
}

/** Whether the words next to a value are words of the parameter, or point to the same end of a range. */
function isNear(claims: Claims, { stems, about }: Param, span: Span): boolean {
  const { tokens } = claims.request
  const at = claims.placeOf(span)
  const around = [tokens[at - 1], tokens[at - 2], tokens[at + 1]].map((token) => token?.word ?? '')
  const words = new Set([...stems, ...[...about].map(stemOf)])
  if (around.some((word) => word !== '' && !STOP.has(word) && words.has(stemOf(word)))) return true
  return [FROM, TO].some((cues) => stems.some((stem) => cues.has(stem)) && cues.has(around[0] ?? ''))
}

/** Lists of numbers or quoted texts, when only one parameter can take them. */
export function fillLists(claims: Claims, params: readonly Param[]): void {
  const open = params.filter((param) => param.type === 'array' && claims.isOpen(param) && param.items)
  const only = open.find(({ required }) => required) ?? (open.length === 1 ? open[0] : undefined)
  const items = only?.items
  if (only === undefined || items === undefined || items.choices !== undefined) return
  const isText = items.type === 'string' || items.type === 'any'
  const kinds: readonly SpanKind[] = isText ? ['quoted', 'literal', 'email', 'url', 'id'] : ['number']
  const fitting = claims.spans(...kinds).filter((span) => fitSpan(items, span) !== undefined)
  if (fitting.length < (only.required ? 1 : 2)) return
  claims.set(
    only,
    fitting.map((span) => fitSpan(items, span) as Json),
  )
  for (const span of fitting) claims.takeSpan(span)
}
