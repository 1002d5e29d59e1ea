/**
 * Real processes, really killed: a part of what `npm run crash` does with all conversations and at every point. What is
 * wrong on purpose shows that the checks can fail.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROKEN_CONVERSATIONS, CONVERSATIONS } from './conversations.ts'
import { Nest } from './lane.ts'
import { killEverywhere, playWhole } from './matrix.ts'
import { soak } from './soak.ts'
import type { Point } from './stage.ts'
import { Tally } from './table.ts'

let nest: Nest

beforeAll(async () => {
  nest = await Nest.build()
})

afterAll(() => nest.remove())

function called(...words: readonly string[]): string[] {
  return CONVERSATIONS.map(({ name }) => name).filter((name) => words.some((word) => name.includes(word)))
}

async function kill(
  names: readonly string[],
  pick: (points: readonly Point[]) => readonly Point[],
  more = {},
) {
  const tally = new Tally()
  const wholes = await playWhole(names, nest)
  const onFound = tally.add.bind(tally)
  await killEverywhere({ nest, lanes: 2, wholes, pick, onFound, ...more })
  return tally
}

describe('a process that is killed', () => {
  it('loses nothing that anybody was told, does nothing twice, and another one brings it to its end', async () => {
    const names = called('two tools at once', 'approval that is given', 'sub-agent with', 'whether it has')
    const tally = await kill(names, (points) => points.filter((_, index) => index % 8 === 1))
    expect(tally.wrongs).toEqual([])
    expect(tally.total).toMatchObject({ lost: 0, second: 0, illegal: 0, open: 0, other: 0 })
    expect(tally.total.points).toBeGreaterThan(7)
    expect(tally.total.unknown).toBeGreaterThan(0)
  })

  it('the same for graphs: effects, branches that join, questions from below, agents as nodes', async () => {
    const names = called(
      'graph: a chain of',
      'graph: branches',
      'graph: graphs as nodes that',
      'graph: an agent',
    )
    const tally = await kill(names, (points) => points.filter((_, index) => index % 61 === 5))
    expect(tally.wrongs).toEqual([])
    expect(tally.total).toMatchObject({ lost: 0, second: 0, illegal: 0, open: 0, other: 0 })
    expect(tally.total.points).toBeGreaterThan(3)
  })

  it('the same for files: no half-written file, no edit twice, no temporary file left', async () => {
    const middles = (points: readonly Point[]) =>
      points.filter(({ of, when }) => of === 'effect' && when !== 'before').filter((_, at) => at % 10 === 2)
    const tally = await kill(called('files that'), middles)
    expect(tally.wrongs).toEqual([])
    expect(tally.total).toMatchObject({ lost: 0, illegal: 0, open: 0, other: 0, unknown: 0 })
    expect(tally.total.points).toBeGreaterThan(4)
  })

  it('the same at random moments, with many conversations at once', async () => {
    const tally = new Tally()
    const wholes = await playWhole(called('two tools', 'artifacts', 'queue', 'history'), nest)
    let [kills, hits] = [0, 0]
    const onKill = (hit: number) => {
      kills += 1
      hits += hit
    }
    await soak({ nest, lanes: 2, wholes, kills: 5, seed: 1, onKill, onFound: tally.add.bind(tally) })
    expect(tally.wrongs).toEqual([])
    expect(kills).toBe(5)
    expect(hits).toBeGreaterThan(0)
  })
})

describe('what is wrong on purpose is found', () => {
  it('a tool that says that it may be run again, and may not: its second effect', async () => {
    const names = BROKEN_CONVERSATIONS.map(({ name }) => name)
    const tally = await kill(names, (points) => points.filter(({ of }) => of === 'effect'))
    expect(tally.total).toMatchObject({ points: 3, second: 2, lost: 0 })
    expect(tally.wrongs[0]).toMatch(/^second: .*: pay \S+ was done 2 times$/)
  })

  it('a store that acknowledges before it writes: what was told is lost', async () => {
    const second = ({ of, at }: Point) => of === 'append' && at === 2
    const tally = await kill(called('two plain turns'), (points) => points.filter(second), { hasty: true })
    expect(tally.total.lost).toBeGreaterThan(0)
    expect(tally.wrongs).toContainEqual(
      expect.stringMatching(/^lost: .*: input hello was told as entry 1 and is not there$/),
    )
  })
})
