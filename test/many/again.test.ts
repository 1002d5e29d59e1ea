/** What somebody says again under the same key, because it does not know whether it was heard, is heard once (R2). */
import { describe, expect, it } from 'vitest'
import { memoryStore } from '../../src/store/memory/index.ts'
import { bench, gate, journal, until } from '../turn/kit.ts'

it('a message that steered a turn can be sent again under its key after that turn', async () => {
  const slow = gate()
  const script = [async () => (await slow.promise, 'One.'), 'Two.', 'Three.']
  const { agent, another, model, store } = bench({ script })
  const first = agent.executeTurn('Begin')
  await until('it runs', () => model.calls.length === 1)
  const steering = agent.executeTurn('Hurry', { key: 'k', whileBusy: 'steer' })
  await until('it is posted', async () => (await journal(store)).some((line) => line.includes('Hurry')))
  slow.resolve()
  await Promise.all([first.outcome, steering.outcome])
  const before = await journal(store)
  const again = another().executeTurn('Hurry', { key: 'k', whileBusy: 'steer' })
  expect(await again.outcome).toMatchObject({ turn: 1, reason: 'stop' })
  expect(await journal(store)).toEqual(before)
})

describe.each(['queue', 'steer', 'interrupt'] as const)(
  'a message that is to %s, sent again',
  (whileBusy) => {
    const sent = { key: 'k', whileBusy }

    it('while the turn that it began runs elsewhere, is told of that turn and does not disturb it', async () => {
      const slow = gate()
      const script = [async () => (await slow.promise, 'One.')]
      const { agent, another, model, store } = bench({ script, realTime: true })
      const first = agent.executeTurn('Begin', sent)
      await until('it runs', () => model.calls.length === 1)
      const before = await journal(store)
      const again = another().executeTurn('Begin', sent)
      await new Promise((resolve) => setTimeout(resolve, 100))
      expect(await journal(store)).toEqual(before)
      slow.resolve()
      expect(await again.outcome).toMatchObject({ turn: 1, reason: 'stop', text: 'One.' })
      expect(await first.outcome).toMatchObject({ turn: 1, reason: 'stop', text: 'One.' })
    })

    it('after the process that heard it died, takes its turn up and does not cancel it', async () => {
      const store = memoryStore({ liveness: () => 'dead' })
      const { agent, another } = bench({ store, realTime: true, script: ['One.', 'One.'] })
      const first = agent.executeTurn('Begin', { ...sent, manual: true })
      for (let next = ''; next !== 'model'; ) ({ next } = await first.step())
      expect(await another().executeTurn('Begin', sent).outcome).toMatchObject({ turn: 1, reason: 'stop' })
      expect((await journal(store)).filter((line) => /input|cancel/.test(line))).toHaveLength(1)
    })
  },
)
