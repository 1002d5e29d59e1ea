/** Generated calls of an adversarial model: disallowed ids never pass, allowed ones always do. `npm run grounding` has more. */
import { describe, expect, it } from 'vitest'
import { type ChainResult, tryChain } from './chains.ts'
import { tryGuarded } from './guarded-trial.ts'
import { tryPart } from './parts.ts'
import { type JudgedSlot, tally, tryCall } from './trial.ts'

describe('generated calls on nested schemas', () => {
  it('never run with an id that is not allowed, and never stop for one that is', async () => {
    const judged: JudgedSlot[] = []
    const ends = { executed: 0, asked: 0, refused: 0 }
    const advice = { given: 0, wrong: [] as string[] }
    for (let seed = 1; seed <= 600; seed++) {
      const { end, slots, advised, misled } = await tryCall(seed)
      ends[end]++
      advice.given += advised
      advice.wrong.push(...misled)
      judged.push(...slots)
    }
    expect(judged.flatMap(({ story }) => (story === undefined ? [] : [story]))).toEqual([])
    const [all] = tally(judged)
    expect(all).toMatchObject({ way: 'all', leaked: 0, blocked: 0, misasked: 0 })
    expect(advice.wrong).toEqual([])
    // Enough cases of each kind to be meaningful.
    expect(advice.given).toBeGreaterThan(20)
    expect(ends.executed).toBeGreaterThan(100)
    expect(ends.asked).toBeGreaterThan(4)
    expect(ends.refused).toBeGreaterThan(100)
  })

  it('never run with a part of something else than what is beside it or chosen, unless somebody speaks of it', async () => {
    const judged: JudgedSlot[] = []
    for (let seed = 1; seed <= 1000; seed++) judged.push(await tryPart(seed))
    expect(judged.flatMap(({ story }) => (story === undefined ? [] : [story]))).toEqual([])
    const [all] = tally(judged)
    expect(all).toMatchObject({ leaked: 0, blocked: 0, misasked: 0 })
    expect(all?.allowed).toBeGreaterThan(250)
    expect(all?.allowed).toBeLessThan(850)
  })
})

describe('generated calls through conversions, unmarked fields and conversations below others', () => {
  it('never run with an id that is not allowed, and never stop for one that is', async () => {
    const judged: JudgedSlot[] = []
    for (let seed = 1; seed <= 600; seed++) judged.push(await tryGuarded(seed))
    expect(judged.flatMap(({ story }) => (story === undefined ? [] : [story]))).toEqual([])
    expect(judged.filter(({ wanted }) => wanted === 'run').length).toBeGreaterThan(150)
    expect(judged.filter(({ wanted }) => wanted === 'refuse').length).toBeGreaterThan(150)
  })
})

describe('generated chains of agents and graphs below each other', () => {
  it('run a marked tool with an id if and only if the conversation at the top knows it', async () => {
    const results: ChainResult[] = []
    for (let seed = 1; seed <= 50; seed++) results.push(await tryChain(seed))
    expect(results.map(({ got }) => got)).toEqual(results.map(({ wanted }) => wanted))
    expect(results.filter(({ wanted }) => wanted.length > 0).length).toBeGreaterThan(15)
  })
})
