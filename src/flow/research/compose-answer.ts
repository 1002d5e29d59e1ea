/** Composes the answer of the synthesis: what it is made from, its conflicts, its notes and its confidence. Calls no model. */

import { type AskedPart, askedParts, lackingNames, wordsOf } from './asked-part.ts'
import type { CheckedAnswer, Claim, ReadAnswer } from './citations.ts'
import { confidenceOf, LOW_CONFIDENCE } from './confidence.ts'
import { type Conflict, conflictsIn, newerOf } from './conflicts.ts'
import { type Evidence, evidenceOf, evidenceStems } from './evidence.ts'
import { type Extraction, extract } from './extract.ts'
import { questionOf } from './question.ts'
import { spelledAs } from './spelling.ts'
import type { ResearchState, ResearchUpdate } from './state.ts'
import { type Texts, textsIn } from './texts.ts'
import { contentStems, languageOf, shareOf } from './words.ts'

/** A question, its evidence, and how it is compared with it. */
export interface Task {
  readonly state: ResearchState
  readonly question: string
  readonly about: string
  readonly evidence: readonly Evidence[]
  readonly conflicts: readonly Conflict[]
  readonly parts: readonly AskedPart[]
  readonly extraction: Extraction
  readonly texts: Texts
}

export interface Draft {
  /** Empty: there is no answer. */
  readonly text: string
  /** Put before the answer. */
  readonly note: string
  /** Why an answer without sources is not shown. */
  readonly refused?: string
}

export function taskOf(state: ResearchState): Task {
  const { question = questionOf(state).question, about = '' } = state.context
  const evidence = evidenceOf(state.context)
  const parts = askedParts({ question, about }).map((part) => spelledAs(part, evidence))
  const extraction = extract(evidence, parts)
  const conflicts = conflictsIn(extraction.sides, parts)
  const texts = textsIn(languageOf(question))
  return { state, question, about, evidence, conflicts, parts, extraction, texts }
}

export function extracted({ extraction }: Task): string {
  return extraction.sentences.map((sentence) => `- ${sentence}`).join('\n')
}

const NAMES_CONFLICT =
  /\b(?:disagree|conflict|contradict|differ|whereas|contredi|divergen|désaccord|tandis|alors que)/iu

const STATES_CONFLICT = 0.6

/** The conflicts of which the answer states one side. */
export function statedConflicts(claims: readonly Claim[], { conflicts }: Task): readonly Conflict[] {
  const said = claims.map(({ text }) => contentStems(text))
  const isStated = ({ sentence }: Conflict['first']): boolean =>
    said.some((stems) => shareOf(contentStems(sentence), stems) >= STATES_CONFLICT)
  return conflicts.filter(({ first, second }) => isStated(first) || isStated(second))
}

/** Adds the statements of each conflict of which the claims of the text cite but one side. */
export function withConflicts(
  text: string,
  { claims, conflicts }: { readonly claims: readonly Claim[]; readonly conflicts: readonly Conflict[] },
  { conflict }: Texts,
): string {
  const cited = claims.flatMap((claim) => claim.cited)
  const open = conflicts.filter(
    ({ first, second }) => ![first, second].every(({ item }) => cited.includes(item.number)),
  )
  const lines = open.map(
    ({ first, second }) => `${conflict} ${statementText(first)} ${statementText(second)}`,
  )
  return [text, ...lines].join('\n\n')
}

/** Points at the two sides of each conflict that the answer cites without naming it, and at the newer document. */
function conflictPointers(
  { text, sources, conflicts }: Answered,
  { conflict, newer }: Texts,
): readonly string[] {
  const isNamed = NAMES_CONFLICT.test(text)
  return conflicts.flatMap(({ first, second }) => {
    const numberOf = ({ item }: Conflict['first']): number | undefined =>
      sources.find(({ passageId }) => passageId === item.id)?.number
    const [a, b] = [numberOf(first), numberOf(second)]
    const newest = newerOf({ first, second })
    const number = newest === undefined ? undefined : numberOf(newest.statement)
    return [
      ...(isNamed || a === undefined || b === undefined ? [] : [`${conflict} [${a}], [${b}].`]),
      ...(newest === undefined || number === undefined ? [] : [newer(number, newest.date)]),
    ]
  })
}

function statementText({ item, sentence }: Conflict['first']): string {
  return `${sentence.replace(/\s*[.!?…]*$/, '')} [${item.number}].`
}

interface Answered extends CheckedAnswer {
  readonly invented: readonly number[]
  readonly conflicts: readonly Conflict[]
}

export function answeredUpdate(answered: Answered, { note }: Draft, task: Task): ResearchUpdate {
  const { text, sources, claims, invented, conflicts } = answered
  const { state, evidence, question, texts } = task
  const { assumption } = state.context
  const isAssumed = typeof assumption === 'string'
  const cited = evidence.filter(({ id }) => sources.some(({ passageId }) => passageId === id))
  const confidence = confidenceOf({
    question: contentStems(question),
    claims,
    cited,
    hasConflicts: conflicts.length > 0,
    hasAssumption: isAssumed,
    isExtractive: note !== '',
  })
  const parts = [
    ...(isAssumed ? [`**${texts.assumed}:** ${assumption}`] : []),
    ...(note === '' ? [] : [note]),
    text,
    ...conflictPointers(answered, texts),
    ...(note === '' ? missingNames(cited, task) : openParts(task)),
    ...(confidence < LOW_CONFIDENCE ? [texts.lowConfidence(confidence)] : []),
  ]
  return {
    final_answer: parts.join('\n\n'),
    confidence_score: confidence,
    context: { sources, claims, invented, conflicts: conflicts.map(conflictText) },
  }
}

/** The parts that an extractive answer leaves open. */
function openParts({ extraction, texts }: Task): readonly string[] {
  return extraction.open.map(({ part, lacking }) => texts.partNotFound(part.text, wordsOf(lacking, part)))
}

/** Names, codes and figures of the question that a model's answer has no source for. */
function missingNames(cited: readonly Evidence[], { question, parts, texts }: Task): readonly string[] {
  const given = cited.flatMap((item) => [...evidenceStems(item), ...contentStems(item.lead)])
  const missing = parts.flatMap((part) =>
    part.language === languageOf(cited.map(({ text }) => text).join(' '))
      ? wordsOf(lackingNames(part, given), part)
      : [],
  )
  const named = [...new Set(missing)].filter((word) => question.includes(word))
  return named.length === 0 ? [] : [texts.notMentioned(named)]
}

function conflictText({ first, second }: Conflict): string {
  const part = ({ item, sentence }: Conflict['first']): string => `${placeOf(item)}: ${sentence}`
  return `${part(first)} / ${part(second)}`
}

/** Says it plainly, and what was searched in vain. */
export function notFoundUpdate(
  { state, question, extraction, texts }: Task,
  { refused }: Draft,
  { invented }: Pick<ReadAnswer, 'invented'>,
): ResearchUpdate {
  const { observations = [], assumption } = state.context
  // Words in quotes are the query's.
  const failed = observations.filter((each) => /^[^"]*\bfailed\b/.test(each))
  const empty = observations.filter((each) => /^[^"]*\bfound nothing\b/.test(each))
  const parts = [
    ...(typeof assumption === 'string' ? [`**${texts.assumed}:** ${assumption}`] : []),
    texts.notFound(question),
    ...(refused === undefined ? [] : [refused]),
    ...nearestTexts(extraction, texts),
    ...(failed.length === 0 ? [] : [`${texts.failedSearch}\n\n${bullets(failed)}`]),
    ...(empty.length === 0 ? [] : [bullets(empty)]),
  ]
  return {
    final_answer: parts.join('\n\n'),
    confidence_score: 0,
    context: { sources: [], claims: [], invented, conflicts: [] },
  }
}

/** The words that were not found, and the nearest passages, which are no sources. */
function nearestTexts({ open, nearest }: Extraction, texts: Texts): readonly string[] {
  const found = open.find((each) => each.nearest !== undefined)
  if (found === undefined) return []
  const lines = nearest.map(({ item, sentence }) => `${placeOf(item)}: ${sentence.replaceAll(/\s+/g, ' ')}`)
  return [texts.lacking(wordsOf(found.lacking, found.part)), `${texts.nearest}\n\n${bullets(lines)}`]
}

function placeOf({ title, page }: Evidence): string {
  return `${title}${page === null ? '' : `, page ${page}`}`
}

/** The tools have names for models: a person reads what was searched. */
function bullets(observations: readonly string[]): string {
  const lines = observations.map((line) =>
    line
      .replace(/^pdf_retrieval\b/, 'The search of the documents')
      .replace(/^web_search\b/, 'The search of the web'),
  )
  return [...new Set(lines)].map((line) => `- ${line}`).join('\n')
}
