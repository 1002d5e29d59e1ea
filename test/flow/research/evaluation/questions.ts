/** Sets of questions and scenarios, with their expectations and documents. */
import { readdirSync, readFileSync } from 'node:fs'
import type { WebPage } from '../../../../src/corpus/port.ts'

const PAPERS = 'examples/papers'

export interface ExpectedPassage {
  readonly document: string
  readonly page: number
  readonly quote: string
}

export type QuestionKind =
  | 'one-passage'
  | 'two-documents'
  | 'unanswerable'
  | 'vague'
  | 'follow-up'
  | 'contradiction'

export interface PaperQuestion {
  readonly id: string
  readonly kind: QuestionKind
  readonly language: 'en' | 'fr'
  readonly question: string
  /** Asked before it, in the same conversation. */
  readonly after?: string
  readonly expect: {
    /** Groups: each has to be found, by any one of its passages. */
    readonly passages?: readonly (readonly ExpectedPassage[])[]
    /** The kinds of clarification that are right. */
    readonly clarification?: readonly string[]
    readonly found?: false
    readonly conflict?: true
  }
}

export interface TraceParts {
  readonly agents: readonly string[]
  readonly tools: readonly string[]
}

export interface Scenario {
  readonly id: string
  readonly category: string
  readonly question: string
  readonly must: TraceParts
  readonly mustNot: TraceParts
  /** The pages that a web search finds. */
  readonly web?: readonly WebPage[]
}

const TESTS = 'test/flow/research'

/**
 * `held-out`: questions that no rule was changed for. `development`: more about the same papers, and `bakery` about other
 * documents, both read while rules were made.
 */
export type QuestionSet = 'known' | 'held-out' | 'development' | 'bakery'

const QUESTION_FILES: Readonly<Record<QuestionSet, string>> = {
  known: `${PAPERS}/questions.json`,
  'held-out': `${PAPERS}/questions-held-out.json`,
  development: `${TESTS}/papers-questions.json`,
  bakery: `${TESTS}/bakery/questions.json`,
}

export function readQuestions(set: QuestionSet = 'known'): readonly PaperQuestion[] {
  return (read(QUESTION_FILES[set]) as { readonly questions: readonly PaperQuestion[] }).questions
}

export function readScenarios(): readonly Scenario[] {
  return (read(`${PAPERS}/scenarios.json`) as { readonly scenarios: readonly Scenario[] }).scenarios
}

function read(path: string): unknown {
  return JSON.parse(readFileSync(path, 'utf8'))
}

/** The documents alone: the README of the papers names their contradictions. */
export function documentFiles(set: QuestionSet = 'known'): readonly string[] {
  const folder = set === 'bakery' ? `${TESTS}/bakery` : PAPERS
  return readdirSync(folder)
    .filter((name) => name !== 'README.md' && !name.endsWith('.json'))
    .map((name) => `${folder}/${name}`)
}

/** The words of a text, between single blanks, for comparisons without layout and punctuation. */
export function plainWords(text: string): string {
  return ` ${wordsIn(text).join(' ')} `
}

export function wordsIn(text: string): readonly string[] {
  return (
    text
      .normalize('NFKC')
      .toLowerCase()
      .match(/[\p{L}\p{N}]+/gu) ?? []
  )
}
