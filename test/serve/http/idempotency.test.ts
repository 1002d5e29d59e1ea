/** A request that is sent again under its Idempotency-Key gets the same result; other content under it is a conflict. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { createHost } from '../../../src/host/index.ts'
import { defineTool, memoryStore } from '../../../src/index.ts'
import { createHttp } from '../../../src/serve/http/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({}),
  approve: 'always',
  run: () => 'paid',
})

async function server(...replies: ScriptedStep[]) {
  const model = new ScriptedModel(replies)
  const host = createHost({ store: memoryStore(), agents: { a: { model, tools: [pay] }, b: { model } } })
  const http = await createHttp(host)
  return async (path: string, key: string, json: unknown = {}) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const init = { method: 'POST', headers, body: JSON.stringify(json) }
    const response = await http.fetch(new Request(`http://localhost/conversations${path}`, init))
    return [response.status, await response.json()] as [number, Record<string, unknown>]
  }
}

test('a fork at another entry is a conflict, and the same fork is made once, also by requests at once', async () => {
  const post = await server('One.', 'Two.')
  for (const message of ['Hi', 'Ho']) await post('/a:1/messages?wait=true', message, { message })
  const first = await post('/a:1/fork', 'k', { at: 6 })
  expect(first[0]).toBe(201)
  expect(await post('/a:1/fork', 'k', { at: 6 })).toEqual(first)
  for (const other of [{ at: 12 }, {}])
    expect(await post('/a:1/fork', 'k', other)).toMatchObject([409, { code: 'key-reused' }])
  const made = await Promise.all([1, 2, 3].map(() => post('/a:1/fork', 'at-once')))
  expect(made.map(([status]) => status)).toEqual([201, 201, 201])
  expect(new Set(made.map(([, { contextId }]) => contextId)).size).toBe(1)
  expect(await post('/a:1/fork', 'at-once', { at: 6 })).toMatchObject([409, { code: 'key-reused' }])
})

test('since is that of the first request, of a message and of an answer', async () => {
  const post = await server('One.', { calls: [{ tool: 'pay', args: {} }] }, 'Paid.')
  await post('/a:1/messages?wait=true', 'k1', { message: 'Hi' })
  const asked = await post('/a:1/messages', 'k2', { message: 'Pay' })
  const [, { requests }] = await post('/a:1/messages?wait=true', 'k2', { message: 'Pay' })
  expect(await post('/a:1/messages', 'k2', { message: 'Pay' })).toEqual(asked)
  const [{ requestId }] = requests as [{ requestId: string }]
  const answers = { answers: { [requestId]: true } }
  const answered = await post('/a:1/answers', 'k3', answers)
  expect(await post('/a:1/answers?wait=true', 'k3', answers)).toMatchObject([200, { text: 'Paid.' }])
  expect(await post('/a:1/answers', 'k3', answers)).toEqual(answered)
  expect(await post('/a:1/messages', 'k1', { message: 'Hi' })).toMatchObject([202, { since: 0 }])
})

test('a new conversation has one id for a key and an agent', async () => {
  const post = await server()
  const [first, again, other] = [
    await post('', 'k', { agent: 'a' }),
    await post('', 'k', { agent: 'a' }),
    await post('', 'k', { agent: 'b' }),
  ]
  expect([first[0], again]).toEqual([201, first])
  expect(other[1]['contextId']).toMatch(/^b:/)
})
