/**
 * Whether the person speaks of a thing in this turn: by its id, its label, or its place in the newest listing. A label
 * that two things have, or a number that is an id and a place, does not say which.
 */
import { normalLabel } from '../protocol/index.ts'
import { type Candidate, type Case, isOtherNoun } from './case.ts'
import { labelPlaces, type Stretch, saysId, typoPlaces, widerThan } from './mentions.ts'
import { isTypoOf, wordsOf } from './normal.ts'
import { atPlace, type Ordinal, ordinalsIn } from './ordinals.ts'
import { comparable, labelled, listed } from './readings.ts'

export type Spoken =
  | { readonly verdict: 'yes' | 'no' }
  | {
      readonly verdict: 'unclear'
      readonly why: 'same-label' | 'id-or-place'
      readonly rivals: readonly Candidate[]
    }

export async function speaksOf(thing: Candidate, about: Case): Promise<Spoken> {
  if (saysThing(thing.id, about) && !(await isOtherPlace(thing, about))) return { verdict: 'yes' }
  const byLabel = await namedByLabel(thing, about)
  if (byLabel.verdict === 'yes') return byLabel
  const byPlace = await namedByPlace(thing, about)
  return byPlace.verdict === 'no' ? byLabel : byPlace
}

/** Whether the person wrote this id, of this kind of thing. */
export function saysThing(id: string, about: Case): boolean {
  return saysId(about.judging.facts.userText, id, (word) => isOtherNoun(about, word))
}

/** Whether the person said this number, as an id or as a place. */
export function saysNumber(text: string, about: Case): boolean {
  return saysThing(text, about) || spokenPlaces(about).some(({ place }) => String(place) === text)
}

export async function namedByLabel(thing: Candidate, about: Case): Promise<Spoken> {
  const { facts } = about.judging
  const label = thing.label ?? (await facts.seen(about.entity.name, thing.id))?.label
  const words = wordsOf(facts.userText).slice(0, MOST_WORDS)
  if (label === undefined || words.length === 0) return NO
  const { one, many } = about.entity.nouns
  const places = labelPlaces(words, label, (word) => one.has(word) || many.has(word))
  for (const place of places) {
    if (await isPartOfOther(words, place, about)) continue
    const others = (await labelled(normalLabel(label), about)).filter((other) => other.thing.id !== thing.id)
    return others.length === 0 ? YES : unclear('same-label', others)
  }
  return places.length > 0 ? NO : namedWithTypos({ thing, label, words }, about)
}

const YES: Spoken = { verdict: 'yes' }
const NO: Spoken = { verdict: 'no' }
const MOST_WORDS = 1000

function unclear(
  why: 'same-label' | 'id-or-place',
  others: readonly { readonly thing: Candidate }[],
): Spoken {
  return { verdict: 'unclear', why, rivals: others.map(({ thing }) => thing) }
}

/** "Bureau" is not spoken of in "Bureau Nord", where there is one. */
async function isPartOfOther(words: readonly string[], place: Stretch, about: Case): Promise<boolean> {
  for (const wider of widerThan(words, place)) if ((await labelled(wider, about)).length > 0) return true
  return false
}

interface Naming {
  readonly thing: Candidate
  readonly label: string
  readonly words: readonly string[]
}

/** A stretch that is the label of something else is no typo. */
async function namedWithTypos({ thing, label, words }: Naming, about: Case): Promise<Spoken> {
  for (const { from, to } of typoPlaces(words, label)) {
    const stretch = words.slice(from, to).join(' ')
    if ((await labelled(stretch, about)).length > 0) continue
    const known = await comparable(about)
    if (known === undefined) return NO
    const others = known.filter(
      (other) => other.thing.id !== thing.id && isTypoOf(stretch, normalLabel(other.thing.label ?? '')),
    )
    return others.length === 0 ? YES : unclear('same-label', others)
  }
  return NO
}

async function namedByPlace(thing: Candidate, about: Case): Promise<Spoken> {
  const { entity, judging } = about
  const ordinals = spokenPlaces(about)
  if (ordinals.length === 0) return NO
  const rows = await listed(about)
  let doubt: Spoken = NO
  for (const ordinal of ordinals) {
    if (atPlace(rows, ordinal)?.id !== thing.id) continue
    const id = String(ordinal.place)
    const rival = ordinal.isNumber && id !== thing.id ? await judging.facts.seen(entity.name, id) : undefined
    if (rival === undefined) return YES
    doubt = unclear('id-or-place', [{ thing: rival }])
  }
  return doubt
}

/** A number that is the id of this thing and the place of another. */
async function isOtherPlace(thing: Candidate, about: Case): Promise<boolean> {
  const place = spokenPlaces(about).find((each) => each.isNumber && String(each.place) === thing.id)
  if (place === undefined) return false
  const row = atPlace(await listed(about), place)
  return row !== undefined && row.id !== thing.id
}

function spokenPlaces({ entity, judging }: Case): readonly Ordinal[] {
  return ordinalsIn(judging.facts.userText, entity, judging.entities.values())
}
