/**
 * Checks the citations of an answer: every `[n]` must name a source that exists, and the words of a claim must be in the
 * passages that it cites. Calls no model; its verdict may be joined with a model's.
 */
import { lacksFigure, lacksName } from './absent-values.ts'
import { type Evidence, evidenceStems, round } from './evidence.ts'
import type { CheckedClaim, ClaimVerdict, Source } from './findings.ts'
import { contentStems, sentencesOf, sharedStems, shareOf, tokensOf } from './words.ts'

/** The least part of a claim's content words that its passages must have. */
export const SUPPORT_THRESHOLD = 0.5

export interface Claim {
  readonly text: string
  /** Numbers of the evidence. */
  readonly cited: readonly number[]
  readonly support: number
  readonly verdict: ClaimVerdict
}

export interface ReadAnswer {
  readonly lines: readonly AnswerLine[]
  readonly claims: readonly Claim[]
  readonly invented: readonly number[]
}

/** Texts between claims stay as they are. */
interface AnswerLine {
  readonly prefix: string
  readonly parts: readonly (string | Claim)[]
}

const CITATION = /\[\^?(\d+(?:\s*[-–,;]\s*\^?\d+)*)\](?:\([^)\s]{0,1000}\))?/g
/** Citations after the end of their sentence. */
const LATE = /([.!?…])[ \t]*((?:\[\^?\d+(?:\s*[-–,;]\s*\^?\d+)*\](?:\([^)\s]{0,1000}\))?[ \t]*)+)/g
const PREFIX = /^\s*(?:[-*+]\s+|\d+[.)]\s+|>\s+)*/
/** Sentences that say that something is not there claim nothing about the world. */
const ABSENCE =
  /\b(?:not (?:found|mentioned|stated|specified|said|given|covered)|no (?:information|mention|evidence|sources?|passages?)|(?:do|does|did)(?: not|n't) (?:say|mention|state|specify|contain|cover|give|address)|ne (?:mentionn|précis|dit|disent|contien|donn)\S*|aucune? (?:information|mention|source|passage))\b/iu
const NEGATION = new Set('not no never without cannot none nor pas jamais aucun aucune sans ni'.split(' '))
const LEAST_CLAIM_WORDS = 3
const CLOSE_QUOTE = 0.7

export function readAnswer(
  text: string,
  evidence: readonly Evidence[],
  threshold: number = SUPPORT_THRESHOLD,
): ReadAnswer {
  const claims: Claim[] = []
  const invented = new Set<number>()
  const written = text.split('\n')
  const isCode = codeLines(written)
  const lines = written.map((line, at): AnswerLine => {
    if (isCode(at) || /^[\s:|-]*$/.test(line)) return { prefix: line, parts: [] }
    if (isFence(line)) return { prefix: '', parts: [] }
    // A heading states nothing that a source could support.
    if (line.trimStart().startsWith('#')) return { prefix: withoutCitations(line), parts: [] }
    const prefix = PREFIX.exec(line)?.[0] ?? ''
    const parts = sentencesOf(withEarlyCitations(line.slice(prefix.length)))
    return {
      prefix,
      parts: parts.map((sentence) => {
        const numbers = numbersIn(sentence)
        for (const number of numbers)
          if (!evidence.some((item) => item.number === number)) invented.add(number)
        if (numbers.length === 0 && !isClaim(sentence)) return sentence
        const claim = judge(sentence, evidence, threshold)
        claims.push(claim)
        return claim
      }),
    }
  })
  return { lines, claims, invented: [...invented].toSorted((a, b) => a - b) }
}

/** Behind its backticks a fence has no others: those begin code in a line. */
function isFence(line: string): boolean {
  return /^\s*`{3,}[^`]*$/.test(line)
}

/** Which lines are code, with their fences. A fence that is never closed makes none, so that nothing escapes the check. */
function codeLines(lines: readonly string[]): (at: number) => boolean {
  const fences = lines.flatMap((line, at) => (isFence(line) ? [at] : []))
  const code = new Set<number>()
  for (let pair = 0; pair + 1 < fences.length; pair += 2)
    for (let at = fences[pair] ?? 0; at <= (fences[pair + 1] ?? 0); at++) code.add(at)
  return (at) => code.has(at)
}

/** `It is deep. [1]` becomes `It is deep [1].` */
function withEarlyCitations(line: string): string {
  return line.replaceAll(LATE, (_, end: string, cited: string) => ` ${cited.trim()}${end} `).trim()
}

function isClaim(sentence: string): boolean {
  if (/[:?]\W*$/.test(sentence.slice(-8)) || ABSENCE.test(sentence)) return false
  return contentStems(sentence).length >= LEAST_CLAIM_WORDS
}

/** True if the first sentence cites a source: `Not found in the plan, but the survey gives it [1]` is an answer. */
export function citesFirst(text: string): boolean {
  return numbersIn(sentencesOf(text)[0] ?? '').length > 0
}

const MOST_RANGE = 20

/** The numbers that a sentence cites; `[2-4]` are three. */
function numbersIn(sentence: string): readonly number[] {
  const found = [...sentence.matchAll(CITATION)].flatMap(([, list = '']) =>
    list.split(/\s*[,;]\s*/).flatMap((item) => {
      const [from = Number.NaN, to = from] = item
        .split(/\s*[-–]\s*/)
        .map((text) => Number(text.replace('^', '')))
      const length = Math.min(Math.max(to - from, 0), MOST_RANGE) + 1
      return Array.from({ length }, (_, at) => from + at)
    }),
  )
  return [...new Set(found)]
}

function judge(sentence: string, evidence: readonly Evidence[], threshold: number): Claim {
  const numbers = numbersIn(sentence)
  const passages = evidence.filter(({ number }) => numbers.includes(number))
  const cited = passages.map(({ number }) => number)
  if (cited.length === 0) return { text: sentence, cited, support: 0, verdict: 'uncited' }
  const plain = withoutCitations(sentence)
  const wanted = contentStems(plain)
  const given = [...new Set(passages.flatMap((item) => [...evidenceStems(item), ...placeStems(item)]))]
  const support = wanted.length === 0 ? 1 : round(shareOf(wanted, given))
  const isLikely = support >= threshold
  const documents = evidence.filter(({ documentId }) =>
    passages.some((each) => each.documentId === documentId),
  )
  const isUnsupported =
    lacksFigure(plain, passages) || lacksName(plain, documents, isLikely) || isReversed(plain, passages)
  const verdict = isUnsupported ? 'unsupported' : isLikely ? 'supported' : 'weak'
  return { text: sentence, cited, support, verdict }
}

/** Words by which an answer names a source, as in a list of sources at its end. */
function placeStems({ source, page }: Evidence): readonly string[] {
  return contentStems(page === null ? source : `${source} page ${page}`)
}

/** True for nearly the words of a passage with the opposite sense. */
function isReversed(sentence: string, passages: readonly Evidence[]): boolean {
  const wanted = contentStems(sentence)
  const best = passages
    .flatMap(({ text }) => sentencesOf(text))
    .map((text) => ({ text, share: shareOf(wanted, contentStems(text)) }))
  const closest = best.toSorted((a, b) => b.share - a.share)[0]
  return (
    closest !== undefined && closest.share >= CLOSE_QUOTE && isNegative(closest.text) !== isNegative(sentence)
  )
}

export function isNegative(sentence: string): boolean {
  return /n['’]t\b/i.test(sentence) || tokensOf(sentence).some(({ word }) => NEGATION.has(word))
}

export function withoutCitations(text: string): string {
  return evenBlanks(text.replaceAll(CITATION, ''))
}

/** Single blanks, and none before a stop. */
function evenBlanks(text: string): string {
  return text
    .replaceAll(/\s{2,}/g, ' ')
    .replaceAll(/ ([.,;:!?…])/g, '$1')
    .trim()
}

/** Put after a claim, by its verdict. */
export type Marks = Readonly<Record<Exclude<ClaimVerdict, 'supported'>, string>>

export interface CheckedAnswer {
  /** Renumbered from 1 in the order of the citations, without invented numbers, with marks. */
  readonly text: string
  readonly sources: readonly Source[]
  readonly claims: readonly CheckedClaim[]
}

export interface Writing {
  readonly evidence: readonly Evidence[]
  readonly marks: Marks
  /** Claims by their position that a model found unsupported. */
  readonly refuted?: ReadonlySet<number>
}

export function writeAnswer(
  answer: ReadAnswer,
  { evidence, marks, refuted = new Set() }: Writing,
): CheckedAnswer {
  const judged = answer.claims.map(
    (claim, at): Claim =>
      refuted.has(at) && claim.verdict === 'supported' ? { ...claim, verdict: 'weak' } : claim,
  )
  const order = [
    ...new Set(judged.flatMap(({ text, cited }) => numbersIn(text).filter((n) => cited.includes(n)))),
  ]
  const claims = judged.map((claim) => ({
    text: withoutCitations(claim.text),
    citations: claim.cited.map((number) => order.indexOf(number) + 1),
    support: claim.support,
    verdict: claim.verdict,
  }))
  const byClaim = new Map(answer.claims.map((claim, at) => [claim, judged[at] as Claim]))
  const rendered = answer.lines.map(({ prefix, parts }) => {
    const texts = parts.map((part) =>
      typeof part === 'string' ? part : marked(byClaim.get(part) as Claim, order, marks),
    )
    return `${prefix}${texts.join(' ')}`
  })
  const sources = order.flatMap((number, at) => {
    const item = evidence.find((each) => each.number === number)
    return item === undefined ? [] : [sourceOf(item, at + 1, judged)]
  })
  return { text: rendered.join('\n').trim(), sources, claims }
}

function marked({ text, cited, verdict }: Claim, order: readonly number[], marks: Marks): string {
  const renumbered = evenBlanks(
    text.replaceAll(CITATION, (whole) => {
      const valid = numbersIn(whole).filter((number) => cited.includes(number))
      return valid.map((number) => `[${order.indexOf(number) + 1}]`).join('')
    }),
  )
  return verdict === 'supported' ? renumbered : `${renumbered} ${marks[verdict]}`
}

/** A passage of the default length. */
const MOST_QUOTE = 512

/** Each claim that cites the passage has a sentence with most of its words: all from the first of them to the last. */
function quoteOf({ number, text }: Evidence, claims: readonly Claim[]): string {
  const sentences = sentencesOf(text)
  const given = sentences.map(contentStems)
  const places = claims.flatMap((claim) => {
    const wanted = claim.cited.includes(number) ? contentStems(withoutCitations(claim.text)) : []
    const shared = given.map((stems) => sharedStems(wanted, stems).length)
    const most = Math.max(...shared)
    return most > 0 ? [shared.indexOf(most)] : []
  })
  const [first, last] = places.length === 0 ? [0, 0] : [Math.min(...places), Math.max(...places)]
  return sentences
    .slice(first, last + 1)
    .join(' ')
    .slice(0, MOST_QUOTE)
    .toWellFormed()
}

function sourceOf(item: Evidence, number: number, claims: readonly Claim[]): Source {
  return {
    number,
    kind: item.kind,
    passageId: item.id,
    documentId: item.documentId,
    title: item.title,
    source: item.source,
    page: item.page,
    quote: quoteOf(item, claims),
    score: item.score,
  }
}
