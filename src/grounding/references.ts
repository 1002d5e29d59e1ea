/**
 * Decides whether the person mentions a thing: by its id in any turn, by its label, or by its position in the newest
 * listing; and whether a part belongs to the expected parent.
 */
import { defined, normalLabel } from '../protocol/index.ts'
import type { Entity } from './entity.ts'
import { activeIds, type ChosenAt, chosenAt, isExpired, isSince, type PersonWords } from './facts.ts'
import { labelSpans, typoSpans, widerThan, writtenAs } from './mentions.ts'
import { atPlace, type Ordinal, ordinalsIn } from './ordinals.ts'
import type { Span } from './path-mentions.ts'
import {
  type Candidate,
  type Case,
  candidate,
  chosenOption,
  comparable,
  isListedLast,
  isNounOf,
  isOtherNoun,
  isSameId,
  labelled,
  listedForPerson,
  optionText,
} from './readings.ts'
import { keyValues } from './rows.ts'
import { isTypoOf, wordsOf } from './text-normalize.ts'

export type Spoken =
  | { readonly verdict: 'yes' | 'no' }
  | {
      readonly verdict: 'unclear'
      readonly why: 'same-label' | 'id-or-place'
      readonly rivals: readonly Candidate[]
    }

export async function speaksOf(thing: Candidate, judgeCase: Case): Promise<Spoken> {
  if (writtenNow(thing.id, judgeCase) !== undefined && !(await isOtherPlace(thing, judgeCase))) return YES
  const byLabel = await namedByLabel(thing, judgeCase)
  if (byLabel.verdict === 'yes') return byLabel
  const byPlace = await namedByPlace(thing, judgeCase)
  return byPlace.verdict === 'no' ? byLabel : byPlace
}

/** An id of this entity as the person wrote it in this turn. */
export function writtenNow(id: string, judgeCase: Case): string | undefined {
  return writtenIn({ text: judgeCase.judging.facts.userText }, id, judgeCase)
}

/** The newest unexpired earlier message with this id, and its spelling there. `isOwn`: picked options do not count. */
export async function writtenBefore(
  id: string,
  judgeCase: Case,
  { isOwn = false }: { readonly isOwn?: boolean } = {},
): Promise<{ readonly written: string; readonly said: PersonWords } | undefined> {
  const { facts, now } = judgeCase.judging
  const form = judgeCase.entity.normal?.(id) ?? id
  const inForm = form === id ? [] : await facts.saidBefore(form)
  for (const said of [...(await facts.saidBefore(id)), ...inForm]) {
    if (isExpired(said, judgeCase.entity, now) || (isOwn && said.isPicked)) continue
    const written = writtenIn({ text: said.text, isLongAgo: true }, id, judgeCase)
    if (written !== undefined) return { written, said }
  }
  return undefined
}

/** A composite key is written if all of its parts are. */
function writtenIn(
  { text, isLongAgo = false }: { readonly text: string; readonly isLongAgo?: boolean },
  id: string,
  judgeCase: Case,
): string | undefined {
  const { entity } = judgeCase
  const { pattern, normal = (part: string) => part } = entity
  const rules = {
    ...defined({ normal: entity.normal }),
    isOwnNoun: (word: string) => isNounOf(entity, word),
    isOtherNoun: (word: string, form: string) => isOtherNoun(judgeCase, word, form),
    isId: (part: string) => pattern?.test(part) === true || pattern?.test(normal(part)) === true,
    isLongAgo,
  }
  if (entity.key === undefined) return writtenAs(text, id, rules)
  const parts = keyValues(id)
  const { normal: _, ...others } = rules
  const plain = { ...others, isId: (part: string) => parts.includes(part) }
  const isWhole = parts.length === entity.key.length
  return isWhole && parts.every((part) => writtenAs(text, part, plain) !== undefined) ? id : undefined
}

/** True if the person wrote this number, as an id or as a position. */
export async function saysNumber(text: string, judgeCase: Case): Promise<boolean> {
  const isPlace = async () => (await spokenPlaces(judgeCase)).some(({ place }) => String(place) === text)
  return writtenNow(text, judgeCase) !== undefined || isPlace()
}

/**
 * The thing that the person picked last among several with one label, in an answer to any question, unless that has expired
 * or the person mentions another one now.
 */
export async function pickedBefore(
  options: readonly Candidate[],
  judgeCase: Case,
): Promise<{ readonly thing: Candidate; readonly seq?: number } | undefined> {
  const { facts, now } = judgeCase.judging
  for (const said of await facts.saidBefore()) {
    if (!said.isPicked || isExpired(said, judgeCase.entity, now)) continue
    const thing = said.text.split('\n').flatMap((line) => chosenOption(options, line) ?? [])[0]
    if (thing === undefined) continue
    const words = wordsOf(facts.userText)
    const isNamed = ({ id, detail }: Candidate): boolean =>
      writtenNow(id, judgeCase) !== undefined ||
      (detail !== undefined && labelSpans(words, detail, () => false).length > 0)
    const isOther = options.some((option) => option.id !== thing.id && isNamed(option))
    return isOther ? undefined : { thing, ...defined({ seq: said.seq }) }
  }
  return undefined
}

/** True if the person has written the id or the label of a thing since a selection, in an earlier turn. */
export async function spokenSince(thing: Candidate, since: ChosenAt, judgeCase: Case): Promise<boolean> {
  const before = await writtenBefore(thing.id, judgeCase)
  if (before !== undefined && isSince(before.said, since)) return true
  for (const said of await judgeCase.judging.facts.saidBefore())
    if (isSince(said, since) && (await namedByLabel(thing, judgeCase, said.text)).verdict === 'yes')
      return true
  return false
}

export async function namedByLabel(
  thing: Candidate,
  judgeCase: Case,
  text: string = judgeCase.judging.facts.userText,
): Promise<Spoken> {
  const { facts } = judgeCase.judging
  const label = thing.label ?? (await facts.seen(judgeCase.entity.name, thing.id))?.label
  const words = wordsOf(text).slice(0, MOST_WORDS)
  if (label === undefined || words.length === 0) return NO
  const places = labelSpans(words, label, (word) => isNounOf(judgeCase.entity, word))
  for (const place of places) {
    if (await isPartOfOther(words, place, judgeCase)) continue
    const others = (await labelled(normalLabel(label), judgeCase)).filter(
      (other) => other.thing.id !== thing.id,
    )
    return others.length === 0 ? YES : unclear('same-label', others)
  }
  return places.length > 0 ? NO : namedWithTypos({ thing, label, words }, judgeCase)
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

/** "Bureau Nord" does not mention "Bureau", if there is a thing with the longer label. */
async function isPartOfOther(words: readonly string[], place: Span, judgeCase: Case): Promise<boolean> {
  for (const wider of widerThan(words, place)) if ((await labelled(wider, judgeCase)).length > 0) return true
  return false
}

interface LabelQuery {
  readonly thing: Candidate
  readonly label: string
  readonly words: readonly string[]
}

/** Words that are the label of another thing are no typo. */
async function namedWithTypos({ thing, label, words }: LabelQuery, judgeCase: Case): Promise<Spoken> {
  for (const { from, to } of typoSpans(words, label)) {
    const stretch = words.slice(from, to).join(' ')
    if ((await labelled(stretch, judgeCase)).length > 0) continue
    const known = await comparable(judgeCase)
    if (known === undefined) return NO
    const others = known.filter(
      (other) => other.thing.id !== thing.id && isTypoOf(stretch, normalLabel(other.thing.label ?? '')),
    )
    return others.length === 0 ? YES : unclear('same-label', others)
  }
  return NO
}

async function namedByPlace(thing: Candidate, judgeCase: Case): Promise<Spoken> {
  const { entity, judging } = judgeCase
  const ordinals = await spokenPlaces(judgeCase)
  if (ordinals.length === 0) return NO
  const rows = await listedForPerson(judgeCase, ordinals)
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

/** True if a number is the id of this thing and the position of another. */
async function isOtherPlace(thing: Candidate, judgeCase: Case): Promise<boolean> {
  const place = (await spokenPlaces(judgeCase)).find(
    (each) => each.isNumber && String(each.place) === thing.id,
  )
  if (place === undefined) return false
  const row = atPlace(await listedForPerson(judgeCase, [place]), place)
  return row !== undefined && row.id !== thing.id
}

/** Positions among things of this entity. A position without a noun refers to the newest list, of whatever entity. */
async function spokenPlaces(judgeCase: Case): Promise<readonly Ordinal[]> {
  const { entity, judging } = judgeCase
  const spoken = ordinalsIn(judging.facts.userText, entity, judging.entities.values())
  const isClear = spoken.every(({ hasNoun }) => hasNoun) || (await isListedLast(judgeCase))
  return isClear ? spoken : spoken.filter(({ hasNoun }) => hasNoun)
}

/** The actual parent of a part, and the expected one. */
export interface OtherParent {
  /** The entity of both. */
  readonly entity: Entity
  readonly own: Candidate
  readonly wanted: readonly Candidate[]
  /** When `wanted` was selected; undefined if it is in the same call. */
  readonly since?: ChosenAt
}

/**
 * The nearest ancestor that the call names or that is active, if the part belongs to another one. Undefined if it does not,
 * or if no tool has shown its parent.
 */
export async function otherParent(thing: Candidate, judgeCase: Case): Promise<OtherParent | undefined> {
  const { facts, now, beside } = judgeCase.judging
  if (judgeCase.entity.parent === undefined) return undefined
  let own = thing.parent ?? (await facts.seen(judgeCase.entity.name, thing.id))?.parent
  for (
    let above: Entity | undefined = judgeCase.entity.parent;
    above && own !== undefined;
    above = above.parent
  ) {
    const entity: Entity = above
    const id = own
    const seen = await facts.seen(entity.name, id)
    const named = async (ids: readonly string[]) =>
      Promise.all(ids.map(async (each) => candidate((await facts.seen(entity.name, each)) ?? { id: each })))
    const isIn = (ids: readonly string[]): boolean => ids.some((each) => isSameId(entity, each, id))
    const called = beside?.(entity.name) ?? []
    if (called.length > 0)
      return isIn(called)
        ? undefined
        : { entity, own: candidate(seen ?? { id }), wanted: await named(called) }
    const active = await facts.active(entity.name)
    if (active !== undefined && !isExpired(active, entity, now)) {
      if (isIn(activeIds(active))) return undefined
      const wanted = active.ids === undefined ? [candidate(active)] : await named(activeIds(active))
      return { entity, own: candidate(seen ?? { id }), wanted, since: chosenAt(active) }
    }
    own = seen?.parent
  }
  return undefined
}

/**
 * True if the person means a part of another parent than the active one, in this turn: by its id, by the label or id of its
 * parent, or by its own label where tools have shown parts of the active parent and none has that label.
 */
export async function isOtherMeant(thing: Candidate, other: OtherParent, judgeCase: Case): Promise<boolean> {
  if (writtenNow(thing.id, judgeCase) !== undefined) return true
  const above: Case = { ...judgeCase, entity: other.entity, active: undefined, lapsed: undefined }
  if (writtenNow(other.own.id, above) !== undefined) return true
  if ((await namedByLabel(other.own, above)).verdict === 'yes') return true
  if ((await namedByLabel(thing, judgeCase)).verdict !== 'yes') return false
  const shown = (await comparable(judgeCase)) ?? []
  return shown.some(({ thing: { parent } }) => other.wanted.some(({ id }) => id === parent))
}

/** The text for a refusal. */
export function parentText({ entity, own, wanted }: OtherParent): string {
  const noun = entity.called['en']?.one ?? entity.name
  return `${noun} ${optionText(own)}, not to ${wanted.map(optionText).join(' or ')}`
}
