/** Arguments whose parameter is named in the request: `limit 5`, `colour: red`, `5 tries`, `with the title "A"`. */
import type { Json } from '../protocol/index.ts'
import type { Claims } from './claims.ts'
import { fitSpan, fitText, formOfParam } from './coerce.ts'
import { FALSE, FLAG_WORDS, LINKS, LOOSE_LINKS, NEGATION, STOP, TRUE } from './grammar.ts'
import type { Param } from './schema.ts'
import { stemsOf } from './words.ts'

export function fillNamed(claims: Claims, params: readonly Param[]): void {
  for (const short of [false, true]) {
    for (const param of params) {
      if (!claims.isOpen(param) || param.type === 'object') continue
      const stems = short ? shortName(param, params) : param.stems
      if (stems.length === 0) continue
      for (const at of claims.runsOf(stems)) {
        if (
          param.type === 'boolean'
            ? fillFlag(claims, param, at)
            : fillAt(claims, param, [at, at + stems.length])
        ) {
          break
        }
      }
    }
  }
}

/** People leave out what goes without saying: the last word of a name, if no other parameter has it. */
function shortName(param: Param, params: readonly Param[]): readonly string[] {
  if (param.type === 'boolean') return flagName(param)
  const last = param.stems.at(-1) ?? ''
  if (param.stems.length < 2 || param.isId) return []
  return params.filter(({ stems }) => stems.includes(last)).length === 1 ? [last] : []
}

function flagName({ stems }: Param): readonly string[] {
  const first = stems.findIndex((stem) => !FLAG_WORDS.has(stem))
  return first > 0 ? stems.slice(first) : []
}

type Range = readonly [from: number, to: number]

function fillAt(claims: Claims, param: Param, [from, to]: Range): boolean {
  const { request } = claims
  let at = to
  let explicit = /[=:]/.test(claims.gapBefore(at))
  while (at - to < 3 && !explicit && LINKS.has(request.tokens[at]?.word ?? '') && !isBreak(claims, at)) {
    if (!LOOSE_LINKS.has(request.tokens[at]?.word ?? '')) explicit = true
    at++
  }
  if (explicit && !/[=:]/.test(claims.gapBefore(at)) && request.tokens[at]?.word === 'the') at++
  const end =
    isBreak(claims, at) && !explicit ? undefined : valueAt(claims, param, { at, name: [from, to], explicit })
  if (end !== undefined) {
    claims.takeTokens(from, end)
    return true
  }
  return numberBefore(claims, param, [from, to]) || valueBehindTo(claims, param, [from, to])
}

const FARTHEST = 8

/** `the X of … to V`: the value comes after what it belongs to. */
function valueBehindTo(claims: Claims, param: Param, [from, to]: Range): boolean {
  const { tokens } = claims.request
  if (tokens[to]?.word !== 'of') return false
  for (let at = to + 1; at < tokens.length - 1 && at < to + FARTHEST; at++) {
    if (isBreak(claims, at)) return false
    if (tokens[at]?.word !== 'to') continue
    const end = valueAt(claims, param, { at: at + 1, name: [from, to], explicit: true })
    if (end !== undefined) claims.takeTokens(at, end)
    return end !== undefined
  }
  return false
}

function isBreak(claims: Claims, at: number): boolean {
  return (
    at >= claims.request.tokens.length || /[.!?;\n]/.test(claims.gapBefore(at).replaceAll(/\.(?=\d)/g, ''))
  )
}

interface Spot {
  readonly at: number
  readonly name: Range
  readonly explicit: boolean
}

/** Takes the value that begins at a token, and says where it ends. */
function valueAt(claims: Claims, param: Param, spot: Spot): number | undefined {
  if (param.type === 'array') return listAt(claims, param, spot)
  const { at } = spot
  const span = claims.request.spanOf[at]
  if (span !== undefined && claims.isFree(at)) {
    const value = fitSpan(param, span)
    if (value === undefined || (span.kind === 'quoted' && param.isId)) return undefined
    claims.set(param, value)
    claims.takeSpan(span)
    return at
  }
  if (param.choices !== undefined) return choiceAt(claims, param, at)
  const plain =
    (param.type === 'string' || param.type === 'any') && formOfParam(param) === undefined && !param.isId
  return plain ? wordsAt(claims, param, spot) : undefined
}

const LONGEST_CHOICE = 4

function choiceAt(claims: Claims, param: Param, at: number): number | undefined {
  for (let length = LONGEST_CHOICE; length > 0; length--) {
    if (at + length > claims.request.tokens.length) continue
    const value = fitText(param, claims.textOf(at, at + length))
    if (value === undefined) continue
    claims.set(param, value)
    return at + length
  }
  return undefined
}

function wordsAt(claims: Claims, param: Param, { at, explicit }: Spot): number | undefined {
  const { tokens } = claims.request
  const first = tokens[at]?.word ?? ''
  const isToolWord = param.stems.every((stem) => claims.profile.name.includes(stem))
  if (
    !explicit &&
    (STOP.has(first) || claims.spoken.has(at) || (isToolWord && !param.required) || claims.isTurn(at))
  )
    return undefined
  const end = claims.runEnd(at)
  const value = end > at ? fitText(param, claims.textOf(at, end)) : undefined
  if (value === undefined) return undefined
  claims.set(param, value)
  return end
}

/** `5 tries`: right before the name, and not the value of something else. */
function numberBefore(claims: Claims, param: Param, [from, to]: Range): boolean {
  if ((param.type !== 'number' && param.type !== 'integer') || from === 0) return false
  const span = claims.request.spanOf[from - 1]
  if (span?.kind !== 'number' || !claims.isFree(from - 1) || !/^[\s%]*$/.test(claims.gapBefore(from)))
    return false
  const value = fitSpan(param, span)
  if (value === undefined) return false
  claims.set(param, value)
  claims.takeSpan(span)
  claims.takeTokens(from, to)
  return true
}

/** Every item of `a, b and c` that fits. */
function listAt(claims: Claims, param: Param, { at, explicit }: Spot): number | undefined {
  const { items } = param
  if (items === undefined || items.type === 'array' || items.type === 'object') return undefined
  const { tokens, spanOf } = claims.request
  const values: Json[] = []
  let next = at
  while (next < tokens.length && claims.isFree(next)) {
    if (next > at && !/^[\s,"'“”]*$/.test(claims.gapBefore(next)) && spanOf[next] === undefined) break
    if (values.length > 0 && /^(?:and|or)$/.test(tokens[next]?.word ?? '')) next++
    const span = spanOf[next]
    if (values.length > 0 && !isListed(claims, next)) break
    const end = span === undefined ? itemEnd(claims, next) : lastOf(claims, next)
    const value = span === undefined ? wordItem(claims, items, [next, end]) : fitSpan(items, span)
    if (
      value === undefined ||
      (values.length === 0 && !explicit && span === undefined && STOP.has(tokens[next]?.word ?? ''))
    )
      break
    values.push(value)
    if (span !== undefined) claims.takeSpan(span)
    next = end
    while (spanOf[next] !== undefined && spanOf[next] === span) next++
  }
  if (values.length === 0) return undefined
  claims.set(param, values)
  return next
}

/** Whether a comma or an `and` ties this item to the one before. */
function isListed(claims: Claims, at: number): boolean {
  return /,/.test(claims.gapBefore(at)) || /^(?:and|or)$/.test(claims.request.tokens[at - 1]?.word ?? '')
}

function lastOf(claims: Claims, at: number): number {
  let end = at
  while (claims.request.spanOf[end] === claims.request.spanOf[at]) end++
  return end
}

function itemEnd(claims: Claims, from: number): number {
  const { tokens, spanOf } = claims.request
  let end = from
  while (end < tokens.length && end - from < 5 && spanOf[end] === undefined) {
    const word = tokens[end]?.word ?? ''
    if (end > from && (/[^\s\-_/']/.test(claims.gapBefore(end)) || STOP.has(word) || claims.isTurn(end)))
      break
    end++
  }
  return end
}

function wordItem(claims: Claims, items: Param, [from, to]: Range): Json | undefined {
  if (to <= from || STOP.has(claims.request.tokens[from]?.word ?? '') || claims.isTurn(from)) return undefined
  return fitText(items, claims.textOf(from, to))
}

/** A yes-or-no parameter is yes when it is named, unless something says no. */
function fillFlag(claims: Claims, param: Param, at: number): boolean {
  const { tokens } = claims.request
  const stems = param.stems.length
  if (param.stems.every((stem) => claims.profile.name.includes(stem))) return false
  const before = [tokens[at - 1]?.word, tokens[at - 2]?.word, tokens[at - 3]?.word].map((word) => word ?? '')
  const end =
    stemsOf(param.name).length === stems && tokens[at]?.stem === param.stems[0] ? at + stems : at + 1
  const after = [tokens[end]?.word, tokens[end + 1]?.word].map((word) => word ?? '')
  const said = after.find((word) => TRUE.has(word) || FALSE.has(word))
  const denied = before.some((word) => NEGATION.has(word)) || after[0] === 'not'
  claims.set(param, said === undefined || /[.!?,;\n]/.test(claims.gapBefore(end)) ? !denied : TRUE.has(said))
  claims.takeTokens(at, end)
  return true
}
