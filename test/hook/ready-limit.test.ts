/** `onAgentReady` belongs to no turn, and has a limit of its own. */
import { expect, it } from 'vitest'
import { onceReady } from '../../src/agent/once-ready.ts'
import { HookRegistry } from '../../src/hook/index.ts'
import { ManualClock } from '../../src/testing/manual-clock.ts'
import { quiet } from '../turn/kit.ts'

const AGENT = { contextId: 'talk', name: 'agent', turnCount: 0, metadata: {} }

it('a hook that hangs fails after ten minutes, and the next request calls it again', async () => {
  const clock = new ManualClock()
  let called = 0
  const onAgentReady = (): Promise<void> => {
    called += 1
    return called === 1 ? new Promise(() => {}) : Promise.resolve()
  }
  const hooks = new HookRegistry([{ plugin: 'warm-up', on: { onAgentReady } }])
  const ready = onceReady(hooks, () => AGENT, clock)
  let failure: unknown
  const first = Promise.resolve(ready()).catch((error: unknown) => {
    failure = error
  })
  await quiet()
  clock.advance(599_999)
  await quiet()
  expect(failure).toBeUndefined()
  clock.advance(1)
  await first
  expect(failure).toMatchObject({
    code: 'hook-failed',
    message: 'The hook warm-up/onAgentReady failed: it did not end within 600000 ms',
    details: { hook: 'warm-up/onAgentReady' },
  })
  await ready()
  expect(called).toBe(2)
  expect([ready(), clock.waiting]).toEqual([undefined, 0])
})
