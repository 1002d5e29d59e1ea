/** Limits, the access log and positions of streams hold for every request, whatever its route. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { createHost } from '../../../src/host/index.ts'
import { HoldfastError, memoryStore } from '../../../src/index.ts'
import { agUi } from '../../../src/serve/ag-ui/index.ts'
import type { Caller } from '../../../src/serve/caller.ts'
import { type AccessLine, createHttp, type HttpOptions } from '../../../src/serve/http/index.ts'
import { openai } from '../../../src/serve/openai/index.ts'
import { uiMessageStream } from '../../../src/serve/ui/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { frames } from './kit.ts'

const STREAM = { 'content-type': 'application/json', accept: 'text/event-stream' }

async function server(options: HttpOptions) {
  const model = new ScriptedModel(() => 'Hello.')
  const host = createHost({ store: memoryStore(), agents: { a: { model } } })
  const http = await createHttp(host, options)
  const call = (path: string, init: RequestInit = {}, address = '203.0.113.7') =>
    http.fetch(new Request(`http://localhost${path}`, init), { address })
  const send = () =>
    call('/conversations/a:1/messages?wait=true', {
      method: 'POST',
      body: '{"message":"Hi"}',
      headers: { 'content-type': 'application/json' },
    })
  return { host, http, call, send }
}

test('the page about the API and unknown addresses are limited by address, as the other routes for everybody', async () => {
  const { call } = await server({ requestsPerMinute: 2 })
  const statuses = async (path: string, address: string) => [
    (await call(path, {}, address)).status,
    (await call(path, {}, address)).status,
    (await call(path, {}, address)).status,
  ]
  expect(await statuses('/docs', 'one')).toEqual([200, 200, 429])
  expect(await statuses('/nowhere', 'two')).toEqual([404, 404, 429])
  expect(await statuses('/health', 'three')).toEqual([200, 200, 429])
  expect((await call('/docs', {}, 'four')).status).toBe(200)
})

test('no browser keeps an answer: an erased conversation is read again after it was begun anew', async () => {
  const { call, host, send } = await server({ mounts: [openai()] })
  await (await send()).text()
  await host.erase({ tenant: 'local', actor: 'local', contextId: 'a:1' })
  const paths = ['/conversations/a:1/events', '/conversations/a:1', '/nowhere', '/v1/models/b', '/metrics']
  const answers = await Promise.all(paths.map((path) => call(path)))
  expect(answers.map(({ status }) => status)).toEqual([410, 404, 404, 404, 200])
  expect(new Set(answers.map(({ headers }) => headers.get('cache-control')))).toEqual(new Set(['no-store']))
  expect((await call('/docs')).headers.get('cache-control')).toBe('no-cache')
})

test('onError gets the reason where a caller reads that the log has it: of a stream, and of a refused message', async () => {
  const failures: unknown[] = []
  const mounts = [openai(), agUi(), uiMessageStream()]
  const { call, host, send } = await server({ mounts, onError: (error) => failures.push(error) })
  await (await send()).text()
  const broken = new Error('the disk is broken')
  vi.spyOn(host, 'events').mockImplementation(() => {
    throw broken
  })
  const post = (body: object) => ({
    method: 'POST',
    body: JSON.stringify(body),
    headers: { 'content-type': 'application/json' },
  })
  const messages = [{ id: 'm', role: 'user', content: 'Hi', parts: [{ type: 'text', text: 'Hi' }] }]
  const requests: [string, RequestInit?][] = [
    ['/conversations/a:1/messages', { ...post({ message: 'Hi' }), headers: STREAM }],
    ['/v1/chat/completions', post({ model: 'a', stream: true, messages })],
    ['/ag-ui/a', post({ threadId: '2', runId: 'r', messages })],
    ['/ui/agents/a/chat', post({ id: '3', messages })],
  ]
  for (const [path, init] of requests) expect(await (await call(path, init)).text()).toContain('Its log has')
  expect(failures).toEqual(requests.map(() => broken))
  failures.length = 0
  host.store.append = async () => Promise.reject(new HoldfastError('store-failed', { message: 'No disk.' }))
  expect((await send()).status).toBe(500)
  expect(failures).toMatchObject([{ cause: { message: 'store-failed: No disk.' } }])
})

test('a preflight request has a line in the access log', async () => {
  const lines: AccessLine[] = []
  const { call } = await server({ cors: ['https://app.example'], accessLog: (line) => lines.push(line) })
  for (const origin of ['https://app.example', 'https://evil.example'])
    await call('/agents', { method: 'OPTIONS', headers: { origin } })
  expect(lines).toMatchObject([
    { method: 'OPTIONS', path: '/agents', route: 'preflight', status: 204 },
    { method: 'OPTIONS', path: '/agents', route: 'preflight', status: 403 },
  ])
})

test('an access log and an onError that throw change no answer', async () => {
  const failures: unknown[] = []
  const broken = new Error('The disk of the log is full.')
  const accessLog = () => {
    throw broken
  }
  const { send } = await server({ accessLog, onError: (error) => failures.push(error) })
  const response = await send()
  expect([response.status, await response.json()]).toMatchObject([200, { text: 'Hello.' }])
  expect(failures).toEqual([broken])
  const worse = await server({ accessLog, onError: accessLog })
  expect((await worse.send()).status).toBe(200)
})

test.each([
  [
    'throws',
    () => {
      throw new Error('The directory is away.')
    },
  ],
  ['rejects', () => Promise.reject(new Error('The directory is away.'))],
])(
  'authenticate that %s: a clean failure for the caller, its reason on standard error',
  async (_, authenticate) => {
    const written = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
    onTestFinished(() => written.mockRestore())
    const { call } = await server({ authenticate })
    const response = await call('/agents')
    expect([response.status, await response.json()]).toMatchObject([500, { code: 'internal' }])
    expect(written.mock.calls.map(([text]) => text)).toEqual([
      expect.stringContaining('holdfast: a request failed: Error: The directory is away.'),
    ])
  },
)

test('authenticate that does not answer in time fails its request', async () => {
  const failures: unknown[] = []
  const authenticate = () => new Promise<never>(() => {})
  const { call } = await server({ authenticate, authTimeoutMs: 1, onError: (error) => failures.push(error) })
  const response = await call('/agents')
  expect([response.status, await response.json()]).toMatchObject([503, { code: 'auth-unavailable' }])
  expect(failures).toMatchObject([
    { cause: { message: expect.stringContaining('authenticate has not answered for 1 ms') } },
  ])
})

test.each<readonly [unknown, string]>([
  [{}, 'Invalid tenant: it is undefined'],
  [{ tenant: 'acme', actor: undefined }, 'Invalid actor: it is undefined'],
  [{ tenant: 'acme', actor: 'ann lee' }, 'Invalid actor: "ann lee"'],
  [{ tenant: 'acme', actor: 'ann', scopes: 'admin' }, 'scopes'],
  [{ tenant: 'acme', actor: 'ann', credentials: 'key' }, 'credentials'],
  ['Bearer key', 'It returned a text.'],
])('authenticate that returns %j is a fault of the server on every route', async (caller, why) => {
  const failures: unknown[] = []
  const authenticate = () => caller as Caller
  const { call } = await server({
    authenticate,
    mounts: [openai()],
    onError: (error) => failures.push(error),
  })
  const post = (path: string, body: unknown) =>
    call(path, {
      method: 'POST',
      body: JSON.stringify(body),
      headers: { 'content-type': 'application/json' },
    })
  const routes = [
    call('/agents'),
    call('/metrics'),
    call('/conversations'),
    call('/v1/models'),
    post('/conversations', { agent: 'a' }),
    post('/conversations/a:1/messages', { message: 'Hi' }),
  ]
  const statuses = (await Promise.all(routes)).map(({ status }) => status)
  expect(statuses).toEqual(routes.map(() => 500))
  expect(failures.map((failure) => (failure as Error).message)).toEqual(
    routes.map((): unknown => expect.stringContaining(why)),
  )
})

test('authenticate of JavaScript that returns null names no caller', async () => {
  const { call } = await server({ authenticate: () => null as unknown as undefined })
  expect((await call('/agents')).status).toBe(401)
})

test.each(['', ' ', '[]', '[{"type":"text","text":""}]'])(
  'an empty message is named as such: %j',
  async (text) => {
    const { call } = await server({})
    const body = `{"message":${text.startsWith('[') ? text : JSON.stringify(text)}}`
    const init = { method: 'POST', body, headers: { 'content-type': 'application/json' } }
    const response = await call('/conversations/a:1/messages', init)
    expect([response.status, await response.json()]).toMatchObject([
      400,
      { code: 'invalid-option', detail: expect.stringMatching(/^The message is empty\. Write a text/) },
    ])
  },
)

test('an empty Last-Event-ID is none: since counts', async () => {
  const { call, send, http } = await server({})
  await send()
  const stream = await call('/conversations/a:1/events?since=5', { headers: { 'last-event-id': '' } })
  for await (const { id } of frames(stream)) {
    expect(id).toBe(6)
    break
  }
  http.close()
})
