import { expect, it } from 'vitest'
import { judgeRanking } from './judge-ranking.ts'

it('recall and nDCG are those of a hand calculation', () => {
  const { recall, ndcg, ...counts } = judgeRanking([
    { relevant: [true, false], answers: ['found'] },
    { relevant: [false, true], answers: ['found', 'missed'] },
    { relevant: [false], answers: ['missed'] },
    { relevant: [], answers: [] },
    { relevant: [false], answers: [] },
  ])
  expect(counts).toEqual({ answerable: 3, unanswerable: 2, refused: 1 })
  expect(recall).toBeCloseTo(0.5)
  expect(ndcg).toBeCloseTo((1 + 0.6309 / 1.6309 + 0) / 3, 3)
})
