/** A caller that waits for a conversation which is erased meanwhile gets an error, and costs nothing until then. */
import { expect, it, vi } from 'vitest'
import { Agent, memoryStore } from '../../src/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { bench, calls, gate, KEY, probe, until } from '../turn/kit.ts'

it('a follower of a conversation that is erased is refused, and does not go round in circles', async () => {
  const store = memoryStore()
  const key = { ...LOCAL_OWNER, contextId: 'c' }
  const model = new ScriptedModel([{ stall: true }])
  const driving = new Agent({ contextId: 'c', store, model, leaseMs: 300 })
  const turn = driving.executeTurn('Hi', { key: 'one' })
  await vi.waitFor(() => expect(model.calls).toHaveLength(1))
  const following = new Agent({ contextId: 'c', store, model, leaseMs: 300 })
  const other = following.executeTurn('And you?', { key: 'two' })
  await vi.waitFor(async () => expect(await store.inbox(key)).toHaveLength(1))
  const reads = vi.spyOn(store, 'head')
  await store.erase(key)
  const [first, second] = await Promise.all([turn.outcome, other.outcome])
  expect([first.error?.code, second.error?.code]).toEqual(['erased', 'erased'])
  expect(reads.mock.calls.length).toBeLessThan(20)
})

it.each([true, false])(
  'the driver of a conversation that is erased is told so, also after a refused message (autoSave: %s)',
  async (autoSave) => {
    const held = gate()
    const slow = probe('slow', () => held.promise)
    const { agent, store } = bench({ script: [calls('slow'), 'Done'], tools: [slow], autoSave })
    const turn = agent.executeTurn('Hi')
    await until('the tool runs', () => slow.ran.length === 1)
    await store.erase(KEY)
    const steered = agent.executeTurn('And this', { whileBusy: 'steer' })
    expect((await steered.outcome).error?.code).toBe('erased')
    held.resolve()
    expect((await turn.outcome).error?.code).toBe('erased')
  },
)
