/** The research assistant over HTTP: a real server and the real fetch, documents in memory, no model. */
import { describe, expect, test } from 'vitest'
import { researchFlow } from '../../../src/flow/research/index.ts'
import type { HostConfig, TrustRequest } from '../../../src/host/index.ts'
import { memoryStore } from '../../../src/index.ts'
import type { HttpOptions } from '../../../src/serve/http/index.ts'
import { type ResearchHttpOptions, researchHttp } from '../../../src/serve/research/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { type CorpusFaults, memoryCorpus, type TextDocument } from '../../flow/research/kit.ts'
import { gate, until } from '../../turn/kit.ts'
import { open } from '../http/kit.ts'

interface Reply {
  readonly answer: string
  readonly sources: readonly Record<string, unknown>[]
  readonly session_id: string
  readonly message_count: number
  readonly confidence_score: number | null
}

interface ServerOptions {
  readonly documents?: readonly TextDocument[]
  readonly faults?: CorpusFaults
  readonly mount?: Omit<ResearchHttpOptions, 'corpus'>
  readonly host?: Partial<HostConfig>
  readonly http?: HttpOptions
}

async function server({ documents, faults, mount, host, http }: ServerOptions = {}) {
  const corpus = memoryCorpus(documents, faults)
  const opened = await open(
    { store: memoryStore(), flows: { research: researchFlow({ corpus }) }, ...host },
    { mounts: [researchHttp({ corpus, ...mount })], ...http },
  )
  const chat = (body: unknown, headers: Record<string, string> = {}): Promise<Response> =>
    opened.call('/chat', { json: body, headers })
  const ask = async (body: unknown, headers?: Record<string, string>): Promise<Reply> => {
    const response = await chat(body, headers)
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/json'])
    return (await response.json()) as Reply
  }
  return { ...opened, corpus, chat, ask }
}

const GATE = 'When does the gate of the dock of Granville open?'

describe('POST /chat', () => {
  test('answers with sources, and goes on in its session', async () => {
    const { ask, corpus } = await server()
    const first = await ask({ message: GATE })
    expect(Object.keys(first)).toEqual([
      'answer',
      'sources',
      'session_id',
      'message_count',
      'confidence_score',
    ])
    expect(first.answer).toContain('The gate of the dock opens 2 hours before high tide [1].')
    expect(first.sources[0]).toEqual({
      number: 1,
      kind: 'document',
      passage_id: 'd1p3',
      document_id: 'd1',
      title: 'Harbours of the bay',
      source: 'harbours-of-the-bay.pdf',
      page: 3,
      quote: 'The gate of the dock opens 2 hours before high tide.',
      score: expect.any(Number) as number,
    })
    expect(first.confidence_score).toBeGreaterThan(0)
    expect(first.session_id).not.toBe('')
    expect(first.message_count).toBe(2)
    expect(corpus.queries[0]?.topK).toBe(5)

    const second = await ask({ message: 'And how deep is Cancale?', session_id: first.session_id, top_k: 2 })
    expect(second.session_id).toBe(first.session_id)
    expect(second.message_count).toBe(4)
    expect(corpus.queries.at(-1)?.topK).toBe(2)
    // The number of one question is not that of the next.
    await ask({ message: 'Who carried out the survey of the coast?', session_id: first.session_id })
    expect(corpus.queries.at(-1)?.topK).toBe(5)
  })

  test('top_k of a question is not that of a message to its session by another route', async () => {
    const { ask, corpus, host } = await server()
    const { session_id } = await ask({ message: GATE, top_k: 2 })
    expect(corpus.queries.at(-1)?.topK).toBe(2)
    const key = { tenant: 'local', actor: 'local', contextId: `research:${session_id}` }
    const turn = await host.send(key, 'Who carried out the survey of the coast?')
    expect((await turn.outcome).status).toBe('completed')
    expect(corpus.queries.at(-1)?.topK).toBe(5)
  })

  test('asks back, and the reply continues the question', async () => {
    const { ask } = await server()
    const asked = await ask({ message: 'Tell me when it opens', session_id: 'bay' })
    expect(asked).toEqual({
      answer: 'What does "it" refer to: which document, author or subject?',
      sources: [],
      session_id: 'bay',
      message_count: 2,
      confidence_score: null,
    })
    const { answer, message_count } = await ask({ message: 'Granville dock gate', session_id: 'bay' })
    expect(answer).toContain('opens 2 hours before high tide [1]')
    expect(message_count).toBe(4)
  })

  test.each([
    [{}, /message/],
    [{ message: '' }, /message/],
    [{ message: ' \n' }, /message/],
    [{ message: 7 }, /message/],
    [[], /object/],
    [{ message: 'x', top_k: 0 }, /top_k/],
    [{ message: 'x', top_k: 21 }, /top_k/],
    [{ message: 'x', top_k: 1.5 }, /top_k/],
    [{ message: 'x', top_k: '3' }, /top_k/],
    [{ message: 'x', session_id: '' }, /session_id/],
    [{ message: 'x', session_id: 'a/b' }, /session_id/],
    [{ message: 'x', session_id: 'x'.repeat(129) }, /session_id/],
    [{ message: 'x', session_id: '.' }, /neither "\." nor "\.\."/],
    [{ message: 'x', session_id: '..' }, /neither "\." nor "\.\."/],
    [{ message: 'x', session_id: 7 }, /session_id/],
    [{ message: 'x', topK: 3 }, /topK/],
  ])('refuses %j with 400', async (body, detail) => {
    const { chat } = await server()
    const response = await chat(body)
    expect(response.status).toBe(400)
    expect(await response.json()).toMatchObject({
      code: 'invalid-request',
      detail: expect.stringMatching(detail) as string,
    })
  })

  test('is 404 without documents, and stores nothing', async () => {
    const { chat, host } = await server({ documents: [] })
    const response = await chat({ message: GATE, session_id: 'bay' })
    expect([response.status, await response.json()]).toMatchObject([404, { code: 'empty-corpus' }])
    expect(await host.store.scan({ limit: 10 })).toEqual([])
  })

  test('is posted once under one key, also without a session', async () => {
    const { ask } = await server()
    const key = { 'idempotency-key': 'k1' }
    const first = await ask({ message: GATE }, key)
    expect(await ask({ message: GATE }, key)).toEqual(first)
    expect(first.message_count).toBe(2)
  })

  test('is cancelled after its time, and the session goes on', async () => {
    const held = gate()
    let isHeld = true
    const { chat, host } = await server({
      faults: { before: async () => void (isHeld && (await held.promise)) },
      mount: { timeoutMs: 20 },
    })
    const late = await chat({ message: GATE, session_id: 'bay' })
    expect([late.status, await late.json()]).toMatchObject([504, { code: 'timeout' }])
    isHeld = false
    held.resolve()
    const key = { tenant: 'local', actor: 'local', contextId: 'research:bay' }
    const { outcome } = await host.send(key, GATE)
    expect(await outcome).toMatchObject({
      status: 'completed',
      text: expect.stringContaining('2 hours') as string,
    })
    expect(() => researchHttp({ corpus: memoryCorpus(), timeoutMs: 300_001 })).toThrow(/timeoutMs/)
  })

  test('a limit of the flow is 504', async () => {
    const corpus = memoryCorpus()
    const { call } = await open(
      { store: memoryStore(), flows: { research: researchFlow({ corpus, limits: { steps: 1 } }) } },
      { mounts: [researchHttp({ corpus })] },
    )
    const response = await call('/chat', { json: { message: GATE } })
    expect([response.status, await response.json()]).toMatchObject([504, { code: 'timeout' }])
  })
})

describe('sessions', () => {
  const time = expect.stringMatching(/^\d{4}-\d\d-\d\dT/) as string

  test('are read and deleted; unknown ones are 404', async () => {
    const { ask, call } = await server()
    await ask({ message: GATE, session_id: 'bay' })
    const memory = (await (await call('/memory/bay')).json()) as Record<string, unknown>
    expect(memory).toEqual({
      session_id: 'bay',
      message_count: 2,
      messages: [
        { role: 'user', content: GATE, at: time },
        {
          role: 'assistant',
          content: expect.stringContaining('2 hours before high tide [1]') as string,
          at: time,
        },
      ],
      created_at: time,
      active_at: time,
    })
    const deleted = await call('/memory/bay', { method: 'DELETE' })
    expect([deleted.status, await deleted.text()]).toEqual([204, ''])
    for (const [method, session] of [
      ['GET', 'bay'],
      ['DELETE', 'bay'],
      ['GET', 'other'],
      ['GET', 'a%2Fb'],
      ['DELETE', '..%2f..'],
      ['GET', '%00'],
    ] as const) {
      const response = await call(`/memory/${session}`, { method })
      expect([method, session, response.status]).toEqual([method, session, 404])
    }
    expect((await ask({ message: GATE, session_id: 'bay' })).message_count).toBe(2)
  })

  test('belong to their caller: those of others are unknown', async () => {
    const { ask, call } = await server({
      http: {
        authenticate: ({ headers }) => {
          const actor = headers.get('authorization')
          return actor === null ? undefined : { tenant: 't', actor }
        },
      },
    })
    const ann = { authorization: 'ann' }
    const bob = { authorization: 'bob' }
    await ask({ message: GATE, session_id: 'bay' }, ann)
    expect((await call('/memory/bay', { headers: bob })).status).toBe(404)
    expect((await call('/memory/bay', { method: 'DELETE', headers: bob })).status).toBe(404)
    expect((await ask({ message: GATE, session_id: 'bay' }, bob)).message_count).toBe(2)
    expect((await ask({ message: GATE, session_id: 'bay' }, ann)).message_count).toBe(4)
    for (const path of ['/memory/bay', '/passages/d1p3']) expect((await call(path)).status).toBe(401)
    expect((await call('/chat', { json: { message: GATE } })).status).toBe(401)
  })

  test('are erased after their time', async () => {
    const clock = new ManualClock()
    const day = 24 * 60 * 60 * 1000
    const engine = { start: () => {}, stop: () => Promise.resolve() }
    const { ask, call, host } = await server({
      host: { store: memoryStore({ clock }), ttlMs: { research: day }, clock, timer: clock, engine },
    })
    await ask({ message: GATE, session_id: 'bay' })
    host.start()
    clock.advance(day + 1)
    await until('it is erased', async () => (await call('/memory/bay')).status === 404)
    expect((await ask({ message: GATE, session_id: 'bay' })).message_count).toBe(2)
  })

  test('are not asked again under a key that ran before they were erased', async () => {
    const { call } = await server()
    const key = { 'idempotency-key': 'k' }
    const post = async (headers = {}) =>
      (await call('/chat', { json: { message: GATE, session_id: 'bay' }, headers })).status
    expect([await post(key), await post(key)]).toEqual([200, 200])
    expect((await call('/memory/bay', { method: 'DELETE' })).status).toBe(204)
    expect([await post(key), await post(), await post(key)]).toEqual([410, 200, 410])
  })

  test('GET /health stays the one of the server', async () => {
    const { call } = await server()
    expect(await (await call('/health')).json()).toEqual({ status: 'ok' })
  })
})

describe('GET /passages/{id}', () => {
  test('gives the passage as JSON; an unknown one is 404', async () => {
    const { call } = await server()
    const found = await call('/passages/d1p3')
    expect([found.status, found.headers.get('content-type')]).toEqual([200, 'application/json'])
    expect(found.headers.get('x-content-type-options')).toBe('nosniff')
    expect(await found.json()).toEqual({
      id: 'd1p3',
      document_id: 'd1',
      title: 'Harbours of the bay',
      source: 'harbours-of-the-bay.pdf',
      page: 3,
      before: '',
      text: 'Granville has a wet dock. The gate of the dock opens 2 hours before high tide.',
      after: '',
    })
    expect((await call('/passages/d9p9')).status).toBe(404)
  })

  test('may have no page, and the document of the API says so', async () => {
    const { call } = await server()
    const { paths } = (await (await call('/openapi.json')).json()) as { readonly paths: object }
    expect(paths).toHaveProperty(
      [
        '/passages/{id}',
        'get',
        'responses',
        '200',
        'content',
        'application/json',
        'schema',
        'properties',
        'page',
        'type',
      ],
      ['integer', 'null'],
    )
  })

  const known: HttpOptions['authenticate'] = ({ headers }) =>
    headers.has('authorization') ? { tenant: 't', actor: 'ann' } : undefined
  const refusing = (decided: unknown[]) => (request: TrustRequest) => {
    decided.push(request)
    return request.isKnown
  }

  test('is for callers of the assistant: a visitor of another agent reads none', async () => {
    const desk = { model: 'reflex', trust: { public: true } } as const
    const { call } = await server({ host: { agents: { desk } }, http: { authenticate: known } })
    const visitor = await call('/agents')
    expect(await visitor.json()).toEqual({ agents: ['desk'], graphs: [] })
    const headers = { 'x-visitor-key': visitor.headers.get('x-visitor-key') ?? '' }
    for (const id of ['d1p3', 'd9p9'])
      expect(await (await call(`/passages/${id}`, { headers })).json()).toMatchObject({
        status: 404,
        detail: 'This server has no "research" for you.',
      })
    expect((await call('/passages/d1p3', { headers: { authorization: 'ann' } })).status).toBe(200)
  })

  test('is for callers whom a policy of trust admits', async () => {
    const decided: unknown[] = []
    const trust = { public: true, decide: refusing(decided) }
    const { call } = await server({ host: { trust }, http: { authenticate: known } })
    expect((await call('/chat', { json: { message: GATE } })).status).toBe(403)
    expect((await call('/passages/d1p3')).status).toBe(403)
    expect((await call('/passages/d1p3', { headers: { authorization: 'ann' } })).status).toBe(200)
    expect(decided).toMatchObject([
      { kind: 'turn', name: 'research', isKnown: false },
      { kind: 'turn', name: 'research', isKnown: false },
      { kind: 'turn', name: 'research', isKnown: true },
    ])
  })
})
