/** A remote agent that is served by Holdfast: its questions, answers that it refuses, and messages that are sent twice. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { Agent, defineTool, memoryStore } from '../../src/index.ts'
import { remoteAgent } from '../../src/remote/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { officialClient, requestOf } from '../serve/a2a/clients.ts'
import { open } from '../serve/http/kit.ts'

async function serve() {
  const effects: string[] = []
  const pay = (name: string, approve: 'always' | 'never') =>
    defineTool({
      name,
      description: name,
      input: z.object({}),
      approve,
      run: () => {
        effects.push(name)
        return 'paid'
      },
    })
  const model = new ScriptedModel(({ prompt }) => {
    const last = prompt.at(-1)
    if (last?.role === 'tool') return 'It is paid.'
    return { calls: [{ tool: JSON.stringify(last?.content).includes('ask') ? 'ask_pay' : 'pay', args: {} }] }
  })
  const agents = { desk: { model, tools: [pay('pay', 'never'), pay('ask_pay', 'always')] } }
  const { url, host } = await open({ store: memoryStore(), agents }, { mounts: [await a2a()] })
  return { url: `${url}/a2a/desk`, host, effects }
}

test('a question of a remote agent is asked until its answer fits; then the task goes on', async () => {
  const { url, effects } = await serve()
  const desk = remoteAgent({ name: 'desk', description: 'Pays.', url })
  const call = { calls: [{ tool: 'desk', args: { message: 'ask and pay' } }] }
  const agent = new Agent({
    contextId: 'c1',
    store: memoryStore(),
    model: new ScriptedModel([call, 'Done.']),
    tools: [desk],
  })
  const [first] = (await agent.executeTurn('Hi').outcome).requests
  expect(first).toMatchObject({ kind: 'text', prompt: 'May "ask_pay" be run?' })
  const [second] = (await agent.answer({ [first?.requestId ?? '']: 'perhaps' }).outcome).requests
  expect(second?.prompt).toMatch(/true or false.*\n\nMay "ask_pay" be run\?$/is)
  expect(effects).toEqual([])
  expect(await agent.answer({ [second?.requestId ?? '']: 'yes' }).outcome).toMatchObject({ text: 'Done.' })
  expect(effects).toEqual(['ask_pay'])
})

test('a message that is sent many times, also at once, begins one task', async () => {
  const { url, host, effects } = await serve()
  const client = await officialClient('JSONRPC', url)
  for (const ids of [{ messageId: 'm-1' }, { messageId: 'm-2', contextId: 'c' }]) {
    const send = () => client.sendMessage(requestOf({ text: 'pay', ...ids }))
    const sent = [...(await Promise.all([send(), send(), send(), send()])), await send()]
    expect(new Set(sent.map((task) => ('id' in task ? task.id : 'none'))).size).toBe(1)
  }
  expect(effects).toEqual(['pay', 'pay'])
  const { heads } = await host.store.list({ owner: { tenant: 'local', actor: 'local' } })
  expect(heads.map(({ turn }) => turn)).toEqual([1, 1])
})
