/** Cards, security schemes, and the tasks of others. */
import { createHash } from 'node:crypto'
import { AgentCard } from '@a2a-js/sdk'
import { SignJWT } from 'jose'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Trust } from '../../../src/host/index.ts'
import { defineTool, memoryStore } from '../../../src/index.ts'
import { type A2aOptions, a2a } from '../../../src/serve/a2a/index.ts'
import { type Authenticate, apiKeyAuth, bearerAuth } from '../../../src/serve/http/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { open } from '../http/kit.ts'
import { CLIENTS, connect, officialClient, requestOf } from './clients.ts'

const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), run: () => 'seen' })
const VERSION = { 'a2a-version': '1.0' }

async function serve(authenticate?: Authenticate, options: A2aOptions = {}) {
  const agents = {
    helper: { model: new ScriptedModel(() => 'Hello.'), tools: [look] },
    other: ({ actor }: { actor: string }) => ({
      model: new ScriptedModel(() => 'Other.'),
      tools: [{ ...look, name: `look_for_${actor}` }],
    }),
  }
  return open(
    { store: memoryStore(), agents },
    { mounts: [await a2a(options)], ...(authenticate === undefined ? {} : { authenticate }) },
  )
}

const sha256 = (key: string): string => createHash('sha256').update(key).digest('hex')

/** Keys that are called like their owners. */
const keys = apiKeyAuth([
  { sha256: sha256('ann-key'), tenant: 'acme', actor: 'ann' },
  { sha256: sha256('ben-key'), tenant: 'acme', actor: 'ben' },
  { sha256: sha256('eve-key'), tenant: 'evil', actor: 'ann' },
])

const withHeaders =
  (headers: Record<string, string>): typeof fetch =>
  (input, init) =>
    fetch(input, { ...init, headers: { ...(init?.headers as Record<string, string>), ...headers } })

const asked = { jsonrpc: '2.0', id: 7, method: 'ListTasks', params: {} }

describe('a card', () => {
  test('says where the agent is, what it can do, and that nobody needs a token', async () => {
    const { call, url } = await serve(undefined, {
      agents: { helper: { description: 'Helps.', version: '2.1' } },
      provider: { organization: 'Acme', url: 'https://acme.example' },
    })
    const response = await call('/.well-known/agent-card.json', { headers: VERSION })
    const card = AgentCard.fromJSON(await response.json())
    expect(card).toMatchObject({
      name: 'helper',
      description: 'Helps.',
      version: '2.1',
      provider: { organization: 'Acme' },
      capabilities: { streaming: true, pushNotifications: false, extendedAgentCard: true },
      securitySchemes: {},
      skills: [{ id: 'look', description: 'Looks.', tags: ['tool'] }],
    })
    const at = `${url}/a2a/helper`
    expect(card.supportedInterfaces).toEqual([
      { url: at, protocolBinding: 'JSONRPC', protocolVersion: '1.0', tenant: '' },
      { url: at, protocolBinding: 'HTTP+JSON', protocolVersion: '1.0', tenant: '' },
      { url: at, protocolBinding: 'JSONRPC', protocolVersion: '0.3', tenant: '' },
    ])
  })

  test('is there for each agent, with the address that you give; without a version it is also one of 0.3', async () => {
    const { call } = await serve(keys, { url: 'https://agents.example/' })
    const response = await call('/a2a/other/.well-known/agent-card.json')
    expect(await response.json()).toMatchObject({
      name: 'other',
      url: 'https://agents.example/a2a/other',
      protocolVersion: '0.3',
      preferredTransport: 'JSONRPC',
      skills: [{ id: 'other' }],
      security: [{ apiKey: [] }, { bearer: [] }],
      securityRequirements: [{ schemes: { apiKey: {} } }, { schemes: { bearer: {} } }],
      securitySchemes: {
        apiKey: {
          type: 'apiKey',
          in: 'header',
          apiKeySecurityScheme: { location: 'header', name: 'X-API-Key' },
        },
        bearer: { type: 'http', httpAuthSecurityScheme: { scheme: 'bearer' } },
      },
    })
    expect((await call('/a2a/nobody/.well-known/agent-card.json')).status).toBe(404)
  })

  test('has the declared skills, and more for callers who are authenticated: the tools of their own agent', async () => {
    const { url, call } = await serve(keys, {
      agents: {
        helper: { skills: [{ id: 'orders', name: 'Orders', description: 'Finds orders.', tags: ['a'] }] },
        other: { extendedSkills: [{ id: 'x', name: 'X', description: 'X' }] },
      },
    })
    const declared = await call('/a2a/helper/.well-known/agent-card.json', { headers: VERSION })
    expect(await declared.json()).toMatchObject({ skills: [{ id: 'orders', tags: ['a'] }] })
    for (const name of ['JSONRPC', 'HTTP+JSON'] as const) {
      const fetchImpl = withHeaders({ 'x-api-key': 'ben-key' })
      const client = await officialClient(name, `${url}/a2a/other`, { fetchImpl })
      const { skills } = await client.getAgentCard()
      expect(skills.map(({ id }) => id)).toEqual(['x', 'look_for_ben'])
    }
  })

  test.each<[string, Trust, readonly string[]]>([
    ['open', 'open', ['look', 'pay']],
    ['public in part', { public: true }, ['look']],
    ['careful', 'careful', []],
    ['strict', { level: 'strict', principals: [{ tenant: 'acme' }] }, []],
  ])('of an agent that is %s has the tools that its reader may use', async (_, trust, seen) => {
    const tools = [
      { ...look, public: true as const },
      { ...look, name: 'pay' },
    ]
    const agents = { helper: { model: new ScriptedModel(() => 'Hello.'), tools, trust } }
    const options = {
      agents: { helper: { extendedSkills: [{ id: 'secret', name: 'Secret', description: 'S.' }] } },
    }
    const { call } = await open(
      { store: memoryStore(), agents },
      { authenticate: keys, mounts: [await a2a(options)] },
    )
    const skills = async (path: string, headers: Record<string, string> = {}): Promise<string[]> => {
      const response = await call(path, { headers: { ...VERSION, ...headers } })
      return response.ok ? AgentCard.fromJSON(await response.json()).skills.map(({ id }) => id) : ['refused']
    }
    // An agent without skills to show is a skill itself.
    const shown = seen.length === 0 ? ['helper'] : seen
    const card = '/a2a/helper/.well-known/agent-card.json'
    const extended = '/a2a/helper/extendedAgentCard'
    expect(await skills(card)).toEqual(shown)
    expect(await skills(extended)).toEqual(seen.length === 0 ? ['refused'] : shown)
    const known = { 'x-api-key': 'ann-key' }
    expect(await skills(card, known)).toEqual(shown)
    expect(await skills(extended, known)).toEqual(['secret', 'look', 'pay'])
  })

  test('needs the schemes of an authentication of your own, and names of the host', async () => {
    const own: Authenticate = () => ({ tenant: 't', actor: 'a' })
    await expect(serve(own)).rejects.toThrow(/securitySchemes/)
    await expect(serve(undefined, { agents: { helpr: {} } })).rejects.toThrow(/"helpr"/)
    const { call } = await serve(own, { securitySchemes: { mtls: { type: 'mutualTLS' } } })
    const response = await call('/.well-known/agent-card.json', { headers: VERSION })
    expect(await response.json()).toMatchObject({ securitySchemes: { mtls: { mtlsSecurityScheme: {} } } })
  })
})

describe('every scheme of the card', () => {
  const secret = 'a secret of at least thirty-two bytes'
  const token = (claims: object, key = secret) =>
    new SignJWT({ tenant: 'acme', ...claims })
      .setProtectedHeader({ alg: 'HS256' })
      .setSubject('ann')
      .setIssuer('iss')
      .setAudience('aud')
      .setExpirationTime('1h')
      .sign(new TextEncoder().encode(key))

  async function statuses(authenticate: Authenticate, all: readonly Record<string, string>[]) {
    const { call } = await serve(authenticate)
    const found: unknown[] = []
    for (const headers of all) {
      const rpc = await call('/a2a/helper', { json: asked, headers: { ...VERSION, ...headers } })
      const rest = await call('/a2a/helper/tasks', { headers: { ...VERSION, ...headers } })
      const old = await call('/a2a/helper', {
        json: { ...asked, method: 'tasks/get', params: { id: 'a.1' } },
        headers,
      })
      expect((await call('/.well-known/agent-card.json')).status).toBe(200)
      found.push([rpc.status, rest.status, old.status])
      for (const response of [rpc, rest, old].filter(({ status }) => status === 401)) {
        expect(response.headers.get('www-authenticate')).toBe('Bearer')
        expect(await response.json()).toMatchObject({ error: { message: 'Send a valid token or key.' } })
      }
    }
    return found
  }

  const [open_, closed] = [
    [200, 200, 200],
    [401, 401, 401],
  ]

  test('apiKey and bearer of API keys', async () => {
    expect(Object.keys(keys.schemes ?? {})).toEqual(['apiKey', 'bearer'])
    expect(
      await statuses(keys, [
        { 'x-api-key': 'ann-key' },
        { 'x-api-key': 'wrong' },
        { authorization: 'Bearer ann-key' },
        { authorization: 'Bearer wrong' },
        { authorization: 'Basic ann-key' },
        {},
      ]),
    ).toEqual([open_, closed, open_, closed, closed, closed])
  })

  test('bearer of JWTs', async () => {
    const authenticate = await bearerAuth({ secret, issuer: 'iss', audience: 'aud' })
    expect(authenticate.schemes).toEqual({ bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } })
    const bearer = async (claims: object, key?: string) => ({
      authorization: `Bearer ${await token(claims, key)}`,
    })
    expect(
      await statuses(authenticate, [
        await bearer({}),
        await bearer({}, 'another secret of thirty-two bytes'),
        await bearer({ tenant: '' }),
        { authorization: 'Bearer e30.e30.' },
        {},
      ]),
    ).toEqual([open_, closed, closed, closed, closed])
  })
})

describe('a task of another', () => {
  test.each(CLIENTS)('is not found, exactly as one that does not exist: %s', async (name) => {
    const { url } = await serve(keys)
    const at = `${url}/a2a/helper`
    const as = (who: string) => connect(name, at, withHeaders({ 'x-api-key': `${who}-key` }))
    const ann = await as('ann')
    const { taskId } = await ann.send({ text: 'Hi', contextId: 'c' })
    expect(taskId).toBe('c.1')
    const failure = async (work: Promise<unknown>): Promise<string> =>
      work.then(
        () => 'found',
        (error: Error & { code?: number }) =>
          `${error.name} ${error.code} ${error.message}`.replaceAll('unknown.1', 'c.1'),
      )
    for (const who of ['ben', 'eve']) {
      const client = await as(who)
      for (const operation of [
        (id: string) => client.get(id),
        (id: string) => client.cancel(id),
        (id: string) => client.subscribe(id).next(),
        (id: string) => client.send({ text: 'Mine now', taskId: id }),
      ]) {
        const foreign = await failure(operation('c.1'))
        expect(foreign).toMatch(/not found/i)
        expect(foreign).toBe(await failure(operation('unknown.1')))
      }
    }
    expect(await ann.get('c.1')).toMatchObject({ state: 'completed' })
    for (const id of ['c.2', 'c.99', 'c', '../c.1', 'c.1.1'])
      expect(await failure(ann.get(id))).not.toBe('found')
  })

  test('is in no list of others; a tenant that is not the caller’s has no tasks', async () => {
    const { url } = await serve(keys)
    const as = (who: string) =>
      officialClient('HTTP+JSON', `${url}/a2a/helper`, {
        fetchImpl: withHeaders({ 'x-api-key': `${who}-key` }),
      })
    const [ann, ben, eve] = [await as('ann'), await as('ben'), await as('eve')]
    await ann.sendMessage(requestOf({ text: 'Hi', contextId: 'c' }))
    const list = async (client: typeof ann, tenant = '') => {
      const query = { contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }
      return (await client.listTasks({ tenant, ...query })).tasks.map(({ id }) => id)
    }
    expect(await list(ann)).toEqual(['c.1'])
    expect(await list(ann, 'acme')).toEqual(['c.1'])
    for (const [client, tenant] of [[ben], [eve], [eve, 'acme'], [ann, 'evil']] as const)
      expect(await list(client, tenant)).toEqual([])
    await expect(eve.getTask({ id: 'c.1', tenant: 'acme' })).rejects.toThrow(/not found/)
    const foreign = { ...requestOf({ text: 'Hi' }), tenant: 'acme' }
    await expect(eve.sendMessage(foreign)).rejects.toThrow(/not yours/)
    await expect(eve.sendMessageStream(foreign).next()).rejects.toThrow(/not yours/)
    const path = await fetch(`${url}/a2a/helper/acme/message:send`, {
      method: 'POST',
      headers: { ...VERSION, 'content-type': 'application/json', 'x-api-key': 'eve-key' },
      body: JSON.stringify({ message: { messageId: 'm', role: 'ROLE_USER', parts: [{ text: 'Hi' }] } }),
    })
    expect(await path.json()).toMatchObject({
      error: { message: expect.stringContaining('not yours') as string },
    })
  })
})

test('wrong requests fail in the form of the protocol', async () => {
  const { call } = await serve()
  const rpc = async (json: unknown, headers: Record<string, string> = VERSION) => {
    const response = await call('/a2a/helper', { json, headers })
    const { error, id } = (await response.json()) as { error?: { code: number }; id: unknown }
    return [response.status, id, error?.code]
  }
  expect(await rpc({ ...asked, method: 'Nonsense' })).toEqual([200, 7, -32601])
  expect(await rpc(asked, { 'a2a-version': '9.9' })).toEqual([200, 7, -32009])
  expect(await rpc({ ...asked, jsonrpc: '1.0' })).toEqual([200, 7, -32602])
  expect(await rpc({ ...asked, method: 'SendMessage', params: {} })).toEqual([200, 7, -32602])
  expect(
    await rpc({ ...asked, method: 'CreateTaskPushNotificationConfig', params: { taskId: 'x.1' } }),
  ).toEqual([200, 7, -32003])
  const bad = await call('/a2a/helper', {
    method: 'POST',
    body: '{',
    headers: { ...VERSION, 'content-type': 'application/json' },
  })
  expect([bad.status, await bad.json()]).toMatchObject([
    400,
    { jsonrpc: '2.0', id: null, error: { code: -32700 } },
  ])
  const nobody = await call('/a2a/nobody', { json: asked, headers: VERSION })
  expect([nobody.status, await nobody.json()]).toMatchObject([404, { id: 7, error: { code: -32600 } }])
  const rest = async (path: string, init: RequestInit = {}) => {
    const response = await call(`/a2a/helper/${path}`, { headers: VERSION, ...init })
    const { error } = (await response.json()) as { error: { code: number; status: string } }
    return [response.status, error.code, error.status]
  }
  expect(await rest('tasks/x.1')).toEqual([404, 404, 'NOT_FOUND'])
  expect(await rest('nonsense/a/b')).toEqual([400, 400, 'FAILED_PRECONDITION'])
  expect(await rest('tasks/%E0%A4%A')).toEqual([400, 400, 'INVALID_ARGUMENT'])
  expect(await rest('tasks?pageSize=x')).toEqual([400, 400, 'INVALID_ARGUMENT'])
  expect(await rest('tasks?status=RUNNING')).toEqual([400, 400, 'INVALID_ARGUMENT'])
  expect(await rest('tasks/x.1', { headers: {} })).toEqual([400, 400, 'FAILED_PRECONDITION'])
  const message = { messageId: 'm', role: 'ROLE_USER' }
  for (const parts of [[null], [{ raw: 5 }]]) {
    const params = { message: { ...message, parts } }
    expect(await rpc({ ...asked, method: 'SendMessage', params })).toEqual([200, 7, -32602])
    expect(await rpc({ ...asked, method: 'message/send', params }, {})).toEqual([200, 7, -32602])
    for (const method of ['message:send', 'message:stream']) {
      const init = { headers: { ...VERSION, 'content-type': 'application/json' }, method: 'POST' }
      expect(await rest(method, { ...init, body: JSON.stringify(params) })).toEqual([
        400,
        400,
        'INVALID_ARGUMENT',
      ])
    }
  }
  const secret = { ...message, parts: [{ text: 'Hi' }], metadata: { credentials: 'sk-12345678' } }
  const wrong = { ...asked, method: 'SendMessage', params: { message: secret } }
  const answer = await (await call('/a2a/helper', { json: wrong, headers: VERSION })).json()
  expect(answer).toMatchObject({
    error: { message: 'metadata.credentials of the message must be an object.' },
  })
})
