import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import { serve } from '@hono/node-server'
import {
  exportJWK,
  type GenerateKeyPairResult,
  generateKeyPair,
  type JWTHeaderParameters,
  SignJWT,
  UnsecuredJWT,
} from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createHost } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { apiKeyAuth, bearerAuth, createHttp } from '../../../src/serve/http/index.ts'
import { openai } from '../../../src/serve/openai/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { open } from './kit.ts'

const ISSUER = 'https://issuer.example'
const AUDIENCE = 'holdfast'
const SECRET = 'a secret that has at least 32 bytes'

interface Claims {
  readonly sub?: string
  readonly tenant?: string
}

let keys: GenerateKeyPairResult
let others: GenerateKeyPairResult
let jwks: { readonly url: string; readonly close: () => void }

beforeAll(async () => {
  keys = await generateKeyPair('RS256')
  others = await generateKeyPair('RS256')
  const published = { ...(await exportJWK(keys.publicKey)), kid: 'one', alg: 'RS256', use: 'sig' }
  const server = serve({
    fetch: () => Response.json({ keys: [published] }),
    port: 0,
    hostname: '127.0.0.1',
    overrideGlobalObjects: false,
  })
  await new Promise<void>((resolve) => server.once('listening', resolve))
  jwks = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/keys`,
    close: () => server.close(),
  }
})

afterAll(() => jwks.close())

function token(
  claims: Claims,
  change: (jwt: SignJWT) => SignJWT = (jwt) => jwt,
  header: JWTHeaderParameters = { alg: 'RS256', kid: 'one' },
): SignJWT {
  return change(
    new SignJWT({ tenant: claims.tenant ?? 'acme' })
      .setProtectedHeader(header)
      .setSubject(claims.sub ?? 'ann')
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setExpirationTime('5m'),
  )
}

async function opened() {
  const served = await open(
    {
      store: memoryStore(),
      agents: { a: () => ({ model: new ScriptedModel(['Secret of Ann.', 'x', 'y']) }) },
    },
    {
      authenticate: await bearerAuth({ jwksUrl: jwks.url, issuer: ISSUER, audience: AUDIENCE }),
      authFailuresPerMinute: 10_000,
    },
  )
  const ann = await token({}).sign(keys.privateKey)
  const as =
    (bearer: string | undefined) =>
    (path: string, init: Parameters<typeof served.call>[1] = {}) =>
      served.call(path, {
        ...init,
        headers: {
          ...(init.headers as object),
          ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
        },
      })
  const sent = await as(ann)('/conversations/a:1/messages?wait=true', { json: { message: 'Hi' } })
  expect(sent.status).toBe(200)
  return { ...served, as, ann }
}

/** A request for every operation of the document. */
function operations(
  document: unknown,
): { name: string; method: string; path: string; json?: unknown; isPublic: boolean }[] {
  const { paths } = document as {
    paths: Record<
      string,
      Record<string, { operationId: string; security?: unknown[]; requestBody?: unknown }>
    >
  }
  const bodies: Record<string, unknown> = {
    createConversation: { agent: 'a' },
    send: { message: 'Hi' },
    answer: { answers: { x: true } },
    cancel: {},
    fork: {},
  }
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, { operationId: name, security }]) => ({
      name,
      method: method.toUpperCase(),
      path: path.replace('{artifact}', 'receipt'),
      isPublic: security?.length === 0,
      ...(name in bodies ? { json: bodies[name] } : {}),
    })),
  )
}

describe('callers', () => {
  test('every operation needs one, and a false one is nobody', async () => {
    const { http, as } = await opened()
    const shared = new TextEncoder().encode(JSON.stringify(await exportJWK(keys.publicKey)))
    const forged: Record<string, string | undefined> = {
      none: undefined,
      garbage: 'garbage',
      unsigned: new UnsecuredJWT({ tenant: 'acme', sub: 'ann', iss: ISSUER, aud: AUDIENCE })
        .setExpirationTime('5m')
        .encode(),
      'another key': await token({}).sign(others.privateKey),
      expired: await token({}, (jwt) => jwt.setExpirationTime('-1m')).sign(keys.privateKey),
      'without an end': await new SignJWT({ tenant: 'acme' })
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setSubject('ann')
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .sign(keys.privateKey),
      'another audience': await token({}, (jwt) => jwt.setAudience('other')).sign(keys.privateKey),
      'another issuer': await token({}, (jwt) => jwt.setIssuer('https://evil.example')).sign(keys.privateKey),
      'the public key as a secret': await token({}, undefined, { alg: 'HS256', kid: 'one' }).sign(shared),
      'no tenant': await new SignJWT({})
        .setProtectedHeader({ alg: 'RS256', kid: 'one' })
        .setSubject('ann')
        .setIssuer(ISSUER)
        .setAudience(AUDIENCE)
        .setExpirationTime('5m')
        .sign(keys.privateKey),
    }
    const tried = operations(http.document)
    expect(tried.length).toBeGreaterThan(18)
    for (const { name, path, method, json, isPublic } of tried) {
      for (const [kind, bearer] of Object.entries(forged)) {
        const response = await as(bearer)(
          path.replace('{id}', 'a:1'),
          json === undefined ? { method } : { json },
        )
        const text = await response.text()
        expect([name, kind, response.status]).toEqual([name, kind, isPublic ? 200 : 401])
        expect(text).not.toContain('Ann')
      }
    }
  })

  test('a conversation of another actor or tenant looks like one that does not exist', async () => {
    const { http, as } = await opened()
    const strangers = [
      await token({ sub: 'bob' }).sign(keys.privateKey),
      await token({ tenant: 'other' }).sign(keys.privateKey),
    ]
    for (const { name, path, method, json, isPublic } of operations(http.document)) {
      // A message begins a conversation of the stranger's own under the same id.
      if (isPublic || !path.includes('{id}') || name === 'send') continue
      for (const stranger of strangers) {
        const answers = await Promise.all(
          ['a:1', 'a:unknown'].map(async (id) => {
            const response = await as(stranger)(
              path.replace('{id}', id),
              json === undefined ? { method } : { json },
            )
            const headers = [...response.headers].filter(([header]) => header !== 'date')
            return [response.status, headers, await response.text()]
          }),
        )
        expect(answers[0]).toEqual(answers[1])
        expect([name, answers[0]?.[0]]).toEqual([name, 404])
      }
    }
    const [bob] = strangers
    await as(bob)('/conversations/a:1/messages?wait=true', { json: { message: 'Mine' } })
    const mine = await (await as(bob)('/conversations/a:1/entries')).text()
    expect(mine).toContain('Mine')
    expect(mine).not.toContain('"Hi"')
  })

  test.each([
    ['are out of reach', 'http://127.0.0.1:1/keys'],
    ['are no keys', 'data:application/json,{}'],
  ])('a token is neither right nor wrong while the keys of its issuer %s', async (_, jwksUrl) => {
    const failures: unknown[] = []
    const http = await createHttp(
      createHost({ store: memoryStore(), agents: { a: { model: new ScriptedModel(['x']) } } }),
      {
        authenticate: await bearerAuth({ jwksUrl, issuer: ISSUER, audience: AUDIENCE }),
        authFailuresPerMinute: 2,
        onError: (error) => failures.push(error),
      },
    )
    const get = (bearer: string) =>
      http.fetch(new Request('http://localhost/agents', { headers: { authorization: `Bearer ${bearer}` } }), {
        address: '203.0.113.7',
      })
    const right = await token({}).sign(keys.privateKey)
    for (let at = 0; at < 4; at++) {
      const response = await get(right)
      expect([response.status, await response.json()]).toMatchObject([503, { code: 'auth-unavailable' }])
      expect(response.headers.get('retry-after')).toBe('1')
    }
    expect(failures).toHaveLength(4)
    expect((await get('garbage')).status).toBe(401)
  })

  test('keys are known by their hash, in either header', async () => {
    const key = 'hf_0123456789'
    const sha256 = createHash('sha256').update(key).digest('hex')
    const { call } = await open(
      { store: memoryStore(), agents: { a: { model: new ScriptedModel(['x']) } } },
      { authenticate: apiKeyAuth([{ sha256, tenant: 'acme', actor: 'ci' }]) },
    )
    const status = async (headers: Record<string, string>) => (await call('/agents', { headers })).status
    expect(await status({ 'x-api-key': key })).toBe(200)
    expect(await status({ authorization: `Bearer ${key}` })).toBe(200)
    expect(await status({ 'x-api-key': sha256 })).toBe(401)
    expect(await status({ 'x-api-key': `${key} ` })).toBe(200)
    expect(await status({})).toBe(401)
  })

  test('a shared secret signs, and must be long', async () => {
    const authenticate = await bearerAuth({ secret: SECRET, issuer: ISSUER, audience: AUDIENCE })
    const signed = await token({}, undefined, { alg: 'HS256' }).sign(new TextEncoder().encode(SECRET))
    const request = (bearer: string) =>
      new Request('http://x', { headers: { authorization: `Bearer ${bearer}` } })
    expect(await authenticate(request(signed))).toEqual({ tenant: 'acme', actor: 'ann' })
    expect(await authenticate(request(`${signed}x`))).toBeUndefined()
    await expect(bearerAuth({ secret: 'short', issuer: ISSUER, audience: AUDIENCE })).rejects.toThrow(
      '32 bytes',
    )
    await expect(bearerAuth({ issuer: ISSUER, audience: AUDIENCE })).rejects.toThrow(
      'either jwksUrl or secret',
    )
  })

  test('requests of a caller are limited, with the time to wait', async () => {
    const { call } = await open(
      { store: memoryStore(), agents: { a: { model: new ScriptedModel(['x']) } } },
      { requestsPerMinute: 3 },
    )
    const statuses: number[] = []
    for (let at = 0; at < 5; at++) statuses.push((await call('/agents')).status)
    expect(statuses).toEqual([200, 200, 200, 429, 429])
    expect(Number((await call('/agents')).headers.get('retry-after'))).toBeGreaterThan(0)
  })

  test('a page of another origin is refused unless it is listed', async () => {
    const { call } = await open(
      { store: memoryStore(), agents: { a: { model: new ScriptedModel(['x']) } } },
      { cors: ['https://app.example'] },
    )
    const allowed = async (origin: string) => {
      const response = await call('/agents', { headers: { origin } })
      return response.headers.get('access-control-allow-origin')
    }
    expect(await allowed('https://app.example')).toBe('https://app.example')
    expect(await allowed('https://evil.example')).toBeNull()
    const preflight = await call('/agents', {
      method: 'OPTIONS',
      headers: { origin: 'https://evil.example' },
    })
    expect(preflight.status).toBe(403)
  })

  test('a page of another origin changes nothing, also with a request that browsers send without asking', async () => {
    const model = new ScriptedModel([{ stall: true, after: 'Hm' }])
    const { call, host, url } = await open(
      { store: memoryStore(), agents: { a: { model } } },
      { cors: ['https://app.example'], mounts: [openai()] },
    )
    const key = { tenant: 'local', actor: 'local', contextId: 'a:1' }
    const turn = await host.send(key, 'Hi')
    for await (const { type } of turn) if (type === 'turn.start') break
    const response = `resp_${Buffer.from('1.a:1').toString('base64url')}`
    const cancel = (headers: Record<string, string>, path = `/v1/responses/${response}/cancel`) =>
      call(path, { method: 'POST', headers: { 'content-type': 'text/plain', ...headers }, body: 'x' })
    const site = 'sec-fetch-site'
    const foreign: Record<string, string>[] = [
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { origin: 'http://localhost:1' },
      { origin: url, [site]: 'cross-site' },
      { [site]: 'same-site' },
    ]
    for (const headers of foreign) expect([headers, (await cancel(headers)).status]).toEqual([headers, 403])
    const refused = await cancel({ origin: 'https://evil.example' })
    expect(await refused.json()).toMatchObject({ error: { code: 'forbidden' } })
    expect((await cancel({ origin: 'null' }, '/conversations/a:1/cancel')).status).toBe(403)
    const erased = await call('/conversations/a:1', { method: 'DELETE', headers: { origin: 'null' } })
    expect(erased.status).toBe(403)
    expect((await host.reads.info(key))?.status).toBe('running')
    // The last of them is a page of this server behind a proxy that changes the name of the host.
    const own: Record<string, string>[] = [
      {},
      { origin: url },
      { origin: url.replace('http:', 'https:') },
      { origin: 'https://app.example' },
      { origin: 'https://app.example', [site]: 'cross-site' },
      { origin: 'https://outside.example', [site]: 'same-origin' },
    ]
    for (const headers of own) expect([headers, (await cancel(headers)).status]).toEqual([headers, 200])
  })
})
