/** Composes the answer of the synthesis: what it is made from, its conflicts, its notes and its confidence. Calls no model. */
import type { CheckedAnswer, Claim, ReadAnswer } from './citations.ts'
import { confidenceOf, LOW_CONFIDENCE } from './confidence.ts'
import { type Conflict, conflictsIn } from './conflicts.ts'
import { type Evidence, evidenceOf } from './evidence.ts'
import { extract } from './extract.ts'
import { measureless, type Question, queriesFor, questionOf } from './question.ts'
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
  /** Stems of the whole question and of its parts; `own`: without the words that it refers back to. */
  readonly queries: readonly (readonly string[])[]
  readonly own: readonly (readonly string[])[]
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
  const queries = queryStems({ question, about })
  const own = queryStems({ question, about: '' })
  const conflicts = conflictsIn(evidence, queries)
  const texts = textsIn(languageOf(question))
  return { state, question, about, evidence, conflicts, queries, own, texts }
}

/** A part of a question with a single content word is too short to compare. */
function queryStems(question: Question): readonly (readonly string[])[] {
  const [whole = [], ...parts] = queriesFor(question).map(queryStemsOf)
  return [whole, ...parts.filter(({ length }) => length > 1)].filter(({ length }) => length > 0)
}

/** A question about a measure alone keeps its word. */
function queryStemsOf(query: string): readonly string[] {
  const stems = contentStems(measureless(query))
  return stems.length < 2 ? contentStems(query) : stems
}

export function extracted(task: Task): string {
  const sentences = extract(task.evidence, task)
  return sentences.map((sentence) => `- ${sentence}`).join('\n')
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

/** Adds the statements of each conflict of which the text cites but one side. */
export function withConflicts(text: string, conflicts: readonly Conflict[], { conflict }: Texts): string {
  const open = conflicts.filter(
    ({ first, second }) => ![first, second].every(({ item }) => text.includes(`[${item.number}]`)),
  )
  const lines = open.map(
    ({ first, second }) => `${conflict} ${statementText(first)} ${statementText(second)}`,
  )
  return [text, ...lines].join('\n\n')
}

/** Points at the two sides of each conflict that the answer cites without naming it. */
function conflictPointers({ text, sources, conflicts }: Answered, { conflict }: Texts): readonly string[] {
  if (NAMES_CONFLICT.test(text)) return []
  return conflicts.flatMap(({ first, second }) => {
    const [a, b] = [first, second].map(
      ({ item }) => sources.find(({ passageId }) => passageId === item.id)?.number,
    )
    return a === undefined || b === undefined ? [] : [`${conflict} [${a}], [${b}].`]
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
  const { state, evidence, queries, own, texts } = task
  const { assumption } = state.context
  const isAssumed = typeof assumption === 'string'
  const cited = evidence.filter(({ id }) => sources.some(({ passageId }) => passageId === id))
  const confidence = confidenceOf({
    question: own[0] ?? queries[0] ?? [],
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
    ...(confidence < LOW_CONFIDENCE ? [texts.lowConfidence(confidence)] : []),
  ]
  return {
    final_answer: parts.join('\n\n'),
    confidence_score: confidence,
    context: { sources, claims, invented, conflicts: conflicts.map(conflictText) },
  }
}

function conflictText({ first, second }: Conflict): string {
  const part = ({ item, sentence }: Conflict['first']): string =>
    `${item.title}${item.page === null ? '' : `, page ${item.page}`}: ${sentence}`
  return `${part(first)} / ${part(second)}`
}

/** Says it plainly, and what was searched in vain. */
export function notFoundUpdate(
  { state, question, texts }: Task,
  { refused }: Draft,
  { invented }: Pick<ReadAnswer, 'invented'>,
): ResearchUpdate {
  const { observations = [], assumption } = state.context
  const failed = observations.filter((each) => /\bfailed\b/.test(each))
  const empty = observations.filter((each) => each.includes('found nothing'))
  const parts = [
    ...(typeof assumption === 'string' ? [`**${texts.assumed}:** ${assumption}`] : []),
    texts.notFound(question),
    ...(refused === undefined ? [] : [refused]),
    ...(failed.length === 0 ? [] : [`${texts.failedSearch}\n\n${bullets(failed)}`]),
    ...(empty.length === 0 ? [] : [bullets(empty)]),
  ]
  return {
    final_answer: parts.join('\n\n'),
    confidence_score: 0,
    context: { sources: [], claims: [], invented, conflicts: [] },
  }
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
