/** Statements: the sentences of a passage, each with the text that explains it. Pure. */
import { withoutCitations } from './citations.ts'
import { type Evidence, evidenceStems } from './evidence.ts'
import { contentStems, isFigure, sentencesOf, shareOf, tokensOf } from './words.ts'

export interface Statement {
  readonly item: Evidence
  readonly sentence: string
  readonly stems: readonly string[]
  /** The heading and the sentences before: a pronoun or a row stands for their words. */
  readonly around: string
  /** The first rows of its table; empty for a sentence. */
  readonly head: string
  /** Stems of the sentence and of `around`. */
  readonly window: readonly string[]
  /** The same without the title, which is about every sentence of its document. */
  readonly near: readonly string[]
  /** Stems of the sentence before, whether a pronoun points to it or not. */
  readonly before: readonly string[]
}

const LEAST_WORDS = 2
const known = new WeakMap<Evidence, readonly Statement[]>()

/** Without headings. */
export function statementsOf(item: Evidence): readonly Statement[] {
  const found = known.get(item) ?? readStatements(item)
  known.set(item, found)
  return found
}

function readStatements(item: Evidence): readonly Statement[] {
  const title = contentStems(item.title)
  const lead = plainSentences(item.lead)
  const sentences = [...lead, ...plainSentences(item.text)]
  const headings = sentences.map((sentence) => isHeading(sentence, title))
  return sentences.flatMap((sentence, at) => {
    const stems = contentStems(sentence)
    if (at < lead.length || headings[at] === true || stems.length < LEAST_WORDS) return []
    const heading = sentences[headings.lastIndexOf(true, at)] ?? ''
    const head = isRow(sentence) ? tableHead(sentences, at) : ''
    const around = [heading, head, ...explaining(sentences, at)].join('\n')
    const near = [...new Set([...contentStems(around), ...stems])]
    const before = contentStems(sentences[at - 1] ?? '')
    return [{ item, sentence, stems, around, head, near, before, window: [...title, ...near] }]
  })
}

/** A document's own references, such as `[12]`, would be read as citations of the answer. */
function plainSentences(text: string): readonly string[] {
  return sentencesOf(text)
    .map(withoutCitations)
    .filter((sentence) => sentence !== '')
}

export const PRONOUN: RegExp =
  /\b(?:it|its|they|their|them|he|she|his|her|this|these|those|that|ones?|il|elle|ils|elles|son|sa|ses|leurs?|celui|celle)\b/iu

const POINTS_BACK = 3

/** The sentences before, if a pronoun points to them. */
function explaining(sentences: readonly string[], at: number): readonly string[] {
  return PRONOUN.test(sentences[at] ?? '') ? sentences.slice(Math.max(0, at - POINTS_BACK), at) : []
}

/** A line of a table has no full stop. */
function isRow(sentence: string): boolean {
  return (
    sentence.startsWith('|') || (isOpen(sentence) && tokensOf(sentence).some(({ word }) => isFigure(word)))
  )
}

function tableHead(sentences: readonly string[], at: number): string {
  let head = at
  while (head > 0 && isOpen(sentences[head - 1] ?? '.')) head -= 1
  return sentences.slice(head, Math.min(head + 2, at)).join('\n')
}

function isOpen(sentence: string): boolean {
  return !/[.!?…:;]["”»)\]]{0,3}$/.test(sentence)
}

const LONGEST_HEADING = 8

/** A heading, or the title again: it names a subject, and says nothing about it. */
function isHeading(sentence: string, title: readonly string[]): boolean {
  const stems = contentStems(sentence)
  if (sentence.startsWith('#') || shareOf(stems, title) === 1) return true
  return isOpen(sentence) && !stems.some(isFigure) && tokensOf(sentence).length < LONGEST_HEADING
}

/** Stems of the whole passage, its title included. */
export function passageStems({ item }: Statement): readonly string[] {
  return evidenceStems(item)
}

const LEAD_SENTENCES = 2
const MOST_LEAD = 400

/** The last heading and the last sentences of the text before a passage. */
export function leadOf(before: string): string {
  const sentences = sentencesOf(before)
  const at = sentences.findLastIndex((sentence) => isHeading(sentence, []))
  const last = sentences.slice(-LEAD_SENTENCES)
  const lead = at >= 0 && at < sentences.length - LEAD_SENTENCES ? [sentences[at], ...last] : last
  return lead.join('\n\n').slice(-MOST_LEAD).toWellFormed()
}
