/** Options of the task agent: each has an effect, or is refused; keys go to the model that they belong to. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { TaskAgent, type TaskAgentConfig } from '../../src/entry/flows.ts'
import { defineTool } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { call, calls, done, verdict } from './kit.ts'

const KEY = 'sk-of-the-first-vendor'

test.each([
  [{ prompts: { palnner: 'Be brief.' } }, 'prompts has no "palnner". Did you mean planner?'],
  [{ limits: { steps: 4 } }, 'Write recursionLimit instead.'],
  [{ parse_reasoning: false }, 'Write settings: { thinkTags } instead.'],
  [{ apiKey: KEY, verifierModel: 'anthropic/claude-haiku-4-5' }, 'apiKey would go to'],
  [{ settings: { apiKey: KEY }, verifierModel: ['a/b', 'c/d'] }, 'apiKey would go to'],
  [{ baseURL: 'http://127.0.0.1:1/v1', verifierModel: 'anthropic/claude-haiku-4-5' }, 'baseURL would go to'],
  [{ apiKey: KEY, visionModel: 'google/gemini-2.5-flash' }, 'apiKey would go to'],
  [{ tools: [], visionModel: 'google/gemini-2.5-flash' }, 'loadTools({ cwd, describeImage })'],
  [{ visionModel: 'reflex' }, 'reflex follows rules and cannot see images'],
])('%j is refused: it would be ignored, or sent to another vendor', (config, message) => {
  const model = 'openai/gpt-4.1-mini'
  expect(() => new TaskAgent({ model, ...config } as TaskAgentConfig)).toThrow(message)
})

test('a key of the model does not reach a verifier with a key of its own', async () => {
  const received: string[] = []
  const server = createServer(({ headers, url }, response) => {
    received.push(`${url} ${String(headers['x-api-key'])}`)
    response.writeHead(400).end('{"error":{"message":"no"}}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const own = `http://127.0.0.1:${(server.address() as AddressInfo).port}/own`
  const agent = new TaskAgent({
    model: new ScriptedModel(['P', done('A')]),
    apiKey: KEY,
    baseURL: 'http://127.0.0.1:1/v1',
    verifierModel: {
      model: 'anthropic/claude-haiku-4-5',
      settings: { apiKey: 'sk-of-its-own', baseURL: own },
    },
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
  for (const { settings: sent } of [...model.calls, ...verifierModel.calls])
    expect(sent).toMatchObject({ temperature: 0.7, topP: 0.5 })
})

/** One red pixel. */
const DOT = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=='

test.each([true, false])(
  'images are looked at by the vision model, or else by the model: %s',
  async (isApart) => {
    const cwd = mkdtempSync(join(tmpdir(), 'holdfast-task-'))
    writeFileSync(join(cwd, 'dot.png'), Buffer.from(DOT, 'base64'))
    const look = calls(call('analyze_image', { path: 'dot.png', question: 'Which colour?' }))
    const seen = 'It is red.'
    const model = new ScriptedModel(['P', look, ...(isApart ? [] : [seen]), done('Red'), verdict(true)])
    const visionModel = new ScriptedModel([seen])
    const agent = new TaskAgent({ model, ...(isApart ? { visionModel } : {}), cwd, verbose: false })
    const results = await agent.run('Which colour is dot.png?')
    rmSync(cwd, { recursive: true })
    expect(results).toMatchObject({ ended: 'verified', finalAnswer: 'Red' })
    const result = results.messages.find(({ role }) => role === 'tool')
    expect(result?.content).toMatchObject([{ tool: 'analyze_image', status: 'ok' }])
    expect(JSON.stringify(result)).toContain(seen)
    expect(JSON.stringify((isApart ? visionModel.calls[0] : model.calls[2])?.prompt)).toContain(
      'Which colour?',
    )
  },
)

test('a completion tool of your own needs the argument that carries the answer', async () => {
  const own = (name: string) =>
    defineTool({
      name: 'attempt_completion',
      description: 'Ends the work.',
      input: z.object({ [name]: z.string() }),
      run: (input) => input,
    })
  const run = (name: string) =>
    new TaskAgent({
      model: new ScriptedModel(['P', calls(call('attempt_completion', { [name]: 'A' })), verdict(true)]),
      tools: [own(name)],
      verbose: false,
    }).run('Do it')
  expect(await run('result')).toMatchObject({ ended: 'verified', finalAnswer: 'A' })
  await expect(run('answer')).rejects.toThrow('attempt_completion has no argument "result"')
})

test('a task runs once its folder is there, also after a call that missed it', async () => {
  const cwd = join(mkdtempSync(join(tmpdir(), 'holdfast-task-')), 'later')
  const agent = new TaskAgent({
    model: new ScriptedModel(['P', done('A'), verdict(true)]),
    cwd,
    verbose: false,
  })
  await expect(agent.run('Do it')).rejects.toThrow('Create it first.')
  mkdirSync(cwd)
  expect((await agent.run('Do it')).ended).toBe('verified')
  rmSync(join(cwd, '..'), { recursive: true })
})

test('resume and answer take no second contextId', async () => {
  const agent = new TaskAgent({ model: new ScriptedModel([]), tools: [], verbose: false })
  const options = { contextId: 'other' } as never
  await expect(agent.resume('task', options)).rejects.toThrow(
    'resume() has no "contextId". Write the id as the first argument instead.',
  )
  await expect(agent.answer('task', {}, options)).rejects.toThrow(
    'answer() has no "contextId". Write the id as the first argument instead.',
  )
})
