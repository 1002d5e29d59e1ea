/** Options of the task agent: each has an effect, or is refused; keys go to the model that they belong to. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test, vi } from 'vitest'
import { TaskAgent, type TaskAgentConfig } from '../../src/entry/flows.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { done, verdict } from './kit.ts'

const KEY = 'sk-of-the-first-vendor'

afterEach(() => void vi.unstubAllEnvs())

test.each([
  [{ prompts: { palnner: 'Be brief.' } }, 'prompts has no "palnner". Did you mean planner?'],
  [{ limits: { steps: 4 } }, 'Write recursionLimit instead.'],
  [{ parse_reasoning: false }, 'Write settings: { thinkTags } instead.'],
  [{ apiKey: KEY, verifierModel: 'anthropic/claude-haiku-4-5' }, 'Give verifierModel its own'],
  [{ settings: { apiKey: KEY }, verifierModel: ['a/b', 'c/d'] }, 'Give verifierModel its own'],
  [{ baseURL: 'http://127.0.0.1:1/v1', verifierModel: 'openai/gpt-4.1' }, 'Give verifierModel its own'],
])('%j is refused: it would be ignored, or sent to another vendor', (config, message) => {
  const model = 'openai/gpt-4.1-mini'
  expect(() => new TaskAgent({ model, ...config } as TaskAgentConfig)).toThrow(message)
})

test('a key of the model does not reach the model of the verifier', async () => {
  vi.stubEnv('ANTHROPIC_API_KEY', 'sk-of-its-own')
  const received: string[] = []
  const server = createServer(({ headers, url }, response) => {
    received.push(`${url} ${headers['x-api-key']}`)
    response.writeHead(400).end('{"error":{"message":"no"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/own`
  const agent = new TaskAgent({
    model: new ScriptedModel(['P', done('A')]),
    apiKey: KEY,
    baseURL: 'http://127.0.0.1:1/v1',
    verifierModel: { model: 'anthropic/claude-haiku-4-5', settings: { baseURL: own } },
    tools: [],
    verbose: false,
  })
  expect(await agent.run('Do it')).toMatchObject({ ended: 'failed', finalAnswer: 'A' })
  server.close()
  expect(new Set(received)).toEqual(new Set(['/own/messages sk-of-its-own']))
})

test('temperature and settings are those of every node, also of another model for the verifier', async () => {
  const model = new ScriptedModel(['P', done('A')])
  const verifierModel = new ScriptedModel([verdict(true)])
  const settings = { topP: 0.5 }
  const agent = new TaskAgent({
    model,
    verifierModel,
    temperature: 0.7,
    settings,
    apiKey: KEY,
    tools: [],
    verbose: false,
  })
  expect(await agent.run('Do it')).toMatchObject({ ended: 'verified' })
  for (const call of [...model.calls, ...verifierModel.calls])
    expect(call.settings).toMatchObject({ temperature: 0.7, topP: 0.5 })
})
