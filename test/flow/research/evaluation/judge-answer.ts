/** Judges an answer of the research assistant against the expectation of its question. */
import { basename } from 'node:path'
import type { Corpus } from '../../../../src/corpus/port.ts'
import type { ResearchState } from '../../../../src/flow/research/index.ts'
import { type ExpectedPassage, type PaperQuestion, plainWords } from './questions.ts'

export interface JudgedAnswer {
  readonly question: PaperQuestion
  readonly answer: string
  /** As expected: every group of passages is cited, it is refused, or the right thing is asked back. */
  readonly isRight: boolean
  /** The answer itself has the words of a quote of every group. */
  readonly saysQuotes: boolean
  /** The passages are cited, or a quote of each group is among the nearest passages of a refusal. */
  readonly isShown: boolean
  /** A conflict is named between the documents of the groups. */
  readonly namesConflict: boolean
  /** Any conflict is named. */
  readonly hasConflicts: boolean
  readonly isClarification: boolean
}

export async function judgeAnswer(
  question: PaperQuestion,
  state: ResearchState,
  corpus: Corpus,
): Promise<JudgedAnswer> {
  const answer = state.final_answer ?? ''
  const { passages, clarification } = question.expect
  const groups = passages ?? []
  const isClarification = state.clarification_needed
  const isRight =
    clarification === undefined
      ? !isClarification && (await citesAll(groups, state, corpus))
      : isClarification && clarification.some((kind) => asksFor(state, kind))
  const said = plainWords(answer)
  const saysAll = groups.every((group) => group.some(({ quote }) => said.includes(plainWords(quote))))
  const isAnswered = groups.length === 0 || (state.context.sources ?? []).length > 0
  return {
    question,
    answer,
    isRight,
    // The nearest passage of a refusal is no answer.
    saysQuotes: isAnswered && saysAll,
    isShown: isRight || saysAll,
    namesConflict: await namesConflict(groups, state, corpus),
    hasConflicts: (state.context.conflicts ?? []).length > 0,
    isClarification,
  }
}

/** Without groups: nothing may be cited. */
async function citesAll(
  groups: readonly (readonly ExpectedPassage[])[],
  { context: { sources = [] } }: ResearchState,
  corpus: Corpus,
): Promise<boolean> {
  if (groups.length === 0) return sources.length === 0
  const cited = await Promise.all(sources.map(async ({ passageId }) => corpus.passage(passageId)))
  return groups.every((group) =>
    cited.some((passage) => passage !== undefined && group.some((expected) => holds(passage, expected))),
  )
}

export function holds(
  passage: { readonly source: string; readonly page: number | null; readonly text: string },
  { document, page, quote }: ExpectedPassage,
): boolean {
  const isPlace = basename(passage.source) === document && (passage.page ?? 1) === page
  return isPlace && plainWords(passage.text).includes(plainWords(quote))
}

function asksFor({ missing_context }: ResearchState, kind: string): boolean {
  return missing_context.some((missing) => missing.startsWith(kind.replaceAll('_', ' ')))
}

/** True if one conflict names a document of each group. */
async function namesConflict(
  groups: readonly (readonly ExpectedPassage[])[],
  { context: { conflicts = [] } }: ResearchState,
  corpus: Corpus,
): Promise<boolean> {
  const titles = new Map(
    (await corpus.documents()).map(({ source, title }) => [basename(source), plainWords(title)]),
  )
  return conflicts.some((conflict) => {
    const sides = conflict.split(' / ').map(plainWords)
    const isOn = (side: string, group: readonly ExpectedPassage[]): boolean =>
      group.some(({ document }) => side.startsWith(titles.get(document) ?? '?'))
    return groups.every((group) => sides.some((side) => isOn(side, group)))
  })
}
