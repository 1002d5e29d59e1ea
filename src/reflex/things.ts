/**
 * Which thing a request means, for parameters that take an id: one that was written down, or one of the rows that tools
 * have given, by its name, its place in the list, or because it was spoken of last.
 */
import type { Json } from '../protocol/index.ts'
import type { Claims } from './claims.ts'
import { fitSpan } from './coerce.ts'
import { ID_WORDS, ordinalOf, PRONOUNS, STOP } from './grammar.ts'
import type { Found, Things } from './knowledge.ts'
import { isMarked, offeredRows } from './marked.ts'
import { idFor, mentioned, type Row } from './results.ts'
import type { Param } from './schema.ts'
import type { Span } from './values.ts'
import { stemsOf } from './words.ts'

/** Stems of what the id is an id of: the words of the parameter, or else those of the tool. */
export function nounsOf(claims: Claims, param: Param): readonly string[] {
  const own = param.stems.filter((stem) => !ID_WORDS.has(stem) && !STOP.has(stem))
  if (own.length > 0) return own
  const { name, nouns } = claims.profile
  return nouns.length > 0 ? nouns : name
}

/** An id that the request itself holds: right behind the noun, or the only value that looks like one. */
export function fillWrittenId(claims: Claims, param: Param): boolean {
  const fitting = claims.spans('id', 'uuid', 'number').filter((span) => isId(param, span))
  const behind = fitting.filter((span) => isBehindNoun(claims, param, span))
  const shaped = fitting.filter(({ kind }) => kind !== 'number')
  const rivals = claims.profile.tool.params.filter((other) => other.isId && claims.isOpen(other))
  const span =
    behind.length === 1 ? behind[0] : rivals.length === 1 && shaped.length === 1 ? shaped[0] : undefined
  if (span === undefined) return false
  give(claims, param, span)
  return true
}

/** A number that nothing else has taken, when the id is a number or nothing can be looked up. */
export function fillLeftId(claims: Claims, param: Param, kinds: readonly ('number' | 'quoted')[]): boolean {
  const fitting = claims.spans(...kinds).filter((span) => {
    return isId(param, span) && (span.kind !== 'number' || isAlone(claims, span))
  })
  const [span] = fitting
  if (fitting.length !== 1 || span === undefined) return false
  give(claims, param, span)
  return true
}

/** A number right behind words of the tool, and not before its noun, which it would count. */
function isAlone(claims: Claims, span: Span): boolean {
  const at = claims.placeOf(span)
  return claims.followsTool(at) && !claims.profile.nouns.includes(claims.request.tokens[at + 1]?.stem ?? '')
}

/** Numbers that are spelled out count things; they name none. */
function isId(param: Param, span: Span): boolean {
  return (span.kind !== 'number' || /\d/.test(span.raw)) && fitSpan(param, span) !== undefined
}

function give(claims: Claims, param: Param, span: Span): void {
  claims.set(param, fitSpan(param, span) as Json)
  claims.takeSpan(span)
}

const BEFORE_ID = new Set(['id', 'number', 'no', 'nr', 'with', 'the', 'is', 'of'])

function isBehindNoun(claims: Claims, param: Param, span: Span): boolean {
  const { tokens } = claims.request
  const nouns = new Set([...nounsOf(claims, param), ...param.stems])
  let at = claims.placeOf(span) - 1
  for (let step = 0; step < 3 && at >= 0; step++, at--) {
    const { word = '', stem = '' } = tokens[at] ?? {}
    if (nouns.has(stem)) return true
    if (!BEFORE_ID.has(word)) return false
  }
  return false
}

/** All that is known of the kind that a parameter wants. */
export function rowsFor(param: Param, nouns: readonly string[], things: Things): readonly Row[] {
  if (isMarked(param)) return offeredRows(things, param.entity)
  return things.rows.filter((row) => isOfKind(row, param, nouns))
}

/** Whether a row is of the kind that the parameter wants. */
function isOfKind(row: Row, param: Param, nouns: readonly string[]): boolean {
  const wanted = param.stems.join(' ')
  if (param.stems.length > 1 && [...row.fields.keys()].some((key) => stemsOf(key).join(' ') === wanted))
    return true
  return row.id !== undefined && nouns.some((noun) => row.nouns.has(noun))
}

/** A thing that a tool has told of. */
export function fillFromRows(claims: Claims, param: Param, things: Things): Found {
  const nouns = nounsOf(claims, param)
  const rows = things.rows.filter((row) => isOfKind(row, param, nouns))
  if (rows.length === 0) return { kind: 'none' }
  const { tokens } = claims.request
  const stems = tokens.map(({ stem }, at) => (claims.isFree(at) ? stem : ''))
  const ignored = new Set([
    ...claims.profile.name,
    ...nouns,
    ...[...claims.spoken].map((at) => tokens[at]?.stem ?? ''),
  ])
  const found = mentioned(rows, stems, ignored)
  if (found.length > 1) return { kind: 'several', rows: found.map(({ row }) => row) }
  const listed = lastList(things.seen.filter((each) => isOfKind(each, param, nouns)))
  const places = placesIn(claims)
  if (found.length === 0 && places.length > 1) {
    return { kind: 'several', rows: places.flatMap((place) => listed.at(place) ?? []) }
  }
  const row = found[0]?.row ?? pointedAt(claims, { rows, listed, focus: things.focus })
  const value = row && idFor(row, param)
  if (row === undefined || value === undefined) return { kind: 'none' }
  claims.set(param, value)
  takeLabel(claims, row)
  return { kind: 'filled' }
}

/** The list that `the second one` counts in: the last one with more than one row, or else the last. */
function lastList(rows: readonly Row[]): readonly Row[] {
  const lists = new Map<number, Row[]>()
  for (const row of rows) lists.set(row.list, [...(lists.get(row.list) ?? []), row])
  const all = [...lists.values()]
  return all.findLast((list) => list.length > 1) ?? all.at(-1) ?? []
}

/** The places in a list that the request names, each once. */
function placesIn(claims: Claims): number[] {
  const places = claims.request.tokens.map(({ word }, at) =>
    claims.isFree(at) ? ordinalOf(word) : undefined,
  )
  return [...new Set(places.filter((place) => place !== undefined))]
}

interface Pointing {
  readonly rows: readonly Row[]
  readonly listed: readonly Row[]
  readonly focus: Row | undefined
}

/** `the second one`, `it`: no name, but a place in the list or the thing spoken of last. */
function pointedAt(claims: Claims, { rows, listed, focus }: Pointing): Row | undefined {
  const { tokens } = claims.request
  const at = tokens.findIndex(({ word }, place) => ordinalOf(word) !== undefined && claims.isFree(place))
  if (at >= 0) {
    const row = listed.at(ordinalOf(tokens[at]?.word ?? '') ?? 0)
    if (row) claims.takeTokens(at, at + 1)
    return row
  }
  const points = tokens.some(({ word }, place) => PRONOUNS.has(word) && claims.isFree(place))
  if (!points || focus === undefined) return undefined
  return rows.find(({ id, label }) => id === focus.id && label === focus.label)
}

/** The words of its name are explained, and are not to be taken for anything else. */
export function takeLabel(claims: Claims, row: Row): void {
  const label = new Set([...stemsOf(row.label), ...stemsOf(String(row.id ?? ''))])
  const quoted = claims.spans('quoted').find(({ raw }) => stemsOf(raw).every((stem) => label.has(stem)))
  if (quoted) claims.takeSpan(quoted)
  for (const [at, { stem, word }] of claims.request.tokens.entries()) {
    if (claims.request.spanOf[at] === undefined && label.has(stem) && !STOP.has(word))
      claims.takeTokens(at, at + 1)
  }
}

export function isPointing(words: readonly string[]): boolean {
  return words.some((word) => PRONOUNS.has(word) || ordinalOf(word) !== undefined)
}
