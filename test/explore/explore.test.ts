import { describe, expect, it } from 'vitest'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { explore, replay } from './explore.ts'
import type { Faults, Port, Scenario, World } from './scenario.ts'

/** Two processes add one to a shared number, by reading and writing or in one operation. */
function counter(how: 'apart' | 'joined' | 'at once', faults: Faults = {}): Scenario {
  return {
    name: how,
    faults,
    setup: (stage): World => {
      let count = 0
      let acknowledged = 0
      const run = async (port: Port) => {
        if (how === 'at once') {
          await port.point({ label: 'add', perform: () => ++count })
        } else {
          const joined = how === 'joined'
          const seen = await port.point({ label: 'read', perform: () => count, reads: true, joined })
          await port.point({
            label: 'write',
            perform: () => {
              count = seen + 1
            },
            ambiguous: () => new Error('unknown'),
          })
        }
        acknowledged += 1
      }
      return {
        processes: [
          { name: 'a', run },
          { name: 'b', run },
        ],
        state: () => `${count}`,
        finish: () => {
          if (count < acknowledged) stage.violate('sum', `${acknowledged} were told, ${count} were counted`)
        },
      }
    },
  }
}

describe('explore', () => {
  it('finds a lost update, with the shortest schedule when it looks in breadth', async () => {
    const { violations } = await explore(counter('apart'), { order: 'breadth' })
    expect(violations).toEqual([
      {
        rule: 'sum',
        message: '2 were told, 1 were counted',
        schedule: ['a: read', 'b: read', 'a: write', 'b: write'],
      },
    ])
    const again = await replay(counter('apart'), violations[0]?.schedule ?? [])
    expect(again.violations).toEqual(violations)
  })

  it('finds none where there is none, and says that it has seen everything', async () => {
    expect(await explore(counter('at once'))).toMatchObject({
      violations: [],
      exhaustive: true,
      states: 4,
      transitions: 5,
      paths: 1,
      pruned: 1,
      longest: 2,
    })
    expect(await explore(counter('joined'))).toMatchObject({ violations: [], exhaustive: true })
  })

  it('does the same every time', async () => {
    const faults = { crash: 2, unheard: 1 }
    const { seconds: _, ...first } = await explore(counter('at once', faults))
    const { seconds: __, ...second } = await explore(counter('at once', faults))
    expect(second).toEqual(first)
  })

  it('never calls a search exhaustive that met a cap', async () => {
    const report = await explore(counter('at once'), { maxStates: 2 })
    expect(report).toMatchObject({ exhaustive: false, states: 2, violations: [] })
  })

  it('lets a process die before and after its operation, as often as the budget says', async () => {
    const { states } = await explore(counter('at once'))
    const withCrash = await explore(counter('at once', { crash: 1 }))
    expect(withCrash).toMatchObject({ violations: [], exhaustive: true })
    expect(withCrash.states).toBeGreaterThan(states)
    const lines = await replay(counter('at once', { crash: 1 }), ['a: add · done, then dies', 'b: add'])
    expect(lines.violations).toEqual([])
  })

  it('reports an error that a process does not catch', async () => {
    const { violations } = await explore(counter('joined', { ambiguous: 1 }))
    expect(violations[0]).toMatchObject({
      rule: 'uncaught',
      message: expect.stringContaining('Error: unknown'),
    })
  })

  it('lets what was thought lost arrive later', async () => {
    const outcomes = new Set<string>()
    const stray: Scenario = {
      name: 'stray',
      faults: { stray: 1 },
      setup: () => {
        const log: string[] = []
        const perform = () => log.push('sent')
        const run = async (port: Port) => {
          await port.point({ label: 'send', perform, ambiguous: () => new Error('unknown') }).catch(() => {})
          await port.point({ label: 'go on', perform: () => log.push('went on') })
        }
        const finish = () => {
          outcomes.add(log.join(', '))
        }
        return { processes: [{ name: 'a', run }], state: () => log.join(), finish }
      },
    }
    expect(await explore(stray)).toMatchObject({ exhaustive: true })
    expect([...outcomes].sort()).toEqual(['sent, went on', 'went on, sent'])
  })

  it('lets time pass between any two operations', async () => {
    const seen = new Set<string>()
    const timed: Scenario = {
      name: 'timed',
      setup: () => {
        const clock = new ManualClock(0)
        const times: number[] = []
        const run = async (port: Port) => {
          await port.point({ label: 'one', perform: () => times.push(clock.now()) })
          await port.point({ label: 'two', perform: () => times.push(clock.now()) })
        }
        return {
          clock,
          processes: [{ name: 'a', run }],
          moves: [{ label: 'a second passes', times: 1, run: () => clock.advance(1000) }],
          state: () => `${clock.now()} ${times.join()}`,
          finish: () => void seen.add(times.join()),
        }
      },
    }
    await explore(timed)
    expect([...seen].sort()).toEqual(['0,0', '0,1000', '1000,1000'])
  })

  it('notices a process that waits for what will never come', async () => {
    const run = async (port: Port) => {
      await port.point({ label: 'look', perform: () => 0 })
      await new Promise(() => {})
    }
    const setup = () => ({ processes: [{ name: 'a', run }], state: () => '' })
    const { violations } = await explore({ name: 'stuck', setup })
    expect(violations[0]).toMatchObject({ rule: 'stuck', schedule: ['a: look'] })
  })

  it('refuses a scenario that is not the same every time', async () => {
    let runs = 0
    const setup = () => {
      const label = `look ${++runs}`
      const run = async (port: Port) => void (await port.point({ label, perform: () => 0 }))
      const twice = [
        { name: 'a', run },
        { name: 'b', run },
      ]
      return { processes: twice, state: () => '' }
    }
    await expect(explore({ name: 'drifting', setup })).rejects.toThrow('not deterministic')
  })
})
