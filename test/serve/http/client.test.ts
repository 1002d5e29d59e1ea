import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { type ClientEvent, createClient } from '../../../src/client/index.ts'
import { memoryStore } from '../../../src/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { open } from './kit.ts'

const closing: (() => void)[] = []

afterEach(() => {
  for (const close of closing.splice(0)) close()
})

/** A proxy that cuts each connection after some bytes of its answer. */
async function cuttingProxy(
  target: string,
  bytes: () => number,
): Promise<{ url: string; cuts: () => number }> {
  const { hostname, port } = new URL(target)
  let cuts = 0
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname)
    let left = bytes()
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        client.destroy()
        upstream.destroy()
      })
    }
    client.pipe(upstream)
    upstream.on('data', (chunk: Buffer) => {
      client.write(chunk.subarray(0, left))
      left -= chunk.length
      if (left > 0) return
      cuts += 1
      client.destroy()
    })
  })
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve)
  })
  closing.push(() => {
    server.close()
    for (const socket of sockets) socket.destroy()
  })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, cuts: () => cuts }
}

describe('the client', () => {
  test('talks to a conversation from its creation to its end', async () => {
    const { url } = await open({
      store: memoryStore(),
      agents: { a: { model: new ScriptedModel(['Hello.', 'Again.']) } },
    })
    const client = createClient({ url })
    expect(await client.agents()).toEqual(['a'])
    const conversation = await client.create('a')
    expect(await conversation.ask('Hi')).toMatchObject({ status: 'completed', text: 'Hello.' })
    expect(await conversation.messages()).toHaveLength(2)
    expect((await conversation.trace(1)).length).toBeGreaterThan(0)
    const fork = await conversation.fork()
    expect((await fork.get()).turn).toBe(1)
    expect((await client.list()).conversations.map(({ contextId }) => contextId).toSorted()).toEqual(
      [conversation.contextId, fork.contextId].toSorted(),
    )
    await fork.erase()
    await expect(fork.get()).rejects.toMatchObject({ status: 404, code: 'not-found' })
    expect(await conversation.send({ message: 'Again', key: 'k' })).toEqual({
      contextId: conversation.contextId,
      since: 6,
    })
  })

  test('sees every entry once, in order, over a connection that is cut again and again', async () => {
    const turns = 12
    const { url, host } = await open(
      {
        store: memoryStore(),
        agents: { a: { model: new ScriptedModel(Array.from({ length: turns }, (_, at) => `Reply ${at}.`)) } },
      },
      { heartbeatMs: 50, requestsPerMinute: 100_000 },
    )
    let seed = 7
    const proxy = await cuttingProxy(url, () => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
      return 200 + (seed % 3000)
    })
    const key = { tenant: 'local', actor: 'local', contextId: 'a:1' }
    await (await host.send(key, 'First')).outcome
    const stop = new AbortController()
    const events: ClientEvent[] = []
    const reading = (async () => {
      for await (const event of createClient({ url: proxy.url })
        .conversation('a:1')
        .events({ signal: stop.signal })) {
        events.push(event)
        if (event.type === 'entry' && event.entry.type === 'turn.end' && event.entry.turn === turns)
          stop.abort()
      }
    })()
    for (let turn = 2; turn <= turns; turn++) await (await host.send(key, `Message ${turn}`)).outcome
    await reading
    const seen = events.flatMap((event) => (event.type === 'entry' ? [event.entry] : []))
    const stored = await host.store.read(key)
    expect(seen).toEqual(stored.map((entry) => JSON.parse(JSON.stringify(entry)) as unknown))
    expect(proxy.cuts()).toBeGreaterThan(2)
    expect(events.filter(({ type }) => type === 'disconnected').length).toBeGreaterThan(2)
  })

  test('a write whose answer is lost is repeated, and has one effect', async () => {
    const { url, host } = await open({
      store: memoryStore(),
      agents: { a: { model: new ScriptedModel(['Once.', 'Twice.']) } },
    })
    let lost = 0
    const losing: typeof fetch = async (input, init) => {
      const response = await fetch(input, init)
      if (init?.method !== 'POST' || lost > 0) return response
      lost += 1
      await response.text()
      throw new TypeError('the connection broke')
    }
    const client = createClient({ url, fetch: losing })
    expect(await client.conversation('a:1').ask('Hi')).toMatchObject({ text: 'Once.', turn: 1 })
    expect(lost).toBe(1)
    const inputs = (await host.store.read({ tenant: 'local', actor: 'local', contextId: 'a:1' })).filter(
      ({ type }) => type === 'input',
    )
    expect(inputs).toHaveLength(1)
  })

  test('a refused request is not repeated, and says why', async () => {
    let calls = 0
    const { url } = await open({ store: memoryStore(), agents: { a: { model: new ScriptedModel(['x']) } } })
    const counting: typeof fetch = (input, init) => {
      calls += 1
      return fetch(input, init)
    }
    const client = createClient({ url, fetch: counting })
    await expect(client.conversation('b:1').ask('Hi')).rejects.toMatchObject({
      status: 404,
      code: 'not-found',
    })
    expect(calls).toBe(1)
    const events = client.conversation('a:none').events()
    await expect(events.next()).rejects.toMatchObject({ status: 404 })
  })
})
