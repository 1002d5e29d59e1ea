import { describe, expect, test } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import { createHost, type Trust } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { createHttp, type HttpOptions } from '../../../src/serve/http/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { open } from './kit.ts'

const model = () => new ScriptedModel(Array.from({ length: 20 }, () => 'Hello.'))

/** A server without sockets, called from an address. */
async function addressed(options: HttpOptions) {
  const agents = { desk: { model: model(), trust: { public: true } } }
  const http = await createHttp(createHost({ store: memoryStore(), agents }), {
    authenticate: () => undefined,
    ...options,
  })
  const call = (
    path: string,
    { address, headers = {}, json }: { address: string; headers?: Record<string, string>; json?: unknown },
  ) => {
    const body = { method: 'POST', body: JSON.stringify(json) }
    const init = { headers: { ...headers, 'content-type': 'application/json' }, ...(json ? body : {}) }
    return http.fetch(new Request(`http://localhost${path}`, init), { address })
  }
  return { call, close: () => http.close() }
}

async function server(trust: Trust) {
  const { call, url } = await open(
    {
      store: memoryStore(),
      agents: { desk: { model: model(), trust }, staff: { model: model() } },
    },
    {
      authenticate: (request) =>
        request.headers.get('authorization') === 'Bearer forged-visitor'
          ? { tenant: 'visitors', actor: 'ann' }
          : undefined,
    },
  )
  const request = (path: string, headers: Record<string, string> = {}, json?: unknown) =>
    call(path, { ...(json === undefined ? {} : { json }), headers })
  return Object.assign(request, { url })
}

describe('callers who are not authenticated', () => {
  test('are refused unless an agent answers them', async () => {
    const call = await server('careful')
    expect((await call('/agents')).status).toBe(401)
    expect((await call('/conversations/desk:1/messages?wait=true', {}, { message: 'Hi' })).status).toBe(401)
  })

  test('hold their conversations by their key, and see public agents only', async () => {
    const call = await server({ public: true })
    const first = await call('/conversations/desk:1/messages?wait=true', {}, { message: 'Hi' })
    expect(await first.json()).toMatchObject({ text: 'Hello.' })
    const key = { 'x-visitor-key': first.headers.get('x-visitor-key') as string }
    expect((await call('/conversations/desk:1', key)).status).toBe(200)
    expect((await call('/conversations/desk:1')).status).toBe(404)
    expect(
      (await call('/conversations/desk:1', { 'x-visitor-key': 'another_key_of_32_characters_or_more' }))
        .status,
    ).toBe(404)
    expect(await (await call('/agents', key)).json()).toEqual({ agents: ['desk'], graphs: [] })
    const staff = await call('/conversations/staff:1/messages?wait=true', key, { message: 'Hi' })
    expect([staff.status, ((await staff.json()) as { code: string }).code]).toEqual([403, 'forbidden'])
    expect((await call('/metrics', key)).status).toBe(401)
    expect((await call('/conversations/desk:1', { 'x-visitor-key': 'short' })).status).toBe(400)
  })

  test('have one key in a client, and another in the next', async () => {
    const { url } = await server({ public: true })
    const client = createClient({ url })
    const [agents, asked] = await Promise.all([client.agents(), client.conversation('desk:1').ask('Hi')])
    expect([agents, asked.text]).toEqual([['desk'], 'Hello.'])
    expect(await client.conversation('desk:1').messages()).toHaveLength(2)
    await expect(createClient({ url }).conversation('desk:1').messages()).rejects.toMatchObject({
      status: 404,
    })
  })

  test('are not those with false credentials, and no token makes one', async () => {
    const call = await server({ public: true })
    for (const authorization of ['Bearer wrong', 'Bearer forged-visitor', 'Basic x'])
      expect((await call('/agents', { authorization })).status).toBe(401)
    expect((await call('/agents', { 'x-api-key': 'wrong' })).status).toBe(401)
  })

  test('are those with cookies of other pages, too', async () => {
    const call = await server({ public: true })
    expect(await (await call('/agents', { cookie: '_ga=1' })).json()).toMatchObject({ agents: ['desk'] })
  })

  test('hold the streams of one caller, whatever keys they draw at one address', async () => {
    const { call, close } = await addressed({ maxStreamsEach: 2 })
    const statuses: number[] = []
    for (const [at, address] of ['one', 'one', 'one', 'two'].entries()) {
      const headers = { 'x-visitor-key': `key-${at}`.padEnd(32, 'x') }
      await (
        await call('/conversations/desk:1/messages?wait=true', { address, headers, json: { message: 'Hi' } })
      ).text()
      statuses.push((await call('/conversations/desk:1/events', { address, headers })).status)
    }
    expect(statuses).toEqual([200, 200, 429, 200])
    close()
  })

  test('guess no credentials of an own kind without limit, if authenticate tells false ones from none', async () => {
    let tried = 0
    const authenticate = ({ headers }: Request) => {
      const token = headers.get('x-my-token')
      if (token !== null) tried += 1
      return token === null ? undefined : token === 'right' && { tenant: 'acme', actor: 'ann' }
    }
    const { call } = await addressed({ authenticate, authFailuresPerMinute: 3 })
    const status = async (headers: Record<string, string>, address = 'one') =>
      (await call('/agents', { address, headers })).status
    expect(await status({ 'x-my-token': 'right' })).toBe(200)
    const guesses = []
    for (const at of [1, 2, 3, 4, 5]) guesses.push(await status({ 'x-my-token': `guess ${at}` }))
    expect([guesses, tried]).toEqual([[401, 401, 401, 429, 429], 4])
    // Guesses in Authorization have a bound of their own: they lock out no visitor.
    for (const at of [1, 2, 3, 4]) await status({ authorization: `Bearer ${at}` }, 'two')
    expect(await status({ authorization: 'Bearer 5' }, 'two')).toBe(429)
    expect([
      await status({}, 'two'),
      await status({}, 'two'),
      await status({}, 'two'),
      await status({}, 'two'),
    ]).toEqual([200, 200, 200, 200])
  })

  test('learn no names of agents that do not answer them', async () => {
    const call = await server({ public: true })
    const created = async (agent: string) => {
      const response = await call('/conversations', {}, { agent })
      return [response.status, (await response.text()).replaceAll(agent, 'NAME')]
    }
    expect(await created('staff')).toEqual(await created('nobody'))
    expect((await created('desk'))[0]).toBe(201)
  })
})
