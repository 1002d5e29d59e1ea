import { type AddressInfo, createServer } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { ClientError, type ClientEvent, createClient } from '../../../src/client/index.ts'
import { askUser, memoryStore } from '../../../src/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { open } from './kit.ts'
import { CuttingProxy } from './processes/fleet.ts'

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
    expect(await conversation.entries({ from: 1, limit: 1 })).toMatchObject([{ seq: 1, type: 'input' }])
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

  test('lists the open requests of all conversations, over every page', async () => {
    const ids = Array.from({ length: 51 }, (_, at) => `a:${at}`)
    const asking = { calls: [{ tool: 'ask_user', args: { question: 'Which?' } }] }
    const model = ScriptedModel.forever(asking)
    const { url } = await open({ store: memoryStore(), agents: { a: { model, tools: [askUser()] } } })
    const client = createClient({ url })
    for (const id of ids) await client.conversation(id).ask('Hi')
    const waiting = (await client.requests()).map(({ key }) => key.contextId)
    expect(waiting.toSorted()).toEqual(ids.toSorted())
  })

  test('says in its error which field does not fit', async () => {
    const { url } = await open({
      store: memoryStore(),
      agents: { a: { model: new ScriptedModel(['Hello.']) } },
    })
    const conversation = createClient({ url, retryForMs: 0 }).conversation('a:1')
    const odd = { message: 'Hi', whileBusy: 'wait' as 'queue' }
    const error = await conversation.ask(odd).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({ status: 400, code: 'invalid-request' })
    const { message, issues } = error as ClientError
    expect(issues).toEqual([expect.stringContaining('whileBusy: ')])
    expect(message).toBe(`The body does not fit. ${issues.join(' ')}`)
    const misspelt = conversation.ask({ text: 'Hi' } as never)
    await expect(misspelt).rejects.toThrow(
      'The body does not fit. Its fields are message, values, continue, whileBusy, metadata, credentials. text: ',
    )
    const unknown = createClient({ url }).conversation('b:1').ask('Hi')
    await expect(unknown).rejects.toMatchObject({ status: 404, issues: [] })
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
    let cuts = 0
    const proxy = await CuttingProxy.start({
      target: () => Number(new URL(url).port),
      bytes: () => {
        seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648
        return 200 + (seed % 3000)
      },
      onCut: () => {
        cuts += 1
      },
    })
    onTestFinished(() => proxy.close())
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
    expect(cuts).toBeGreaterThan(2)
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

  test('gives up after its time, and says how to send the message again', async () => {
    const { url, host } = await open({
      store: memoryStore(),
      agents: { a: { model: new ScriptedModel(['Once.', 'Twice.']) } },
    })
    let isAway = true
    let calls = 0
    // The message arrives, and its answer is lost.
    const away: typeof fetch = async (input, init) => {
      calls += 1
      const response = await fetch(input, init)
      if (!isAway) return response
      await response.text()
      throw new TypeError('fetch failed')
    }
    const conversation = createClient({ url, fetch: away, retryForMs: 1000 }).conversation('a:1')
    const failure = await conversation.ask('Hi').catch((error: unknown) => error)
    expect(failure).toBeInstanceOf(ClientError)
    const { message, key = '', status, code } = failure as ClientError
    expect([status, code]).toEqual([0, 'unreachable'])
    expect(message).toContain(`${url} was not reached: fetch failed. Tried ${calls} times in 1 s.`)
    expect(message).toContain(`send it again with the key "${key}"`)
    expect(calls).toBeGreaterThan(1)
    isAway = false
    expect(await conversation.ask({ message: 'Hi', key })).toMatchObject({ text: 'Once.', turn: 1 })
    const read = await createClient({ url: 'http://127.0.0.1:1', retryForMs: 0 }).agents().catch(String)
    expect(read).toMatch(/127\.0\.0\.1:1 was not reached: .+\. Tried once\.$/)
    const dead = await listenOnce()
    const refused = await createClient({ url: dead, retryForMs: 0 }).agents().catch(String)
    expect(refused).toContain(`${dead} was not reached: fetch failed: connect ECONNREFUSED 127.0.0.1:`)
    expect((failure as ClientError).cause).toMatchObject({
      message: `${url} was not reached: fetch failed`,
      status: 0,
    })
    expect((await host.reads.info({ tenant: 'local', actor: 'local', contextId: 'a:1' }))?.turn).toBe(1)
  })

  test('has words for a failure without any, such as that of a proxy over HTTP/2', async () => {
    const proxy: typeof fetch = async () => new Response('<h1>Too large</h1>', { status: 413 })
    const client = createClient({ url: 'http://localhost', fetch: proxy })
    await expect(client.agents()).rejects.toMatchObject({ status: 413, message: 'The server answered 413.' })
  })

  test('answers under a key, so that an answer whose result is lost can be given again', async () => {
    const ask = new ScriptedModel([
      { calls: [{ tool: 'ask_user', args: { question: 'Why?', kind: 'text' } }] },
      'I see.',
    ])
    const { url } = await open({ store: memoryStore(), agents: { a: { model: ask, tools: [askUser()] } } })
    const conversation = createClient({ url }).conversation('a:1')
    const [request] = (await conversation.ask('Hi')).requests
    const answers = { [request?.requestId ?? '']: 'Because.' }
    const first = await conversation.answer(answers, { key: 'k' })
    expect(first).toMatchObject({ text: 'I see.', turn: 2 })
    expect(await conversation.answer(answers, { key: 'k' })).toEqual(first)
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

/** An address at which nothing listens any more. */
async function listenOnce(): Promise<string> {
  const server = createServer()
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const { port } = server.address() as AddressInfo
  await new Promise((done) => server.close(done))
  return `http://127.0.0.1:${port}`
}
