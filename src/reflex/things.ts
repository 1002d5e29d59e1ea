/**
 * Which thing a parameter means by what a request says: an id that was written down, a label, a place in the list that
 * was shown last, a pronoun, or what is chosen. Marked ids and plain ones go the same way.
 */
import type { EntityWords, GroundingContext } from '../model/grounding-context.ts'
import { type ActiveValue, foldedText, type Json } from '../protocol/index.ts'
import type { Claims } from './claims.ts'
import type { Exchange } from './conversation.ts'
import { BEFORE_NAMES, ID_WORDS, ordinalOf, PRONOUNS, STOP } from './lexicon.ts'
import { type Lexicon, shares, wordsOf } from './request.ts'
import { describes, idFor, latestOf, mentioned, type Row, rowsOf } from './rows.ts'
import { fitSpan, isLabel, type Param } from './schema.ts'
import type { Profile } from './tools.ts'
import type { Span } from './values.ts'
import { stemsOf } from './words.ts'

/** The knowledge at one point of a conversation. */
export interface Things {
  readonly lexicon: Lexicon
  /** Everything as it was shown, oldest first. */
  readonly seen: readonly Row[]
  /** The last thing mentioned. */
  readonly focus: Row | undefined
  readonly entities: Readonly<Record<string, EntityWords>>
  /** The keys of the words for an entity. */
  readonly words: (entity: string) => readonly string[]
  /** The tool that finds things of an entity by their name. */
  readonly lookups: Readonly<Record<string, string>>
  readonly active: readonly ActiveValue[]
  /** Entities of which more was shown than is remembered. */
  readonly forgotten: ReadonlySet<string>
  /** The number of the first result of this turn: a person counts in lists from before. */
  readonly now: number
}

export type Found =
  | { readonly kind: 'filled' }
  /** Several are meant equally well. */
  | { readonly kind: 'several'; readonly rows: readonly Row[] }
  | { readonly kind: 'none' }
  /** One was named that is not there. */
  | { readonly kind: 'missed' }

/** A parameter whose kind of thing is declared. */
export type MarkedParam = Param & { readonly entity: string }

export function isMarked(param: Param): param is MarkedParam {
  return param.entity !== undefined
}

const MOST_CALLS = 50

/** `current` is how many of the last calls belong to the turn that is being answered. */
export function thingsOf(
  turns: readonly Exchange[],
  {
    lexicon,
    known,
    current,
  }: { readonly lexicon: Lexicon; readonly known?: GroundingContext | undefined; readonly current: number },
): Things {
  const { entities = {}, lookups = {}, memoryTurns = 3, active: since = [] } = known ?? {}
  const calls = turns.flatMap((turn) => turn.calls).slice(-MOST_CALLS)
  const showing = turns.filter((turn) => turn.calls.some(({ seen = [] }) => seen.length > 0))
  const lost = new Set(showing.slice(0, -Math.max(1, memoryTurns)).flatMap((turn) => turn.calls))
  const seen = calls.flatMap((call, list) => (lost.has(call) ? [] : rowsOf(call, list)))
  const start = since.findLast(({ callId }) => callId === undefined)?.values ?? []
  const labels = new Set(
    seen.flatMap(({ label, fields }) => [label, ...fields.values()].flatMap((text) => stemsOf(String(text)))),
  )
  return {
    lexicon: { ...lexicon, labels },
    words: (entity) => entityKeys(entities[entity] ?? {}, entity),
    seen,
    focus: focusOf(
      calls.map(({ args }) => args),
      seen,
    ),
    entities,
    lookups,
    active: calls.findLast((call) => call.active !== undefined)?.active ?? start,
    forgotten: new Set([...lost].flatMap(({ seen: rows = [] }) => rows.map(({ entity }) => entity))),
    now: calls.length - current,
  }
}

/** The thing that the latest call was about: the only one in its result, or else one that its arguments name. */
function focusOf(args: readonly unknown[], seen: readonly Row[]): Row | undefined {
  for (let list = args.length - 1; list >= 0; list--) {
    const own = seen.filter((row) => row.list === list && row.id !== undefined)
    if (own.length === 1) return own[0]
    const given = new Set(Object.values(args[list] ?? {}).map(String))
    const named = seen.findLast((row) => row.list <= list && given.has(String(row.id)))
    if (named) return named
  }
  return undefined
}

/** Keys of what the kind of a parameter is called. */
export function kindOf(param: Param, { name, nouns }: Profile, things: Things): readonly string[] {
  if (isMarked(param)) return things.words(param.entity)
  const own = isLabel(param)
    ? []
    : param.keys.filter((_, at) => !ID_WORDS.has(param.stems[at] ?? '') && !STOP.has(param.stems[at] ?? ''))
  if (own.length > 0) return own.flat()
  return (nouns.length > 0 ? nouns : name).flatMap(({ keys }) => keys)
}

function entityKeys({ one = [], many = [] }: Partial<EntityWords>, entity: string): readonly string[] {
  return [
    ...new Set([...one, ...many, entity].flatMap((word) => wordsOf(word, 'en').flatMap(({ keys }) => keys))),
  ]
}

/** All that is known of the kind that a parameter wants, each once; marked ones as far as they belong to what is chosen. */
export function rowsFor(param: Param, nouns: readonly string[], things: Things): readonly Row[] {
  return atHand(things, param, latestOf(kindRows(param, nouns, things)))
}

function kindRows(param: Param, nouns: readonly string[], things: Things): readonly Row[] {
  if (!isMarked(param)) {
    const wanted = param.stems.join(' ')
    const hasField = ({ fields }: Row): boolean =>
      param.stems.length > 1 && [...fields.keys()].some((key) => stemsOf(key).join(' ') === wanted)
    return things.seen.filter(
      (row) => hasField(row) || (row.id !== undefined && nouns.some((noun) => row.nouns.has(noun))),
    )
  }
  const chosen = activeRow(param, things)
  const shown = things.seen.filter(({ entity }) => entity === param.entity)
  return chosen === undefined || shown.some(({ id }) => id === chosen.id) ? shown : [chosen, ...shown]
}

/** An active value is known without having been shown. */
function activeRow(param: MarkedParam, { active }: Things): Row | undefined {
  const chosen = active.find(({ entity }) => entity === param.entity)
  if (chosen === undefined) return undefined
  const { id, label = id, entity } = chosen
  return {
    id,
    label,
    entity,
    fields: new Map(),
    nouns: new Set([entity]),
    tool: '',
    list: -1,
    isListed: false,
  }
}

function atHand({ active, entities }: Things, param: Param, rows: readonly Row[]): readonly Row[] {
  const parent = isMarked(param) ? entities[param.entity]?.parent : undefined
  const owner = active.find(({ entity }) => entity === parent)
  return owner === undefined ? rows : rows.filter((row) => (row.parent ?? owner.id) === owner.id)
}

/** The list of a kind that places count in, and whether nothing else was listed since. */
function listFor(
  param: Param,
  nouns: readonly string[],
  things: Things,
): { rows: readonly Row[]; isLatest: boolean } {
  const before = kindRows(param, nouns, things).filter(({ list }) => list >= 0 && list < things.now)
  const lists = [...Map.groupBy(before, ({ list }) => list).values()]
  const isForgotten = isMarked(param) && things.forgotten.has(param.entity)
  const rows = lists.findLast(([row]) => row?.isListed) ?? (isForgotten ? [] : (lists.at(-1) ?? []))
  const latest = latestList(things)
  return { rows: atHand(things, param, rows), isLatest: latest === undefined || rows[0]?.list === latest }
}

export function latestList({ seen, now }: Things): number | undefined {
  return seen.findLast(({ list, isListed, id }) => isListed && list < now && id !== undefined)?.list
}

/** Whether a row is of the kind that a parameter takes. */
export function takesRow(param: Param, nouns: readonly string[], row: Row): boolean {
  if (isMarked(param) || row.entity !== undefined) return param.isId && param.entity === row.entity
  return (param.isId || isLabel(param)) && nouns.some((noun) => row.nouns.has(noun))
}

export const FILLERS: ReadonlySet<string> = new Set(['number', 'no', 'nr', 'n', 'the'])

export function isPlaceNumber(span: Span | undefined): boolean {
  return span?.kind === 'number' && /^(?:\d{1,3}|[a-z]+)$/i.test(span.raw) && Number(span.value) >= 1
}

/** Which thing a parameter means by what the request itself says; what is chosen is another matter. */
export function fillThing(claims: Claims, param: Param, things: Things): Found {
  const nouns = kindOf(param, claims.profile, things)
  const rows = latestOf(kindRows(param, nouns, things))
  const written = writtenId(claims, param, { nouns, rows, things })
  if (written) {
    claims.set(param, fitSpan(param, written) ?? written.raw)
    claims.takeSpan(written)
    return { kind: 'filled' }
  }
  const groups = labelsIn(claims, rows, nouns)
  const isWhole = groups.some(({ whole }) => whole)
  const place = isWhole ? undefined : fillPlace(claims, param, { nouns, rows, things })
  if (place !== undefined && (place.kind === 'filled' || groups.length === 0)) return place
  if (groups.length > 1) return { kind: 'several', rows: groups.flatMap((group) => group.rows) }
  const [group] = groups
  if (group === undefined) return { kind: 'none' }
  const near = atHand(things, param, group.rows)
  return takeGroup(claims, param, near.length > 0 ? near : group.rows)
}

/** Things that a request names one by one, each clearly: `1 and 3`, `Champigny and Levallois`. */
export function severalNamed(claims: Claims, param: Param, things: Things): readonly Row[] {
  const nouns = kindOf(param, claims.profile, things)
  const groups = labelsIn(claims, latestOf(kindRows(param, nouns, things)), nouns)
  if (groups.some(({ whole }) => whole)) {
    const isClear = groups.every(({ rows, whole }) => whole && rows.length === 1)
    return groups.length > 1 && isClear ? groups.flatMap(({ rows }) => rows) : []
  }
  if (/\s(?:or|ou)\s/i.test(claims.request.text)) return []
  const places = placesOf(claims, nouns, things)
  const { rows: listed, isLatest } = listFor(param, nouns, things)
  if (!isLatest && places.every(({ isBare }) => isBare)) return []
  const rows = places.flatMap(({ place }) => listed.at(place) ?? [])
  return rows.length === places.length && rows.length > 1 ? rows : []
}

interface Kind {
  readonly nouns: readonly string[]
  readonly rows: readonly Row[]
  readonly things: Things
}

const BEFORE_ID = new Set(['id', 'number', 'no', 'nr', 'with', 'the', 'is', 'of'])

/** An id that the request itself holds: one that is known, or one that can be nothing else. */
function writtenId(claims: Claims, param: Param, { nouns, rows, things }: Kind): Span | undefined {
  const spans = claims
    .spans('id', 'uuid', 'literal', 'number')
    .filter((span) => fitSpan(param, span) !== undefined)
  const written = spans.filter(({ kind }) => kind === 'id')
  if (written.length > 1 && /\s(?:and|et|&)\s/i.test(claims.request.text) && !isMarked(param)) {
    for (const span of written.slice(1)) claims.takeSpan(span)
    return written[0]
  }
  const known = spans.find(({ raw }) => rows.some((row) => String(row.id) === raw && row.list >= 0))
  if (known) return known
  const others = things.seen.filter((row) => !rows.some(({ id }) => id === row.id))
  const fitting = spans.filter(
    ({ raw, kind }) => /\d/.test(raw) && kind !== 'literal' && !others.some(({ id }) => String(id) === raw),
  )
  const shaped = fitting.filter(({ kind }) => kind !== 'number')
  if (isMarked(param)) return shaped.length === 1 ? shaped[0] : undefined
  const { rows: listed } = listFor(param, nouns, things)
  const isPlace = ({ kind }: Span): boolean =>
    kind === 'number' && listed.some(({ id }) => typeof id === 'string' && !/^\d+$/.test(id))
  const behind = fitting.filter(
    (span) => !isPlace(span) && isBehindNoun(claims, [...nouns, ...param.keys.flat()], span),
  )
  const rivals = claims.profile.tool.params.filter((other) => other.isId && claims.isOpen(other))
  if (behind.length === 1) return behind[0]
  return rivals.length === 1 && shaped.length === 1 ? shaped[0] : undefined
}

function isBehindNoun(claims: Claims, nouns: readonly string[], span: Span): boolean {
  const { tokens, clauseOf } = claims.request
  const place = claims.placeOf(span)
  for (let at = place - 1; at >= place - 3 && clauseOf[at] === clauseOf[place]; at--) {
    const { word = '', keys = [] } = tokens[at] ?? {}
    if (shares(keys, nouns)) return true
    if (!BEFORE_ID.has(word)) return false
  }
  return false
}

/** The labels that were said, each with all things that have it. */
function labelsIn(
  claims: Claims,
  rows: readonly Row[],
  nouns: readonly string[],
): readonly { readonly rows: readonly Row[]; readonly whole: boolean }[] {
  const { tokens } = claims.request
  const free = tokens.map((token, at) => (claims.isFree(at) && !STOP.has(token.word) ? token : undefined))
  const ignored = new Set([
    ...claims.profile.name.map(({ stem }) => stem),
    ...nouns,
    ...[...claims.spoken].map((at) => tokens[at]?.said ?? ''),
    ...tokens.flatMap(({ word, said }) => (STOP.has(word) || ordinalOf(word) !== undefined ? [said] : [])),
  ])
  const found = mentioned(rows, free, ignored)
  return [...Map.groupBy(found, ({ row }) => foldedText(row.label)).values()].map((group) => ({
    rows: group.map(({ row }) => row),
    whole: group.every(({ whole }) => whole),
  }))
}

/** A label that two marked things have is passed on as it is: the guard of ids asks which of them is meant. */
function takeGroup(claims: Claims, param: Param, group: readonly Row[]): Found {
  const [first, second] = group
  if (first === undefined) return { kind: 'none' }
  if (second !== undefined && !isMarked(param)) return { kind: 'several', rows: group }
  return takeAs(claims, param, {
    row: first,
    value: second === undefined ? idFor(first, param) : first.label,
  })
}

function takeAs(claims: Claims, param: Param, { row, value }: { row: Row; value: Json | undefined }): Found {
  if (value === undefined) return { kind: 'none' }
  claims.set(param, value)
  takeLabel(claims, row)
  return { kind: 'filled' }
}

/** The words of its name are explained, and are not to be taken for anything else. */
export function takeLabel(claims: Claims, row: Row): void {
  const { label, id, fields } = row
  const described = [...fields.values()].filter((value) => typeof value === 'string')
  const words = new Set([label, String(id ?? ''), ...described].flatMap(stemsOf))
  const asked = claims.profile.looks
    ? [...fields.keys()].flatMap((key) => wordsOf(key, 'en').flatMap(({ keys }) => keys))
    : []
  for (const span of claims.spans('quoted', 'id', 'uuid', 'literal'))
    if (stemsOf(span.raw).every((stem) => words.has(stem))) claims.takeSpan(span)
  for (const [at, token] of claims.request.tokens.entries()) {
    if (claims.request.spanOf[at] !== undefined || STOP.has(token.word)) continue
    if (words.has(token.said) || describes(row, token) || shares(token.keys, asked))
      claims.takeTokens(at, at + 1)
  }
}

function fillPlace(claims: Claims, param: Param, { nouns, things }: Kind): Found | undefined {
  const places = placesOf(claims, nouns, things)
  const { rows: listed, isLatest } = listFor(param, nouns, things)
  if (places.length > 0 && listed.length === 0 && isMarked(param) && things.forgotten.has(param.entity))
    return passOn(claims, param, places)
  const meant = isLatest ? places : places.filter(({ isBare }) => !isBare)
  const rows = meant.flatMap(({ place }) => listed.at(place) ?? [])
  if (meant.length > 1) {
    if (rows.length === meant.length) for (const { take } of meant) take()
    return { kind: 'several', rows }
  }
  const [place] = meant
  const [row] = rows
  if (place && row) {
    place.take()
    return takeAs(claims, param, { row, value: idFor(row, param) })
  }
  if (places.length > 0) return { kind: 'missed' }
  const points = claims.request.tokens.some(({ word }, at) => PRONOUNS.has(word) && claims.isFree(at))
  const { focus } = things
  if (!points || isMarked(param) || focus === undefined || !takesRow(param, nouns, focus)) return undefined
  return takeAs(claims, param, { row: focus, value: idFor(focus, param) })
}

/** Places in a list that is no longer remembered here: the guard of ids may remember it. */
function passOn(claims: Claims, param: Param, places: readonly Place[]): Found {
  if (param.type !== 'string') return { kind: 'missed' }
  for (const { take } of places) take()
  claims.set(param, places.map(({ place }) => (place < 0 ? 'last' : String(place + 1))).join(' and '))
  return { kind: 'filled' }
}

interface Place {
  /** From 0 on; -1 is the last. */
  readonly place: number
  /** Whether no noun says what is counted. */
  readonly isBare: boolean
  /** Its word is explained. */
  readonly take: () => void
}

const LINKS = new Set(['and', 'or', 'the'])

/** Each place once, in order. A number that nothing ties to a thing of this kind is no place. */
function placesOf(claims: Claims, nouns: readonly string[], things: Things): readonly Place[] {
  const { tokens, spanOf } = claims.request
  const others = Object.keys(things.entities).flatMap((entity) => things.words(entity))
  const ownerOf = (at: number): 'own' | 'other' | undefined => {
    const { keys = [] } = tokens[at] ?? {}
    if (shares(keys, nouns)) return 'own'
    // `documents 2` may be those of the second project.
    const isListed =
      things.forgotten.size === 0 &&
      claims.profile.lists &&
      claims.profile.nouns.some((noun) => shares(noun.keys, keys))
    return shares(keys, others) && !isListed ? 'other' : undefined
  }
  const found = new Map<number, Place>()
  let last: { readonly at: number; readonly isBare: boolean } | undefined
  for (let at = 0; at < tokens.length; at++) {
    const isNumber = isPlaceNumber(spanOf[at])
    const place = isNumber
      ? Number(spanOf[at]?.value) - 1
      : spanOf[at]
        ? undefined
        : ordinalOf(tokens[at]?.word ?? '')
    if (place === undefined || !claims.isFree(at)) continue
    const joined = last !== undefined && isLinked(claims, last.at, at) ? last.isBare : undefined
    const kind = isNumber ? numbered(claims, at, ownerOf) : counted(claims, at, ownerOf)
    if (kind === 'other' || (kind === undefined && joined === undefined)) continue
    last = { at, isBare: kind === 'bare' ? (joined ?? true) : kind === undefined ? (joined ?? true) : false }
    const take = (): void => {
      const span = spanOf[at]
      if (span) claims.takeSpan(span)
      claims.takeTokens(at, at + 1)
    }
    if (!found.has(place)) found.set(place, { place, isBare: last.isBare, take })
  }
  const places = [...found.values()]
  // `the first and second task`: one noun counts for all of them.
  return places.some(({ isBare }) => !isBare) ? places.map((place) => ({ ...place, isBare: false })) : places
}

type KindOf = (at: number) => 'own' | 'other' | undefined

/** `project 2`, `project number 2`, `for 2`, `2` right behind what is to be done, or nothing but `2`. */
function numbered(claims: Claims, at: number, ownerOf: KindOf): 'own' | 'other' | 'bare' | undefined {
  const { tokens, spanOf } = claims.request
  let before = at - 1
  while (before >= 0 && FILLERS.has(tokens[before]?.word ?? '')) before--
  const kind = before < 0 ? undefined : ownerOf(before)
  if (kind !== undefined) return kind
  // Numbers that are spelled out count things, unless something says that they name one.
  if (!/\d/.test(spanOf[at]?.raw ?? '') && tokens[at - 1]?.word !== 'number') return undefined
  const next = tokens[at + 1]
  const counts =
    next !== undefined &&
    claims.isFree(at + 1) &&
    (!STOP.has(next.word) || next.word === 'of') &&
    /^\s+$/.test(claims.gapBefore(at + 1)) &&
    spanOf[at + 1] === undefined
  if (counts || /^\s*[%€$£]/.test(claims.gapBefore(at + 1)) || /[€$£]\s*$/.test(claims.gapBefore(at)))
    return undefined
  const isAlone = tokens.every(
    ({ word }, place) => STOP.has(word) || FILLERS.has(word) || isPlaceNumber(spanOf[place]),
  )
  const isOwner = next?.word === 's' && claims.gapBefore(at + 1).trim() !== ''
  const isLed = at === 0 && next !== undefined && !claims.isFree(at + 1)
  const isFree =
    isAlone || isOwner || isLed || BEFORE_NAMES.has(tokens[at - 1]?.word ?? '') || claims.followsTool(at)
  return isFree || /#\s*$/.test(claims.gapBefore(at)) || before < at - 1 ? 'bare' : undefined
}

/** The kind of thing that an ordinal counts: the first noun behind it. */
function counted(claims: Claims, at: number, ownerOf: KindOf): 'own' | 'other' | 'bare' {
  const { tokens } = claims.request
  for (let next = at + 1; next < tokens.length; next++) {
    const kind = ownerOf(next)
    if (kind !== undefined) return kind
    const word = tokens[next]?.word ?? ''
    if (!LINKS.has(word) && ordinalOf(word) === undefined) break
  }
  return at > 0 && ownerOf(at - 1) === 'own' ? 'own' : 'bare'
}

/** `1, 2 and 3`: nothing between two places but what joins them. */
function isLinked(claims: Claims, from: number, to: number): boolean {
  const between = claims.request.tokens.slice(from + 1, to)
  const isJoined = between.length > 0 || claims.gapBefore(to).includes(',')
  return isJoined && between.every(({ word }) => LINKS.has(word)) && between.length <= 2
}
