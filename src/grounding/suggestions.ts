/** Suggestions for a refused id: similar known things, by edit distance, by label or by the person's words. */
import { editDistance, normalLabel } from '../protocol/index.ts'
import type { Entity } from './entity.ts'
import { isExpired, type JudgeContext } from './facts.ts'
import { labelSpans, matchesIn } from './mentions.ts'
import { type Candidate, type Case, candidate, isNounOf } from './readings.ts'
import { type OtherParent, writtenBefore, writtenNow } from './references.ts'
import { isLikeWord, isTypoOf, SHORTEST_TYPO, wordsOf } from './text-normalize.ts'

const MOST = 5
/** A refusal is rare, and a comparison takes a few microseconds. */
const LOOKED_AT = 1000

/** Suggestions, best first; `best` if one is clearly nearer than all others. */
export interface NearMatches {
  readonly near: readonly Candidate[]
  readonly best?: Candidate
}

/**
 * Things that were shown or written by the person and resemble the value: by the letters of the id, by the label, or
 * because the person names them in this turn. At most five.
 */
export async function nearMatches(
  given: string,
  entity: Entity,
  judging: JudgeContext,
): Promise<NearMatches> {
  const { facts, now } = judging
  const shown = (await facts.recent(entity.name, LOOKED_AT)).filter((row) => !isExpired(row, entity, now))
  const known = new Set([given, ...shown.map(({ id }) => id)])
  const said = (await saidIds(entity, judging)).filter(({ id }) => !known.has(id))
  const words = wordsOf(facts.userText).slice(0, MOST_WORDS)
  const spoken = new Set(words)
  const isNamed = (label: string): boolean =>
    spoken.has(label.split(' ', 1)[0] ?? '') &&
    labelSpans(words, label, (word) => isNounOf(entity, word)).length > 0
  const like = likenessTo(given)
  return ranked<Candidate>([...shown, ...said], (row) => {
    const label = row.label === undefined ? undefined : normalLabel(row.label)
    return Math.max(like(row.id, label), label !== undefined && isNamed(label) ? NAMED : 0)
  })
}

const MOST_WORDS = 1000
const MOST_SAID = 50

/** Ids that would be grounded because the person wrote them. */
async function saidIds(entity: Entity, judging: JudgeContext): Promise<readonly Candidate[]> {
  const { facts } = judging
  const texts = [
    facts.userText,
    ...(await facts.saidBefore()).flatMap(({ text, isPicked }) => (isPicked ? [] : [text])),
  ]
  const ids = new Set(texts.flatMap((text) => matchesIn(text, entity.pattern)))
  const about: Case = { entity, active: undefined, lapsed: undefined, judging }
  const good = await Promise.all(
    [...ids]
      .slice(0, MOST_SAID)
      .map(
        async (id) =>
          (writtenNow(id, about) ?? (await writtenBefore(id, about, { isOwn: true }))) !== undefined,
      ),
  )
  return [...ids].filter((_, at) => good[at]).map((id) => ({ id }))
}

/** The same among the parts of the expected parent: by the label of the intended thing, or by its id. */
export async function nearOfParent(
  given: string,
  { entity, parent }: { readonly entity: Entity; readonly parent: OtherParent },
  { facts, now }: Pick<JudgeContext, 'facts' | 'now'>,
): Promise<NearMatches> {
  const like = likenessTo((await facts.seen(entity.name, given))?.label ?? given)
  const rows = (await facts.recent(entity.name, LOOKED_AT)).filter(
    (row) => !isExpired(row, entity, now) && parent.wanted.some(({ id }) => id === row.parent),
  )
  return ranked(rows, ({ label }) => (label === undefined ? 0 : like('', normalLabel(label))))
}

/** Of these, the ones that are like what was written, best first and at most five. */
export function nearest(given: string, rows: readonly Candidate[]): readonly Candidate[] {
  const like = likenessTo(given)
  return ranked(rows, ({ id, label }) => like(id, label === undefined ? undefined : normalLabel(label))).near
}

/** A mention by the person ranks above a shared word, and below a typo. */
const NAMED = 0.92

/** An id with at most one letter in four wrong; a label with more than half of its words. */
const CLEAR = 0.75

function ranked<Row extends Candidate>(rows: readonly Row[], rankOf: (row: Row) => number): NearMatches {
  const all = rows
    .flatMap((row) => {
      const rank = rankOf(row)
      return rank > 0 ? [{ row, rank }] : []
    })
    .toSorted((a, b) => b.rank - a.rank)
  const near = all.slice(0, MOST).map(({ row }) => candidate(row))
  const [first, second] = all
  const isClear = first !== undefined && first.rank >= CLEAR && first.rank > (second?.rank ?? 0)
  return isClear ? { near, best: candidate(first.row) } : { near }
}

/** The similarity of an id or a normal label to the value: from 0, nothing in common, to 1. */
function likenessTo(given: string): (id: string, label: string | undefined) => number {
  const normal = normalLabel(given)
  const words = normal.split(' ')
  // The labels of a list share most of their words.
  const known = new Map<string, boolean>()
  const isLike = (word: string): boolean => {
    if (word.length < SHORTEST_TYPO) return words.includes(word)
    let is = known.get(word)
    if (is === undefined) {
      is = words.some((own) => isLikeWord(own, word))
      known.set(word, is)
    }
    return is
  }
  return (id, label) => {
    const byId = idLikeness(given, id)
    return label === undefined ? byId : Math.max(byId, labelLikeness({ normal, isLike }, label))
  }
}

function idLikeness(given: string, id: string): number {
  const length = Math.max(given.length, id.length)
  const isLong = Math.min(given.length, id.length) >= Math.max(3, length / 2)
  if (isLong && (id.startsWith(given) || given.startsWith(id))) return 0.9
  const most = Math.floor(length / 4)
  const steps = editDistance(given.slice(0, LONGEST), id.slice(0, LONGEST), most)
  return steps > most ? 0 : 1 - steps / length
}

const LONGEST = 64

interface WrittenLabel {
  readonly normal: string
  /** True if a word is one of its words, or one with typos. */
  readonly isLike: (word: string) => boolean
}

function labelLikeness({ normal, isLike }: WrittenLabel, label: string): number {
  if (normal === label) return 1
  const labelWords = label.split(' ')
  const common = labelWords.filter(isLike)
  if (common.length === labelWords.length && isTypoOf(normal, label)) return 0.95
  const telling = common.filter(({ length }) => length > 2)
  return telling.length === 0 ? 0 : 0.5 + (0.4 * telling.length) / labelWords.length
}
