/** An agent as a tool: its own journal, events under the caller's, questions through the caller (R17). */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { Agent, type AgentConfig, agentTool, type Turn } from '../../src/agent/index.ts'
import type { JsonObject, TurnEvent } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { CountingIds, ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { ask, askUser, defineTool, type Tool } from '../../src/tool/index.ts'
import { withAppend } from '../graph/recovery-cut.ts'
import { decorate } from '../ownership/decorate.ts'

const key = { tenant: 'local', actor: 'local', contextId: 'c' }

function callOf(tool: string, args: JsonObject): { calls: { tool: string; args: JsonObject }[] } {
  return { calls: [{ tool, args }] }
}

function caller(
  child: AgentConfig['model'],
  more: Partial<AgentConfig> = {},
  tools: AgentConfig['tools'] = [],
) {
  const store = memoryStore()
  const helper = agentTool({
    name: 'helper',
    description: 'Helps',
    agent: {
      ...(child === undefined ? {} : { model: child }),
      tools,
      ...(more.limits === undefined ? {} : {}),
    },
  })
  const config = { contextId: 'c', store, tools: [helper], ids: new CountingIds(), ...more }
  return { store, config }
}

async function linesOf(turn: Turn): Promise<string[]> {
  const lines: string[] = []
  for await (const event of turn) if (!event.type.endsWith('.delta')) lines.push(lineOf(event))
  return lines
}

function lineOf({ type, path, ...rest }: TurnEvent): string {
  const seq = 'seq' in rest ? `${rest.seq} ` : ''
  return `${path === undefined ? '' : `${path.join('/')}: `}${seq}${type}`
}

describe('a sub-agent', () => {
  it('works in a journal below its caller’s, and its events come out under the call', async () => {
    const child = new ScriptedModel(['42 it is.'])
    const parent = new ScriptedModel([callOf('helper', { message: 'How much?' }), 'It says 42.'])
    const { store, config } = caller(child)
    const agent = new Agent({ ...config, model: parent })
    const turn = agent.executeTurn('Ask the helper')
    expect(await linesOf(turn)).toEqual([
      '1 input',
      '2 claim',
      '3 turn.start',
      '4 model.start',
      '5 model.end',
      '6 tool.start',
      'call_1: 1 input',
      'call_1: 2 claim',
      'call_1: 3 turn.start',
      'call_1: 4 model.start',
      'call_1: 5 model.end',
      'call_1: 6 turn.end',
      '7 tool.end',
      '8 model.start',
      '9 model.end',
      '10 turn.end',
    ])
    expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'It says 42.' })
    const entries = await store.read({ ...key, contextId: 'c/call_1' })
    expect(entries.map(({ type }) => type)).toEqual([
      'input',
      'claim',
      'turn.start',
      'model.start',
      'model.end',
      'turn.end',
    ])
    expect(await store.head({ ...key, contextId: 'c/call_1' })).toMatchObject({
      parent: { contextId: 'c', kind: 'child' },
    })
    child.done()
    parent.done()
  })

  it('counts for its caller', async () => {
    const usage = { inputTokens: 100, outputTokens: 10 }
    const { config } = caller(new ScriptedModel([{ text: 'done', usage }]))
    const model = new ScriptedModel([
      { ...callOf('helper', { message: 'x' }), usage: { inputTokens: 1, outputTokens: 1 } },
      { text: 'ok', usage: { inputTokens: 1, outputTokens: 1 } },
    ])
    const { usage: used } = await new Agent({ ...config, model }).executeTurn('go').outcome
    expect(used).toMatchObject({ inputTokens: 102, outputTokens: 12 })
  })

  it('that fails is an error that the caller’s model can read, and what it used still counts', async () => {
    const failing = new ScriptedModel([{ error: { status: 400, message: 'no such thing' } }])
    const { store, config } = caller(failing)
    const model = new ScriptedModel([callOf('helper', { message: 'x' }), 'It failed.'])
    expect(await new Agent({ ...config, model }).executeTurn('go').outcome).toMatchObject({
      text: 'It failed.',
    })
    const end = (await store.read(key)).find(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({
      status: 'error',
      output: { error: expect.stringContaining('no such thing') },
    })
  })

  it('asks through its caller, and the answer goes down to it', async () => {
    const size = defineTool({
      name: 'order',
      description: 'Orders',
      input: z.object({}),
      run: (_, { answers }) =>
        answers['answer'] === undefined
          ? ask({ kind: 'choice', prompt: 'Which size?', options: ['S', 'M'] })
          : `ordered ${JSON.stringify(answers['answer'])}`,
    })
    const child = new ScriptedModel([callOf('order', {}), 'Ordered M.'])
    const { config, store } = caller(child, {}, [size])
    const model = new ScriptedModel([callOf('helper', { message: 'order one' }), 'Done: M.'])
    const agent = new Agent({ ...config, model })
    const first = await agent.executeTurn('go').outcome
    expect(first).toMatchObject({ reason: 'input-required', turn: 1 })
    expect(first.requests).toMatchObject([
      { kind: 'choice', prompt: 'Which size?', options: ['S', 'M'], callId: 'call_1' },
    ])
    const [request] = first.requests
    const other = new Agent({ ...config, model })
    const second = await other.answer({ [request?.requestId ?? '']: 'M' }).outcome
    expect(second).toMatchObject({ reason: 'stop', turn: 2, text: 'Done: M.' })
    const below = await store.read({ ...key, contextId: 'c/call_1' })
    expect(below.filter(({ type }) => type === 'turn.end').map(({ data }) => data['outcome'])).toEqual([
      'input-required',
      'stop',
    ])
    child.done()
    model.done()
  })

  it('gets what is left of its caller’s limits', async () => {
    const loop = defineTool({
      name: 'again',
      description: 'Again',
      input: z.object({}),
      run: () => 'once more',
    })
    const child = ScriptedModel.forever(callOf('again', {}))
    const { config } = caller(child, {}, [loop])
    const model = new ScriptedModel([callOf('helper', { message: 'x' }), 'ok'])
    const agent = new Agent({ ...config, model, limits: { toolCalls: 4 } })
    const turn = agent.executeTurn('go')
    const ends: unknown[] = []
    for await (const event of turn) if (event.type === 'turn.end') ends.push([event.path, event.data.outcome])
    expect(ends[0]).toEqual([['call_1'], 'limit'])
  })

  it('is cancelled with its caller', async () => {
    const child = new ScriptedModel([{ stall: true }])
    const { config, store } = caller(child)
    const agent = new Agent({ ...config, model: new ScriptedModel([callOf('helper', { message: 'x' })]) })
    const turn = agent.executeTurn('go')
    for await (const event of turn)
      if (event.path !== undefined && event.type === 'model.start') await turn.cancel()
    expect(await turn.outcome).toMatchObject({ reason: 'cancelled' })
    const below = await store.read({ ...key, contextId: 'c/call_1' })
    expect(below.at(-1)?.data).toMatchObject({ outcome: 'cancelled' })
  })

  it('is erased with its caller', async () => {
    const { config, store } = caller(new ScriptedModel(['ok']))
    const agent = new Agent({
      ...config,
      model: new ScriptedModel([callOf('helper', { message: 'x' }), 'ok']),
    })
    await agent.executeTurn('go').outcome
    expect(await store.erase(key)).toBe(2)
    expect(await store.read({ ...key, contextId: 'c/call_1' })).toEqual([])
  })

  it('may have a sub-agent of its own', async () => {
    const inner = agentTool({
      name: 'inner',
      description: 'In',
      agent: { model: new ScriptedModel(['deep']) },
    })
    const outer = agentTool({
      name: 'outer',
      description: 'Out',
      agent: {
        model: new ScriptedModel([callOf('inner', { message: 'x' }), 'from the deep']),
        tools: [inner],
      },
    })
    const model = new ScriptedModel([callOf('outer', { message: 'x' }), 'ok'])
    const agent = new Agent({
      contextId: 'c',
      model,
      tools: [outer],
      ids: new CountingIds(),
      clock: new ManualClock(),
    })
    const paths = new Set<string>()
    for await (const event of agent.executeTurn('go')) if (event.path) paths.add(event.path.join('/'))
    expect([...paths]).toEqual(['call_1', 'call_1/call_2'])
  })
})

describe('a sub-agent whose caller has gone on without it', () => {
  it('is cancelled, when its caller is cancelled after a crash', async () => {
    const dead = new Set<string>()
    const store = memoryStore({ liveness: (driver) => (dead.has(driver) ? 'dead' : 'alive') })
    const helper = agentTool({
      name: 'helper',
      description: 'Helps',
      agent: { model: new ScriptedModel([{ stall: true }]) },
    })
    const config = { contextId: 'c', store, tools: [helper], ids: new CountingIds() }
    const agent = new Agent({ ...config, model: new ScriptedModel([callOf('helper', { message: 'x' })]) })
    for await (const event of agent.executeTurn('go'))
      if (event.path !== undefined && event.type === 'model.start') break
    const below = { ...key, contextId: 'c/call_1' }
    for (const one of [key, below]) dead.add((await store.head(one))?.lease?.driver ?? '')
    const next = new Agent({ ...config, model: new ScriptedModel([]) })
    await next.cancel('enough')
    await next.start()
    expect(await next.turn?.outcome).toMatchObject({ reason: 'cancelled' })
    await expect.poll(async () => (await store.head(below))?.outcome).toBe('cancelled')
  })

  it('is cancelled, when its caller is cancelled while it is taken over after a crash', async () => {
    const dead = new Set<string>()
    const memory = memoryStore({ liveness: (driver) => (dead.has(driver) ? 'dead' : 'alive') })
    const below = { ...key, contextId: 'c/call_1' }
    const opening = Promise.withResolvers<void>()
    const held = Promise.withResolvers<void>()
    const store = decorate(memory, {
      inbox: async (of) => {
        if (dead.size > 0 && of.contextId === below.contextId) {
          opening.resolve()
          await held.promise
        }
        return memory.inbox(of)
      },
    })
    const helper = agentTool({
      name: 'helper',
      description: 'Helps',
      agent: { model: new ScriptedModel([{ stall: true }, { stall: true }]) },
    })
    const config = { contextId: 'c', store, tools: [helper], ids: new CountingIds(), graceMs: 60_000 }
    const agent = new Agent({ ...config, model: new ScriptedModel([callOf('helper', { message: 'x' })]) })
    for await (const event of agent.executeTurn('go'))
      if (event.path !== undefined && event.type === 'model.start') break
    for (const one of [key, below]) dead.add((await memory.head(one))?.lease?.driver ?? '')
    const next = new Agent({ ...config, model: new ScriptedModel([]) })
    await next.start()
    await opening.promise
    await next.cancel('enough')
    held.resolve()
    expect(await next.turn?.outcome).toMatchObject({ reason: 'cancelled' })
    expect((await memory.head(below))?.outcome).toBe('cancelled')
  })

  it('stops waiting for an answer when the person says something else', async () => {
    const question = defineTool({
      name: 'question',
      description: 'Asks',
      input: z.object({}),
      run: () => ask({ kind: 'confirmation', prompt: 'Sure?' }),
    })
    const { config, store } = caller(new ScriptedModel([callOf('question', {})]), {}, [question])
    const model = new ScriptedModel([callOf('helper', { message: 'x' }), 'As you like.'])
    const agent = new Agent({ ...config, model })
    expect(await agent.executeTurn('go').outcome).toMatchObject({ reason: 'input-required' })
    expect(await agent.input('Never mind')).toBe('As you like.')
    const below = { ...key, contextId: 'c/call_1' }
    await expect.poll(async () => (await store.read(below)).at(-1)?.type).toBe('release')
    expect((await store.head(below))?.wakeAt).toBe(undefined)
  })
  const WEEK_MS = 7 * 24 * 60 * 60 * 1000
  it.each<[string, (agent: Agent, clock: ManualClock) => Promise<unknown>]>([
    ['says something else', (agent) => agent.executeTurn('Never mind').outcome],
    ['cancels', (agent) => agent.cancel()],
    ['clears', (agent) => agent.clear()],
    [
      'never answers',
      async (agent, clock) => {
        clock.advance(WEEK_MS + 1)
        while ((await agent.drive()).state === 'again');
      },
    ],
  ])('stops waiting, and so does the one below it, when the person %s', async (_, goOn) => {
    const clock = new ManualClock()
    const store = memoryStore({ clock })
    const asks = { calls: [{ tool: 'ask_user', args: { question: 'Which?', options: ['a', 'b'] } }] }
    const helps = callOf('helper', { message: 'Help' })
    const tool = (agent: Parameters<typeof agentTool>[0]['agent']) =>
      agentTool({ name: 'helper', description: 'Helps', agent })
    const below = tool({ model: ScriptedModel.forever(asks), tools: [askUser()] })
    const tools = [tool({ model: ScriptedModel.forever(helps), tools: [below] })]
    const agent = new Agent({
      contextId: 'c',
      store,
      clock,
      tools,
      model: new ScriptedModel([helps, 'Bye.']),
    })
    expect((await agent.executeTurn('Go').outcome).status).toBe('input-required')
    const states = async () => (await store.scan({ limit: 10 })).map(({ status }) => status)
    expect(await states()).toEqual(['waiting', 'waiting', 'waiting'])
    await goOn(agent, clock)
    await expect.poll(states).toEqual(['idle', 'idle', 'idle'])
    clock.advance(WEEK_MS + 1)
    expect(await store.due(10)).toEqual([])
  })

  it('keeps its question when the message that would dismiss it loses the claim to the answer', async () => {
    const question = defineTool({
      name: 'question',
      description: 'Asks',
      input: z.object({}),
      run: (_, { answers }) =>
        'answer' in answers ? 'sure' : ask({ name: 'answer', kind: 'confirmation', prompt: 'Sure?' }),
    })
    const child = new ScriptedModel([callOf('question', {}), 'They are sure.'])
    const { config, store } = caller(child, {}, [question])
    const model = new ScriptedModel([callOf('helper', { message: 'x' }), 'Good.', 'Never mind what?'])
    const winner = new Agent({ ...config, model })
    const { requests } = await winner.executeTurn('go').outcome
    let answered: Turn | undefined
    const append: typeof store.append = async (request) => {
      if (answered === undefined && request.claim !== undefined) {
        answered = winner.answer({ [requests[0]?.requestId ?? '']: true })
        for await (const { type } of answered) if (type === 'turn.start') break
      }
      return store.append(request)
    }
    const loser = new Agent({ ...config, store: withAppend(store, append), model })
    await loser.executeTurn('Never mind').outcome
    expect((await answered?.outcome)?.text).toBe('Good.')
    child.done()
  })
})

it.each([
  ['a promise', async () => 'Look it up', 'an object'],
  ['nothing', () => undefined, 'undefined'],
])('a prompt that returns %s fails the call with what to change', async (_, prompt, given) => {
  const agent = { model: new ScriptedModel([]) }
  const helper = agentTool({ name: 'helper', description: 'Helps', agent, prompt: prompt as never })
  const model = new ScriptedModel([callOf('helper', { message: 'Help' }), 'It failed.'])
  await new Agent({ contextId: 'c', model, tools: [helper] }).input('Hi')
  expect(JSON.stringify(model.calls[1]?.prompt.at(-1))).toContain(
    `prompt of an agentTool() must return a text, at once, not ${given}.`,
  )
})

it('the types of an agent as a tool', () => {
  const agent = { model: new ScriptedModel([]) }
  const input = z.object({ topic: z.string() })
  const typed = agentTool({ name: 'a', description: 'A', agent, input, prompt: ({ topic }) => topic })
  expectTypeOf(typed).toEqualTypeOf<Tool<{ topic: string }, string>>()
  const plain = agentTool({ name: 'b', description: 'B', agent, prompt: ({ message }) => message })
  expectTypeOf(plain).toEqualTypeOf<Tool<{ readonly message: string }, string>>()
  expect([typed.name, plain.name]).toEqual(['a', 'b'])
})
