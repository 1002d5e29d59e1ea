/**
 * Worlds for the judge, generated backwards: the facts of each thing are decided first, then a text, results and a
 * selection are written to match. So the allowed ids are known without reading them, and only types are shared with the
 * code under test.
 */
import { type Entity, entity } from '../../src/grounding/index.ts'
import type { ActiveValue, Sighting } from '../../src/protocol/index.ts'
import { Random } from '../reflex/random.ts'

export interface Thing {
  readonly id: string
  readonly label: string
  /** `fresh`: shown within the ttl. `old`: shown before that. `never`: not in this conversation. */
  readonly seen: 'fresh' | 'old' | 'never'
  /** Its label when it was shown first. */
  readonly former?: string
  isTyped: boolean
  /** The person wrote its id in an earlier turn, within the ttl or before that. */
  typedBefore: 'fresh' | 'old' | 'never'
  isNamed: boolean
  isPlaced: boolean
  isThisTurn: boolean
}

export interface Kind {
  readonly entity: Entity
  readonly style: Style
  readonly things: readonly Thing[]
  readonly chosen: readonly Thing[]
  /** The selection has expired. */
  readonly isLapsed: boolean
  /** Selected by a tool; or by a program, before or after everything else. */
  readonly chosenBy: 'tool' | 'program first' | 'program last'
  /** Ids are equal in any case and punctuation. */
  readonly isNormal: boolean
  /** Its list is the newest, or was when the turn began: a position without a noun refers to it. */
  isListedLast: boolean
  readonly listing: readonly Thing[]
  /** The list that the person had seen, if `listing` was shown after the words of this turn. */
  earlier: readonly Thing[]
  /** All ids ever shown, typed or selected. */
  readonly foreign: readonly Thing[]
}

export interface Batch {
  readonly at: number
  readonly seq: number
  readonly isThisTurn: boolean
  readonly seen: readonly Sighting[]
}

export interface World {
  readonly random: Random
  readonly now: number
  readonly kinds: readonly Kind[]
  readonly userText: string
  /** The person's earlier words, oldest first. */
  readonly said: readonly { readonly text: string; readonly at: number }[]
  readonly active: readonly ActiveValue[]
  readonly batches: readonly Batch[]
}

/** The kinds of ids. `small` ones are positions as well. */
export type Style = 'hex' | 'code' | 'number' | 'small'

const NAMES = ['project', 'task', 'invoice', 'vendor']
const STYLES: readonly Style[] = ['hex', 'code', 'number', 'small']
const PATTERNS: Readonly<Record<Style, RegExp>> = {
  hex: /[0-9a-f]{8}-[0-9a-f]{4}/,
  code: /[A-Z]{2}-\d{4}/,
  number: /\d{6}/,
  small: /\d{1,3}/,
}

export function makeWorld(seed: number): World {
  const random = new Random(seed)
  const now = 1_700_000_000_000 + random.below(1e10)
  const kinds = NAMES.slice(0, random.between(2, 4)).map((name) => makeKind(name, random))
  const batches = kinds.flatMap((kind) => batchesOf(kind, now, random)).toSorted((a, b) => a.seq - b.seq)
  for (const kind of kinds) kind.isListedLast = isListedLast(kind, { kinds, batches, now })
  for (const kind of kinds) kind.earlier = listedBefore(kind, { batches, now })
  return {
    random,
    now,
    kinds,
    said: saidBefore(kinds, now, random),
    userText: textOf(kinds, random),
    active: kinds.flatMap((kind) => activeOf(kind, now, random)),
    batches,
  }
}

/** Expired results are no lists. Each result is of one entity. */
function isListedLast(
  { entity: of }: Kind,
  { kinds, batches, now }: Pick<World, 'kinds' | 'batches' | 'now'>,
): boolean {
  const lists = batches.toReversed().filter(({ seen, at }) => {
    const kind = kinds.find((each) => each.entity.name === seen[0]?.entity)
    return new Set(seen.map(({ id }) => id)).size > 1 && now - at < (kind?.entity.ttlMs ?? 0)
  })
  const candidates = [lists[0], lists.find(({ isThisTurn }) => !isThisTurn)]
  return lists.length === 0 || candidates.some((list) => list?.seen[0]?.entity === of.name)
}

/** For a list of this turn, the newest one before it. */
function listedBefore(
  { entity: { name, ttlMs }, things, listing }: Kind,
  { batches, now }: Pick<World, 'batches' | 'now'>,
): readonly Thing[] {
  if (!listing.every(({ isThisTurn }) => isThisTurn)) return []
  const before = batches.filter(({ seen, isThisTurn }) => !isThisTurn && seen[0]?.entity === name)
  const newest = before.findLast(({ seen }) => seen.length > 1) ?? before.at(-1)
  if (newest === undefined || now - newest.at >= ttlMs) return []
  return newest.seen.flatMap(({ id }) => things.find((thing) => thing.id === id) ?? [])
}

/** One message for each id, and some noise. */
function saidBefore(kinds: readonly Kind[], now: number, random: Random): World['said'] {
  const said = kinds.flatMap(({ entity: { ttlMs }, things, foreign, style }) => [
    ...things.flatMap(({ id, typedBefore }) =>
      typedBefore === 'never'
        ? []
        : [
            {
              text: random.pick([`My id is ${id}.`, `I have two of ${id}; well?`, `(${id})`]),
              at: now - (typedBefore === 'fresh' ? 1 + random.below(ttlMs - 1) : ttlMs + random.below(ttlMs)),
            },
          ],
    ),
    ...foreign.flatMap(({ id }) =>
      style !== 'small' && random.chance(0.3)
        ? [{ text: `It was x${id} or ${id}0 for 12 € on 12/05.`, at: now - 1 }]
        : [],
    ),
  ])
  return said.toSorted((a, b) => a.at - b.at)
}

export function newId(style: Style, name: string, random: Random): string {
  const hex = (count: number): string =>
    Array.from({ length: count }, () => random.below(16).toString(16)).join('')
  if (style === 'hex') return `${hex(8)}-${hex(4)}`
  if (style === 'code') return `${name.slice(0, 2).toUpperCase()}-${random.between(1000, 9999)}`
  return String(style === 'number' ? random.between(100_000, 999_999) : random.between(1, 40))
}

function makeKind(name: string, random: Random): Kind {
  const style = random.pick(STYLES)
  const things: Thing[] = []
  const ids = new Set<string>()
  const add = (seen: Thing['seen'], label: string): void => {
    let id = newId(style, name, random)
    while (ids.has(id)) id = newId(style, name, random)
    ids.add(id)
    const former = seen === 'fresh' && random.chance(0.1) ? { former: newLabel(random) } : {}
    things.push({
      id,
      label,
      seen,
      ...former,
      isTyped: false,
      typedBefore: 'never',
      isNamed: false,
      isPlaced: false,
      isThisTurn: false,
    })
  }
  for (let count = random.between(2, 6); count > 0; count--) add('fresh', newLabel(random))
  for (let count = random.between(1, 3); count > 0; count--) add('old', newLabel(random))
  for (let count = random.between(1, 3); count > 0; count--) add('never', newLabel(random))
  const fresh = things.filter(({ seen }) => seen === 'fresh')
  const labelOf = (at: number): string => fresh[at]?.label ?? ''
  if (random.chance(0.3)) add('fresh', labelOf(0))
  if (random.chance(0.3)) add('fresh', `${labelOf(1)} ${newLabel(random)}`)
  return madeUp({ name, style, things }, random)
}

/** The actors and their actions on the things. */
function madeUp(
  {
    name,
    style,
    things,
  }: { readonly name: string; readonly style: Style; readonly things: readonly Thing[] },
  random: Random,
): Kind {
  const shown = things.filter(({ seen }) => seen === 'fresh')
  const listing = random.shuffle(shown).slice(0, random.between(2, shown.length))
  const count = random.pick([0, 0, 1, 1, 1, 2])
  const chosen = random.shuffle(things).slice(0, count)
  if (random.chance(0.25)) for (const thing of listing) thing.isThisTurn = true
  else if (random.chance(0.4)) random.pick(shown).isThisTurn = true
  // Small numbers are ambiguous in texts, and tested elsewhere.
  if (style !== 'small') {
    for (const thing of things) if (random.chance(0.15)) thing.isTyped = true
    for (const thing of things)
      if (random.chance(0.2)) thing.typedBefore = random.pick(['fresh', 'fresh', 'old'])
    for (const thing of shown) if (random.chance(0.15)) nameAll(things, thing.label)
    for (const thing of listing) if (random.chance(0.15)) thing.isPlaced = true
  }
  const isNormal = (style === 'code' || style === 'hex') && random.chance(0.4)
  return {
    entity: entity(name, {
      ttl: random.pick(['7h', '30m', '2d']),
      pattern: PATTERNS[style],
      ...(isNormal ? { normalize: normalId } : {}),
    }),
    isNormal,
    isListedLast: false,
    chosenBy: random.pick(['tool', 'program first', 'program last', 'program last']),
    style,
    things,
    chosen,
    isLapsed: random.chance(0.2),
    listing,
    earlier: [],
    foreign: Array.from({ length: 3 }, () => stranger({ name, style, things }, random)),
  }
}

export function normalId(id: string): string {
  return id.replace(/[^a-z0-9]/gi, '').toUpperCase()
}

/** A label applies to all things that have it. */
function nameAll(things: readonly Thing[], label: string): void {
  for (const thing of things) if (thing.label === label) thing.isNamed = true
}

/** A thing of another person. */
function stranger(
  {
    name,
    style,
    things,
  }: { readonly name: string; readonly style: Style; readonly things: readonly Thing[] },
  random: Random,
): Thing {
  let id = newId(style, name, random)
  while (things.some((thing) => thing.id === id)) id = newId(style, name, random)
  return {
    id,
    label: newLabel(random),
    seen: 'never',
    isTyped: false,
    typedBefore: 'never',
    isNamed: false,
    isPlaced: false,
    isThisTurn: false,
  }
}

/** Two words that resemble no others. */
function newLabel(random: Random): string {
  return `${longWord(random)} ${longWord(random)}`
}

function longWord(random: Random): string {
  const word = random.name()
  return `${word}${word.slice(0, 3).toLowerCase()}${random.pick(['ump', 'orf', 'ift'])}`
}

const AMOUNTS = [
  'It may cost 120 €.',
  'At 12:30 or on 12/05.',
  'Up to 12 % or 3.5 m of it.',
  'Hurry up!',
  'Thanks.',
]

function textOf(kinds: readonly Kind[], random: Random): string {
  const sentences = kinds.flatMap((kind) => {
    const { things, listing } = kind
    return [
      ...things.flatMap((thing) =>
        thing.isTyped
          ? [random.pick([`Look at ${thing.id}, now.`, `(${thing.id})`, `id:${thing.id} here.`])]
          : [],
      ),
      ...things.flatMap((thing) => (thing.isNamed ? [`Work on ${variant(thing.label, random)}.`] : [])),
      ...listing.flatMap((thing, at) => (thing.isPlaced ? [sayPlace(kind, at + 1, random)] : [])),
      // A part of a longer label is not written.
      ...kind.foreign.flatMap(({ id }) =>
        kind.style !== 'small' && random.chance(0.3) ? [`See ${id}9 or x${id} or ${id}-b.`] : [],
      ),
    ]
  })
  const place = random.between(1, 3)
  const listed = kinds.flatMap(({ isListedLast: isLast, listing }) =>
    isLast ? (listing[place - 1] ?? []) : [],
  )
  // A small number that is both an id and such a position is tested elsewhere.
  const isSmall = kinds.some(({ isListedLast: isLast, style }) => isLast && style === 'small')
  const hasPlace = !isSmall && random.chance(0.15)
  if (hasPlace) for (const thing of listed) thing.isPlaced = true
  if (hasPlace) for (const kind of kinds) if (kind.isListedLast) placeEarlier(kind, place)
  const bare = hasPlace ? [`Open the ${['first', 'second', 'third'][place - 1]} one.`] : []
  return random.shuffle([...sentences, ...bare, random.pick(AMOUNTS)]).join(' ')
}

function sayPlace(kind: Kind, place: number, random: Random): string {
  placeEarlier(kind, place)
  return placeText(kind.entity.name, place, random)
}

function placeEarlier({ earlier }: Kind, place: number): void {
  const thing = earlier[place - 1]
  if (thing !== undefined) thing.isPlaced = true
}

function placeText(name: string, place: number, random: Random): string {
  const word =
    ['first', 'second', 'third', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth'][place - 1] ?? 'none'
  return random.pick([
    `Take ${name} ${place}.`,
    `And ${name} #${place}.`,
    `Use the ${word} ${name}.`,
    `Show ${name} number ${place}.`,
  ])
}

/** The same label in another spelling. */
export function variant(label: string, random: Random): string {
  const dresses: readonly ((text: string) => string)[] = [
    (text) => text,
    (text) => text.toUpperCase(),
    (text) => text.toLowerCase(),
    (text) => text.replace(/o/g, 'ô').replace(/e/g, 'é'),
    (text) => text.replace(' ', random.pick(['-', '  ', ' / ', '_'])),
  ]
  return random.pick(dresses)(label)
}

function activeOf(
  { entity: of, chosen, isLapsed, chosenBy }: Kind,
  now: number,
  random: Random,
): readonly ActiveValue[] {
  const [first] = chosen
  if (first === undefined) return []
  const age = isLapsed ? of.ttlMs + random.below(1e7) : random.below(of.ttlMs)
  const ids = chosen.length > 1 ? { ids: chosen.map(({ id }) => id) } : {}
  const by = chosenBy === 'tool' ? 'tool' : 'program'
  // Some results come from a clock that was ahead.
  const since = chosenBy === 'program last' ? now + 4 * of.ttlMs : now - 10 * of.ttlMs
  return [{ entity: of.name, id: first.id, label: first.label, ...ids, at: now - age, by, since }]
}

function batchesOf({ entity: of, things, listing }: Kind, now: number, random: Random): readonly Batch[] {
  const sighting = ({ id, label }: Thing): Sighting => ({ entity: of.name, id, label })
  const batches: Batch[] = []
  // Results of all entities are interleaved, as seconds of one clock.
  const add = (
    seen: readonly Sighting[],
    [from, to]: readonly [number, number],
    isThisTurn = false,
  ): void => {
    if (seen.length > 0)
      batches.push({
        at: now - from - random.below(to - from),
        seq: batches.length * 10 + random.below(10),
        isThisTurn,
        seen,
      })
  }
  const old = things.filter(({ seen }) => seen === 'old')
  const fresh = things.filter(({ seen }) => seen === 'fresh')
  const { ttlMs } = of
  add(random.shuffle(old).map(sighting), [ttlMs, 3 * ttlMs])
  const renamed = fresh.filter(({ former }) => former !== undefined)
  add(
    renamed.map(({ id, former = '' }) => ({ entity: of.name, id, label: former })),
    [ttlMs / 2, 2 * ttlMs],
  )
  add(random.shuffle(fresh).map(sighting), random.chance(0.1) ? [-3 * ttlMs, -ttlMs] : [1, ttlMs])
  const isListedNow = listing.every(({ isThisTurn }) => isThisTurn) && listing.length > 1
  add(listing.map(sighting), [0, 1 + ttlMs / 10], isListedNow)
  for (const thing of fresh) if (thing.isThisTurn && !isListedNow) add([sighting(thing)], [0, 1], true)
  return batches
}
