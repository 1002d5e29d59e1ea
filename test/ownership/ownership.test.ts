/**
 * Ownership under every schedule of a small scope: writes, takes, runs and acknowledgements. The broken variants show
 * that the properties can fail. `npm run explore` does the same in a larger scope.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/testing/index.ts'
import { explore, replay } from '../explore/explore.ts'
import { BROKEN, FAST, FAST_SQLITE, TINY, type Variant } from './scopes.ts'
import { memoryBench, scenarioOf, sqliteBench } from './world.ts'

const { stackTraceLimit } = Error
beforeAll(() => {
  // Refusals are results here, by the thousand; their stacks are not read.
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

const coverage = new Map<string, number>()

describe('R1 to R7 hold under every schedule', () => {
  it.each(FAST)('$name', async (setting) => {
    const report = await explore(scenarioOf(setting, { coverage }))
    expect(report).toMatchObject({ violations: [], exhaustive: true })
    expect(report.paths).toBeGreaterThan(1)
  })

  it.each(FAST_SQLITE)('$name, on SQLite, exactly as in memory', async (setting) => {
    const bench = sqliteBench()
    const { seconds: _, ...onFile } = await explore(scenarioOf(setting, { bench }))
    await bench.close()
    const { seconds: __, ...inMemory } = await explore(scenarioOf(setting))
    expect(onFile).toMatchObject({ violations: [], exhaustive: true })
    expect(onFile).toEqual(inMemory)
  })

  it.each(TINY)('$name: pruning leaves no state out', async (setting) => {
    const pruned = await explore(scenarioOf(setting))
    const whole = await explore(scenarioOf(setting), { prune: false })
    expect(whole).toMatchObject({ exhaustive: true, states: pruned.states })
    expect(whole.transitions).toBeGreaterThan(pruned.transitions)
  })

  it('and the schedules contain what they are about', () => {
    expect([...coverage.keys()].sort()).toEqual([
      'a bare claim where the journal had moved',
      'a late result after an unknown one',
      'a repetition was recognised',
      'a safe call ran again',
      'an inbox entry came to nothing',
      'another epoch',
      'outcome cancelled',
      'outcome failed',
      'outcome stop',
      'refused: fenced',
      'refused: moved',
      'refused: owned',
      'settled not-run',
      'settled ok',
      'settled unknown',
    ])
  })
})

it.each([
  ['memory', memoryBench],
  ['SQLite', sqliteBench],
])('R1 a repetition is told the epoch that it wrote under, not the newest (%s)', async (_, make) => {
  const bench = make()
  const clock = new ManualClock()
  const { key, open } = bench.begin({ clock, liveness: () => 'unknown' })
  const store = open('any')
  const claim = (id: string) => ({ key, id, since: 0, claim: { driver: id, leaseMs: 1000 } })
  const note = { type: 'note', turn: 0, data: { text: 'hello', from: 'test' } }
  const write = { key, id: 'write', since: 1, epoch: 1, entries: [note] }
  await store.append(claim('A'))
  await store.append(write)
  clock.advance(1000)
  expect(await store.append(claim('B'))).toMatchObject({ epoch: 2, repeated: false })
  expect(await store.append(claim('A'))).toMatchObject({ epoch: 1, repeated: true })
  expect(await store.append(write)).toMatchObject({ epoch: 1, repeated: true })
  await bench.close()
})

describe('a broken rule is noticed and named', () => {
  const newest = BROKEN.find(({ setting }) => setting.name.includes('the newest epoch')) as Variant

  it.each(BROKEN.filter((variant) => variant !== newest))(
    '$rule $setting.name',
    async ({ rule, setting }) => {
      const { violations } = await explore(scenarioOf(setting), { order: 'breadth' })
      expect(violations[0]).toMatchObject({ rule })
    },
  )

  it('with a shortest schedule that leads there, and plays again', async () => {
    const scenario = scenarioOf(newest.setting)
    const { violations } = await explore(scenario, { order: 'breadth' })
    expect(violations[0]).toMatchObject({ rule: newest.rule })
    const { lines, violations: again } = await replay(scenario, violations[0]?.schedule ?? [])
    expect(again).toEqual(violations)
    process.stdout.write(`\n${again[0]?.rule}: ${again[0]?.message}\n  ${lines.join('\n  ')}\n`)
    expect(lines).toEqual([
      'A: read',
      'A: claim + turn.start(in1) + model.start · error, but it was done → 2-4, epoch 1',
      'B: read',
      'the lease passes',
      'B: claim + phase + model.start → 5-7, epoch 2',
      'A: claim + turn.start(in1) + model.start → 2-4, epoch 2, repeated',
    ])
  })
})
