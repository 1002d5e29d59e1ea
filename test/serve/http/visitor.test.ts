import { describe, expect, test } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import type { Trust } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { open } from './kit.ts'

const model = () => new ScriptedModel(Array.from({ length: 20 }, () => 'Hello.'))

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
})
