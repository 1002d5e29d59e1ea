/** The levels of trust through every protocol: known, listed and unknown callers, refused in the protocol's own form. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, memoryStore } from '../../src/index.ts'
import { remoteAgent } from '../../src/remote/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { agUi } from '../../src/serve/ag-ui/index.ts'
import { apiKeyAuth } from '../../src/serve/http/index.ts'
import { openai } from '../../src/serve/openai/index.ts'
import { uiMessageStream } from '../../src/serve/ui/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { type Opened, open } from './http/kit.ts'

const sha256 = (key: string): string => createHash('sha256').update(key).digest('hex')
const authenticate = apiKeyAuth([
  { sha256: sha256('ann-key'), tenant: 'acme', actor: 'ann' },
  { sha256: sha256('bob-key'), tenant: 'acme', actor: 'bob' },
])
const CALLERS = { known: { 'x-api-key': 'ann-key' }, listed: { 'x-api-key': 'bob-key' }, unknown: {} }
type CallerName = keyof typeof CALLERS
const NAMES = Object.keys(CALLERS) as CallerName[]

const LEVELS = {
  open: 'open',
  careful: 'careful',
  public: { public: true },
  strict: { level: 'strict', principals: [{ tenant: 'acme', actor: 'bob' }] },
} as const
const ADMITTED: Record<keyof typeof LEVELS, readonly CallerName[]> = {
  open: NAMES,
  careful: ['known', 'listed'],
  public: NAMES,
  strict: ['listed'],
}
const agentsFor = (who: CallerName): string[] =>
  Object.entries(ADMITTED).flatMap(([name, admitted]) => (admitted.includes(who) ? [name] : []))

const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), run: () => 'seen' })

async function serve(): Promise<Opened> {
  const agents = Object.fromEntries(
    Object.entries(LEVELS).map(([name, trust]) => [
      name,
      { model: new ScriptedModel(() => 'Hello.'), tools: [look], trust },
    ]),
  )
  return open(
    { store: memoryStore(), agents },
    { authenticate, mounts: [await a2a(), openai(), uiMessageStream(), agUi()] },
  )
}

const V1 = { 'a2a-version': '1.0' }
const message = { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] }
const HELLO: unknown = expect.stringContaining('Hello.')
const refused = (name: string): unknown => expect.stringContaining(`"${name}" answers`)

interface Form {
  readonly path: (name: string) => string
  readonly json: (name: string) => object
  readonly headers?: Record<string, string>
  readonly refusal: (name: string) => object
}

const rpc = (method: string): Form => ({
  path: (name) => `/a2a/${name}`,
  json: () => ({ jsonrpc: '2.0', id: 7, method, params: { message } }),
  headers: V1,
  refusal: (name) => ({ jsonrpc: '2.0', id: 7, error: { message: refused(name) } }),
})
const rest = (operation: string): Form => ({
  path: (name) => `/a2a/${name}/message:${operation}`,
  json: () => ({ message }),
  headers: V1,
  refusal: (name) => ({ error: { code: 403, status: 'PERMISSION_DENIED', message: refused(name) } }),
})
const ofOpenai = (path: string, input: object): Form => ({
  path: () => path,
  json: (name) => ({ model: name, ...input }),
  refusal: (name) => ({ error: { type: 'permission_error', code: 'forbidden', message: refused(name) } }),
})

const FORMS: Record<string, Form> = {
  HTTP: {
    path: (name) => `/conversations/${name}:1/messages?wait=true`,
    json: () => ({ message: 'Hi' }),
    refusal: (name) => ({ status: 403, code: 'forbidden', detail: refused(name) }),
  },
  'A2A JSON-RPC': rpc('SendMessage'),
  'A2A JSON-RPC, streamed': rpc('SendStreamingMessage'),
  'A2A HTTP+JSON': rest('send'),
  'A2A HTTP+JSON, streamed': rest('stream'),
  'A2A 0.3': {
    path: (name) => `/a2a/${name}`,
    json: () => ({
      jsonrpc: '2.0',
      id: 7,
      method: 'message/send',
      params: {
        message: { kind: 'message', messageId: 'm', role: 'user', parts: [{ kind: 'text', text: 'Hi' }] },
      },
    }),
    refusal: (name) => ({ jsonrpc: '2.0', id: 7, error: { message: refused(name) } }),
  },
  'OpenAI chat': ofOpenai('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }),
  'OpenAI responses': ofOpenai('/v1/responses', { input: 'Hi' }),
}

test.each(Object.entries(FORMS))('%s', async (_, { path, json, headers = {}, refusal }) => {
  const { call, host } = await serve()
  for (const [name, admitted] of Object.entries(ADMITTED))
    for (const who of NAMES) {
      const response = await call(path(name), { json: json(name), headers: { ...headers, ...CALLERS[who] } })
      const text = await response.text()
      const expected: unknown[] = admitted.includes(who) ? [200, HELLO] : [403, refusal(name)]
      expect([response.status, response.ok ? text : JSON.parse(text)]).toMatchObject(expected)
    }
  expect(host.refusals.map(({ name }) => name)).toEqual(['careful', 'strict', 'strict'])
})

test('lists and messages name only the agents that the caller may talk to', async () => {
  const { call } = await serve()
  for (const who of NAMES) {
    const headers = CALLERS[who]
    expect(await (await call('/agents', { headers })).json()).toMatchObject({ agents: agentsFor(who) })
    const models = (await (await call('/v1/models', { headers })).json()) as { data: { id: string }[] }
    expect(models.data.map(({ id }) => id)).toEqual(agentsFor(who))
    for (const name of Object.keys(LEVELS))
      expect((await call(`/v1/models/${name}`, { headers })).status).toBe(
        agentsFor(who).includes(name) ? 200 : 404,
      )
    const unknown = [
      ['/conversations', { agent: 'nobody' }],
      ['/conversations/nobody:1/messages', { message: 'Hi' }],
      ['/ui/agents/nobody/chat', { id: 'c', messages: [{ id: 'm', role: 'user', parts: [] }] }],
      ['/ag-ui/nobody', { threadId: 't', runId: 'r', messages: [] }],
    ] as const
    for (const [path, json] of unknown) {
      const response = await call(path, { headers, json })
      const names = agentsFor(who).map((name) => JSON.stringify(name))
      expect([response.status, await response.json()]).toMatchObject([
        404,
        {
          code: 'not-found',
          detail: `There is no agent or graph "nobody". You may use ${names.join(', ')}.`,
        },
      ])
    }
    for (const name of ['nobody', 'open:1']) {
      const unknownA2a = await call(`/a2a/${name}/tasks`, { headers: { ...V1, ...headers } })
      expect(unknownA2a.status).toBe(404)
      expect(await unknownA2a.text()).toContain('You may use')
    }
    const below = await call('/conversations/open:1%2Fchild', { headers })
    expect(await below.json()).toMatchObject({
      status: 404,
      detail: 'There is no such conversation. It begins with its first message.',
    })
    const nobody = { model: 'nobody', messages: [{ role: 'user', content: 'Hi' }] }
    for (const response of [
      await call('/v1/models/nobody', { headers }),
      await call('/v1/chat/completions', { headers, json: nobody }),
    ]) {
      expect(response.status).toBe(404)
      expect(await response.text()).toContain(`There are ${agentsFor(who).join(', ')}.`)
    }
  }
})

test('the extended card of an agent is for the callers that it answers', async () => {
  const { call } = await serve()
  const skills = async (path: string, headers = {}) => {
    const response = await call(path, { headers: { ...V1, ...headers } })
    if (response.status !== 200) return response.status
    return ((await response.json()) as { skills: { id: string }[] }).skills.map(({ id }) => id)
  }
  for (const [name, admitted] of Object.entries(ADMITTED))
    for (const who of NAMES)
      expect(await skills(`/a2a/${name}/extendedAgentCard`, CALLERS[who])).toEqual(
        // Its only tool is not public.
        admitted.includes(who) ? [name === 'public' && who === 'unknown' ? 'public' : 'look'] : 403,
      )
})

test.each([
  ['is not dialled if it is not listed', [], 0],
  ['is dialled if it is listed', ['https://agents.example/'], 1],
])('a remote agent of a strict agent %s', async (_, remotes, expected) => {
  const dialled: string[] = []
  const ring = remoteAgent({
    name: 'ring',
    description: 'Rings.',
    url: 'https://agents.example/ring',
    fetch: async (input) => {
      dialled.push((input as URL).href)
      return new Response(null, { status: 404 })
    },
  })
  const model = new ScriptedModel([{ calls: [{ tool: 'ring', args: { message: 'Hi' } }] }, 'Done.'])
  const trust = { level: 'strict', principals: [{ tenant: 'local' }], remotes } as const
  const { call } = await open(
    { store: memoryStore(), agents: { desk: { model, tools: [ring], trust } } },
    { mounts: [await a2a()] },
  )
  const response = await call('/a2a/desk/message:send', { json: { message }, headers: V1 })
  expect(await response.text()).toContain('Done.')
  expect(dialled).toHaveLength(expected)
})
