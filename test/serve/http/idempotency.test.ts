/** A request that is sent again under its Idempotency-Key gets the same result; other content under it is a conflict. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { graph, START, value } from '../../../src/graph/index.ts'
import { createHost, type Host } from '../../../src/host/index.ts'
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
  return (await serverOf(host)).post
}

async function serverOf(host: Host) {
  const http = await createHttp(host)
  const post = async (path: string, key: string, json: unknown = {}) => {
    const headers = { 'content-type': 'application/json', 'idempotency-key': key }
    const init = { method: 'POST', headers, body: JSON.stringify(json) }
    const response = await http.fetch(new Request(`http://localhost/conversations${path}`, init))
    return [response.status, await response.json()] as [number, Record<string, unknown>]
  }
  return { post }
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

const note = defineTool({ name: 'note', description: 'Notes', input: z.object({}), run: () => 'noted' })
const working: ScriptedStep = { calls: [{ tool: 'note', args: {} }] }
const continueTurn = { continue: true }

async function limited(...replies: ScriptedStep[]) {
  const model = new ScriptedModel(replies)
  const agent = { model, tools: [note], limits: { iterations: 1 } }
  const { post } = await serverOf(createHost({ store: memoryStore(), agents: { a: agent } }))
  return { post, model }
}

test('a request to continue runs once under its key, and gets the same turn again', async () => {
  const { post, model } = await limited(working, working, working, 'Done.')
  expect(await post('/a:1/messages?wait=true', 'm', { message: 'Go' })).toMatchObject([200, { turn: 1 }])
  const path = '/a:1/messages?wait=true'
  const first = await post(path, 'k', continueTurn)
  expect(first).toMatchObject([200, { turn: 2, reason: 'max-iterations' }])
  expect(await post(path, 'k', continueTurn)).toEqual(first)
  const accepted = await post('/a:1/messages', 'k', continueTurn)
  expect(accepted[0]).toBe(202)
  expect(model.calls).toHaveLength(2)
  expect(await post(path, 'k2', continueTurn)).toMatchObject([200, { turn: 3 }])
  expect(await post(path, 'k3', continueTurn)).toMatchObject([200, { turn: 4, text: 'Done.' }])
  // Also after the conversation has gone on, or has ended.
  expect(await post(path, 'k3', continueTurn)).toMatchObject([200, { turn: 4, text: 'Done.' }])
  expect(await post(path, 'k', continueTurn)).toMatchObject([200, { turn: 2, reason: 'max-iterations' }])
  expect(await post('/a:1/messages', 'k', continueTurn)).toEqual(accepted)
  expect(await post(path, 'k4', continueTurn)).toMatchObject([409, { code: 'nothing-to-continue' }])
  expect(model.calls).toHaveLength(4)
})

test('requests to continue at once under one key begin one turn', async () => {
  const { post, model } = await limited(working, working, working)
  await post('/a:1/messages?wait=true', 'm', { message: 'Go' })
  const made = await Promise.all([1, 2, 3, 4].map(() => post('/a:1/messages?wait=true', 'k', continueTurn)))
  expect(made.map(([status, { turn }]) => [status, turn])).toEqual(made.map(() => [200, 2]))
  expect(model.calls).toHaveLength(2)
})

test('a run of a graph is continued once under its key', async () => {
  let runs = 0
  const counter = graph({ state: { n: value(0) } })
    .addNode('count', () => ({ n: ++runs }))
    .addEdge(START, 'count')
    .addConditionalEdges('count', () => 'count', ['count'])
  const store = memoryStore()
  const compiled = counter.compile({ store, limits: { steps: 1 } })
  const { post } = await serverOf(createHost({ store, graphs: { g: compiled } }))
  await post('/g:1/messages?wait=true', 'm', { values: {} })
  const path = '/g:1/messages?wait=true'
  const first = await post(path, 'k', continueTurn)
  expect(first).toMatchObject([200, { turn: 2, limit: 'steps' }])
  const before = runs
  expect(await post(path, 'k', continueTurn)).toMatchObject([200, { turn: 2, limit: 'steps' }])
  expect(runs).toBe(before)
})
