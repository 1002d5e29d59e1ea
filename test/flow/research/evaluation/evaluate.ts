/** The evaluation of the research assistant on the papers: retrieval, answers, citations and scenarios. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sqliteCorpus } from '../../../../src/corpus/sqlite/sqlite-corpus.ts'
import { type Judged, judgeRanking } from '../../../corpus/judge-ranking.ts'
import { plainIndex } from '../../../corpus/plain-index.ts'
import { ask } from './ask.ts'
import { type CheckedCitations, checkCitations } from './check-citations.ts'
import { holds, type JudgedAnswer, judgeAnswer } from './judge-answer.ts'
import {
  documentFiles,
  type PaperQuestion,
  readQuestions,
  readScenarios,
  type Scenario,
  type TraceParts,
} from './questions.ts'

export interface JudgedScenario {
  readonly id: string
  readonly missing: readonly string[]
  readonly unwanted: readonly string[]
}

export interface Evaluation {
  readonly skipped: readonly string[]
  readonly ranking: Judged
  readonly plainRanking: Judged
  readonly answers: readonly JudgedAnswer[]
  readonly citations: CheckedCitations
  readonly scenarios: readonly JudgedScenario[]
}

export interface EvaluateOptions {
  readonly questions?: readonly PaperQuestion[]
  /** The documents that the questions are about. Default: the papers. */
  readonly documents?: readonly string[]
  readonly scenarios?: readonly Scenario[]
  readonly onProgress?: () => void
}

/** Adds the documents to a corpus of its own, in a temporary folder. */
export async function evaluate(options: EvaluateOptions = {}): Promise<Evaluation> {
  const { questions = readQuestions(), documents = documentFiles() } = options
  const { scenarios = readScenarios(), onProgress } = options
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-research-'))
  const file = join(folder, 'corpus.db')
  const corpus = sqliteCorpus(file)
  try {
    const { skipped } = await corpus.add(documents)
    const plain = plainIndex(file)
    const answers: JudgedAnswer[] = []
    const checked: CheckedCitations[] = []
    for (const question of questions) {
      const before = question.after === undefined ? [] : [question.after]
      const { state } = await ask({ corpus, questions: [...before, question.question] })
      answers.push(await judgeAnswer(question, state, corpus))
      checked.push(await checkCitations(state, corpus))
      onProgress?.()
    }
    const judged: JudgedScenario[] = []
    for (const scenario of scenarios) {
      const { question, web = [] } = scenario
      judged.push(judgeScenario(scenario, await ask({ corpus, questions: [question], web })))
      onProgress?.()
    }
    return {
      skipped: skipped.map(({ source, reason }) => `${source}: ${reason}`),
      ranking: await rank(questions, async (question) => corpus.search(question)),
      plainRanking: await rank(questions, async (question) => plain(question)),
      answers,
      citations: {
        count: checked.reduce((sum, { count }) => sum + count, 0),
        faults: checked.flatMap(({ faults }) => faults),
      },
      scenarios: judged,
    }
  } finally {
    await corpus.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Ranked {
  readonly source: string
  readonly page: number | null
  readonly text: string
}

/** Questions that can be searched as they stand, and the unanswerable ones, which must find nothing. */
async function rank(
  questions: readonly PaperQuestion[],
  search: (question: string) => Promise<readonly Ranked[]>,
): Promise<Judged> {
  const searched = questions.filter(({ kind }) => kind !== 'vague' && kind !== 'follow-up')
  return judgeRanking(
    await Promise.all(
      searched.map(async ({ question, expect: { passages: groups = [] } }) => {
        const found = await search(question)
        const first = groups.map((group) =>
          found.findIndex((passage) => group.some((expected) => holds(passage, expected))),
        )
        return {
          relevant: found.map((_, at) => first.includes(at)),
          answers: first.map((at) => (at < 0 ? 'missed' : 'found')),
        }
      }),
    ),
  )
}

function judgeScenario({ id, must, mustNot }: Scenario, trace: TraceParts): JudgedScenario {
  const seen = [...trace.agents, ...trace.tools]
  return {
    id,
    missing: [...must.agents, ...must.tools].filter((name) => !seen.includes(name)),
    unwanted: [...mustNot.agents, ...mustNot.tools].filter((name) => seen.includes(name)),
  }
}

/** `right` of `count` questions of a kind. */
export interface Tally {
  readonly right: number
  readonly count: number
}

export interface Figures {
  readonly recallAt5: number
  readonly ndcgAt5: number
  readonly plainRecallAt5: number
  readonly plainNdcgAt5: number
  /** Expected passages are cited. */
  readonly cited: Tally
  /** The answer itself has the words of the expected quote. */
  readonly said: Tally
  /** Expected passages are cited, or shown by a refusal as the nearest ones. */
  readonly shown: Tally
  readonly bothCited: Tally
  readonly contradictionsCited: Tally
  readonly contradictionsNamed: Tally
  /** Conflicts are named for questions without a contradiction. */
  readonly falseConflicts: Tally
  readonly refused: Tally
  readonly clarified: Tally
  readonly followedUp: Tally
  /** Clear questions that were asked back. */
  readonly askedBack: Tally
  readonly citations: Tally
  readonly scenarios: Tally
}

export function figuresOf({ ranking, plainRanking, answers, citations, scenarios }: Evaluation): Figures {
  const of = (kinds: string, isRight: (answer: JudgedAnswer) => boolean): Tally => {
    const chosen = answers.filter(({ question: { kind } }) => kinds.split(' ').includes(kind))
    return { right: chosen.filter(isRight).length, count: chosen.length }
  }
  const right = ({ isRight }: JudgedAnswer): boolean => isRight
  return {
    recallAt5: ranking.recall,
    ndcgAt5: ranking.ndcg,
    plainRecallAt5: plainRanking.recall,
    plainNdcgAt5: plainRanking.ndcg,
    cited: of('one-passage', right),
    said: of('one-passage follow-up', ({ saysQuotes }) => saysQuotes),
    shown: of('one-passage', ({ isShown }) => isShown),
    bothCited: of('two-documents', right),
    contradictionsCited: of('contradiction', right),
    contradictionsNamed: of('contradiction', ({ namesConflict }) => namesConflict),
    falseConflicts: of(
      'one-passage two-documents unanswerable follow-up',
      ({ hasConflicts }) => hasConflicts,
    ),
    refused: of('unanswerable', right),
    clarified: of('vague', right),
    followedUp: of('follow-up', right),
    askedBack: of(
      'one-passage two-documents unanswerable follow-up contradiction',
      ({ isClarification }) => isClarification,
    ),
    citations: { right: citations.count - citations.faults.length, count: citations.count },
    scenarios: {
      right: scenarios.filter(({ missing, unwanted }) => missing.length + unwanted.length === 0).length,
      count: scenarios.length,
    },
  }
}
