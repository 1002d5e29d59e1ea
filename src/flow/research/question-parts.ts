/** The parts of a question that asks for several things: clauses, compared things, two years. Pure. */
import { refersBack } from './vagueness.ts'
import { isContentWord, tokensOf } from './words.ts'

/** A question for one thing. */
export interface Part {
  readonly text: string
  /** Words of the part before, if this one refers back to it. */
  readonly about: string
}

const WH = String.raw`(?:who|whom|whose|what|when|where|which|why|how|qui|que|quand|où|quel(?:le)?s?|combien|pourquoi|comment)`
const BEFORE_WH = String.raw`(?:(?:at|in|on|by|for|from|to|until|since|up to|of|with|under|below|above|à|en|de|jusqu['’]à) )?`
const AUXILIARY = String.raw`(?:is|are|was|were|do|does|did|can|could|may|must|should|will|has|have|had) (?:it|its|they|he|she|there|the|this|that|these|those)\b`
/** Another question in the same sentence. */
const CLAUSE = new RegExp(
  String.raw`[;?]\s+|,?\s+(?:and|but|et|mais|while|whereas)\s+(?:also\s+)?(?=${BEFORE_WH}${WH}(?!\p{L})|${AUXILIARY})`,
  'iu',
)
const MOST_PARTS = 4
const MOST_ABOUT = 6

/** The parts in order; the question itself if it asks for one thing. */
export function partsOf(question: string): readonly Part[] {
  const clauses = clausesOf(question)
  const parts: Part[] = []
  for (const clause of clauses) {
    const about = parts.length > 0 && isDependent(clause) ? wordsOf(parts[0]?.text ?? '', clause) : ''
    for (const text of comparedIn(clause)) parts.push({ text, about })
  }
  return parts.slice(0, MOST_PARTS)
}

/** Sentences beside a question only explain it. A reply to a clarification completes it. */
function clausesOf(question: string): readonly string[] {
  if (question.includes(' — ')) return [question]
  const sentences = question.split(/(?<=[.!?])\s+(?=\p{Lu})/u)
  const asked = sentences.filter((sentence) => sentence.trimEnd().endsWith('?'))
  const chosen = asked.length === 0 ? [question] : asked
  const clauses = chosen.flatMap((sentence) => sentence.split(CLAUSE))
  return clauses.map((clause) => clause.replace(/[?.!,\s]+$/, '').trim()).filter((clause) => clause !== '')
}

/** `what was decided`: the subject is that of the part before. */
const PASSIVE = /^(?:what|which|when) (?:is|are|was|were|did|has|have) (?:been )?\p{L}+(?:ed|en)\b/iu
const THERE = /\b(?:there|then|y)\b/iu

function isDependent(clause: string): boolean {
  return (
    refersBack(clause) || THERE.test(clause) || contentWords(clause).length < (PASSIVE.test(clause) ? 3 : 2)
  )
}

function contentWords(text: string): readonly string[] {
  return tokensOf(text).flatMap(({ word, text: found }) => (isContentWord(word) ? [found] : []))
}

function wordsOf(before: string, clause: string): string {
  const own = contentWords(clause)
  return contentWords(before)
    .filter((word) => !own.includes(word))
    .slice(0, MOST_ABOUT)
    .join(' ')
}

const JOIN = String.raw`,?\s+(?:and|or|versus|vs\.?|et|ou|contre|than|with|to|compared (?:to|with)|as against)\s+(?:with\s+|to\s+)?(?:that\s+|those\s+|the one\s+|celui\s+|celle\s+)?`
const PREPOSED = String.raw`(?:(?:in|of|for|at|by|from|on|during|en|de|à|pour)\s+)?`
const FIGURE = String.raw`\d[\d.,]*`
const NAME = String.raw`(?:[Tt]he )?\p{Lu}[\p{L}\d'’-]*(?: \p{Lu}[\p{L}\d'’-]*)*`
const TWO_FIGURES = new RegExp(
  `(?<![\\p{L}\\d.,])(${PREPOSED})(${FIGURE})${JOIN}${PREPOSED}(${FIGURE})(?! ?[.,]?\\d)`,
  'u',
)
const TWO_NAMES = new RegExp(`(?<=\\s)(${PREPOSED})(${NAME})${JOIN}${PREPOSED}(${NAME})`, 'u')
const COMPARED =
  /^(?:compare|contrast)\s+(.+?)\s+(?:with|to|and)\s+(.+)$|^(?:what|which) (?:is|are|was|were) the differences? between\s+(.+?)\s+and\s+(.+)$/iu
const YES_NO = /^(?:is|are|was|were|do|does|did|has|have|had|can|could|may)\s/iu
const LIMIT =
  /\s+(?:below|above|within|under|over|more than|less than|(?:\p{L}+er|better|worse) than|as \p{L}+ as|equal to|the same as)\s+/iu

/** `in 2019 and 2023`, `at Cancale and Granville`, `compare X with Y`, `is X below Y`: one question for each. */
function comparedIn(clause: string): readonly string[] {
  const both = COMPARED.exec(clause)
  const pair = both === null ? undefined : [both[1] ?? both[3] ?? '', both[2] ?? both[4] ?? '']
  const figures = replaced(clause, TWO_FIGURES)
  if (figures !== undefined) return figures.map(withoutCompare)
  if (pair !== undefined) return pair
  const names = replaced(clause, TWO_NAMES)
  if (names !== undefined) return names
  const sides = YES_NO.test(clause) ? clause.split(LIMIT) : []
  const isComparison = sides.length === 2 && sides.every((side) => contentWords(side).length > 1)
  return isComparison ? sides : [clause]
}

function withoutCompare(text: string): string {
  return text.replace(/^(?:compare|contrast)\s+/iu, '')
}

/** The clause with each of the two things in place of both. */
function replaced(clause: string, pattern: RegExp): readonly string[] | undefined {
  const found = pattern.exec(clause)
  if (found === null) return undefined
  const [whole, preposed = '', first = '', second = ''] = found
  // `between 3 and 21 June` is one span of time.
  if (/\bbetween\s*$/iu.test(clause.slice(0, found.index)) && pattern === TWO_FIGURES) return undefined
  return [first, second].map((each) => clause.replace(whole, `${preposed}${each.replace(/[.,]$/, '')}`))
}
