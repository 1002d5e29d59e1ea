/** Erased conversations, in every protocol: a repeated request never runs again, and streams say why they end. */
import { afterEach, describe, expect, test } from 'vitest'
import type { ClientError } from '../../src/client/index.ts'
import { createClient } from '../../src/client/index.ts'
import { createHost, type Host } from '../../src/host/index.ts'
import { memoryStore } from '../../src/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { agUi } from '../../src/serve/ag-ui/index.ts'
import { createHttp } from '../../src/serve/http/index.ts'
import { openai } from '../../src/serve/openai/index.ts'
import { uiMessageStream } from '../../src/serve/ui/index.ts'
import { type ScriptedFunction, ScriptedModel } from '../../src/testing/index.ts'

const hosts: Host[] = []
afterEach(async () => {
  for (const host of hosts.splice(0)) await host.shutdown()
})

const LOCAL = { tenant: 'local', actor: 'local' }

/** A server without sockets, and its client. */
async function serve(script: ScriptedFunction = () => 'Paid.') {
  const model = new ScriptedModel(script)
  const host = createHost({ store: memoryStore(), agents: { a: { model } } })
  hosts.push(host)
  const http = await createHttp(host, { mounts: [openai(), uiMessageStream(), agUi(), await a2a()] })
  const call = (path: string, init: RequestInit = {}) =>
    http.fetch(new Request(`http://localhost${path}`, init))
  const post = (path: string, json: unknown, headers: Record<string, string> = {}) => {
    const body = JSON.stringify(json)
    const type = { 'content-type': 'application/json', 'content-length': `${body.length}` }
    return call(path, { method: 'POST', headers: { ...type, ...headers }, body })
  }
  const erase = async () => {
    for (const { key, status } of await host.store.scan())
      if (status !== 'erased' && !key.contextId.startsWith('~') && !key.contextId.includes('/'))
        await host.erase(key)
  }
  const fetchHere = ((url: string, init: RequestInit) =>
    http.fetch(new Request(url, init))) as unknown as typeof fetch
  const client = createClient({ url: 'http://localhost', fetch: fetchHere, retryForMs: 0 })
  return { host, http, model, call, post, erase, conversation: client.conversation('a:1') }
}

const SSE = { accept: 'text/event-stream' }
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Pay' }] }
const chat = { model: 'a', messages: [{ role: 'user', content: 'Pay' }] }
interface Sent {
  readonly path: string
  readonly json: object
  readonly headers?: Record<string, string>
  readonly again?: Record<string, string>
}
const KEYED = { 'idempotency-key': 'k' }
const RETRIED = { 'x-stainless-retry-count': '1' }
const REQUESTS: Record<string, Sent> = {
  HTTP: { path: '/conversations/a:1/messages?wait=true', json: { message: 'Pay' }, headers: KEYED },
  'OpenAI with a name and a key': {
    path: '/v1/chat/completions',
    json: { ...chat, user: 'c' },
    headers: KEYED,
  },
  'OpenAI with a key': { path: '/v1/chat/completions', json: chat, headers: KEYED },
  'OpenAI with a name, retried': {
    path: '/v1/chat/completions',
    json: { ...chat, user: 'c' },
    again: RETRIED,
  },
  'OpenAI, retried': { path: '/v1/chat/completions', json: chat, again: RETRIED },
  'OpenAI responses': { path: '/v1/responses', json: { model: 'a', input: 'Pay' }, headers: KEYED },
  UI: {
    path: '/ui/chat',
    json: { id: 'a:1', messages: [{ id: 'm', role: 'user', parts: [{ type: 'text', text: 'Pay' }] }] },
  },
  'AG-UI': {
    path: '/ag-ui/a',
    json: { threadId: '1', runId: 'r', messages: [{ id: 'm', role: 'user', content: 'Pay' }] },
  },
  A2A: { path: '/a2a/a/message:send', json: { message }, headers: { 'a2a-version': '1.0' } },
}

describe('a request that is repeated after its conversation was erased', () => {
  test.each(Object.entries(REQUESTS))(
    'does not run again: %s',
    async (_, { path, json, headers = {}, again = {} }) => {
      const { model, post, erase } = await serve()
      expect(await (await post(path, json, headers)).text()).toContain('Paid.')
      await erase()
      const refused = await post(path, json, { ...headers, ...again })
      expect([refused.status, await refused.text()]).toEqual([
        path.startsWith('/a2a') ? 400 : 410,
        expect.stringContaining('was erased'),
      ])
      expect(model.calls).toHaveLength(1)
    },
  )

  test('does not run again after a message without a key has begun the name of OpenAI anew', async () => {
    const { model, post, erase } = await serve()
    const named = { ...chat, user: 'c' }
    await post('/v1/chat/completions', named, KEYED)
    await erase()
    expect((await post('/v1/chat/completions', named)).status).toBe(200)
    expect((await post('/v1/chat/completions', named, KEYED)).status).toBe(410)
    expect(model.calls).toHaveLength(2)
  })
})

describe('POST …/recreate', () => {
  test('begins an erased conversation anew, and no other', async () => {
    const { conversation } = await serve()
    await expect(conversation.recreate()).rejects.toMatchObject({ status: 404 })
    await conversation.ask('Pay')
    await expect(conversation.recreate()).rejects.toMatchObject({ status: 409, code: 'exists' })
    await conversation.erase()
    await expect(conversation.ask('Pay')).rejects.toMatchObject({ status: 410, code: 'erased' })
    await conversation.recreate()
    expect(await conversation.messages()).toEqual([])
    expect((await conversation.ask('Pay')).turn).toBe(1)
  })
})

describe('the stream of events', () => {
  const entriesOf = async (
    events: AsyncIterable<{ type: string; entry?: { seq: number } }>,
    count: number,
  ) => {
    const seen: number[] = []
    for await (const { entry } of events) {
      if (entry !== undefined) seen.push(entry.seq)
      if (seen.length === count) break
    }
    return seen
  }
  const failure = async (events: AsyncIterable<unknown>): Promise<ClientError> => {
    try {
      for await (const _ of events);
    } catch (error) {
      return error as ClientError
    }
    throw new Error('The stream ended without an error.')
  }

  test('refuses a position from before the erase, and gives the new entries from the start', async () => {
    const { conversation, call } = await serve()
    await conversation.ask('Pay')
    await conversation.erase()
    for (const since of [0, 3, 6])
      expect((await call(`/conversations/a:1/events?since=${since}`)).status).toBe(410)
    await conversation.recreate()
    await conversation.ask('Pay')
    expect((await conversation.get()).seq).toBe(13)
    for (const since of [1, 6])
      expect(await failure(conversation.events({ since }))).toMatchObject({
        status: 410,
        code: 'erased',
        message: expect.stringContaining('since 0'),
      })
    const all = [7, 8, 9, 10, 11, 12, 13]
    expect(await entriesOf(conversation.events(), 7)).toEqual(all)
    expect(await entriesOf(conversation.events({ since: 7 }), 6)).toEqual(all.slice(1))
  })

  test('refuses a position beyond the end', async () => {
    const { conversation, call } = await serve()
    await conversation.ask('Pay')
    const refused = await call('/conversations/a:1/events?since=999')
    expect([refused.status, await refused.json()]).toMatchObject([
      400,
      { code: 'invalid-option', detail: expect.stringContaining('ends at 6') },
    ])
    expect(await failure(conversation.events({ since: 7 }))).toMatchObject({ status: 400 })
    const open = await call('/conversations/a:1/events?since=6')
    expect(open.status).toBe(200)
    await open.body?.cancel()
  })

  const STALLS: ScriptedFunction = () => ({ stall: true, after: 'Well' })

  test('ends with an error when the conversation is erased, in mid-turn and between turns', async () => {
    const { conversation, model, host, call } = await serve(({ call: number }) =>
      number === 1 ? 'Paid.' : { stall: true, after: 'Well' },
    )
    await conversation.ask('Pay')
    const quiet = failure(conversation.events({ since: 6 }))
    await conversation.send('Again')
    await expect.poll(() => model.calls.length).toBe(2)
    const raw = await call('/conversations/a:1/events', { headers: SSE })
    await conversation.erase()
    expect(await quiet).toMatchObject({ status: 410, code: 'erased' })
    const frames = (await raw.text()).trim().split('\n\n')
    expect(frames.at(-1)).toMatch(/^event: error\ndata: .*"status":410,"code":"erased"/)
    await expect(host.events({ ...LOCAL, contextId: 'a:1' }).next()).rejects.toMatchObject({ code: 'erased' })
  })

  test.each([
    ['HTTP', { path: '/conversations/a:1/messages', json: { message: 'Pay' }, headers: SSE }],
    ['OpenAI chat', { path: '/v1/chat/completions', json: { ...chat, stream: true, user: '1' } }],
    ['OpenAI responses', { path: '/v1/responses', json: { model: 'a', stream: true, input: 'Pay' } }],
    ['UI', REQUESTS['UI'] as Sent],
    ['AG-UI', REQUESTS['AG-UI'] as Sent],
    ['A2A', { path: '/a2a/a/message:stream', json: { message }, headers: { 'a2a-version': '1.0' } }],
  ] satisfies [string, Sent][])('of a turn says that it was erased: %s', async (_, sent: Sent) => {
    const { post, model, erase } = await serve(STALLS)
    const response = await post(sent.path, sent.json, sent.headers)
    await expect.poll(() => model.calls.length).toBe(1)
    const text = response.text()
    await erase()
    expect(await text).toContain('was erased')
  })

  test('ends without an error when its reader leaves', async () => {
    const { host, conversation, http } = await serve()
    await conversation.ask('Pay')
    const leave = new AbortController()
    const seen = entriesOf(host.events({ ...LOCAL, contextId: 'a:1' }, { signal: leave.signal }), 99)
    await expect.poll(() => host.load.running).toBe(0)
    leave.abort()
    expect((await seen).length).toBeLessThanOrEqual(6)
    http.close()
  })
})
