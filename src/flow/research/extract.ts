/** The answer without a language model: sentences of the evidence, quoted with their numbers. Pure. */
import { type AskedPart, answers, demanded, lackingIn, nearlyAnswers, shareCovered } from './asked-part.ts'
import { type Evidence, evidenceStems } from './evidence.ts'
import { passageStems, type Statement, statementsOf } from './statements.ts'
import { coveredStems } from './synonyms.ts'
import { contentStems, isFigure, shareOf, stemOf, tokensOf } from './words.ts'

const MOST_SENTENCES = 3
/** Sentences much weaker than the best are left out. */
const NEAR_BEST = 0.7
/** Of the same document. */
const NEAR_BEST_HERE = 0.85
const SAME_SENTENCE = 0.85
/** Words that the question refers back to, and words of the title, tell less than its own words in the sentence. */
const ABOUT_WORDS = 0.4
const TITLE_WORDS = 0.5
const SOFT_WORDS = 0.5
const WEIGHTS = { sentence: 0.65, passage: 0.2, score: 0.15, stated: 0.15 }

interface Candidate {
  readonly statement: Statement
  readonly numbers: readonly number[]
  readonly value: number
}

/** A part that no statement answers. */
export interface OpenPart {
  readonly part: AskedPart
  /** The demanded stems that the nearest statement and its passage lack. Empty if it lacks only an answer. */
  readonly lacking: readonly string[]
  readonly nearest: Statement | undefined
}

export interface Extraction {
  /** `sentence [n]` for each of the best sentences, by parts. */
  readonly sentences: readonly string[]
  readonly open: readonly OpenPart[]
  /** The best statement of each document for each part, best first. */
  readonly sides: readonly (readonly Statement[])[]
  /**
   * The statements that come nearest to any part, each of another passage: that of the first open part, then the best first.
   * They may say it in other words.
   */
  readonly nearest: readonly Statement[]
}

/** Each part is answered on its own. Without an answer to any of them there are no sentences. */
export function extract(evidence: readonly Evidence[], parts: readonly AskedPart[]): Extraction {
  const weigh = weighing(evidence)
  const statements = evidence.flatMap(statementsOf)
  const answered = parts.map((part) => candidatesFor(part, statements, weigh))
  const sides = parts.map((part) => sidesOf(part, statements, weigh))
  const open = parts.flatMap((part, at) =>
    answered[at]?.length === 0 ? [{ part, ...nearestTo(part, statements) }] : [],
  )
  const sentences = choose(answered, sides).map(
    ({ statement, numbers }) =>
      `${statement.sentence.replaceAll(/\s+/g, ' ')} ${numbers.map((number) => `[${number}]`).join('')}`,
  )
  const first = open.find((each) => each.nearest !== undefined)?.nearest
  const byValue = nearestOf(parts, statements, weigh)
  const nearest = first === undefined ? byValue : nearestFrom(first, byValue)
  return { sentences, open, sides, nearest }
}

const MOST_NEAREST = 3

function nearestOf(
  parts: readonly AskedPart[],
  statements: readonly Statement[],
  weigh: Weigh,
): readonly Statement[] {
  const valued = statements.map((statement) => ({
    statement,
    value: Math.max(...parts.map((part) => valueOf(statement, part, weigh))),
  }))
  const sorted = valued.toSorted((a, b) => b.value - a.value).map(({ statement }) => statement)
  return sorted
    .filter(({ item }, at) => sorted.findIndex((other) => other.item.id === item.id) === at)
    .slice(0, MOST_NEAREST)
}

/** The statement that the missing words are missed in, before those of other passages. */
function nearestFrom(first: Statement, sorted: readonly Statement[]): readonly Statement[] {
  return [first, ...sorted.filter(({ item }) => item.id !== first.item.id)].slice(0, MOST_NEAREST)
}

/** The best statement of each document that answers a part, or nearly so. */
function sidesOf(part: AskedPart, all: readonly Statement[], weigh: Weigh): readonly Statement[] {
  const near = all.filter((statement) => nearlyAnswers(statement, part))
  const isFull = new Map(near.map((statement) => [statement, answers(statement, part)]))
  const valued = near.map((statement) => ({ statement, value: valueOf(statement, part, weigh) }))
  const sorted = valued.toSorted(
    (a, b) => Number(isFull.get(b.statement)) - Number(isFull.get(a.statement)) || b.value - a.value,
  )
  const statements = sorted.map(({ statement }) => statement)
  return statements.filter(
    ({ item }, at) => statements.findIndex((other) => other.item.documentId === item.documentId) === at,
  )
}

/**
 * The best one of each part, then those of other documents that are nearly as good, then others, then `sides`: statements that
 * lack a word. A part without an answer has its best side, too, if another part has an answer.
 */
function choose(
  answered: readonly (readonly Candidate[])[],
  sides: readonly (readonly Statement[])[],
): readonly Candidate[] {
  const [best] = answered.flat()
  if (best === undefined) return []
  const sided = sides.map((statements) =>
    statements.map((statement) => ({ statement, numbers: [statement.item.number], value: 0 })),
  )
  const first = answered.flatMap((sorted, at) => (sorted.length > 0 ? sorted : (sided[at] ?? [])).slice(0, 1))
  const near = answered.flatMap((sorted) =>
    sorted.filter(({ statement, value }) => {
      const isOther = statement.item.documentId !== sorted[0]?.statement.item.documentId
      return value >= (sorted[0]?.value ?? 0) * (isOther ? NEAR_BEST : NEAR_BEST_HERE)
    }),
  )
  const byValue = near.toSorted((a, b) => b.value - a.value)
  const ofDocuments = byValue.filter(
    ({ statement: { item } }, at) =>
      byValue.findIndex(({ statement }) => statement.item.documentId === item.documentId) === at,
  )
  const kept: Candidate[] = []
  for (const candidate of [...first, ...ofDocuments, ...byValue, ...sided.flat()]) {
    const isKnown = kept.some(({ statement }) => isSame(statement.stems, candidate.statement.stems))
    if (!isKnown && (kept.length < MOST_SENTENCES || first.includes(candidate))) kept.push(candidate)
  }
  return kept
}

function candidatesFor(
  part: AskedPart,
  statements: readonly Statement[],
  weigh: Weigh,
): readonly Candidate[] {
  const fitting = statements.filter((statement) => answers(statement, part))
  const candidates = fitting.map((statement) => ({
    statement,
    numbers: [statement.item.number],
    value: valueOf(statement, part, weigh),
  }))
  return merged(candidates.toSorted((a, b) => b.value - a.value))
}

function valueOf({ item, sentence, stems }: Statement, part: AskedPart, weigh: Weigh): number {
  const { names, required, predicates, measures, light, about } = part
  const title = contentStems(item.title)
  const weighted = (wanted: readonly string[]): number => {
    const own = coveredStems(wanted, stems)
    const byTitle = coveredStems(wanted, title).filter((stem) => !own.includes(stem))
    return weigh(own) + TITLE_WORDS * weigh(byTitle)
  }
  const [own, rest] = [
    [...names, ...required, ...predicates],
    [...measures, ...light],
  ]
  const total = weigh(own) + SOFT_WORDS * weigh(rest) + ABOUT_WORDS * weigh(about)
  const held = weighted(own) + SOFT_WORDS * weighted(rest) + ABOUT_WORDS * weighted(about)
  const passage = shareCovered([...own, ...rest, ...about], evidenceStems(item))
  const stated = WEIGHTS.stated * statedFocus(sentence, part)
  const share = total === 0 ? 0 : held / total
  return WEIGHTS.sentence * share + WEIGHTS.passage * passage + WEIGHTS.score * item.score + stated
}

const COPULA = new Set('is are was were costs cost lasts takes has stands est sont etait'.split(' '))
const NEAR_COPULA = 8
const NEAR_FIGURE = 4

/** `The depth of the dock is`: 1, and 2 if a figure follows. Otherwise 0. */
function statedFocus(sentence: string, { focus }: AskedPart): number {
  if (focus === undefined) return 0
  const tokens = tokensOf(sentence)
  const at = tokens.findIndex(({ word }) => coveredStems([focus], [stemOf(word)]).length > 0)
  const copula = tokens.findIndex(
    ({ word }, place) => place > at && place < at + NEAR_COPULA && COPULA.has(word),
  )
  if (at < 0 || copula < 0) return 0
  return tokens.slice(copula + 1, copula + NEAR_FIGURE).some(({ word }) => isFigure(word)) ? 2 : 1
}

type Weigh = (stems: readonly string[]) => number

const LEAST_WEIGHT = 1

/** The sum of the stems' rarity in the evidence. A word that no passage has tells none from another. */
function weighing(evidence: readonly Evidence[]): Weigh {
  const known = new Map<string, number>()
  const rarity = (stem: string): number => {
    const count = evidence.filter((item) => coveredStems([stem], evidenceStems(item)).length > 0).length
    return count === 0 ? 0 : LEAST_WEIGHT + Math.log(1 + (evidence.length - count + 0.5) / (count + 0.5))
  }
  return (stems) =>
    stems.reduce((sum, stem) => {
      const weight = known.get(stem) ?? rarity(stem)
      known.set(stem, weight)
      return sum + weight
    }, 0)
}

function nearestTo(part: AskedPart, statements: readonly Statement[]): Omit<OpenPart, 'part'> {
  const wanted = demanded(part)
  const near = statements
    .map((nearest) => {
      const here = coveredStems(wanted, passageStems(nearest))
      const lacking = lackingIn(nearest, part).filter((stem) => !here.includes(stem))
      return { nearest, lacking, share: shareCovered(wanted, nearest.stems) }
    })
    .filter(({ lacking, share }) => lacking.length < wanted.length && share > 0)
  const [best] = near.toSorted((a, b) => a.lacking.length - b.lacking.length || b.share - a.share)
  return best === undefined
    ? { nearest: undefined, lacking: wanted }
    : { nearest: best.nearest, lacking: best.lacking }
}

/** A sentence that several passages have is quoted once, with all their numbers. */
function merged(candidates: readonly Candidate[]): readonly Candidate[] {
  const kept: Candidate[] = []
  for (const candidate of candidates) {
    const at = kept.findIndex(({ statement }) => isSame(statement.stems, candidate.statement.stems))
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
