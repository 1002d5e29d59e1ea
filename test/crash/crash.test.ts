/**
 * Real processes, really killed: a part of what `npm run crash` does with all conversations and at every point. What is
 * wrong on purpose shows that the checks can fail.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BROKEN_CONVERSATIONS, CONVERSATIONS } from './conversations.ts'
import { Nest } from './lane.ts'
import { killEverywhere, playWhole, type Wholes } from './matrix.ts'
import { soak } from './soak.ts'
import type { Point } from './stage.ts'
import { Tally } from './table.ts'

const AGENTS = called('two tools at once', 'approval that is given', 'sub-agent with', 'whether it has')
const GRAPHS = called(
  'graph: a chain of',
  'graph: branches',
  'graph: graphs as nodes that',
  'graph: an agent',
)
const FILES = called('files that')
const RANDOM = called('two tools', 'artifacts', 'queue', 'history')
const PLAIN = called('two plain turns')
const BROKEN = BROKEN_CONVERSATIONS.map(({ name }) => name)

let nest: Nest
let wholes: Wholes

beforeAll(async () => {
  nest = await Nest.build()
  wholes = await playWhole([...new Set([AGENTS, GRAPHS, FILES, RANDOM, PLAIN, BROKEN].flat())], nest)
})

afterAll(() => nest.remove())

function called(...words: readonly string[]): string[] {
  return CONVERSATIONS.map(({ name }) => name).filter((name) => words.some((word) => name.includes(word)))
}

function wholesOf(names: readonly string[]): Wholes {
  return new Map([...wholes].filter(([name]) => names.includes(name)))
}

/** One point of so many, counted through all conversations, so that they are killed at different points. */
function everyPoint(step: number): (points: readonly Point[]) => readonly Point[] {
  let count = 0
  return (points) => points.filter(() => count++ % step === 5)
}

async function kill(
  names: readonly string[],
  pick: (points: readonly Point[]) => readonly Point[],
  more = {},
) {
  const tally = new Tally()
  const onFound = tally.add.bind(tally)
  await killEverywhere({ nest, lanes: 2, wholes: wholesOf(names), pick, onFound, ...more })
  return tally
}

describe('a process that is killed', () => {
  it('loses nothing that anybody was told, does nothing twice, and another one brings it to its end', async () => {
    const some = everyPoint(17)
    const isDuring = ({ when }: Point) => when === 'during'
    const tally = await kill(AGENTS, (points) => [...some(points), ...points.filter(isDuring).slice(-1)])
    expect(tally.wrongs).toEqual([])
    expect(tally.total).toMatchObject({ lost: 0, second: 0, illegal: 0, open: 0, other: 0 })
    expect(tally.total.points).toBeGreaterThan(5)
    expect(tally.total.unknown).toBeGreaterThan(0)
  })

  it('the same for graphs: effects, branches that join, questions from below, agents as nodes', async () => {
    const tally = await kill(GRAPHS, everyPoint(61))
    expect(tally.wrongs).toEqual([])
    expect(tally.total).toMatchObject({ lost: 0, second: 0, illegal: 0, open: 0, other: 0 })
    expect(tally.total.points).toBeGreaterThan(3)
  })

  it('the same for files: no half-written file, no edit twice, no temporary file left', async () => {
    const middles = (points: readonly Point[]) =>
      points.filter(({ of, when }) => of === 'effect' && when !== 'before').filter((_, at) => at % 20 === 2)
    const tally = await kill(FILES, middles)
    expect(tally.wrongs).toEqual([])
    expect(tally.total).toMatchObject({ lost: 0, illegal: 0, open: 0, other: 0, unknown: 0 })
    expect(tally.total.points).toBeGreaterThan(2)
  })

  it('the same at random moments, with many conversations at once', async () => {
    const tally = new Tally()
    let [kills, hits] = [0, 0]
    const onKill = (hit: number) => {
      kills += 1
      hits += hit
    }
    const more = { nest, lanes: 1, wholes: wholesOf(RANDOM), onKill, onFound: tally.add.bind(tally) }
    // A slow machine gets nowhere in a short life.
    for (let seed = 1; hits === 0; seed++)
      await soak({ ...more, kills: 3, seed, longestMs: 60 * 4 ** (seed - 1) })
    expect(tally.wrongs).toEqual([])
    expect(kills).toBeGreaterThan(2)
  })
})

describe('what is wrong on purpose is found', () => {
  it('a tool that says that it may be run again, and may not: its second effect', async () => {
    const tally = await kill(BROKEN, (points) =>
      points.filter(({ when, of }) => of === 'effect' && when === 'after'),
    )
    expect(tally.total).toMatchObject({ points: 1, second: 1, lost: 0 })
    expect(tally.wrongs[0]).toMatch(/^second: .*: pay \S+ was done 2 times$/)
  })

  it('a store that acknowledges before it writes: what was told is lost', async () => {
    const second = ({ of, at }: Point) => of === 'append' && at === 2
    const tally = await kill(PLAIN, (points) => points.filter(second), { hasty: true })
    expect(tally.total.lost).toBeGreaterThan(0)
    expect(tally.wrongs).toContainEqual(
      expect.stringMatching(/^lost: .*: input hello was told as entry 1 and is not there$/),
    )
  })
})
