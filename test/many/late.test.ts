/** Results that come after their calls were settled as unknown are told, one for each call (R4). */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { calls, KEY, probe, said } from '../turn/kit.ts'

/** Two calls of `pay` were started, and whoever started them is gone. Both are unknown, and then both results come. */
async function lateResults(first: number, second: number): Promise<string[]> {
  const store = memoryStore({ liveness: () => 'dead' })
  const config = { contextId: 'talk', store, tools: [probe('pay')] }
  const asking = new ScriptedModel([calls(['pay', { n: first }], ['pay', { n: second }])])
  const turn = new Agent({ ...config, model: asking }).executeTurn('Pay both', { manual: true })
  for (let next = ''; next !== 'tools'; ) ({ next } = await turn.step())
  const agent = new Agent({ ...config, model: new ScriptedModel(['I cannot say.', 'I see.']) })
  await agent.start()
  await agent.turn?.outcome
  const ended = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
  const inbox = ended.map(({ data }) => {
    const callId = data['callId'] as string
    return {
      type: 'late-result',
      key: `late:${callId}`,
      data: { callId, status: 'ok', output: 'paid' },
    } as const
  })
  await store.append({ key: KEY, id: 'late', since: 0, inbox })
  await agent.input('And now?')
  await said(store)
  return (await store.read(KEY)).filter(({ takes = [] }) => takes.length > 0).map(({ type }) => type)
}

it('of two calls with different arguments, both are told', async () => {
  expect(await lateResults(1, 2)).toEqual(['turn.start', 'tool.late', 'tool.late', 'turn.start'])
})

it('of two calls with the same arguments, both are told', async () => {
  expect(await lateResults(1, 1)).toEqual(['turn.start', 'tool.late', 'tool.late', 'turn.start'])
})
