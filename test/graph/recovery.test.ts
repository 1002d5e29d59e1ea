/**
 * Recovery at every boundary: each graph is crashed before and after each of its appends and effects, resumed by
 * another process, and must end as an uninterrupted run, but for unknown outcomes (R3, R4, R12). `HOLDFAST_RUNS` in the
 * environment tries all crashes and all pairs of them (`npm run properties`); without it, a part of them.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { END, graph, list, START } from '../../src/graph/index.ts'
import type { Store } from '../../src/store/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import type { Death } from '../recovery/mortal.ts'
import { type Cut, cutOff, deathsIn, GraphWorld, wrongWith } from './recovery-cut.ts'
import { GRAPH_SCENARIOS } from './recovery-graphs.ts'
import type { GraphPlay } from './recovery-world.ts'

const isThorough = process.env['HOLDFAST_RUNS'] !== undefined
const patient = { timeout: isThorough ? 3_600_000 : 600_000 }
const points = { one: 0, two: 0, onFile: 0, unknown: 0 }

afterAll(() => {
  const { one, two, onFile, unknown } = points
  process.stdout.write(
    `\ngraphs: ${one} points of death, ${two} pairs of them, ${onFile} points on SQLite, ${unknown} with something unknown\n`,
  )
})

function called(...words: readonly string[]): GraphPlay[] {
  return GRAPH_SCENARIOS.filter(({ name }) => words.some((word) => name.includes(word)))
}

function counted(cut: Cut): Cut {
  if ([...cut.unsettled.values()].includes('never')) points.unknown += 1
  return cut
}

describe('a graph whose process dies at any point comes to the same end in another', () => {
  /** Every eighth crash, a different eighth for each graph: neighbours are much alike. */
  const eighth = (play: GraphPlay) => (_: Death, index: number) =>
    isThorough || index % 8 === GRAPH_SCENARIOS.indexOf(play) % 8
  it.each(GRAPH_SCENARIOS)('$name', async (play) => {
    const whole = await cutOff(play, [])
    expect(whole.problems).toEqual([])
    const wrong: string[] = []
    for (const death of deathsIn(whole).filter(eighth(play))) {
      wrong.push(...wrongWith(counted(await cutOff(play, [death])), whole, [death]))
      points.one += 1
    }
    expect(wrong).toEqual([])
  })
})

describe('and in a third when the second one dies too', patient, () => {
  /** Every n-th pair: neighbours are much alike. */
  const [firsts, seconds] = isThorough ? [1, 1] : [23, 17]
  const nth = (n: number) => (_: Death, index: number) => index % n === n - 1
  it.each(GRAPH_SCENARIOS)('$name', async (play) => {
    const whole = await cutOff(play, [])
    const wrong: string[] = []
    for (const first of deathsIn(whole).filter(nth(firsts))) {
      const cut = await cutOff(play, [first])
      for (const second of deathsIn(cut, 1).filter(nth(seconds))) {
        wrong.push(...wrongWith(counted(await cutOff(play, [first, second])), whole, [first, second]))
        points.two += 1
      }
    }
    expect(wrong).toEqual([])
  })
})

describe('the same on SQLite, with a connection for each process', patient, () => {
  const chosen = isThorough ? GRAPH_SCENARIOS : called('a chain of effects', 'nodes that ask')
  it.each(chosen)('$name', async (play) => {
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-graphs-'))
    const stores: Store[] = []
    const open = (world: GraphWorld): Store => {
      const liveness = (driver: string) => world.liveness(driver)
      const store = sqliteStore(join(folder, 'store.db'), {
        synchronous: 'NORMAL',
        clock: world.clock,
        liveness,
      })
      stores.push(store)
      return store
    }
    const whole = await cutOff(play, [], new GraphWorld(open, 'whole'))
    const wrong: string[] = []
    const deaths = deathsIn(whole).filter((_, index) => isThorough || index % 14 === 1)
    for (const [index, death] of deaths.entries()) {
      const world = new GraphWorld(open, `run${index}`)
      wrong.push(...wrongWith(counted(await cutOff(play, [death], world)), whole, [death]))
      points.onFile += 1
      for (const store of stores.splice(0)) await store.close()
    }
    rmSync(folder, { recursive: true, force: true })
    expect(wrong).toEqual([])
  })
})

it('a node that takes every process down with it is given up after some of them (R7)', async () => {
  const play: GraphPlay = {
    name: 'deadly',
    inputs: [{}],
    build: (process) =>
      process.compile(
        graph({ state: { log: list<string>() } })
          .addNode('deadly', async (_, context) => ({
            log: await process.step(context, 'look', { replay: 'safe', tool: 'look' }),
          }))
          .addEdge(START, 'deadly')
          .addEdge('deadly', END),
        { maxClaims: 3 },
      ),
  }
  const death: Death = { of: 'effect', at: 1, when: 'before' }
  const { readings, effects } = await cutOff(
    play,
    Array.from({ length: 10 }, () => death),
  )
  expect(readings['talk']?.ends).toEqual(['turn 1: failed no-progress'])
  expect(effects).toEqual([])
})

describe('what is wrong on purpose is found', () => {
  const [chain] = called('a chain of effects')
  const wholeOf = async () => cutOff(chain as GraphPlay, [])

  it('a node that does not do the same when it is run again', async () => {
    let runs = 0
    const play: GraphPlay = {
      ...(chain as GraphPlay),
      inputs: [{ log: [`begun ${runs++}`] }],
    }
    const wrong = wrongWith(await cutOff(play, []), await wholeOf(), [])
    expect(wrong).toEqual([expect.stringMatching(/^death : talk reads:/)])
  })

  it('an effect that says that nothing has happened, and is wrong', async () => {
    const [sender] = called('looked up')
    const play = sender as GraphPlay
    const forgetful: GraphPlay = {
      ...play,
      build: (process) => {
        process.hasHappened = () => false
        return play.build(process)
      },
    }
    const { problems } = await cutOff(forgetful, [{ of: 'effect', at: 1, when: 'after' }])
    expect(problems).toEqual(['talk: sender.1/one was done 2 times'])
  })
})
