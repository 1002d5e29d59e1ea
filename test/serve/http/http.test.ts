import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, memoryStore } from '../../../src/index.ts'
import { ScriptedModel } from '../../../src/testing/index.ts'
import { until } from '../../turn/kit.ts'
import { frames, open } from './kit.ts'

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  input: z.object({ amount: z.number() }),
  approve: 'always',
  run: async ({ amount }, { artifacts }) => {
    await artifacts.writeFile('receipt', `paid ${amount}`, { mediaType: 'text/html', name: 'räceipt.html' })
    return `paid ${amount}`
  },
})

const agents = (...replies: ConstructorParameters<typeof ScriptedModel>[0] & readonly unknown[]) => ({
  a: { model: new ScriptedModel(replies), tools: [pay] },
})

/** The entries of a stream, as `turn type`, once it has ended. */
async function entriesOf(response: Response): Promise<readonly string[]> {
  const seen: string[] = []
  for await (const { event, data } of frames(response))
    seen.push(event === 'entry' ? `${String(data['turn'])} ${String(data['type'])}` : event)
  return seen.filter((each) => each !== 'delta' && each !== 'text')
}

const TURN = (turn: number) =>
  ['turn.start', 'model.start', 'model.end', 'turn.end'].map((type) => `${turn} ${type}`)

describe('a host over HTTP', () => {
  test('has a page about every operation, without a script', async () => {
    const { call, http } = await open(
      { store: memoryStore(), agents: agents('Hello.') },
      { authenticate: () => undefined },
    )
    const response = await call('/docs')
    expect(response.status).toBe(200)
    expect(response.headers.get('content-security-policy')).toMatch(/^default-src 'none'; style-src 'sha256-/)
    const html = await response.text()
    for (const path of Object.keys(http.document['paths'] as object))
      expect(html).toContain(`<code>${path}</code>`)
    expect(html).not.toMatch(/<script|javascript:| on\w+=/)
  })

  test('a message is accepted, and its turn is read by anybody who asks', async () => {
    const { call, http } = await open({ store: memoryStore(), agents: agents('Hello.') })
    expect(http.isAuthenticated).toBe(false)
    const created = await call('/conversations', { json: { agent: 'a' } })
    expect(created.status).toBe(201)
    const { contextId } = (await created.json()) as { contextId: string }
    expect((await call(`/conversations/${contextId}`)).status).toBe(404)
    const sent = await call(`/conversations/${contextId}/messages`, { json: { message: 'Hi' } })
    expect(sent.status).toBe(202)
    expect(await sent.json()).toEqual({ contextId, since: 0 })
    const types: string[] = []
    for await (const { event, id, data } of frames(await call(`/conversations/${contextId}/events`))) {
      if (event !== 'entry') continue
      types.push(`${id} ${String(data['type'])}`)
      if (data['type'] === 'turn.end') break
    }
    expect(types).toEqual([
      '1 input',
      '2 claim',
      '3 turn.start',
      '4 model.start',
      '5 model.end',
      '6 turn.end',
    ])
    const { messages } = (await (await call(`/conversations/${contextId}/messages`)).json()) as {
      messages: unknown[]
    }
    expect(messages).toHaveLength(2)
    const info = (await (await call(`/conversations/${contextId}`)).json()) as Record<string, unknown>
    expect(info).toMatchObject({
      contextId,
      name: 'a',
      kind: 'agent',
      status: 'idle',
      turn: 1,
      seq: 6,
      requests: [],
    })
    const rest: number[] = []
    const stream = await call(`/conversations/${contextId}/events`, { headers: { 'last-event-id': '4' } })
    for await (const { id } of frames(stream)) {
      if (id !== undefined) rest.push(id)
      if (id === 6) break
    }
    expect(rest).toEqual([5, 6])
  })

  test('waits for the outcome, asks, is answered, and gives the artifact as a download', async () => {
    const { call } = await open({
      store: memoryStore(),
      agents: agents({ calls: [{ tool: 'pay', args: { amount: 5 } }] }, 'Done.'),
    })
    const asked = await call('/conversations/a:1/messages?wait=true', { json: { message: 'Pay' } })
    const outcome = (await asked.json()) as { status: string; requests: { requestId: string }[] }
    expect(outcome.status).toBe('input-required')
    const { notices } = (await (await call('/requests')).json()) as {
      notices: { requests: { requestId: string }[] }[]
    }
    const requestId = notices[0]?.requests[0]?.requestId ?? ''
    expect(outcome.requests.map((each) => each.requestId)).toEqual([requestId])
    const wrong = await call('/conversations/a:1/answers?wait=true', {
      json: { answers: { [requestId]: 'maybe' } },
    })
    expect(wrong.status).toBe(400)
    expect(await wrong.json()).toMatchObject({ code: 'invalid-answer' })
    const right = await call('/conversations/a:1/answers?wait=true', {
      json: { answers: { [requestId]: true } },
      headers: { 'idempotency-key': 'yes' },
    })
    expect(await right.json()).toMatchObject({ status: 'completed', text: 'Done.' })
    const repeated = await call('/conversations/a:1/answers?wait=true', {
      json: { answers: { [requestId]: true } },
      headers: { 'idempotency-key': 'yes' },
    })
    expect(await repeated.json()).toMatchObject({ status: 'completed', text: 'Done.', turn: 2 })
    const another = await call('/conversations/a:1/answers', { json: { answers: { [requestId]: true } } })
    expect(another.status).toBe(400)
    const receipt = await call('/conversations/a:1/artifacts/receipt', { headers: { range: 'bytes=0-3' } })
    expect([receipt.status, await receipt.text()]).toEqual([206, 'paid'])
    expect(receipt.headers.get('content-type')).toBe('application/octet-stream')
    expect(receipt.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''r%C3%A4ceipt.html`)
    // The rest of a file that has changed since is no rest of it.
    const etag = receipt.headers.get('etag') ?? ''
    const rest = async (known: string) =>
      (
        await call('/conversations/a:1/artifacts/receipt', {
          headers: { range: 'bytes=0-3', 'if-range': known },
        })
      ).status
    expect([await rest(etag), await rest('"0-0"')]).toEqual([206, 200])
    const missing = async (artifact: string) => {
      const response = await call(`/conversations/a:1/artifacts/${artifact}`)
      return [response.status, ((await response.json()) as { detail: string }).detail]
    }
    expect(await missing('nothing')).toEqual([
      404,
      'There is no artifact "nothing". Write or create it first.',
    ])
    expect(await missing('receipt?version=7')).toEqual([
      404,
      'Artifact "receipt" has no version 7. Its newest is 1.',
    ])
  })

  test.each([
    ["it's (1)*.csv", 'it%27s%20%281%29%2A.csv'],
    ['half of \ud83d.csv', 'half%20of%20%EF%BF%BD.csv'],
  ])('an artifact called %j is a download under its name', async (name, encoded) => {
    const save = defineTool({
      name: 'save',
      description: 'Saves',
      input: z.object({}),
      run: async (_, { artifacts }) => artifacts.writeFile('file', 'x', { name }).then(() => 'saved'),
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'save', args: {} }] }, 'Done.'])
    const { call } = await open({ store: memoryStore(), agents: { a: { model, tools: [save] } } })
    await call('/conversations/a:1/messages?wait=true', { json: { message: 'Save it' } })
    const file = await call('/conversations/a:1/artifacts/file')
    expect([file.status, await file.text()]).toEqual([200, 'x'])
    expect(file.headers.get('content-disposition')).toBe(`attachment; filename*=UTF-8''${encoded}`)
  })

  test('streams one turn to its end, as events or as lines', async () => {
    const { call } = await open({ store: memoryStore(), agents: agents('One.', 'Two.') })
    const sse = await call('/conversations/a:1/messages', {
      json: { message: 'Hi' },
      headers: { accept: 'text/event-stream' },
    })
    expect(sse.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const seen: string[] = []
    for await (const { event, data } of frames(sse)) if (event === 'entry') seen.push(String(data['type']))
    expect(seen.at(-1)).toBe('turn.end')
    const lines = await call('/conversations/a:1/messages', {
      json: { message: 'Hi' },
      headers: { accept: 'application/x-ndjson' },
    })
    const parsed = (await lines.text())
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { event: string; id?: number })
    expect(parsed.filter(({ event }) => event === 'entry').map(({ id }) => id)).toEqual([9, 10, 11, 12])
  })

  test('a message repeated under its key after the end of its turn gets the same stream, to its end', async () => {
    const { call } = await open({
      store: memoryStore(),
      agents: { a: { model: new ScriptedModel(['One.', 'Two.']) } },
    })
    const sent = (message: string, key: string) =>
      call('/conversations/a:1/messages', {
        json: { message },
        headers: { accept: 'text/event-stream', 'idempotency-key': key },
      })
    expect(await entriesOf(await sent('Hi', 'k1'))).toEqual(TURN(1))
    expect(await entriesOf(await sent('Ho', 'k2'))).toEqual(TURN(2))
    expect(await entriesOf(await sent('Hi', 'k1'))).toEqual(TURN(1))
  })

  test('the stream of a queued message has its own turn, not the one before', async () => {
    const gate = Promise.withResolvers<void>()
    const model = new ScriptedModel([() => gate.promise.then(() => 'First.'), 'Second.'])
    const { call } = await open({ store: memoryStore(), agents: { a: { model } } })
    const sent = (message: string) =>
      call('/conversations/a:1/messages', { json: { message }, headers: { accept: 'text/event-stream' } })
    const first = await sent('One')
    await until('the first runs', () => model.calls.length === 1)
    const second = await sent('Two')
    gate.resolve()
    expect(await entriesOf(second)).toEqual(TURN(2))
    expect(await entriesOf(first)).toEqual(TURN(1))
  })

  test('a message sent twice under one key runs once; other content under it is a conflict', async () => {
    const { call } = await open({ store: memoryStore(), agents: agents('Once.', 'Twice.') })
    const sent = (message: string) =>
      call('/conversations/a:1/messages?wait=true', {
        json: { message },
        headers: { 'idempotency-key': 'k1' },
      })
    expect(await (await sent('Hi')).json()).toMatchObject({ text: 'Once.', turn: 1 })
    expect(await (await sent('Hi')).json()).toMatchObject({ text: 'Once.', turn: 1 })
    expect((await sent('Ho')).status).toBe(409)
    const make = async () =>
      (await call('/conversations', { json: { agent: 'a' }, headers: { 'idempotency-key': 'c' } })).json()
    expect(await make()).toEqual(await make())
    const fork = async () =>
      (await call('/conversations/a:1/fork', { json: {}, headers: { 'idempotency-key': 'f' } })).json()
    const first = (await fork()) as { contextId: string }
    expect(await fork()).toEqual(first)
    expect(await (await call(`/conversations/${first.contextId}`)).json()).toMatchObject({ turn: 1 })
    const detail = 'The conversation has no entry 999 to fork after.'
    for (const headers of [{}, { 'idempotency-key': 'late' }]) {
      const late = await call('/conversations/a:1/fork', { json: { at: 999 }, headers })
      expect(await late.json()).toMatchObject({ status: 404, code: 'not-found', detail })
    }
  })

  test('a deleted conversation is gone, and its id is refused until it is recreated', async () => {
    const { call } = await open({ store: memoryStore(), agents: agents('One.', 'Two.') })
    const sent = async () =>
      (await call('/conversations/a:1/messages?wait=true', { json: { message: 'Hi' } })).json()
    expect(await sent()).toMatchObject({ turn: 1, text: 'One.' })
    expect((await call('/conversations/a:1', { method: 'DELETE' })).status).toBe(204)
    expect((await call('/conversations/a:1')).status).toBe(404)
    expect((await call('/conversations/a:1', { method: 'DELETE' })).status).toBe(404)
    expect(await sent()).toMatchObject({ status: 410, code: 'erased' })
    expect((await call('/conversations/a:1/recreate', { method: 'POST' })).status).toBe(201)
    expect(await sent()).toMatchObject({ turn: 1, text: 'Two.' })
    const { messages } = (await (await call('/conversations/a:1/messages')).json()) as { messages: unknown[] }
    expect(messages).toHaveLength(2)
  })

  test('lists and searches, a page at a time', async () => {
    const { call } = await open({ store: memoryStore(), agents: agents('Red.', 'Green.', 'Blue.') })
    for (const id of ['a:1', 'a:2', 'a:3'])
      await call(`/conversations/${id}/messages?wait=true`, { json: { message: 'Colour?' } })
    const ids = async (query: string) => {
      const page = (await (await call(`/conversations${query}`)).json()) as {
        conversations: { contextId: string }[]
        next?: string
      }
      return { ids: page.conversations.map(({ contextId }) => contextId), next: page.next }
    }
    const first = await ids('?limit=2')
    expect(first.ids).toHaveLength(2)
    const second = await ids(`?limit=2&cursor=${encodeURIComponent(first.next ?? '')}`)
    expect([...first.ids, ...second.ids].toSorted()).toEqual(['a:1', 'a:2', 'a:3'])
    expect((await ids('?q=green')).ids).toEqual(['a:2'])
    expect((await ids('?agent=b')).ids).toEqual([])
  })

  test('lists the conversations of an agent, those of the default one without a name, too', async () => {
    const both = { a: { model: ScriptedModel.forever('Hi.') }, b: { model: ScriptedModel.forever('Ho.') } }
    const { call } = await open({ store: memoryStore(), agents: both })
    for (const id of ['a:1', 'b:1', '7'])
      await call(`/conversations/${id}/messages?wait=true`, { json: { message: 'Hi' } })
    const ids = async (agent: string) => {
      const page = await (await call(`/conversations?agent=${agent}`)).json()
      return (page as { conversations: { contextId: string }[] }).conversations
        .map(({ contextId }) => contextId)
        .toSorted()
    }
    expect([await ids('a'), await ids('b'), await ids('c')]).toEqual([['7', 'a:1'], ['b:1'], []])
  })

  test.each([
    ['/conversations/a:1/messages', { json: {} }, 400],
    ['/conversations/a:1/messages', { json: { message: 'x', values: {} } }, 400],
    ['/conversations/a:1/messages', { json: { massage: 'x' } }, 400],
    ['/conversations/a:1/messages', { json: [1] }, 400],
    [
      '/conversations/a:1/messages',
      { method: 'POST', body: '{', headers: { 'content-type': 'application/json' } },
      400,
    ],
    [
      '/conversations/a:1/messages',
      {
        method: 'POST',
        body: '{"message":"x","__proto__":{}}',
        headers: { 'content-type': 'application/json' },
      },
      400,
    ],
    ['/conversations/a:1/messages', { method: 'POST', body: 'x' }, 415],
    ['/conversations/a:1/messages', { json: { message: 'x'.repeat(2000) } }, 413],
    ['/conversations/b:1/messages', { json: { message: 'x' } }, 404],
    ['/conversations/a:1%2Fb/messages', { json: { message: 'x' } }, 404],
    ['/conversations/%00/messages', { json: { message: 'x' } }, 400],
    ['/conversations/a:1/entries?from=-1', {}, 400],
    ['/conversations?limit=2&limit=3', {}, 400],
    ['/conversations?nothing=1', {}, 400],
    ['/nowhere', {}, 404],
    ['/conversations/a:1', { method: 'PUT' }, 405],
    ['/conversations/a:1/messages', { json: { values: {} } }, 400],
  ])('%s %j is %i, a problem without a stack', async (path, init, status) => {
    const { call } = await open({ store: memoryStore(), agents: agents('One.') }, { maxBodyBytes: 1000 })
    const response = await call(path, init)
    const text = await response.text()
    expect([response.status, response.headers.get('content-type')]).toEqual([
      status,
      'application/problem+json',
    ])
    expect(text).not.toMatch(/\bat .*\.ts|node_modules/)
    expect(response.headers.get('x-content-type-options')).toBe('nosniff')
  })

  test.each([
    ['PUT', '/conversations/a:1/messages', 'GET, HEAD, POST'],
    ['PATCH', '/conversations/a:1', 'GET, HEAD, DELETE'],
    ['POST', '/health', 'GET, HEAD'],
    ['DELETE', '/docs', 'GET, HEAD'],
    ['GET', '/echo', 'POST'],
  ])('%s %s is no method of that address: Allow has %s', async (method, path, allow) => {
    const echo = { method: 'POST', path: '/echo', handle: () => new Response('echo') } as const
    const mounts = [{ name: 'echo', routes: [echo] }]
    const { call } = await open({ store: memoryStore(), agents: agents('One.') }, { mounts })
    const response = await call(path, { method })
    expect([response.status, response.headers.get('allow')]).toEqual([405, allow])
    expect(await response.json()).toMatchObject({
      code: 'method-not-allowed',
      detail: `This address takes ${allow}, not ${method}.`,
    })
  })
})
