/** The research assistant without a model on the shipped papers; `npm run research` prints the figures. */
import { beforeAll, expect, it } from 'vitest'
import type { Corpus, Passage } from '../../../src/corpus/port.ts'
import { initialState } from '../../../src/flow/research/index.ts'
import { checkCitations, hasPdftotext } from './evaluation/check-citations.ts'
import { type Evaluation, evaluate, figuresOf } from './evaluation/evaluate.ts'
import { documentFiles, readQuestions } from './evaluation/questions.ts'

let evaluation: Evaluation
beforeAll(async () => {
  evaluation = await evaluate()
})

it('every paper is read', () => {
  expect(evaluation.skipped).toEqual([])
})

it('every citation has the words of its claim, on the page that it names', () => {
  expect(evaluation.citations.faults).toEqual([])
  expect(evaluation.citations.count).toBeGreaterThan(60)
})

it('every scenario has the agents and tools that it must have, and no other', () => {
  const failed = evaluation.scenarios.filter(({ missing, unwanted }) => missing.length + unwanted.length > 0)
  expect(failed).toEqual([])
  expect(evaluation.scenarios).toHaveLength(6)
})

it('passages are found at least as well as by plain FTS5', () => {
  const { recallAt5, ndcgAt5, plainRecallAt5, plainNdcgAt5 } = figuresOf(evaluation)
  expect(recallAt5).toBeGreaterThanOrEqual(Math.max(plainRecallAt5, 0.9))
  expect(ndcgAt5).toBeGreaterThanOrEqual(Math.max(plainNdcgAt5, 0.8))
})

it('questions are answered, refused and asked back', () => {
  const { cited, bothCited, contradictionsCited, falseConflicts, refused, clarified, askedBack } =
    figuresOf(evaluation)
  expect([cited.count, bothCited.count, contradictionsCited.count, refused.count, clarified.count]).toEqual([
    24, 8, 6, 8, 8,
  ])
  expect(cited.right).toBeGreaterThanOrEqual(23)
  expect(bothCited.right).toBeGreaterThanOrEqual(4)
  expect(contradictionsCited.right).toBeGreaterThanOrEqual(2)
  expect(refused.right).toBe(8)
  expect(clarified.right).toBeGreaterThanOrEqual(7)
  expect(falseConflicts.right).toBeLessThanOrEqual(1)
  expect(askedBack.right).toBeLessThanOrEqual(1)
})

it('questions about other documents are answered and refused, too', async () => {
  const questions = readQuestions('bakery').filter((_, at) => at % 4 === 0)
  const other = await evaluate({ questions, documents: documentFiles('bakery'), scenarios: [] })
  const { cited, refused, falseConflicts } = figuresOf(other)
  expect([cited.count, refused.count]).toEqual([15, 11])
  expect(cited.right).toBeGreaterThanOrEqual(12)
  expect(refused.right).toBeGreaterThanOrEqual(8)
  expect(falseConflicts.right).toBe(0)
  expect(other.citations.faults).toEqual([])
})

it('a citation of no passage, of another page and without the words is a fault', async () => {
  const passage = (page: number): Passage => ({
    ...{
      id: `p${page}`,
      documentId: 'd',
      title: 'Storm',
      source: 'examples/papers/storm-ailsa-incident-report.pdf',
    },
    ...{ page, start: 0, end: 20, text: 'The pressure fell to 951 hPa' },
  })
  const passages = [passage(1), passage(2)]
  const corpus = { passage: async (id: string) => passages.find((each) => each.id === id) } as Corpus
  const faultsOf = async (passageId: string, text: string): Promise<readonly string[]> => {
    const page = Number(passageId.slice(1))
    const source = {
      number: 1,
      kind: 'document',
      passageId,
      page,
      documentId: 'd',
      title: '',
      source: '',
      quote: '',
    }
    const claim = { text, citations: [1], support: 1, verdict: 'supported' } as const
    const context = { claims: [claim], sources: [{ ...source, kind: 'document', score: 1 } as const] }
    return (await checkCitations({ ...initialState([]), context }, corpus)).faults
  }
  expect(await faultsOf('p1', 'The pressure fell.')).toEqual([])
  expect(await faultsOf('p9', 'The pressure fell.')).not.toEqual([])
  expect(await faultsOf('p1', 'The pressure fell to 940 hPa.')).not.toEqual([])
  expect((await faultsOf('p2', 'The pressure fell.')).length > 0).toBe(hasPdftotext)
})
