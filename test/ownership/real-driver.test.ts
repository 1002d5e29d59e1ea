/**
 * The driver that ships, under every schedule: with the rules, the witness and the broken stores of the reference
 * driver. Former defects are kept as the shortest schedule that showed them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { explore } from '../explore/explore.ts'
import { type Scenario, type Violation } from '../explore/scenario.ts'
import { Schedule } from '../explore/stage.ts'
import { driveReal } from './real-driver.ts'
import {
  FAST_BROKEN_STORES_REAL,
  FAST_BROKEN_TABLES,
  FAST_REAL,
  FAST_SQLITE_REAL,
  TINY_REAL,
} from './scopes.ts'
import { ALL_TRANSITIONS } from './state-rules.ts'
import { type Setting, scenarioOf, sqliteBench } from './world.ts'

const { stackTraceLimit } = Error
beforeAll(() => {
  // Refusals are results here, by the thousand; their stacks are not read.
  Error.stackTraceLimit = 0
})
afterAll(() => {
  Error.stackTraceLimit = stackTraceLimit
})

const coverage = new Map<string, number>()
const taken = new Map<string, number>()

describe('R1 to R7 and S1 to S7 hold under every schedule of the real driver', () => {
  it.each(FAST_REAL)('$name', async (setting) => {
    const report = await explore(scenarioOf(setting, { drive: driveReal, coverage, taken }))
    expect(report).toMatchObject({ violations: [], exhaustive: true })
    expect(report.paths).toBeGreaterThan(1)
  })

  it.each(FAST_SQLITE_REAL)('$name, on SQLite, exactly as in memory', async (setting) => {
    const bench = sqliteBench()
    const { seconds: _, ...onFile } = await explore(scenarioOf(setting, { drive: driveReal, bench }))
    await bench.close()
    const { seconds: __, ...inMemory } = await explore(scenarioOf(setting, { drive: driveReal }))
    expect(onFile).toMatchObject({ violations: [], exhaustive: true })
    expect(onFile).toEqual(inMemory)
  })

  it.each(TINY_REAL)('$name: pruning leaves no state out', async (setting) => {
    const scenario = scenarioOf(setting, { drive: driveReal })
    const pruned = await explore(scenario)
    const whole = await explore(scenario, { prune: false })
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
      'settled not-run by a late result',
      'settled ok',
      'settled ok by a late result',
      'settled unknown',
    ])
  })
})

it('and every transition of the table is taken', () => {
  expect([...taken.keys()].sort()).toEqual(ALL_TRANSITIONS.toSorted())
})

/** `npm run explore` does so with all of them. */
describe('a broken store or table is noticed and named with the real driver too', () => {
  it.each([...FAST_BROKEN_STORES_REAL, ...FAST_BROKEN_TABLES])(
    '$rule $setting.name',
    async ({ rule, sign = rule, setting }) => {
      const { violations } = await explore(scenarioOf(setting, { drive: driveReal }), { order: 'breadth' })
      expect(violations[0]).toMatchObject({ rule: sign })
      expect(violations[0]?.schedule.length).toBeGreaterThan(0)
    },
  )
})

describe('schedules that once went wrong', () => {
  const reads = ['loadSnapshot', 'base', 'read', 'inbox']
  /** A conversation with earlier messages, whose window is read too. */
  const all = [...reads, 'read', 'lookup turn', 'read']
  const by = (process: string, ...steps: string[]) => steps.map((step) => `${process}: ${step}`)
  const firstTurn = [
    'claim + turn.start(in1) + model.start',
    'epoch 1 model.end + tool.start',
    'effect pay A.call_1',
    'epoch 1 tool.end + model.start',
    'epoch 1 model.end + turn.end',
  ]

  it('what waited in the inbox is said to the model', async () => {
    const { lines, violations } = await playOn({ name: 'alone', drivers: 1 }, [])
    expect(violations).toEqual([])
    expect(lines).toEqual(by('A', ...reads, ...firstTurn))
  })

  it('a claim of a turn that has just ended is given back', async () => {
    const setting: Setting = { name: 'ambiguous', drivers: 2, faults: { ambiguous: 1 }, reads: 'joined' }
    const { lines, violations } = await playOn(setting, [
      ...by('A', ...reads, ...firstTurn.slice(0, 4)),
      ...by('B', ...all, 'claim · error, it was not done'),
      ...by('A', ...firstTurn.slice(4)),
      'B: claim',
    ])
    expect(violations).toEqual([])
    expect(lines.slice(lines.indexOf('B: claim'))).toEqual(by('B', 'claim', ...all, 'epoch 2 release'))
  })

  it('a driver that lost the turn ends only when its result is handed in', async () => {
    const setting: Setting = { name: 'late', drivers: 2, ticks: { part: 1, times: 1 }, reads: 'joined' }
    const { lines, violations } = await playOn(setting, [
      ...by('A', ...reads, ...firstTurn.slice(0, 2)),
      'the lease passes',
      ...by('B', ...all, 'claim'),
      'A: effect pay A.call_1',
      'A: epoch 1 tool.end + model.start',
    ])
    expect(violations).toEqual([])
    expect(lines).toContain('A: post late-result late:A.call_1:A')
  })

  it('a result that comes when the new owner has settled its call is handed in', async () => {
    const setting: Setting = {
      ...{ name: 'followed', drivers: 2, heartbeats: 1 },
      ...{ ticks: { part: 1, times: 1 }, reads: 'joined' },
    }
    const { lines, violations } = await playOn(setting, [
      ...by('A', ...reads, ...firstTurn.slice(0, 2)),
      'the lease passes',
      ...by('B', ...all, 'claim'),
      'A: renew epoch 1',
      ...by('B', 'epoch 2 tool.end + model.start', 'epoch 2 model.end + turn.end'),
      ...by('A', ...all, 'effect pay A.call_1'),
    ])
    expect(violations).toEqual([])
    expect(lines).toContain('A: post late-result late:A.call_1:A')
  })

  it('what is read while others write is not taken for the whole', async () => {
    const setting: Setting = { name: 'reads', drivers: 2, traffic: ['input'] }
    const { lines, violations } = await playOn(setting, [
      ...by('A', ...reads),
      ...by('B', 'loadSnapshot', 'base', 'read'),
      ...by('A', ...firstTurn),
      'input sender: post input in2',
      ...by('B', 'inbox'),
    ])
    expect(violations).toEqual([])
    expect(lines).toContain('B: claim + turn.start(in2) + model.start')
  })

  it('a heartbeat that comes too late for one turn does not end the next', async () => {
    const setting: Setting = {
      name: 'beat',
      drivers: 1,
      heartbeats: 1,
      traffic: ['input'],
      ticks: { part: 0.6, times: 1 },
    }
    const { lines, violations } = await playOn(setting, [
      ...by('A', ...reads, ...firstTurn.slice(0, 4)),
      'input sender: post input in2',
      '0.6 of the lease passes',
      ...by('A', ...firstTurn.slice(4), 'renew epoch 1'),
    ])
    expect(violations).toEqual([])
    expect(lines.slice(-2)).toEqual(
      by('A', 'claim + turn.start(in2) + model.start', 'epoch 2 model.end + turn.end'),
    )
  })
})

/** Replays a beginning, then the first choice at every step, to the end. */
async function playOn(
  setting: Setting,
  beginning: readonly string[],
): Promise<{ lines: string[]; violations: Omit<Violation, 'schedule'>[] }> {
  const scenario: Scenario = scenarioOf(setting, { drive: driveReal })
  const play = await Schedule.begin(scenario)
  play.replaying = false
  const lines: string[] = []
  for (;;) {
    const wanted = beginning[lines.length]
    const choices = play.choices()
    const choice = wanted === undefined ? choices[0] : choices.find(({ label }) => label === wanted)
    if (choice === undefined && wanted !== undefined) throw new Error(`${wanted} cannot happen here`)
    if (choice === undefined) break
    await play.take(choice)
    await play.world.check?.()
    lines.push(choice.label)
  }
  await play.world.finish?.()
  return { lines, violations: play.violations }
}
