/** The answer without a language model: sentences of the evidence, quoted with their numbers. Pure. */
import { type Evidence, evidenceStems } from './evidence.ts'
import { contentStems, isFigure, sentencesOf, sharedStems, shareOf } from './words.ts'

const MOST_SENTENCES = 3
/** The least part of the question's content words that a passage must have; of long questions a little less. */
const RELEVANT = 0.6
const RELEVANT_LONG = 0.5
const LONG_SHARED = 3
/** Of a follow-up's own words: those that it refers back to answer nothing. */
const RELEVANT_OWN = 0.5
/** Sentences much weaker than the best are left out. */
const NEAR_BEST = 0.7
const SAME_SENTENCE = 0.85
/** Words of the question itself count more than those that it refers back to. */
const OWN_WORDS = 0.75
const WEIGHTS = { sentence: 0.65, passage: 0.2, score: 0.15, figure: 0.15 }
const ASKS_FIGURE =
  /^(?:.*\b)?(?:how (?:many|much|long|deep|high|tall|far|old|often|large|big|fast|wide|heavy)|when|what year|combien|quand|en quelle année|quelle (?:hauteur|profondeur|taille|date|année|durée))\b/iu

interface Candidate {
  readonly sentence: string
  readonly stems: readonly string[]
  readonly numbers: readonly number[]
  readonly value: number
}

export interface Extracting {
  readonly question: string
  /** Stems of the whole question and of its parts, with the words that it refers back to. */
  readonly queries: readonly (readonly string[])[]
  /** The same without those words. */
  readonly own: readonly (readonly string[])[]
}

/** `sentence [n]` for each of the best sentences; none if no passage is about the question. */
export function extract(evidence: readonly Evidence[], task: Extracting): readonly string[] {
  const candidates = evidence.flatMap((item) => candidatesIn(item, task))
  const sorted = merged(candidates.toSorted((a, b) => b.value - a.value))
  const best = sorted[0]?.value ?? 0
  const chosen = sorted.filter(({ value }) => value >= best * NEAR_BEST).slice(0, MOST_SENTENCES)
  return chosen.map(
    ({ sentence, numbers }) => `${sentence} ${numbers.map((number) => `[${number}]`).join('')}`,
  )
}

function candidatesIn(item: Evidence, { question, queries, own }: Extracting): readonly Candidate[] {
  const given = evidenceStems(item)
  const relevant = queries.filter((stems) => isRelevant(stems, given))
  const isOwn = own.length === 0 || bestShare(own, given) >= RELEVANT_OWN
  if (relevant.length === 0 || !isOwn) return []
  const passage = Math.max(...relevant.map((stems) => shareOf(stems, given)))
  const asksFigure = ASKS_FIGURE.test(question)
  return sentencesOf(item.text).flatMap((sentence) => {
    const stems = contentStems(sentence)
    const share = OWN_WORDS * bestShare(own, stems) + (1 - OWN_WORDS) * bestShare(relevant, stems)
    if (share === 0 || stems.length < 2) return []
    const figure = asksFigure && stems.some(isFigure) ? WEIGHTS.figure : 0
    const value = WEIGHTS.sentence * share + WEIGHTS.passage * passage + WEIGHTS.score * item.score + figure
    return [{ sentence: sentence.replaceAll(/\s+/g, ' '), stems, numbers: [item.number], value }]
  })
}

function bestShare(queries: readonly (readonly string[])[], stems: readonly string[]): number {
  return Math.max(0, ...queries.map((query) => shareOf(query, stems)))
}

function isRelevant(question: readonly string[], given: readonly string[]): boolean {
  const shared = sharedStems(question, given).length
  if (shared === 0) return false
  const share = shared / question.length
  return share >= RELEVANT || (share >= RELEVANT_LONG && shared >= LONG_SHARED)
}

/** A sentence that several passages have is quoted once, with all their numbers. */
function merged(candidates: readonly Candidate[]): readonly Candidate[] {
  const kept: Candidate[] = []
  for (const candidate of candidates) {
    const at = kept.findIndex(({ stems }) => isSame(stems, candidate.stems))
    const same = kept[at]
    if (same === undefined) kept.push(candidate)
    else kept[at] = { ...same, numbers: [...new Set([...same.numbers, ...candidate.numbers])] }
  }
  return kept
}

function isSame(a: readonly string[], b: readonly string[]): boolean {
  const figures = (stems: readonly string[]): string => stems.filter(isFigure).toSorted().join(' ')
  return figures(a) === figures(b) && shareOf(a, b) >= SAME_SENTENCE && shareOf(b, a) >= SAME_SENTENCE
}
