/**
 * Things whose kind the schemas name: what tools have shown of them in the last few turns, what is chosen, and which of
 * them a request means. It takes ids that are known or that were written down, and makes none.
 */

import type { GroundingContext } from '../model/grounding-context.ts'
import { type ActiveValue, foldedText } from '../protocol/index.ts'
import type { Claims } from './claims.ts'
import { fitSpan } from './coerce.ts'
import type { Done, Exchange } from './conversation.ts'
import { PRONOUNS, STOP } from './grammar.ts'
import type { Found, Marked, Things } from './knowledge.ts'
import { type Place, placesOf } from './places.ts'
import { idFor, mentioned, type Row } from './results.ts'
import type { Param } from './schema.ts'
import { stemOf, stemsOf } from './words.ts'

const NOTHING_MARKED: Marked = {
  entities: {},
  lookups: {},
  rows: new Map(),
  active: [],
  forgotten: new Set(),
  now: 0,
}

/** A parameter whose kind of thing is known here. */
export type MarkedParam = Param & { readonly entity: string }

export function isMarked(param: Param): param is MarkedParam {
  return param.entity !== undefined
}

/** The rows of the last few turns that showed any, and what was chosen at their end. */
export function markedIn(turns: readonly Exchange[], known: GroundingContext | undefined): Marked {
  if (known === undefined) return NOTHING_MARKED
  const { entities, lookups, memoryTurns } = known
  const calls = turns.flatMap((turn) => turn.calls)
  const withTools = turns.filter((turn) => turn.calls.some(({ seen = [] }) => seen.length > 0))
  const remembered = new Set(withTools.slice(-Math.max(1, memoryTurns)).flatMap((turn) => turn.calls))
  const rows = new Map<string, Row[]>()
  for (const [list, call] of calls.entries()) {
    for (const row of remembered.has(call) ? rowsShown(call, list) : [])
      rows.set(row.entity, [...(rows.get(row.entity) ?? []), row])
  }
  const start = known.active.findLast(({ callId }) => callId === undefined)?.values ?? []
  const active = calls.findLast((call) => call.active !== undefined)?.active ?? start
  const lost = calls.filter((call) => !remembered.has(call)).flatMap(({ seen = [] }) => seen)
  const forgotten = new Set(lost.map(({ entity }) => entity))
  const now = calls.length - (turns.at(-1)?.calls.length ?? 0)
  return { entities, lookups, rows, active, forgotten, now }
}

function rowsShown({ seen = [], tool }: Done, list: number): (Row & { readonly entity: string })[] {
  return seen.map(({ entity, id, label = id, parent }) => ({
    entity,
    id,
    idKey: 'id',
    label,
    fields: new Map(),
    nouns: new Set([stemOf(entity.toLowerCase())]),
    tool,
    list,
    ...(parent === undefined ? {} : { parent }),
  }))
}

/** Stems of all words for things of a kind. */
export function nounStems({ entities }: Marked, entity: string): readonly string[] {
  const { one = [], many = [] } = entities[entity] ?? {}
  return [...one, ...many].map(stemOf)
}

export function activeOf({ active }: Marked, entity: string): ActiveValue | undefined {
  return active.find((value) => value.entity === entity)
}

/** Every thing of a kind once, as it was shown last; the chosen one is known without having been shown. */
export function markedRows({ marked }: Things, entity: string): readonly Row[] {
  const rows = new Map<string, Row>()
  const chosen = activeOf(marked, entity)
  if (chosen !== undefined) {
    const [row] = rowsShown({ tool: '', args: {}, failed: false, output: null, seen: [chosen] }, -1)
    if (row) rows.set(chosen.id, row)
  }
  for (const row of marked.rows.get(entity) ?? []) {
    rows.delete(String(row.id))
    rows.set(String(row.id), row)
  }
  return [...rows.values()]
}

/** Of these, what belongs to what is chosen; all of them if nothing is. */
function atHand({ marked }: Pick<Things, 'marked'>, entity: string, rows: readonly Row[]): readonly Row[] {
  const owner = activeOf(marked, marked.entities[entity]?.parent ?? '')
  return owner === undefined ? rows : rows.filter(({ parent = owner.id }) => parent === owner.id)
}

/** The things of a kind that may be offered: those that belong to what is chosen. */
export function offeredRows(things: Things, entity: string): readonly Row[] {
  return atHand(things, entity, markedRows(things, entity))
}

/** The list that places count in: the newest with more than one row, or else the newest if none was forgotten. */
function newestList({ marked }: Things, entity: string): readonly Row[] {
  const before = (marked.rows.get(entity) ?? []).filter(({ list }) => list < marked.now)
  const lists = [...Map.groupBy(before, ({ list }) => list).values()]
  const only = marked.forgotten.has(entity) ? undefined : lists.at(-1)
  return atHand({ marked }, entity, lists.findLast(({ length }) => length > 1) ?? only ?? [])
}

/** Which thing a parameter means by what the request itself says; what is chosen is another matter. */
export function fillMarked(claims: Claims, param: MarkedParam, things: Things): Found {
  const rows = markedRows(things, param.entity)
  const written = claims.spans('id', 'uuid', 'literal').find(({ raw }) => rows.some(({ id }) => id === raw))
  if (written)
    return taken(
      claims,
      param,
      rows.find(({ id }) => id === written.raw),
    )
  const labels = labelsIn(claims, rows, things)
  if (labels.length > 1) return { kind: 'several', rows: labels.flat() }
  const [group] = labels
  if (group) {
    const near = atHand(things, param.entity, group)
    return takenLabel(claims, param, near.length > 0 ? near : group)
  }
  const places = placesOf(claims, param.entity, things.marked.entities)
  const listed = newestList(things, param.entity)
  const named = places.flatMap(({ place }) => listed.at(place) ?? [])
  if (places.length > 0 && listed.length === 0 && things.marked.forgotten.has(param.entity))
    return passedOn(claims, param, places)
  if (places.length > 1) return { kind: 'several', rows: named }
  const [place] = places
  if (place) {
    place.take()
    return named.length === 1 ? taken(claims, param, named[0]) : { kind: 'missed' }
  }
  return writtenId(claims, param, things) ?? pointedAt(claims, listed)
}

/** Things that a request names one by one, each clearly: `1 and 3`, `Champigny and Levallois`. */
export function severalMarked(claims: Claims, param: MarkedParam, things: Things): readonly Row[] {
  const labels = labelsIn(claims, markedRows(things, param.entity), things)
  if (labels.length > 0) {
    const text = stemsOf(claims.request.text).join(' ')
    const whole = labels.filter(
      (group) => group.length === 1 && text.includes(stemsOf(group[0]?.label ?? '').join(' ')),
    )
    return whole.length === labels.length && whole.length > 1 ? whole.flat() : []
  }
  const places = placesOf(claims, param.entity, things.marked.entities)
  const listed = newestList(things, param.entity)
  const rows = places.flatMap(({ place }) => listed.at(place) ?? [])
  return rows.length === places.length && rows.length > 1 ? rows : []
}

/** The labels that were said, each with all things that have it. */
function labelsIn(claims: Claims, rows: readonly Row[], { marked }: Things): readonly (readonly Row[])[] {
  const { tokens } = claims.request
  const groups = Map.groupBy(rows, ({ label }) => foldedText(label))
  const [...labels] = groups.values()
  const names = labels.flatMap(([first]) => (first ? [{ ...first, id: undefined }] : []))
  const stems = tokens.map(({ stem, said = stem }, at) => (claims.isFree(at) ? said : ''))
  const ignored = new Set([
    ...claims.profile.name,
    ...Object.keys(marked.entities).flatMap((entity) => nounStems(marked, entity)),
    ...[...claims.spoken].map((at) => tokens[at]?.said ?? tokens[at]?.stem ?? ''),
    ...tokens.flatMap(({ word, said }) => (said !== undefined && STOP.has(word) ? [said] : [])),
  ])
  return mentioned(names, stems, ignored).map(({ row }) => groups.get(foldedText(row.label)) ?? [])
}

function taken(claims: Claims, param: Param, row: Row | undefined): Found {
  const value = row && idFor(row, param)
  if (row === undefined || value === undefined) return { kind: 'none' }
  claims.set(param, value)
  takeWords(claims, row)
  return { kind: 'filled' }
}

/** What two things are called is passed on as it is: who judges ids asks which of them is meant. */
function takenLabel(claims: Claims, param: Param, group: readonly Row[]): Found {
  const [first, second] = group
  if (first === undefined || second === undefined) return taken(claims, param, first)
  claims.set(param, first.label)
  takeWords(claims, first)
  return { kind: 'filled' }
}

/** Places in a list that is no longer remembered here: who judges ids may remember it. */
function passedOn(claims: Claims, param: Param, places: readonly Place[]): Found {
  const said = places.map(({ place }) => (place < 0 ? 'last' : String(place + 1))).join(' and ')
  if (param.type !== 'string') return { kind: 'missed' }
  for (const { take } of places) take()
  claims.set(param, said)
  return { kind: 'filled' }
}

function takeWords(claims: Claims, { label, id }: Row): void {
  const words = new Set([...stemsOf(label), ...stemsOf(String(id))])
  const isPart = (text: string): boolean => stemsOf(text).every((stem) => words.has(stem))
  for (const span of claims.spans('quoted', 'id', 'uuid', 'literal'))
    if (isPart(span.raw)) claims.takeSpan(span)
  for (const [at, { stem, said = stem }] of claims.request.tokens.entries())
    if (claims.request.spanOf[at] === undefined && words.has(said)) claims.takeTokens(at, at + 1)
}

/** What is written as ids are, and is not known to be the id of something else. */
function writtenId(claims: Claims, param: MarkedParam, { marked }: Things): Found | undefined {
  const others = [...marked.rows].filter(([entity]) => entity !== param.entity).flatMap(([, rows]) => rows)
  const spans = claims
    .spans('id', 'uuid')
    .filter((span) => fitSpan(param, span) !== undefined && !others.some(({ id }) => id === span.raw))
  const [span] = spans
  const value = span && fitSpan(param, span)
  if (spans.length !== 1 || span === undefined || value === undefined) return undefined
  claims.set(param, value)
  claims.takeSpan(span)
  return { kind: 'filled' }
}

/** `it` is the only thing of its kind that was shown last. */
function pointedAt(claims: Claims, listed: readonly Row[]): Found {
  const points = claims.request.tokens.some(({ word }, at) => PRONOUNS.has(word) && claims.isFree(at))
  return points && listed.length === 1 ? { kind: 'pointed', row: listed[0] as Row } : { kind: 'none' }
}
