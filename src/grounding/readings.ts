/** The things that a value may mean, as an id, a label or a position in the newest listing, and the types of a decision. */
import { defined, type GroundSource, normalLabel } from '../protocol/index.ts'
import type { Entity } from './entity.ts'
import { type Chosen, isExpired, type JudgeContext, type PersonWords, type Seen } from './facts.ts'
import { atPlace, type Ordinal, ordinalsIn, ordinalsOf } from './ordinals.ts'
import { isTypoOf } from './text-normalize.ts'

/** A thing as people and models see it. */
export interface Candidate {
  readonly id: string
  readonly label?: string
  readonly detail?: string
  readonly parent?: string
}

/** The entity under decision. */
export interface Case {
  readonly entity: Entity
  /** Unexpired. */
  readonly active: Chosen | undefined
  /** The expired active value. */
  readonly lapsed: Chosen | undefined
  readonly judging: JudgeContext
}

/** A thing that a value may mean, with its source. */
export interface Reading {
  readonly thing: Candidate
  readonly source: GroundSource
  /** When it was shown or said. */
  readonly at?: number
  readonly seq?: number
  /** The person wrote it in this turn. */
  readonly isSaidNow?: true
}

/** True if two ids are equal in the normal form of their entity. */
export function isSameId({ normal }: Pick<Entity, 'normal'>, a: string, b: string): boolean {
  return a === b || (normal !== undefined && normal(a) === normal(b))
}

/** True if a word is a noun of this entity. */
export function isNounOf({ nouns: { one, many } }: Pick<Entity, 'nouns'>, word: string): boolean {
  return one.has(word) || many.has(word)
}

/** True if a word is a noun of another entity that could have this id, or this position in a list. */
export function isOtherNoun({ entity, judging }: Case, word: string, id: string): boolean {
  const isPlace = /^#?\d{1,4}$/.test(id)
  const couldHave = ({ pattern }: Entity): boolean => isPlace || pattern === undefined || pattern.test(id)
  return (
    !isNounOf(entity, word) &&
    [...judging.entities.values()].some((other) => isNounOf(other, word) && couldHave(other))
  )
}

export function candidate({ id, label, detail, parent }: Candidate): Candidate {
  return {
    id,
    ...defined({ label, detail, parent }),
  }
}

export function readingOf(seen: Seen, source: GroundSource): Reading {
  const { at, seq } = seen
  return { thing: candidate(seen), source, at, ...defined({ seq }) }
}

/** Each thing once, by its first reading. */
export function distinct<T extends { readonly thing: Candidate }>(readings: readonly T[]): readonly T[] {
  const first = new Map<string, T>()
  for (const one of readings) if (!first.has(one.thing.id)) first.set(one.thing.id, one)
  return first.size === readings.length ? readings : [...first.values()]
}

/** A unique text for a thing. */
export function optionText({ id, label }: Candidate): string {
  return label === undefined ? id : `${label} (${id})`
}

/** Options in people's words: label and detail. The id appears only where these are ambiguous. */
export function optionTexts(options: readonly Candidate[]): readonly string[] {
  const named = options.map(({ label, detail }) => label && detail && `${label} (${detail})`)
  return options.map((option, at) => {
    const text = named[at]
    const isOnly = text !== undefined && named.indexOf(text) === named.lastIndexOf(text)
    return isOnly ? text : optionText(option)
  })
}

/** The option that an answer names, by its text or its id. */
export function chosenOption(options: readonly Candidate[], answer: unknown): Candidate | undefined {
  const texts = optionTexts(options)
  return options.find(
    (option, at) => texts[at] === answer || option.id === answer || optionText(option) === answer,
  )
}

/** Only among so few can other meanings be excluded. */
export const MOST_FOR_TYPOS = 200

/** The thing at a position. */
export interface PlaceReading extends Reading, Ordinal {
  /** The thing at the same position of the newest list, if the person may have meant the list before. */
  readonly rival?: Reading
}

/** The things at all named positions, in the intended list; none if one position is missing. */
export async function ordinalReadings(text: string, about: Case): Promise<readonly PlaceReading[]> {
  const ordinals = ordinalsOf(text, about.entity)
  if (ordinals.length === 0) return []
  const isMeant = (await isListedLast(about)) || ordinals.every((each) => hasNounInText(each, about))
  if (!isMeant) return []
  const newest = await listed(about)
  const earlier = await listedBeforeWords(about, ordinals)
  const readings = ordinals.flatMap((ordinal): PlaceReading[] => {
    const now = atPlace(newest, ordinal)
    const row = atPlace(earlier, ordinal) ?? now
    if (row === undefined) return []
    const rival = now === undefined || now.id === row.id ? {} : { rival: readingOf(now, 'ordinal') }
    return [{ ...readingOf(row, 'ordinal'), ...ordinal, ...rival }]
  })
  return readings.length === ordinals.length ? readings : []
}

/** A model that is asked for "project 2" may write 2. */
function hasNounInText({ place, hasNoun }: Ordinal, { entity, judging }: Case): boolean {
  if (hasNoun) return true
  const spoken = ordinalsIn(judging.facts.userText, entity, judging.entities.values())
  return spoken.some((each) => each.hasNoun && each.place === place)
}

/**
 * True if a position without a noun refers to this entity: it is in the newest list, or in the newest from before this
 * turn, which the person refers to. Without a list, a position refers to any sightings.
 */
export async function isListedLast({ entity, judging }: Case): Promise<boolean> {
  const { entities, facts, now } = judging
  let isAny = false
  for (const { entities: kinds, at, isThisTurn } of await facts.lists()) {
    const fresh = kinds.filter((kind) => !isExpired({ at }, entities.get(kind) ?? entity, now))
    if (fresh.length === 0) continue
    if ((!isAny || !isThisTurn) && fresh.includes(entity.name)) return true
    if (!isThisTurn) return false
    isAny = true
  }
  return !isAny
}

/** The newest list, if unexpired. */
async function listed({ entity, judging }: Case, before?: PersonWords): Promise<readonly Seen[]> {
  const rows = await judging.facts.listing(entity.name, before)
  return rows.filter((row) => !isExpired(row, entity, judging.now))
}

/** The newest list that the person had seen when naming one of these positions in this turn; empty if none was named. */
async function listedBeforeWords(about: Case, places: readonly Ordinal[]): Promise<readonly Seen[]> {
  const { entity, judging } = about
  const isSaid = ({ text }: PersonWords): boolean =>
    ordinalsIn(text, entity, judging.entities.values()).some((said) =>
      places.some(({ place }) => place === said.place),
    )
  const words = judging.facts.personMessages.findLast(isSaid)
  return words === undefined ? [] : listed(about, words)
}

/** The list that the person's positions refer to: the newest at that time, or else the newest of all. */
export async function listedForPerson(about: Case, places: readonly Ordinal[]): Promise<readonly Seen[]> {
  const earlier = await listedBeforeWords(about, places)
  return earlier.length > 0 ? earlier : listed(about)
}

interface LabelOptions {
  /** No typos allowed. */
  readonly isExact?: boolean
  /** Expired sightings count, too. */
  readonly isAnyAge?: boolean
}

/** The things with a label: exactly, or else with typos. */
export async function labelReadings(
  text: string,
  about: Case,
  { isExact = false, isAnyAge = false }: LabelOptions = {},
): Promise<readonly Reading[]> {
  const normal = normalLabel(text)
  if (normal === '') return []
  const exact = await labelled(normal, about, isAnyAge)
  if (exact.length > 0 || isExact) return exact
  const known = await comparable(about)
  return known?.filter(({ thing }) => isTypoOf(normal, normalLabel(thing.label ?? ''))) ?? []
}

/** The things with exactly this label now; earlier labels do not count. */
export async function labelled(
  normal: string,
  { entity, active, judging }: Case,
  isAnyAge = false,
): Promise<readonly Reading[]> {
  const { facts, now } = judging
  const readings: Reading[] = []
  for (const row of await facts.byLabel(entity.name, normal)) {
    const newest = (await facts.seen(entity.name, row.id)) ?? row
    const isCalledSo = newest.label !== undefined && normalLabel(newest.label) === normal
    if (isCalledSo && (isAnyAge || !isExpired(newest, entity, now))) readings.push(readingOf(newest, 'label'))
  }
  if (active?.label !== undefined && normalLabel(active.label) === normal)
    readings.push({ thing: candidate(active), source: 'label' })
  return distinct(readings)
}

/** All unexpired things with a label; undefined if there are too many to compare. */
export async function comparable({ entity, active, judging }: Case): Promise<readonly Reading[] | undefined> {
  const rows = await judging.facts.recent(entity.name, MOST_FOR_TYPOS + 1)
  if (rows.length > MOST_FOR_TYPOS) return undefined
  const readings = rows
    .filter((row) => row.label !== undefined && !isExpired(row, entity, judging.now))
    .map((row) => readingOf(row, 'label'))
  if (active?.label !== undefined) readings.push({ thing: candidate(active), source: 'label' })
  return distinct(readings)
}
