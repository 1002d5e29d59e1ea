/** A server, a client or a webhook that is given nothing, or something else, says what it takes; nothing falls open. */
import { expect, it } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import { createHost, embeddedEngine, webhook } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { apiKeyAuth, bearerAuth, createHttp, listen } from '../../../src/serve/http/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'

const store = memoryStore()
const host = createHost({ store, agents: { a: { model: ScriptedModel.forever('Hi.') } } })
const secret = 'x'.repeat(32)
const sha256 = '0'.repeat(64)
const none = undefined as never

it.each<readonly [what: string, make: () => unknown, why: string]>([
  ['createClient()', () => createClient(none), 'createClient() takes options as an object, not undefined'],
  ['createClient({})', () => createClient({} as never), 'createClient() needs `url`'],
  ['a client without an address', () => createClient({ url: none }), 'not undefined'],
  ['a client with another name for it', () => createClient({ baseURL: 'x' } as never), 'Write url instead'],
  [
    'a client with a promise of a token',
    () => createClient({ url: 'x', token: {} as never }),
    'token must be',
  ],
  [
    'a client whose address has no scheme',
    () => createClient({ url: 'localhost:4700' }),
    'url must begin with http:// or https://, not "localhost:4700"',
  ],
  ['a client with half an address', () => createClient({ url: '/api' }), 'must begin with http://'],
  ['apiKeyAuth()', () => apiKeyAuth(none), 'apiKeyAuth() takes a list of { sha256, tenant, actor }'],
  ['apiKeyAuth([undefined])', () => apiKeyAuth([none]), 'A key of apiKeyAuth() takes options as an object'],
  ['a key without an actor', () => apiKeyAuth([{ sha256, tenant: 'a' } as never]), 'needs actor'],
  ['a key as it is', () => apiKeyAuth([{ key: 'k' } as never]), 'Write sha256 instead'],
  ['bearerAuth()', () => bearerAuth(none), 'bearerAuth() takes options as an object, not undefined'],
  [
    'createHttp()',
    () => createHttp(none),
    'createHttp() needs a host first, made by createHost(), not undefined',
  ],
  ['createHttp(config)', () => createHttp({ agents: {} } as never), 'createHttp() needs a host first'],
  [
    'a mount that is a promise',
    () => createHttp(host, { mounts: [Promise.resolve() as never] }),
    'await those',
  ],
  [
    'a mount that is none',
    () => createHttp(host, { mounts: [none] }),
    'mounts must be protocols such as openai()',
  ],
  [
    'an origin with a path',
    () => createHttp(host, { cors: ['https://app.example/'] }),
    'cors must hold origins, not "https://app.example/". Write https://app.example.',
  ],
  ['every origin', () => createHttp(host, { cors: ['*'] }), 'not "*". Name each one'],
  ['a lost authenticate', () => createHttp(host, { authenticate: none }), 'authenticate must be a function'],
  ['listen()', () => listen(none, { port: 0 }), 'listen() needs a server first'],
  [
    'listen() of a promise',
    () => listen(createHttp(host) as never, { port: 0 }),
    'made by await createHttp(host)',
  ],
  ['webhook()', () => webhook(none), 'webhook() takes options as an object, not undefined'],
  ['a webhook without a secret', () => webhook({ url: 'https://a.example' } as never), 'needs `secret`'],
  ['a webhook without an address', () => webhook({ secret } as never), 'webhook() needs `url`'],
  ['a notice', () => webhook({ url: 'https://a.example', secret })(none), 'A webhook takes a notice'],
  [
    'embeddedEngine(null)',
    () => embeddedEngine(null as never),
    'embeddedEngine() takes options as an object',
  ],
  ['a host without a store', () => createHost({ agents: { a: {} } } as never), 'createHost() needs a store'],
  ['an agent', () => createHost({ store, agents: { a: none } }), 'The agent "a" must be a config'],
  ['a graph', () => createHost({ store, graphs: { a: none } }), 'The graph "a" must be a compiled graph'],
])('%s', async (_, make, why) => {
  await expect(async () => make()).rejects.toMatchObject({
    code: 'invalid-option',
    message: expect.stringContaining(why) as string,
  })
})
