import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { pruneContext } from '../../src/entry/operate.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { createHost } from '../../src/host/index.ts'
import { askUser, defineTool, memoryStore } from '../../src/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { until } from '../turn/kit.ts'
import { answering, collect, deltaText, holding, isEnd, key, OWNER, twoHosts } from './kit.ts'

describe('a host', () => {
  test('opens the agent that the id names, and the first for an id without a name', async () => {
    const store = memoryStore()
    const host = createHost({
      store,
      agents: {
        support: { model: new ScriptedModel(['I am support.', 'Again.']) },
        sales: (session) => ({ model: new ScriptedModel([`Sales for ${session.actor}.`]) }),
      },
    })
    const sent = async (contextId: string): Promise<string | undefined> =>
      (await (await host.send(key(contextId), 'Hi')).outcome).text
    expect(await sent('sales:1')).toBe('Sales for ann.')
    expect(await sent('support:1')).toBe('I am support.')
    expect(await sent('plain')).toBe('Again.')
    await expect(host.send(key('other:1'), 'Hi')).rejects.toMatchObject({ code: 'not-found' })
    await expect(host.send(key('support:1/call'), 'Hi')).rejects.toMatchObject({ code: 'not-found' })
    expect(host.newContextId('sales')).toMatch(/^sales:conversation_/)
    await host.shutdown()
    await expect(host.send(key('support:1'), 'Hi')).rejects.toMatchObject({ code: 'shutdown' })
  })

  test('runs graphs of the same store, and refuses one of another', async () => {
    const store = memoryStore()
    const host = createHost({ store, graphs: { flow: answering(store) } })
    const { state } = await (await host.send(key('flow:1'), { question: 'why?' })).outcome
    expect(state).toEqual({ question: 'why?', answer: 'You asked: why?' })
    expect(() => createHost({ store, graphs: { flow: answering(memoryStore()) } })).toThrow(
      'has another store',
    )
  })

  test('runs flows: a message becomes values, and the state a reply', async () => {
    const store = memoryStore()
    let built = 0
    const flow = {
      build: async (of: typeof store) => {
        built += 1
        return answering(of)
      },
      values: (question: string) => ({ question }),
      textOf: String,
      // Its other fields are within its reach.
      reply({ answer }: { answer?: unknown }) {
        return this.textOf(answer)
      },
    }
    const host = createHost({
      store,
      agents: { helper: { model: new ScriptedModel(['Hello.']) } },
      graphs: { plain: answering(store) },
      flows: { ask: flow },
    })
    expect(host.names).toEqual(['helper', 'plain', 'ask'])
    expect(host.graphs).toEqual(['plain'])
    const text = async (contextId: string, message: string | { type: 'text'; text: string }[]) =>
      (await (await host.send(key(contextId), message)).outcome).text
    expect(await text('ask:1', 'why?')).toBe('You asked: why?')
    expect(await text('ask:2', [{ type: 'text', text: 'how?' }])).toBe('You asked: how?')
    expect(built).toBe(1)
    expect(await host.reads.reply(key('ask:1'))).toBe('You asked: why?')
    expect(await host.reads.reply(key('helper:1'))).toBeUndefined()
    await text('helper:1', 'Hi')
    expect(await host.reads.reply(key('helper:1'))).toBe('Hello.')
    await expect(host.send(key('plain:1'), 'why?')).rejects.toMatchObject({ code: 'wrong-kind' })
    await expect(host.send(key('helper:9'), { question: 'why?' })).rejects.toMatchObject({
      code: 'wrong-kind',
      message: '"helper:9" is a conversation with an agent: send it a message, not values.',
    })
    expect(() => createHost({ store, flows: { ask: answering(store) as never } })).toThrow(
      'belongs to graphs',
    )
  })

  test('gives the agent of a session until it is released', async () => {
    const store = memoryStore()
    const host = createHost({
      store,
      agents: { helper: { model: new ScriptedModel(['One.', 'Two.']) } },
      maxOpen: 1,
    })
    const session = await host.getOrCreateAgent(key('helper:1'))
    expect((await session.agent.executeTurn('Hi').outcome).text).toBe('One.')
    await expect(host.send(key('helper:2'), 'Hi')).rejects.toMatchObject({ code: 'overloaded' })
    await session.release()
    expect((await (await host.send(key('helper:2'), 'Hi')).outcome).text).toBe('Two.')
    await expect(host.getOrCreateAgent(key('nobody:1'))).rejects.toMatchObject({ code: 'not-found' })
    await host.shutdown()
  })

  test('streams entries exactly once from any position, with the text so far', async () => {
    const store = memoryStore()
    const host = createHost({ store, agents: { a: { model: new ScriptedModel(['One two three.']) } } })
    const all = collect(host.events(key('a:1')), isEnd)
    await (await host.send(key('a:1'), 'Hi')).outcome
    const entries = (await all).flatMap((event) => (event.type === 'entry' ? [event.entry] : []))
    expect(entries.map(({ seq }) => seq)).toEqual(entries.map((_, at) => at + 1))
    expect('One two three.'.startsWith(deltaText(await all))).toBe(true)
    for (const { seq } of entries.slice(0, -1)) {
      const rest = await collect(host.events(key('a:1'), { since: seq }), isEnd)
      expect(rest.map((event) => event.type === 'entry' && event.entry.seq)).toEqual(
        entries.slice(seq).map((entry) => entry.seq),
      )
    }
  })

  test('a reader from before a prune gets all that is left, and the gap shows in the positions', async () => {
    const store = memoryStore()
    const host = createHost({ store, agents: { a: { model: ScriptedModel.forever('Yes.') } } })
    for (const text of ['One', 'Two', 'Three']) await (await host.send(key('a:1'), text)).outcome
    await pruneContext(store, key('a:1'), { keepTurns: 1 })
    const rest = await collect(host.events(key('a:1'), { since: 1 }), isEnd)
    const seqs = rest.map((event) => (event.type === 'entry' ? event.entry.seq : 0))
    expect(seqs[0]).toBeGreaterThan(2)
    expect(seqs).toEqual(seqs.map((_, at) => (seqs[0] ?? 0) + at))
    const ended = rest.at(-1)
    expect(ended?.type === 'entry' && ended.entry.turn).toBe(3)
  })

  test('a turn that two callers follow streams its text once', async () => {
    const { tool, call, release } = holding()
    const deltas = Array.from({ length: 20 }, (_, at) => `word ${at} `)
    const model = new ScriptedModel([call, { deltas }])
    const host = createHost({ store: memoryStore(), agents: { a: { model, tools: [tool] } } })
    const all = collect(host.events(key('a:1')), isEnd)
    const first = await host.send(key('a:1'), 'Wait', { key: 'same' })
    const second = await host.send(key('a:1'), 'Wait', { key: 'same' })
    for await (const { type } of second) if (type === 'tool.start') break
    release()
    await Promise.all([first.outcome, second.outcome])
    expect(deltas.join('').startsWith(deltaText(await all))).toBe(true)
    await host.shutdown()
  })

  test('a request notifies, is listed for its owner alone, and is answered', async () => {
    const store = memoryStore()
    const notices: string[] = []
    const pay = defineTool({
      name: 'pay',
      description: 'Pays',
      input: z.object({ amount: z.number() }),
      approve: 'always',
      run: ({ amount }) => `paid ${amount}`,
    })
    const host = createHost({
      store,
      agents: {
        a: {
          model: new ScriptedModel([{ calls: [{ tool: 'pay', args: { amount: 5 } }] }, 'Done.']),
          tools: [pay],
        },
      },
      onRequest: ({ key: { contextId } }) => notices.push(contextId),
    })
    const outcome = await (await host.send(key('a:1'), 'Pay 5')).outcome
    expect(outcome.status).toBe('input-required')
    await until('a notice', () => notices.length === 1)
    expect((await host.openRequests({ tenant: 'acme', actor: 'bob' })).notices).toEqual([])
    const { notices: open } = await host.openRequests(OWNER)
    const [request] = open[0]?.requests ?? []
    await expect(
      (await host.answer(key('a:1'), { [request?.requestId ?? '']: true }, { auth: { actor: 'eve' } }))
        .outcome,
    ).resolves.toMatchObject({ error: { code: 'forbidden' } })
    const answered = await host.answer(key('a:1'), { [request?.requestId ?? '']: true })
    expect((await answered.outcome).text).toBe('Done.')
  })

  test('reports the open requests once, however often the message is sent, and reads them with a full house', async () => {
    const { tool, call, release } = holding()
    const asked = { calls: [{ tool: 'ask_user', args: { question: 'Which?' } }] }
    const notices: string[] = []
    const host = createHost({
      store: memoryStore(),
      maxOpen: 1,
      agents: {
        asks: { model: new ScriptedModel([asked, 'Good.']), tools: [askUser()] },
        holds: { model: new ScriptedModel([call, 'Done.']), tools: [tool] },
      },
      onRequest: ({ requests }) => notices.push(...requests.map(({ prompt }) => prompt)),
    })
    const send = async () => (await host.send(key('asks:1'), 'Hi', { key: 'k' })).outcome
    await Promise.all([send(), send()])
    await send()
    await until('an idle host', () => host.load.running === 0)
    expect(notices).toEqual(['Which?'])
    const held = await host.send(key('holds:1'), 'Hi')
    const [open, ...others] = (await host.openRequests(OWNER)).notices
    expect(others).toEqual([])
    expect(open?.requests.map(({ prompt }) => prompt)).toEqual(['Which?'])
    expect(await host.requests(key('asks:1'))).toEqual(open?.requests)
    release()
    await held.outcome
    await host.shutdown()
  })

  test('refuses options that nobody would read', async () => {
    const store = memoryStore()
    const model = ScriptedModel.forever('Hi.')
    const flow = graph({ state: { n: value<number>() } })
      .addNode('count', () => ({ n: 1 }))
      .addEdge(START, 'count')
      .addEdge('count', END)
      .compile({ store })
    for (const more of [{ store }, { owner: OWNER }, { contextId: 'x' }, { allow: () => true }]) {
      const field = Object.keys(more).join('')
      const message = `${field} of the agent "a" is set by the host: leave it out.`
      expect(() => createHost({ store, agents: { a: { model, ...more } } })).toThrow(message)
      const made = createHost({ store, agents: { a: () => ({ model, ...more }) } })
      await expect(made.send(key('a:1'), 'Hi')).rejects.toThrow(message)
    }
    const host = createHost({ store, agents: { a: { model } }, graphs: { flow } })
    const toGraph = (options: object) => host.send(key('flow:1'), { n: 0 }, options)
    await expect(toGraph({ whileBusy: 'steer' })).rejects.toThrow(
      'whileBusy of a graph or flow is always "queue"',
    )
    await expect(toGraph({ keey: 'x' })).rejects.toThrow('has no "keey". Did you mean key?')
    for (const [options, message] of [
      [null, 'takes options as an object, not null'],
      [{ keey: 'x' }, 'has no "keey". Did you mean key?'],
      [{ after: 'x' }, 'after must be a number from 0 on'],
      [{ metadata: 5 }, 'metadata must be an object, not 5'],
      [{ history: null }, 'history must be an object, not null'],
    ] as const) {
      await expect(host.send(key('a:1'), 'Hi', options as never)).rejects.toThrow(message)
      await expect(host.answer(key('a:1'), { x: true }, options as never)).rejects.toThrow(message)
    }
    expect(await store.head(key('a:1'))).toBeUndefined()
    await expect(host.fork(key('a:1'), { att: 1 } as never)).rejects.toThrow('host.fork() has no "att"')
    const events = (options: object) => host.events(key('a:1'), options).next()
    await expect(events({ sinc: 1 })).rejects.toThrow('host.events() has no "sinc". Did you mean since?')
    await expect(events({ since: 1.5 })).rejects.toThrow('since must be a whole number')
    await expect(events({ since: -1 })).rejects.toThrow('since must be a number from 0 on')
    await host.shutdown()
  })

  test('bounds turns and waiting messages, and refuses the rest without storing it', async () => {
    const store = memoryStore()
    const { tool, call, release } = holding()
    const host = createHost({
      store,
      maxTurns: 1,
      maxWaiting: 1,
      agents: {
        a: () => ({ model: new ScriptedModel([call, 'ok']), tools: [tool] }),
      },
    })
    const first = await host.send(key('a:1'), 'one')
    const second = host.send(key('a:2'), 'two')
    await expect(host.send(key('a:3'), 'three')).rejects.toMatchObject({ code: 'overloaded', retry: 'later' })
    expect(host.load).toMatchObject({ running: 1, waiting: 1 })
    expect(await store.head(key('a:3'))).toBeUndefined()
    release()
    expect((await first.outcome).status).toBe('completed')
    expect((await (await second).outcome).status).toBe('completed')
  })

  test('closes idle conversations, and opens them again', async () => {
    let opened = 0
    const host = createHost({
      store: memoryStore(),
      idleMs: 20,
      agents: {
        a: () => {
          opened += 1
          return { model: new ScriptedModel(['ok', 'ok']) }
        },
      },
    })
    await (await host.send(key('a:1'), 'one')).outcome
    await until('it is closed', () => host.load.open === 0)
    await (await host.send(key('a:1'), 'two')).outcome
    expect(opened).toBe(2)
    await host.shutdown()
  })

  test('an open conversation makes room for another if it is idle, and is refused if not', async () => {
    const host = createHost({
      store: memoryStore(),
      maxOpen: 1,
      agents: { a: () => ({ model: new ScriptedModel(['ok', 'ok']) }) },
    })
    await (await host.send(key('a:1'), 'one')).outcome
    await until('there is room', async () => {
      const turn = await host.send(key('a:2'), 'two').catch(() => undefined)
      return (await turn?.outcome)?.status === 'completed'
    })
    expect(host.load.open).toBe(1)
  })

  test('refuses an erased conversation until it is recreated, by whichever host', async () => {
    const store = memoryStore()
    const [one, two] = twoHosts(store)
    const talk = key('support:1')
    const status = async (host: typeof one) => (await (await host.send(talk, 'Hi')).outcome).status
    expect(await status(one)).toBe('completed')
    for (const [erases, recreates] of [
      [two, one],
      [one, two],
      [two, two],
    ] as const) {
      expect(await erases.erase(talk)).toBe(1)
      for (const host of [one, two]) {
        await expect(host.send(talk, 'Hi', { key: 'k' })).rejects.toMatchObject({ code: 'erased' })
        await expect(host.answer(talk, { x: true })).rejects.toMatchObject({ code: 'erased' })
      }
      await recreates.recreate(talk)
      await expect(recreates.recreate(talk)).rejects.toMatchObject({ code: 'exists' })
      expect(await status(recreates)).toBe('completed')
    }
    expect(await one.requests(talk)).toEqual([])
    expect(await status(one)).toBe('completed')
    expect((await one.reads.info(talk))?.turn).toBe(2)
    await Promise.all([one.shutdown(), two.shutdown()])
  })

  test('refuses the messages that come while a conversation is erased twice', async () => {
    const support = { model: ScriptedModel.forever('Hello.') }
    const host = createHost({ store: memoryStore(), agents: { support } })
    const talk = key('support:1')
    const send = async () => (await (await host.send(talk, 'Hi')).outcome).status
    expect(await send()).toBe('completed')
    const sent = await Promise.allSettled([host.erase(talk), send(), host.erase(talk), send()])
    expect(sent.map((each) => each.status)).toEqual(['fulfilled', 'rejected', 'fulfilled', 'rejected'])
    expect(await host.reads.info(talk)).toBeUndefined()
    await host.shutdown()
  })

  test('reads and cancels a conversation that another host has begun anew', async () => {
    const store = memoryStore()
    const [one, two] = twoHosts(store)
    const talk = key('support:1')
    await (await one.send(talk, 'Hi')).outcome
    await two.erase(talk)
    await two.recreate(talk)
    await (await two.send(talk, 'Hi')).outcome
    expect(await one.requests(talk)).toEqual([])
    await one.cancel(talk)
    expect(await one.withAgent(talk, async (agent) => (await agent.lastTurn())?.number)).toBe(1)
    await Promise.all([one.shutdown(), two.shutdown()])
  })

  test('goes on with a conversation behind a thousand that belong to no agent of the host', async () => {
    const store = memoryStore()
    const post = (contextId: string) => {
      const inbox = [{ type: 'input', key: 'm', data: { message: 'Hi' } }] as const
      return store.append({ key: key(contextId), id: contextId, since: 0, inbox })
    }
    for (let at = 0; at < 1000; at++) await post(`gone:${at}`)
    await post('support:1')
    const clock = new ManualClock(Date.now())
    const agents = { support: { model: ScriptedModel.forever('Hello.') } }
    const host = createHost({ store, agents, timer: clock })
    host.start()
    await until('it was driven', async () => {
      clock.advance(1000)
      return (await store.head(key('support:1')))?.outcome === 'stop'
    })
    expect((await store.head(key('support:1')))?.pending).toBe(0)
    await host.shutdown()
  })

  test('is not ended by callbacks that reject', async () => {
    const unhandled: unknown[] = []
    const note = (error: unknown) => void unhandled.push(error)
    process.on('unhandledRejection', note)
    const rejects = (async () => {
      throw new Error('The callback failed.')
    }) as () => void
    const question = defineTool({
      name: 'question',
      description: 'Asks.',
      input: z.object({}),
      approve: 'always',
      run: () => 'asked',
    })
    const model = ScriptedModel.forever({ calls: [{ tool: 'question', args: {} }] })
    const support = { model, tools: [question] }
    const trust = { level: 'strict', principals: [OWNER] } as const
    const callbacks = { onRequest: rejects, onRefusal: rejects }
    const host = createHost({ store: memoryStore(), agents: { support }, trust, ...callbacks })
    expect((await (await host.send(key('support:1'), 'Hi')).outcome).status).toBe('input-required')
    const stranger = key('support:1', { tenant: 'acme', actor: 'bob' })
    await expect(host.send(stranger, 'Hi')).rejects.toMatchObject({ code: 'forbidden' })
    await host.shutdown()
    await new Promise((resolve) => setImmediate(resolve))
    process.off('unhandledRejection', note)
    expect(unhandled).toEqual([])
  })

  test('completes a run whose flow cannot tell its reply', async () => {
    const store = memoryStore()
    const build = graph({ state: { question: value<string>() } })
      .addNode('read', () => ({}))
      .addEdge(START, 'read')
      .addEdge('read', END)
    const flow = {
      build: (of: typeof store) => build.compile({ store: of }),
      values: (question: string) => ({ question }),
      reply: () => {
        throw new Error('no reply')
      },
    }
    const host = createHost({ store, flows: { flow } })
    const outcome = await (await host.send(key('flow:1'), 'why?')).outcome
    expect([outcome.status, outcome.text, outcome.state]).toEqual([
      'completed',
      undefined,
      { question: 'why?' },
    ])
    expect(await host.reads.reply(key('flow:1'))).toBeUndefined()
    await host.shutdown()
  })

  test('erases conversations that are unused for longer than ttlMs, and no others', async () => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const host = createHost({
      store,
      clock,
      timer: clock,
      engine: { start: () => {}, stop: () => Promise.resolve() },
      ttlMs: { a: 3_600_000 },
      agents: {
        a: () => ({ model: new ScriptedModel(Array.from({ length: 4 }, () => 'ok')) }),
        kept: () => ({ model: new ScriptedModel(['ok']) }),
      },
    })
    host.start()
    const ids = Array.from({ length: 30 }, (_, at) => `a:old-${at}`)
    for (const id of [...ids, 'a:parent', 'a:used', 'plain', 'kept:1'])
      await (await host.send(key(id), 'Hi')).outcome
    const fork = await host.fork(key('a:parent'), { to: 'a:fork' })
    clock.advance(3_500_000)
    for (const id of ['a:used', fork]) await (await host.send(key(id), 'Again')).outcome
    const left = async (): Promise<string[]> =>
      (await store.scan()).flatMap(({ key: { contextId }, status }) =>
        status === 'erased' ? [] : [contextId],
      )
    expect(await left()).toHaveLength(35)
    clock.advance(200_000)
    await until('the first step', async () => (await left()).length === 15)
    clock.advance(1000)
    await until('the rest', async () => (await left()).length === 4)
    expect(await left()).toEqual(['a:fork', 'a:parent', 'a:used', 'kept:1'])
    await host.shutdown()
    expect(() => createHost({ store, agents: { a: {} }, ttlMs: { b: 1 } })).toThrow('no agent or graph "b"')
  })

  test('continues unread input and open turns that another process left', async () => {
    const store = memoryStore()
    await store.append({
      key: key('a:1'),
      id: 'x',
      since: 0,
      inbox: [{ type: 'input', key: 'k', data: { message: 'Hi', principal: OWNER } }],
    })
    const host = createHost({ store, agents: { a: { model: new ScriptedModel(['Hello.']) } } })
    const events = collect(host.events(key('a:1')), isEnd)
    host.start()
    const entries = (await events).flatMap((event) => (event.type === 'entry' ? [event.entry.type] : []))
    expect(entries).toEqual(['input', 'claim', 'turn.start', 'model.start', 'model.end', 'turn.end'])
    await host.shutdown()
  })

  test('shutdown releases a running turn, and another host goes on with it', async () => {
    const store = memoryStore()
    const { tool, call, release } = holding()
    const agents = (replies: ConstructorParameters<typeof ScriptedModel>[0]) => ({
      a: { model: new ScriptedModel(replies), tools: [tool] },
    })
    const first = createHost({ store, agents: agents([call]) })
    const turn = await first.send(key('a:1'), 'Hi')
    await until('the tool runs', async () => (await store.head(key('a:1')))?.seq === 6)
    const down = first.shutdown()
    release()
    await down
    await turn.outcome
    const second = createHost({ store, agents: agents(['Done.']) })
    second.start()
    await until('it ends', async () => (await store.head(key('a:1')))?.status === 'idle')
    await second.shutdown()
    const types = (await store.read(key('a:1'))).map(({ type }) => type)
    expect(types.filter((type) => type === 'tool.start')).toHaveLength(1)
    expect(types.at(-1)).toBe('turn.end')
  })

  test.each([
    ['a model call', {}],
    ['one with a time limit', { limits: { durationMs: 3_600_000 } }],
  ])('shutdown gives up %s that never answers, and another host makes it again', async (_, config) => {
    const store = memoryStore()
    const model = new ScriptedModel([{ stall: true, after: 'Once' }])
    const first = createHost({ store, agents: { a: { model, ...config } } })
    const turn = await first.send(key('a:1'), 'Hi')
    await until('the model is asked', () => model.calls.length === 1)
    await first.shutdown({ graceMs: 3_600_000 })
    expect((await turn.outcome).error?.code).toBe('shutdown')
    const second = createHost({ store, agents: { a: { model: new ScriptedModel(['Done.']) } } })
    second.start()
    await until('it ends', async () => (await store.head(key('a:1')))?.status === 'idle')
    await second.shutdown()
    expect((await store.read(key('a:1'))).map(({ type }) => type)).toEqual([
      ...['input', 'claim', 'turn.start', 'model.start', 'release'],
      ...['claim', 'model.start', 'model.end', 'turn.end'],
    ])
  })

  test('shutdown gives up a summary that never comes, and the next host writes it', async () => {
    const store = memoryStore()
    const summary = new ScriptedModel([{ stall: true }])
    const agent = (model: ScriptedModel, summariser: ScriptedModel) => ({
      a: {
        model,
        autoCompact: { strategy: 'summary', overMessages: 2, keep: 1, model: summariser } as const,
      },
    })
    const first = createHost({ store, agents: agent(new ScriptedModel(['One.']), summary) })
    await (await first.send(key('a:1'), 'Hi')).outcome
    await first.send(key('a:1'), 'Go on')
    await until('the summary is asked for', () => summary.calls.length === 1)
    await first.shutdown({ graceMs: 3_600_000 })
    const last = new ScriptedModel(['Two.'])
    const second = createHost({ store, agents: agent(last, new ScriptedModel(['They said hello.'])) })
    second.start()
    await until('it ends', async () => (await store.head(key('a:1')))?.status === 'idle')
    await second.shutdown()
    const types = (await store.read(key('a:1'))).map(({ type }) => type)
    expect(types.filter((type) => type === 'compact' || type === 'warning')).toEqual(['compact'])
  })

  test('shutdown ends after its grace, and leaves an effect that never ends as a crash would', async () => {
    const store = memoryStore()
    const endless = defineTool({
      name: 'endless',
      description: 'Never ends',
      input: z.object({}),
      run: () => new Promise<string>(() => {}),
    })
    const model = new ScriptedModel([{ calls: [{ tool: 'endless', args: {} }] }])
    const host = createHost({ store, agents: { a: { model, tools: [endless] } } })
    await host.send(key('a:1'), 'Hi')
    await until('the tool runs', async () => (await store.head(key('a:1')))?.seq === 6)
    await host.shutdown({ graceMs: 1 })
    const head = await store.head(key('a:1'))
    // Still owned: no other process runs the call while it may be running here.
    expect([head?.seq, head?.lease !== undefined]).toEqual([6, true])
    await expect(host.shutdown({ graceMs: -1 })).rejects.toMatchObject({ code: 'invalid-option' })
  })
})
