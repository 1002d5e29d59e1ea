/** Tools as a node: every rule of tools holds as in a turn of an agent. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { modelNode, pendingCalls, toolNode } from '../../src/agent/index.ts'
import { END, graph, list, Send, START } from '../../src/graph/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { LOCAL_OWNER, type Message } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { ask, defineTool } from '../../src/tool/index.ts'
import { type Death, livenessOf, Mortal } from '../recovery/mortal.ts'
import { gate } from '../turn/kit.ts'
import {
  contextId,
  hello,
  loopOf,
  type Messages,
  resultParts,
  resultsIn,
  toolOf,
  typesOf,
} from './nodes-kit.ts'

const where = { contextId }
const calls = (...tools: readonly (string | readonly [string, object])[]) => ({
  calls: tools.map((tool) =>
    typeof tool === 'string' ? { tool } : { tool: tool[0], args: tool[1] as Record<string, string> },
  ),
})

interface HowToRun {
  readonly round?: { readonly toolConcurrency?: number }
  readonly more?: { readonly exclusive?: boolean }
}

describe('a round of calls', () => {
  it('has these entries, in the graph and below it', async () => {
    const store = memoryStore()
    const flow = loopOf([calls('look', 'look'), 'Done.'], { tools: [toolOf('look')], store })
    const { state, status } = await flow.invoke(hello, where)
    expect(status).toBe('completed')
    expect(await typesOf(store, contextId)).toEqual([
      ...['input', 'claim', 'turn.start', 'graph.start', 'graph.step', 'node.end', 'graph.step'],
      ...['node.end', 'graph.step', 'node.end', 'graph.step', 'turn.end'],
    ])
    expect(await typesOf(store, `${contextId}/model.1`)).toEqual([
      ...['claim', 'turn.start', 'model.start', 'model.end', 'turn.end'],
    ])
    expect(await typesOf(store, `${contextId}/tools~1`)).toEqual([
      ...['claim', 'turn.start', 'model.end', 'tool.start', 'tool.start', 'tool.end', 'tool.end', 'turn.end'],
    ])
    const [, reply, results] = state.messages
    const asked = reply?.role === 'assistant' ? pendingCalls([reply]).map(({ callId }) => callId) : []
    expect(asked).toHaveLength(2)
    expect(resultParts(results === undefined ? [] : [results]).map(({ callId }) => callId)).toEqual(asked)
  })

  it('runs only calls that have no result, and none after a reply without calls', async () => {
    const ran: unknown[] = []
    const look = toolOf('look', ({ n }) => void ran.push(n))
    const call = (callId: string, n: number) =>
      ({ type: 'tool-call', callId, tool: 'look', args: { n } }) as const
    const given: readonly Message[] = [
      { role: 'user', content: 'Look.' },
      { role: 'assistant', content: [call('c1', 1), call('c2', 2)] },
      {
        role: 'tool',
        content: [{ type: 'tool-result', callId: 'c1', tool: 'look', status: 'ok', output: 1 }],
      },
    ]
    const flow = graph<Messages>({ state: { messages: list<Message>() } })
      .addNode('tools', toolNode({ tools: [look] }))
      .addNode('again', toolNode({ tools: [look] }))
      .addEdge(START, 'tools')
      .addEdge('tools', 'again')
      .addEdge('again', END)
      .compile()
    const { state } = await flow.invoke({ messages: given })
    expect(ran).toEqual([2])
    expect(resultParts(state.messages).map(({ callId }) => callId)).toEqual(['c1', 'c2'])
  })

  it('settles unknown tools, malformed arguments and errors as results', async () => {
    const broken = toolOf('broken', () => {
      throw new Error('out of order')
    })
    const script = [
      { calls: [{ tool: 'lok' }, { tool: 'look', args: '{"n":' }, { tool: 'broken' }] },
      'Done.',
    ]
    const outcome = await loopOf(script, { tools: [toolOf('look'), broken] }).invoke(hello)
    expect(resultsIn(outcome).map((line) => line.split(':')[0])).toEqual([
      'lok rejected',
      'look rejected',
      'broken error',
    ])
    expect(resultsIn(outcome).join('\n')).toContain('out of order')
  })

  it('ends at its limit of calls, and the others are told as not run', async () => {
    const outcome = await loopOf([calls('look', 'look', 'look'), 'Done.'], {
      tools: [toolOf('look')],
      round: { limits: { toolCalls: 2 } },
    }).invoke(hello)
    expect(outcome.status).toBe('completed')
    expect(resultsIn(outcome)).toEqual([
      'look ok: look done',
      'look ok: look done',
      'look not-run: look was not run: the turn may make 2 tool calls.',
    ])
  })

  it.each([
    ['all at once', {}, ['begin 1', 'begin 2', 'end 1', 'end 2']],
    ['one after the other', { round: { toolConcurrency: 1 } }, ['begin 1', 'end 1', 'begin 2', 'end 2']],
    ['alone', { more: { exclusive: true } }, ['begin 1', 'end 1', 'begin 2', 'end 2']],
  ])('runs calls %s', async (_, { round = {}, more = {} }: HowToRun, order) => {
    const seen: string[] = []
    const look = toolOf(
      'look',
      async ({ n }) => {
        seen.push(`begin ${n}`)
        await new Promise(setImmediate)
        seen.push(`end ${n}`)
      },
      more,
    )
    const script = [calls(['look', { n: 1 }], ['look', { n: 2 }]), 'Done.']
    await loopOf(script, { tools: [look], round }).invoke(hello)
    expect(seen).toEqual(order)
  })

  it('passes hooks and plugins, which edit and reject', async () => {
    const ran: unknown[] = []
    const look = toolOf('look', ({ n }) => {
      ran.push(n)
      return `saw ${n}`
    })
    const points: string[] = []
    const outcome = await loopOf([calls(['look', { n: 1 }], ['look', { n: 2 }]), 'Done.'], {
      tools: [look],
      round: {
        on: {
          afterLlm: () => void points.push('afterLlm'),
          beforeEachTool: ({ pending, edit }) => {
            points.push('beforeEachTool')
            edit({ n: (pending.args as { n: number }).n * 10 })
          },
          afterEachTool: ({ result, edit }) => edit(`${result.output as string}!`),
          afterTools: ({ add }) => add('Mind the gap.'),
        },
        plugins: [
          {
            name: 'guard',
            on: {
              beforeTools: ({ pending, reject }) => {
                const second = pending[1]
                if (second !== undefined) reject(second.callId, 'one is enough')
              },
            },
          },
        ],
      },
    }).invoke(hello)
    expect({ ran, points }).toEqual({ ran: [10], points: ['beforeEachTool'] })
    expect(resultsIn(outcome)).toEqual(['look ok: saw 10!', 'look rejected: one is enough!'])
    expect(outcome.state.messages.at(3)).toEqual({ role: 'user', by: 'program', content: 'Mind the gap.' })
  })
})

describe('people', () => {
  it('approve calls in any order, some of them first', async () => {
    const ran: unknown[] = []
    const pay = toolOf('pay', ({ n }) => void ran.push(n), { approve: 'always' })
    const script = [calls(['pay', { n: 1 }], ['pay', { n: 2 }], 'look'), 'Done.']
    const flow = loopOf(script, { tools: [pay, toolOf('look')] })
    expect((await flow.invoke(hello, where)).status).toBe('input-required')
    const [first, second] = await flow.requests(where)
    expect([first?.about, second?.about]).toEqual([
      { tool: 'pay', args: { n: 1 } },
      { tool: 'pay', args: { n: 2 } },
    ])
    const partly = await flow.answer({ [second?.requestId ?? '']: true }, where).outcome
    expect([partly.status, partly.requests.length, ran]).toEqual(['input-required', 1, []])
    const answer = { approved: false, reason: 'too dear' }
    const outcome = await flow.answer({ [first?.requestId ?? '']: answer }, where).outcome
    expect(outcome.status).toBe('completed')
    expect(ran).toEqual([2])
    expect(resultsIn(outcome)).toEqual([
      'pay rejected: Not approved (too dear). Do not repeat it; ask what to do instead.',
      'pay ok: null',
      'look ok: look done',
    ])
  })

  it('answer the question of a tool', async () => {
    const book = toolOf('book', (_, { answers }) =>
      answers['seat'] === undefined
        ? ask({ kind: 'choice', prompt: 'Which seat?', name: 'seat', options: ['aisle', 'window'] })
        : `booked ${answers['seat'] as string}`,
    )
    const flow = loopOf([calls('book'), 'Done.'], { tools: [book] })
    const { requests } = await flow.invoke(hello, where)
    expect(requests.map(({ kind, prompt, options }) => ({ kind, prompt, options }))).toEqual([
      { kind: 'choice', prompt: 'Which seat?', options: ['aisle', 'window'] },
    ])
    const outcome = await flow.answer({ [requests[0]?.requestId ?? '']: 'aisle' }, where).outcome
    expect(resultsIn(outcome)).toEqual(['book ok: booked aisle'])
  })

  it('say something else instead: the calls are dismissed, and the next round is its own', async () => {
    const ran: unknown[] = []
    const pay = toolOf('pay', ({ n }) => void ran.push(n), { approve: 'always' })
    const script = [calls(['pay', { n: 1 }]), calls(['pay', { n: 2 }]), 'Done.']
    const flow = loopOf(script, { tools: [pay] })
    const { requests: stale } = await flow.invoke(hello, where)
    const { requests } = await flow.invoke({ messages: [{ role: 'user', content: 'Rather two.' }] }, where)
    expect(requests.map(({ about }) => about)).toEqual([{ tool: 'pay', args: { n: 2 } }])
    expect(requests[0]?.requestId).not.toBe(stale[0]?.requestId)
    const outcome = await flow.answer({ [requests[0]?.requestId ?? '']: true }, where).outcome
    expect({ ran, status: outcome.status }).toEqual({ ran: [2], status: 'completed' })
  })
})

describe('what a node knows from its earlier rounds', () => {
  const order = entity('order', { pattern: /ord_\d{4}/ })
  const listOrders = defineTool({
    name: 'list_orders',
    description: 'Lists orders.',
    input: z.object({}),
    returns: (rows) => order.rows(rows, { id: 'id' }),
    run: () => [{ id: 'ord_1111' }],
  })
  const refunded: string[] = []
  const refund = defineTool({
    name: 'refund',
    description: 'Refunds an order.',
    input: z.object({ orderId: z.string().meta(order.id()) }),
    run: ({ orderId }) => void refunded.push(orderId),
  })

  it('refuses invented ids; accepts those that an earlier round showed, or that the person wrote', async () => {
    const of = (orderId: string) => calls(['refund', { orderId }])
    const script = [
      of('ord_1111'),
      calls('list_orders'),
      of('ord_1111'),
      'Done.',
      of('ord_1111'),
      of('ord_2222'),
      of('ord_3333'),
      'Done.',
    ]
    const tools = [listOrders, refund]
    const known = { entities: [order] }
    const flow = loopOf(script, { tools, model: known, round: known })
    const first = await flow.invoke(hello, where)
    expect(resultsIn(first).map((line) => line.split(':')[0])).toEqual([
      'refund rejected',
      'list_orders ok',
      'refund ok',
    ])
    const next = await flow.invoke({ messages: [{ role: 'user', content: 'And ord_2222.' }] }, where)
    expect(
      resultsIn(next)
        .slice(3)
        .map((line) => line.split(':')[0]),
    ).toEqual(['refund ok', 'refund ok', 'refund rejected'])
    expect(refunded).toEqual(['ord_1111', 'ord_1111', 'ord_2222'])
  })

  it('refuses ids that only a model, a tool or a program wrote into the messages of the input', async () => {
    const text = 'ord_4444'
    const given: readonly Message[] = [
      { role: 'user', content: text, by: 'program' },
      { role: 'assistant', content: [{ type: 'text', text }] },
      {
        role: 'user',
        content: [
          { type: 'text', text, by: 'program' },
          { type: 'text', text: 'Go on.' },
        ],
      },
    ]
    const known = { entities: [order] }
    const script = [calls(['refund', { orderId: text }]), 'Done.']
    const outcome = await loopOf(script, { tools: [refund], model: known, round: known }).invoke({
      messages: given,
    })
    expect(resultsIn(outcome)[0]).toContain('refund rejected')
  })

  it('an id that one tool node showed is known to another', async () => {
    const model = new ScriptedModel([calls('list_orders'), calls(['refund', { orderId: 'ord_1111' }])])
    const flow = graph<Messages>({ state: { messages: list<Message>() } })
      .addNode('ask', modelNode({ model, tools: [listOrders], entities: [order] }))
      .addNode('list', toolNode({ tools: [listOrders], entities: [order] }))
      .addNode('decide', modelNode({ model, tools: [refund], entities: [order] }))
      .addNode('refund', toolNode({ tools: [refund], entities: [order] }))
      .addEdge(START, 'ask')
      .addEdge('ask', 'list')
      .addEdge('list', 'decide')
      .addEdge('decide', 'refund')
      .addEdge('refund', END)
      .compile()
    expect(resultsIn(await flow.invoke(hello)).at(-1)).toBe('refund ok: null')
  })

  it('a call whose outcome is unknown is not repeated without asking', async () => {
    const mortals: Mortal[] = []
    const store = memoryStore({ liveness: livenessOf(mortals) })
    let paid = 0
    const same = [calls('pay'), calls('pay'), 'Done.']
    const run = (input: typeof hello | null, death?: Death) => {
      const process = new Mortal(`p${mortals.length + 1}`, store, death)
      mortals.push(process)
      const pay = toolOf('pay', () => process.act('effect', () => void (paid += 1)))
      const model = new ScriptedModel(
        ({ prompt }) => same[prompt.filter(({ role }) => role === 'assistant').length] ?? '',
      )
      const flow = loopOf(model, { tools: [pay], store: process.store, ids: process.ids })
      return { died: process.died, outcome: flow.stream(input, where).outcome }
    }
    await run(hello, { of: 'effect', at: 1, when: 'after' }).died
    const outcome = await run(null).outcome
    expect(outcome.status).toBe('input-required')
    expect(outcome.requests[0]?.prompt).toContain('Run it again?')
    expect(resultsIn(outcome)[0]).toContain('pay unknown')
    expect(paid).toBe(1)
  })
})

describe('a round that was cut off', () => {
  it('by a cancel: every call has a result, and the run goes on with null', async () => {
    const begun = gate()
    const ran: unknown[] = []
    const look = toolOf('look', async ({ n }, { signal }) => {
      ran.push(n)
      begun.resolve()
      await new Promise((resolve) => signal.addEventListener('abort', resolve))
      throw new Error('stopped')
    })
    const script = [calls(['look', { n: 1 }], ['look', { n: 2 }]), 'Done.']
    const flow = loopOf(script, { tools: [look], round: { toolConcurrency: 1 } })
    const running = flow.stream(hello, where)
    await begun.promise
    await flow.cancel(where)
    expect((await running.outcome).status).toBe('cancelled')
    const outcome = await flow.stream(null, where).outcome
    expect({ status: outcome.status, ran }).toEqual({ status: 'completed', ran: [1] })
    expect(resultsIn(outcome).map((line) => line.split(':')[0])).toEqual(['look error', 'look not-run'])
  })

  it('by a hook that throws: another attempt has the results so far, and runs nothing twice', async () => {
    const ran: unknown[] = []
    let failures = 1
    const script = [calls('pay', 'look'), 'Done.']
    const tools = [toolOf('pay', () => void ran.push('pay')), toolOf('look', () => void ran.push('look'))]
    const flow = loopOf(script, {
      tools,
      round: {
        on: {
          afterTools: () => {
            if (failures-- > 0) throw new Error('no room')
          },
        },
      },
    })
    expect((await flow.stream(hello, where).outcome).error).toMatchObject({
      code: 'hook-failed',
      node: 'tools',
    })
    const outcome = await flow.stream(null, where).outcome
    expect(outcome.status).toBe('completed')
    expect(ran).toEqual(['pay', 'look'])
    expect(resultsIn(outcome)).toEqual(['pay ok: null', 'look ok: null'])
  })

  it('by a crash, and cancelled before anybody went on: its other calls are not run by the next round', async () => {
    const mortals: Mortal[] = []
    const store = memoryStore({ liveness: livenessOf(mortals) })
    const ran: unknown[] = []
    const born = (death?: Death) => {
      const process = new Mortal(`p${mortals.length + 1}`, store, death)
      mortals.push(process)
      const pay = toolOf('pay', ({ n }) => process.act('effect', () => void ran.push(n)))
      const script = [calls(['pay', { n: 1 }], ['pay', { n: 2 }]), calls(['pay', { n: 3 }]), 'Done.']
      const model = new ScriptedModel(
        ({ prompt }) => script[prompt.filter(({ role }) => role === 'assistant').length] ?? '',
      )
      const ports = { store: process.store, ids: process.ids }
      const flow = loopOf(model, { tools: [pay], round: { toolConcurrency: 1 }, ...ports })
      return { died: process.died, flow }
    }
    const first = born({ of: 'effect', at: 1, when: 'after' })
    void first.flow.stream(hello, where)
    await first.died
    const { flow } = born()
    await flow.cancel(where)
    const next = { messages: [{ role: 'user', content: 'Something else.' }] } as const
    const outcome = await flow.stream(next, where).outcome
    expect(outcome.status).toBe('completed')
    expect(ran).toEqual([1, 3])
    const ends = (await store.read({ ...LOCAL_OWNER, contextId: `${contextId}/tools~1` })).filter(
      ({ type }) => type === 'turn.end',
    )
    expect(ends.map(({ data }) => data['outcome'])).toEqual(['cancelled', 'stop'])
  })
})

it('tools of all rounds, and nodes, share the artifacts of the graph', async () => {
  const write = toolOf('write', async (_, { artifacts }) => {
    await artifacts.writeData('list', { n: 1 })
  })
  const read = toolOf('read', async (_, { artifacts }) => (await artifacts.read('list')).content)
  const outcome = await loopOf([calls('write'), calls('read'), 'Done.'], { tools: [write, read] }).invoke(
    hello,
  )
  expect(resultsIn(outcome).at(-1)).toBe('read ok: {"n":1}')
})

it('a Send for each call runs them side by side, and the model gets one legal round', async () => {
  const all = gate()
  let running = 0
  const look = toolOf('look', async ({ n }) => {
    running += 1
    if (running === 2) all.resolve()
    await all.promise
    return n
  })
  const model = new ScriptedModel([calls(['look', { n: 1 }], ['look', { n: 2 }]), 'Done.'])
  const tools = [look]
  const flow = graph<Messages>({ state: { messages: list<Message>() } })
    .addNode('model', modelNode({ model, tools }))
    .addNode('tools', toolNode({ tools }))
    .addEdge(START, 'model')
    .addConditionalEdges('model', ({ messages }) => {
      const sent = pendingCalls(messages).map(
        (call) => new Send('tools', [{ role: 'assistant', content: [call] }]),
      )
      return sent.length === 0 ? END : sent
    })
    .addEdge('tools', 'model')
    .compile()
  const outcome = await flow.invoke(hello)
  expect(resultsIn(outcome)).toEqual(['look ok: 1', 'look ok: 2'])
  expect(outcome.state.messages.map(({ role }) => role)).toEqual([
    'user',
    'assistant',
    'tool',
    'tool',
    'assistant',
  ])
  expect(model.calls[1]?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
})

it('a call with a credential in its arguments is refused: the state keeps none', async () => {
  const ran: unknown[] = []
  const send = toolOf('send', ({ key }) => void ran.push(key))
  const auth = { credentials: { token: 'sesame-open-4711' } }
  const outcome = await loopOf([calls(['send', { key: 'sesame-open-4711' }]), 'Done.'], {
    tools: [send],
  }).invoke(hello, { auth })
  expect(ran).toEqual([])
  expect(resultsIn(outcome)[0]).toContain(
    'send rejected: {"error":"send was not run: its arguments contained a credential',
  )
})

it.each([
  ['a model', { model: 'openai/gpt-4.1-mini' }, 'model cannot be set for toolNode(), which calls no model'],
  [
    'a window',
    { tools: [], maxMessages: 5 },
    'maxMessages cannot be set for toolNode(), which calls no model',
  ],
  ['no config', undefined, 'toolNode() takes { tools }.'],
  ['no tools', { tools: 5 }, 'tools must be a list of tools'],
])('%s is refused where the node is made', (_, config, message) => {
  expect(() => toolNode(config as never)).toThrow(message)
})

it('a state without messages is refused where the node is added', () => {
  const builder = graph({ state: { log: list<string>() } })
  expect(() => builder.addNode('tools', toolNode({ tools: [] }))).toThrow(
    'needs a channel messages: list<Message>()',
  )
})

it('an input that is no list of messages fails the node, and says which', async () => {
  const flow = graph<Messages>({ state: { messages: list<Message>() } })
    .addNode('tools', toolNode({ tools: [] }))
    .addEdge(START, 'tools')
    .addEdge('tools', END)
    .compile()
  await expect(flow.invoke({ messages: [{ role: 'robot', content: 'x' } as never] })).rejects.toThrow(
    'The input of toolNode(): message 1 must have the role user, assistant or tool',
  )
})
