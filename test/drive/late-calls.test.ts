/** Calls that outlast their turn, and leases that cannot be renewed in time (S3, S4). */
import { expect, it } from 'vitest'
import { HoldfastError } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { bench, calls, gate, journal, probe, quiet, until } from '../turn/kit.ts'
import { withMethods } from './refusing-store.ts'

it('a call that outlasts its turn stores no artifact in a later one', async () => {
  const [held, refused] = [gate(), gate<unknown>()]
  const zombie = probe('zombie', async (_, { artifacts }) => {
    await held.promise
    await artifacts.writeFile('report', 'of the first turn').then(refused.resolve, refused.resolve)
    return 'late'
  })
  const { agent, store, clock } = bench({
    script: [
      calls('zombie'),
      async () => {
        held.resolve()
        await refused.promise
        return 'Two'
      },
    ],
    tools: [zombie],
  })
  const turn = agent.executeTurn('one')
  await until('the tool runs', () => zombie.ran.length === 1)
  const cancelling = turn.cancel()
  await quiet()
  clock.advance(60_000)
  await cancelling
  expect((await turn.outcome).status).toBe('cancelled')
  expect((await agent.executeTurn('two').outcome).text).toBe('Two')
  expect(await refused.promise).toMatchObject({ code: 'cancelled' })
  expect((await journal(store)).filter((line) => line.includes('artifact'))).toEqual([])
})

it('a store that renews slower than half a lease fails the turn, and says what to change', async () => {
  const clock = new ManualClock(1000)
  const inner = memoryStore({ clock })
  let renewals = 0
  const store = withMethods(inner, {
    append: async (request) => {
      clock.advance(600)
      return inner.append(request)
    },
    renew: async (request) => {
      renewals += 1
      clock.advance(600)
      return inner.renew(request)
    },
  })
  const tool = probe('pay')
  const { agent } = bench({
    script: [calls('pay'), 'Done'],
    tools: [tool],
    store,
    leaseMs: 1000,
    clock,
    timer: clock,
  })
  const { error, status } = await agent.executeTurn('Hi').outcome
  expect(status).toBe('failed')
  expect(error).toMatchObject({
    code: 'store-failed',
    message: expect.stringContaining('Raise leaseMs') as string,
  })
  expect(tool.ran).toEqual([])
  expect(renewals).toBeLessThan(20)
  expect(HoldfastError.is(error)).toBe(false)
})
