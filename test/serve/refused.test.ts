/** Refused requests store nothing, in every protocol, so that a client may send them again. */
import { afterEach, describe, expect, test } from 'vitest'
import { createHost, type Host, type HostConfig } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { agUi } from '../../src/serve/ag-ui/index.ts'
import { createHttp, type HttpOptions } from '../../src/serve/http/index.ts'
import { openai } from '../../src/serve/openai/index.ts'
import { uiMessageStream } from '../../src/serve/ui/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const hosts: Host[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.shutdown()
})

const LOCAL = { tenant: 'local', actor: 'local' }

/** A server without sockets. */
async function serve(config: Omit<HostConfig, 'store'>, options: HttpOptions = {}) {
  const host = createHost({ store: memoryStore(), ...config })
  hosts.push(host)
  const http = await createHttp(host, options)
  const post = (path: string, json: unknown, headers: Record<string, string> = {}) => {
    const body = JSON.stringify(json)
    const type = { 'content-type': 'application/json', 'content-length': `${body.length}` }
    const init = { method: 'POST', headers: { ...type, ...headers }, body }
    return http.fetch(new Request(`http://localhost${path}`, init))
  }
  const get = (path: string, init: RequestInit = {}) =>
    http.fetch(new Request(`http://localhost${path}`, init))
  const stored = async () => {
    const heads = await host.store.scan({ limit: 100 })
    return heads.filter(({ status }) => status !== 'erased').map(({ key }) => key.contextId)
  }
  return { host, http, post, get, stored }
}

type Served = Awaited<ReturnType<typeof serve>>

/** A turn that runs until its host shuts down. */
const stalls = () => ({ model: new ScriptedModel(() => ({ stall: true, after: 'Well' })) })
const HISTORY = [
  { role: 'user', content: 'One' },
  { role: 'assistant', content: 'Two' },
  { role: 'user', content: 'Three' },
]

describe('the history of an OpenAI request', () => {
  const chat = { model: 'books', user: 'c', messages: HISTORY }

  test('is not imported for a caller that the agent refuses', async () => {
    const model = new ScriptedModel(['x'])
    const { post, stored } = await serve(
      { agents: { books: { model, trust: 'strict' } } },
      { mounts: [openai()] },
    )
    expect((await post('/v1/chat/completions', chat)).status).toBe(403)
    expect(await stored()).toEqual([])
  })

  test('is not imported while the host is overloaded, and is with the request that has a place', async () => {
    const books = { model: new ScriptedModel(['Four.']) }
    const slow = stalls()
    const { host, post, stored } = await serve(
      { agents: { slow, books }, maxTurns: 1, maxWaiting: 0 },
      { mounts: [openai()] },
    )
    const key = { ...LOCAL, contextId: 'slow:1' }
    const running = await host.send(key, 'Hi')
    await expect.poll(() => slow.model.calls.length).toBe(1)
    expect((await post('/v1/chat/completions', chat)).status).toBe(503)
    expect(await stored()).toEqual(['slow:1'])
    await host.cancel(key)
    await running.outcome
    await expect.poll(() => host.load.running).toBe(0)
    expect(await (await post('/v1/chat/completions', chat)).json()).toMatchObject({
      choices: [{ message: { content: 'Four.' } }],
    })
    const messages = await host.reads.messages({ ...LOCAL, contextId: 'books:c' })
    expect(messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant'])
  })
})

describe('a request for a stream', () => {
  const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Pay' }] }
  const sse = { accept: 'text/event-stream' }
  const REQUESTS: Record<string, { path: string; json: object; headers?: Record<string, string> }> = {
    HTTP: { path: '/conversations/a:1/messages', json: { message: 'Pay' }, headers: sse },
    'OpenAI chat': {
      path: '/v1/chat/completions',
      json: { model: 'a', stream: true, messages: [{ role: 'user', content: 'Pay' }] },
    },
    'OpenAI responses': { path: '/v1/responses', json: { model: 'a', stream: true, input: 'Pay' } },
    UI: {
      path: '/ui/chat',
      json: { id: 'a:1', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay' }] }] },
    },
    A2A: { path: '/a2a/a/message:stream', json: { message }, headers: { 'a2a-version': '1.0' } },
    'AG-UI': {
      path: '/ag-ui/a',
      json: { threadId: '1', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay' }] },
    },
  }
  test.each(Object.entries(REQUESTS))('of %s without a place stores nothing', async (_, request) => {
    const { path, json, headers } = request
    const model = new ScriptedModel(() => 'Paid.')
    const mounts = [openai(), uiMessageStream(), agUi(), await a2a()]
    const { http, post, get, stored } = await serve(
      { agents: { a: { model } } },
      { maxStreamsEach: 1, mounts },
    )
    await post('/conversations/a:0/messages?wait=true', { message: 'Hi' })
    const open = await get('/conversations/a:0/events')
    expect((await post(path, json, headers)).status).toBe(429)
    expect([await stored(), model.calls.length]).toEqual([['a:0'], 1])
    await open.body?.cancel()
    const again = await post(path, json, headers)
    expect([again.status, await again.text()]).toEqual([200, expect.stringContaining('Paid.')])
    // The place of a stream is free again, also that of a request that was refused.
    expect((await post('/conversations/none:1/messages', { message: 'Hi' }, sse)).status).toBe(404)
    const last = await get('/conversations/a:0/events')
    expect(last.status).toBe(200)
    http.close()
  })
})

describe('a request that waits for its outcome', () => {
  const waiting = (post: Served['post'], headers = {}) =>
    post('/conversations/a:1/messages?wait=true', { message: 'Pay' }, headers)

  test('learns from a server that shuts down that its message is stored', async () => {
    const a = stalls()
    const { host, post, stored } = await serve({ agents: { a } }, { mounts: [openai()] })
    const waits = [
      waiting(post),
      post('/v1/chat/completions', { model: 'a', user: '2', messages: [{ role: 'user', content: 'Pay' }] }),
    ]
    await expect.poll(() => a.model.calls.length).toBe(2)
    await host.shutdown()
    for (const response of await Promise.all(waits))
      expect([response.status, await response.text()]).toEqual([
        503,
        expect.stringMatching(/The message is stored.*same Idempotency-Key/),
      ])
    expect(await stored()).toEqual(['a:1', 'a:2'])
  })

  test('is not sent again after its conversation was erased', async () => {
    const a = stalls()
    const { post, get, stored, host } = await serve({ agents: { a } }, { mounts: [openai()] })
    const waits = [
      waiting(post, { 'idempotency-key': 'k' }),
      post('/v1/chat/completions', { model: 'a', user: '1', messages: [{ role: 'user', content: 'Pay' }] }),
    ]
    await expect.poll(async () => (await host.store.inbox({ ...LOCAL, contextId: 'a:1' })).length).toBe(1)
    await expect.poll(() => a.model.calls.length).toBe(1)
    expect((await get('/conversations/a:1', { method: 'DELETE' })).status).toBe(204)
    const [asked, chat] = await Promise.all(waits)
    expect([asked?.status, await asked?.json()]).toMatchObject([410, { code: 'erased' }])
    expect([chat?.status, await chat?.json()]).toMatchObject([410, { error: { code: 'erased' } }])
    expect((await get('/conversations/a:1')).status).toBe(404)
    expect(await stored()).toEqual([])
  })
})

test('HEAD takes no place among the streams', async () => {
  const a = stalls()
  const { http, post, get } = await serve(
    { agents: { a } },
    { maxStreamsEach: 1, mounts: [uiMessageStream()] },
  )
  await post('/conversations/a:1/messages', { message: 'Hi' })
  await expect.poll(() => a.model.calls.length).toBe(1)
  for (const path of ['/ui/chat/a:1/stream', '/conversations/a:1/events', '/ui/chat/a:1/stream']) {
    const response = await get(path, { method: 'HEAD' })
    expect([response.status, response.body, response.headers.get('content-type')]).toEqual([
      200,
      null,
      'text/event-stream; charset=utf-8',
    ])
  }
  expect((await get('/conversations/a:1/events')).status).toBe(200)
  http.close()
})
