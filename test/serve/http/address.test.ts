/** Limits for callers that are not authenticated yet, by address. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createHost } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { apiKeyAuth, createHttp, type HttpOptions } from '../../../src/serve/http/index.ts'
import { RateLimit } from '../../../src/serve/http/limits.ts'
import { ManualClock, ScriptedModel } from '../../../src/testing/index.ts'
import { open } from './kit.ts'

const config = () => ({ store: memoryStore(), agents: { a: { model: new ScriptedModel([]) } } })
const sha256 = (key: string) => createHash('sha256').update(key).digest('hex')
const authenticate = apiKeyAuth(
  ['one', 'two'].map((key) => ({ sha256: sha256(key), tenant: 'acme', actor: key })),
)

interface Call {
  readonly key?: string
  readonly address?: string
  readonly forwarded?: string
  readonly path?: string
}

async function caller(options: HttpOptions = {}) {
  const http = await createHttp(createHost(config()), {
    authenticate,
    authFailuresPerMinute: 3,
    ...options,
  })
  return async ({ key, address = '203.0.113.7', forwarded, path = '/agents' }: Call): Promise<number> => {
    const headers = {
      ...(key === undefined ? {} : { 'x-api-key': key }),
      ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }),
    }
    const response = await http.fetch(new Request(`http://localhost${path}`, { headers }), { address })
    return response.status
  }
}

async function times(count: number, call: () => Promise<number>): Promise<number[]> {
  const statuses: number[] = []
  for (let at = 0; at < count; at++) statuses.push(await call())
  return statuses
}

describe('failed authentications', () => {
  test('of one address are limited, and no guess is tried after that', async () => {
    let tried = 0
    const call = await caller({
      authenticate: (request) => {
        tried += 1
        return authenticate(request)
      },
    })
    expect(await times(5, () => call({ key: 'guess' }))).toEqual([401, 401, 401, 429, 429])
    expect(await call({})).toBe(429)
    expect(await call({ key: 'one' })).toBe(429)
    expect(tried).toBe(3)
    expect(await call({ key: 'guess', address: '203.0.113.8' })).toBe(401)
    expect(await call({ path: '/health' })).toBe(200)
  })

  test('are bounded when they come at once', async () => {
    const call = await caller()
    const statuses = await Promise.all(Array.from({ length: 20 }, () => call({ key: 'guess' })))
    expect(statuses.filter((status) => status === 401)).toHaveLength(3)
  })

  test('lock out no caller of the same address that was authenticated before', async () => {
    const call = await caller()
    expect(await times(10, () => call({ key: 'one' }))).toEqual(Array.from({ length: 10 }, () => 200))
    await times(4, () => call({ key: 'guess' }))
    expect([await call({ key: 'one' }), await call({ key: 'two' })]).toEqual([200, 429])
  })

  test('are limited for a caller of your own kind, whose credentials are in another header', async () => {
    const http = await createHttp(createHost(config()), {
      authFailuresPerMinute: 3,
      authenticate: ({ headers }) =>
        headers.get('x-session') === 'right' ? { tenant: 'acme', actor: 'ann' } : undefined,
    })
    const call = async (session: string) => {
      const request = new Request('http://localhost/agents', { headers: { 'x-session': session } })
      return (await http.fetch(request, { address: '203.0.113.7' })).status
    }
    expect(await times(5, () => call('right'))).toEqual([200, 200, 200, 200, 200])
    expect(await times(4, () => call('guess'))).toEqual([401, 401, 401, 429])
  })

  test('count for the network of an IPv6 address, and for an IPv4 address in either form', async () => {
    const call = await caller()
    const from = (address: string) => call({ key: 'guess', address })
    await times(3, () => from('2001:db8:1:2::1'))
    expect(await from('2001:db8:1:2:ffff::9')).toBe(429)
    expect(await from('2001:db8:1:3::1')).toBe(401)
    await times(3, () => from('::ffff:198.51.100.1'))
    expect(await from('198.51.100.1')).toBe(429)
    expect(await from('::ffff:198.51.100.2')).toBe(401)
  })

  test('are counted by X-Forwarded-For only behind proxies, as the last of them wrote it', async () => {
    const plain = await caller()
    expect(
      await Promise.all([1, 2, 3, 4].map((at) => plain({ key: 'guess', forwarded: `192.0.2.${at}` }))),
    ).toEqual([401, 401, 401, 429])
    const behind = await caller({ proxies: 1 })
    const from = (forwarded: string) => behind({ key: 'guess', forwarded, address: '10.0.0.1' })
    await times(3, () => from('192.0.2.1'))
    expect(await from('192.0.2.2')).toBe(401)
    expect(await from('192.0.2.9, 192.0.2.1')).toBe(429)
    // A header that has fewer addresses than there are proxies did not pass them all.
    expect(await (await caller({ proxies: 2 }))({ key: 'guess', forwarded: '192.0.2.1' })).toBe(401)
  })

  test('are counted by the address of the connection of a listening server', async () => {
    const { call } = await open(config(), { authenticate, authFailuresPerMinute: 2 })
    expect(await times(4, async () => (await call('/agents')).status)).toEqual([401, 401, 429, 429])
    const refused = await call('/agents')
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await refused.json()).toMatchObject({ code: 'rate-limited', status: 429 })
  })

  test('need whole numbers', async () => {
    const host = createHost(config())
    for (const options of [{ authFailuresPerMinute: 0 }, { proxies: -1 }])
      await expect(createHttp(host, options)).rejects.toMatchObject({ code: 'invalid-option' })
  })
})

test('public routes are limited by address: a flood of one hides the health from no other', async () => {
  const call = await caller({ requestsPerMinute: 2 })
  const health = (address: string) => call({ path: '/health', address })
  expect(await times(3, () => health('203.0.113.7'))).toEqual([200, 200, 429])
  expect(await health('203.0.113.8')).toBe(200)
})

test('a limit forgets the names that are unused for longest, and none that is in use', () => {
  const limit = new RateLimit(1, new ManualClock())
  const isFree = (name: string): boolean => {
    try {
      limit.take(name)
      return true
    } catch {
      return false
    }
  }
  expect([isFree('flood'), isFree('idle')]).toEqual([true, true])
  for (let at = 0; at < 25; at++) {
    for (let other = 0; other < 1000; other++) isFree(`other ${at} ${other}`)
    expect(isFree('flood')).toBe(false)
  }
  expect([isFree('flood'), isFree('idle')]).toEqual([false, true])
})

test('a limit counts the time that passes, not that of the clock, which may be set back', () => {
  const clock = new ManualClock()
  const limit = new RateLimit(2, clock)
  const take = (): void => limit.take('ann')
  take()
  clock.set(clock.now() - 60 * 60_000)
  take()
  expect(take).toThrow('Too many requests')
  clock.advance(30_000)
  take()
})
