/** The answer without a language model: sentences of the evidence, quoted with their numbers. Pure. */
import { type Evidence, evidenceStems } from './evidence.ts'
import {
  contentStems,
  isContentWord,
  isFigure,
  sentencesOf,
  sharedStems,
  shareOf,
  stemOf,
  tokensOf,
} from './words.ts'

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
/** Words of a title are about every sentence of its document. */
const TITLE_WORDS = 0.5
const WEIGHTS = { sentence: 0.65, passage: 0.2, score: 0.15, figure: 0.15 }
const ASKS_FIGURE =
  /^(?:.*\b)?(?:how (?!do\b|does\b|did\b|is\b|are\b|was\b|were\b|can\b|could\b|to\b)\p{L}+|when|what time|what year|combien|quand|en quelle année|quelle (?:hauteur|profondeur|taille|date|année|durée))\b/iu

const COUNTED_WITHIN = 3

interface Candidate {
  readonly sentence: string
  readonly stems: readonly string[]
  readonly numbers: readonly number[]
  readonly documentId: string
  readonly value: number
  /** Its value for each part of the question. */
  readonly parts: readonly number[]
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
  const share = weightedShare(evidence)
  const candidates = evidence.flatMap((item) => candidatesIn(item, task, share))
  const chosen = choose(merged(candidates.toSorted((a, b) => b.value - a.value)))
  return chosen.map(
    ({ sentence, numbers }) => `${sentence} ${numbers.map((number) => `[${number}]`).join('')}`,
  )
}

/** The best one for each part of the question, then the best of each document, then others that are nearly as good. */
function choose(sorted: readonly Candidate[]): readonly Candidate[] {
  const [best] = sorted
  if (best === undefined) return []
  const first = new Set<Candidate>()
  for (const [part] of best.parts.entries()) for (const each of forPart(sorted, part, first)) first.add(each)
  const near = sorted.filter(({ value }) => value >= best.value * NEAR_BEST)
  const ofDocuments = near.filter(
    ({ documentId }, at) => near.findIndex((other) => other.documentId === documentId) === at,
  )
  const most = Math.max(MOST_SENTENCES, first.size)
  const kept = new Set([...new Set([...first, ...ofDocuments, ...near])].slice(0, most))
  return sorted.filter((candidate) => kept.has(candidate))
}

/** The best one for a part; if another part has chosen it, also the next, if it is nearly as good. */
function forPart(
  sorted: readonly Candidate[],
  part: number,
  chosen: ReadonlySet<Candidate>,
): readonly Candidate[] {
  const valueOf = ({ parts }: Candidate): number => parts[part] ?? 0
  const byPart = sorted.filter((each) => valueOf(each) > 0).toSorted((a, b) => valueOf(b) - valueOf(a))
  const [best] = byPart
  if (best === undefined || !chosen.has(best)) return best === undefined ? [] : [best]
  const next = byPart.find((each) => !chosen.has(each))
  return next !== undefined && valueOf(next) >= valueOf(best) * NEAR_BEST ? [next] : []
}

type Share = (query: readonly string[], stems: readonly string[], title: readonly string[]) => number

/**
 * The part of a query that a sentence has, each word weighted by its rarity in the evidence. The title of the document
 * counts less.
 */
function weightedShare(evidence: readonly Evidence[]): Share {
  const known = new Map<string, number>()
  const weightOf = (stem: string): number => {
    const weight = known.get(stem) ?? rarity(stem, evidence)
    known.set(stem, weight)
    return weight
  }
  return (query, stems, title) => {
    const own = sharedStems(query, stems)
    const byTitle = sharedStems(query, title).filter((stem) => !own.includes(stem))
    const total = sum(query.map(weightOf))
    return total === 0 ? 0 : (sum(own.map(weightOf)) + TITLE_WORDS * sum(byTitle.map(weightOf))) / total
  }
}

const LEAST_WEIGHT = 1

/** 0 for a word that no passage has: it tells none from another. */
function rarity(stem: string, evidence: readonly Evidence[]): number {
  const count = evidence.filter((item) => sharedStems([stem], evidenceStems(item)).length > 0).length
  return count === 0 ? 0 : LEAST_WEIGHT + Math.log(1 + (evidence.length - count + 0.5) / (count + 0.5))
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0)
}

function candidatesIn(item: Evidence, task: Extracting, share: Share): readonly Candidate[] {
  const { question, queries, own } = task
  const given = evidenceStems(item)
  const relevant = queries.filter((stems) => isRelevant(stems, given))
  const isOwn = own.length === 0 || bestShare(own, given) >= RELEVANT_OWN
  if (relevant.length === 0 || !isOwn || !hasCounted(task, given) || !hasPrice(question, item)) return []
  const passage = Math.max(...relevant.map((stems) => shareOf(stems, given)))
  const asksFigure = ASKS_FIGURE.test(question)
  const title = contentStems(item.title)
  return sentencesOf(item.text).flatMap((sentence) => {
    const stems = contentStems(sentence)
    const isAbout = [...own, ...relevant].some((query) => sharedStems(query, stems).length > 0)
    if (!isAbout || stems.length < 2 || isHeading(sentence, title)) return []
    const figure = asksFigure && stems.some(isFigure) ? WEIGHTS.figure : 0
    const rest = WEIGHTS.passage * passage + WEIGHTS.score * item.score + figure
    const best = (some: readonly (readonly string[])[]): number =>
      Math.max(0, ...some.map((query) => share(query, stems, title)))
    const parts = queries.slice(1).map((part) => {
      const isPart = relevant.includes(part) && sharedStems(part, stems).length > 0
      return isPart ? WEIGHTS.sentence * share(part, stems, title) + rest : 0
    })
    const value = WEIGHTS.sentence * (OWN_WORDS * best(own) + (1 - OWN_WORDS) * best(relevant)) + rest
    const text = sentence.replaceAll(/\s+/g, ' ')
    return [{ sentence: text, stems, numbers: [item.number], documentId: item.documentId, value, parts }]
  })
}

const LONGEST_HEADING = 8

/** A heading, or the title again: it names a subject, and says nothing about it. */
export function isHeading(sentence: string, title: readonly string[]): boolean {
  const stems = contentStems(sentence)
  if (sentence.startsWith('#') || shareOf(stems, title) === 1) return true
  const isOpen = !/[.!?…:;]["”»)\]]{0,3}$/.test(sentence)
  return isOpen && !stems.some(isFigure) && tokensOf(sentence).length < LONGEST_HEADING
}

/** False if the question counts something that the passage does not have: `How many whales …`. */
function hasCounted({ question, queries }: Extracting, given: readonly string[]): boolean {
  if (queries.length > 1) return true
  const tokens = tokensOf(question)
  const at = tokens.findIndex(({ word }, index) => {
    const next = tokens[index + 1]?.word ?? ''
    return (word === 'how' && next === 'many') || (word === 'combien' && ['de', 'd'].includes(next))
  })
  if (at < 0) return true
  const counted = tokens.slice(at + 2, at + 2 + COUNTED_WITHIN).find(({ word }) => isContentWord(word))?.word
  if (counted === undefined || isFigure(counted)) return true
  return sharedStems([stemOf(counted)], given).length > 0
}

const ASKS_PRICE =
  /\b(?:how much|what)\b.*\b(?:costs?|prices?)\b|\bcombien\b.*\bco[uû]t\p{L}*|\bquel(?:le)?s?\b.*\b(?:prix|co[uû]ts?)(?!\p{L})/iu
const PRICE =
  /\d ?(?:[€$£¥]|(?:euros?|dollars?|pounds?|francs?|cents?|EUR|USD|GBP)\b)|[€$£¥] ?\d|\bfree\b|\bgratuit/iu

/** False if the question asks for a price and the passage has none. */
function hasPrice(question: string, { text }: Evidence): boolean {
  return !ASKS_PRICE.test(question) || PRICE.test(text)
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
