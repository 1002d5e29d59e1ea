/** A fork of a run keeps its answers and everything below its tasks: no effect from before the fork runs again (R15). */
import { describe, expect, it } from 'vitest'
import { agentNode, toolNode } from '../../src/agent/index.ts'
import { END, graph, list, START, value } from '../../src/graph/index.ts'
import { readTraceTree } from '../../src/journal/index.ts'
import { LOCAL_OWNER, type Message } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { historyOf } from './kit.ts'
import { resultParts, toolOf } from './nodes-kit.ts'

const contextId = 'c'
const fork = { contextId: 'f' }

describe('a fork of a node that asks twice', () => {
  it('keeps the answer, and asks what was open', async () => {
    const flow = graph({ state: { said: list<string>() } })
      .addNode('ask', async (_, { interrupt }) => {
        const one = await interrupt({ kind: 'text', prompt: 'first', name: 'one' })
        return { said: [one, await interrupt({ kind: 'text', prompt: 'second', name: 'two' })] }
      })
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile()
    await flow.invoke({}, { contextId })
    await flow.answer({ 'ask.1/one': 'x' }, { contextId }).outcome
    await flow.fork({ contextId, to: 'f' })
    const { requests } = await flow.invoke(null, fork)
    expect(requests.map(({ requestId }) => requestId)).toEqual(['ask.1/two'])
    const { state } = await flow.answer({ 'ask.1/two': 'y' }, fork).outcome
    expect(state.said).toEqual(['x', 'y'])
  })
})

interface Payments {
  readonly store: Store
  readonly paid: string[]
  readonly clock: ManualClock
  /** Runs inside of the payment. */
  readonly during?: () => Promise<void>
}

function payments(more: Partial<Payments> = {}): Payments {
  const clock = new ManualClock(1000)
  return { store: memoryStore({ clock }), paid: [], clock, ...more }
}

/** A graph that pays and then asks, two levels below the flow, under a key of the outer node. */
function paying({ store, paid, clock, during }: Payments) {
  const state = { receipt: value<string>() }
  const pay = graph({ state })
    .addNode('pay', async (_, { step, interrupt, contextId: where }) => {
      const receipt = await step('charge', async () => {
        paid.push(where)
        await during?.()
        clock.advance(1000)
        return 'paid'
      })
      return { receipt: `${receipt}, ${await interrupt({ kind: 'text', prompt: 'To whom?' })}` }
    })
    .addEdge(START, 'pay')
    .addEdge('pay', END)
    .compile()
  const middle = graph({ state }).addNode('middle', pay).addEdge(START, 'middle').addEdge('middle', END)
  const inner = middle.compile()
  return graph({ state })
    .addNode('top', async (_, { run }) => ({ receipt: (await run('order', inner, {})).receipt }))
    .addEdge(START, 'top')
    .addEdge('top', END)
    .compile({ store, clock })
}

describe('a fork of a run that waits below', () => {
  const below = 'c/top.1.order/middle.1'

  it('repeats no effect of the graphs below, and each goes on by itself', async () => {
    const parts = payments()
    const flow = paying(parts)
    await flow.invoke({}, { contextId })
    await flow.fork({ contextId, to: 'f' })
    await flow.fork({ contextId: 'f', to: 'g' })
    for (const where of ['g', 'f', 'c']) {
      if (where !== 'c') await flow.invoke(null, { contextId: where })
      const [request] = await flow.requests({ contextId: where })
      const answer = { [request?.requestId ?? '']: where }
      expect((await flow.answer(answer, { contextId: where }).outcome).state).toEqual({
        receipt: `paid, ${where}`,
      })
    }
    expect(parts.paid).toEqual([below])
    const tree = await readTraceTree(parts.store, { ...LOCAL_OWNER, contextId: 'g' })
    expect(tree.below.map(({ contextId: where }) => where)).toEqual(['g/top.1.order'])
  })

  it('has below it what was there at the fork point', async () => {
    const parts = payments()
    const { store, clock, paid } = parts
    const flow = paying(parts)
    await flow.invoke({}, { contextId })
    const waiting = (await flow.getState({ contextId }))?.seq ?? 0
    clock.advance(1000)
    const [request] = await flow.requests({ contextId })
    await flow.answer({ [request?.requestId ?? '']: 'Ann' }, { contextId }).outcome
    await flow.fork({ contextId, to: 'f', at: waiting })
    expect([(await flow.invoke(null, fork)).status, paid]).toEqual(['input-required', [below]])
    await flow.fork({ contextId, to: 'done' })
    expect(await store.head({ ...LOCAL_OWNER, contextId: 'done/top.1.order' })).toBeUndefined()
  })

  it('has not started an effect that was under way', async () => {
    const parts = payments({ during: () => flow.fork({ contextId, to: 'f' }) })
    const flow = paying(parts)
    await flow.invoke({}, { contextId })
    const resumed = paying({ ...parts, during: async () => {} })
    expect((await resumed.invoke(null, fork)).status).toBe('input-required')
    expect(parts.paid).toEqual([below, 'f/top.1.order/middle.1'])
  })

  it('is erased with those below it, which are not listed as conversations of their own', async () => {
    const parts = payments()
    const { store } = parts
    const flow = paying(parts)
    await flow.invoke({}, { contextId })
    await flow.fork({ contextId, to: 'f' })
    const { heads } = await store.list({ owner: LOCAL_OWNER })
    expect(heads.map(({ key }) => key.contextId).toSorted()).toEqual(['c', 'f'])
    expect(await store.erase({ ...LOCAL_OWNER, contextId: 'f' })).toBe(3)
    expect((await store.head({ ...LOCAL_OWNER, contextId: 'f/top.1.order/middle.1' }))?.status).toBe('erased')
    expect((await store.head({ ...LOCAL_OWNER, contextId: below }))?.status).toBe('waiting')
  })

  it('can be made again if it was cut off, but only at the same point', async () => {
    const parts = payments()
    const { store } = parts
    const forks: Store['fork'] = (request) =>
      request.child.contextId === 'f' ? Promise.reject(new Error('killed')) : store.fork(request)
    const dying = new Proxy(store, {
      get: (target, name) => {
        if (name === 'fork') return forks
        const found: unknown = Reflect.get(target, name)
        return typeof found === 'function' ? (found.bind(target) as unknown) : found
      },
    })
    const flow = paying(parts)
    await flow.invoke({}, { contextId })
    await expect(paying({ ...parts, store: dying }).fork({ contextId, to: 'f' })).rejects.toThrow('killed')
    const [, step] = await historyOf(flow, contextId)
    await expect(flow.fork({ contextId, to: 'f', at: step?.seq ?? 0 })).rejects.toMatchObject({
      code: 'exists',
      message: 'local local f/top.1.order/middle.1 exists already. Fork into a new contextId.',
    })
    await flow.fork({ contextId, to: 'f' })
    expect((await flow.invoke(null, fork)).status).toBe('input-required')
    expect(parts.paid).toEqual([below])
  })
})

describe('a fork of a run with agents and tools below', () => {
  const tool = (calls: string[], more = {}) =>
    toolOf(
      'pay',
      ({ sum }) => {
        calls.push(`pay ${sum}`)
        return `paid ${sum}`
      },
      more,
    )

  it('repeats no call of an agent that waits for an approval', async () => {
    const calls: string[] = []
    const model = new ScriptedModel([
      { calls: [{ tool: 'pay', args: { sum: 1 } }] },
      { calls: [{ tool: 'pay', args: { sum: 100 } }] },
      { calls: [{ tool: 'pay', args: { sum: 100 } }] },
      'Done.',
    ])
    const tools = [tool(calls, { approve: ({ input }: { input: { sum: number } }) => input.sum > 10 })]
    const flow = graph({ state: { answer: value<string>() } })
      .addNode('agent', agentNode({ model, tools }), {
        input: () => 'Pay.',
        output: (text) => ({ answer: text }),
      })
      .addEdge(START, 'agent')
      .addEdge('agent', END)
      .compile()
    await flow.invoke({}, { contextId })
    await flow.fork({ contextId, to: 'f' })
    await flow.invoke(null, fork)
    const [request] = await flow.requests(fork)
    const { status, state } = await flow.answer({ [request?.requestId ?? '']: true }, fork).outcome
    expect([status, state.answer, calls]).toEqual(['completed', 'Done.', ['pay 1', 'pay 100']])
    expect(JSON.stringify(model.calls[2]?.prompt)).toContain('paid 1')
    model.done()
  })

  it('runs the open calls of a tool node, and keeps the results of the others', async () => {
    const calls: string[] = []
    const callOf = (callId: string, name: string) =>
      ({ type: 'tool-call', callId, tool: name, args: { sum: 5 } }) as const
    const messages: readonly Message[] = [
      { role: 'user', content: 'Pay.' },
      { role: 'assistant', content: [callOf('a', 'pay'), callOf('b', 'gone')] },
    ]
    const flow = graph({ state: { messages: list<Message>() } })
      .addNode('tools', toolNode({ tools: [tool(calls, { approve: 'always' })] }))
      .addEdge(START, 'tools')
      .addEdge('tools', END)
      .compile()
    await flow.invoke({ messages }, { contextId })
    await flow.fork({ contextId, to: 'f' })
    await flow.invoke(null, fork)
    const [request] = await flow.requests(fork)
    const done = await flow.answer({ [request?.requestId ?? '']: true }, fork).outcome
    expect([done.status, calls]).toEqual(['completed', ['pay 5']])
    expect(resultParts(done.state.messages).map(({ callId, status }) => `${callId} ${status}`)).toEqual([
      'b rejected',
      'a ok',
    ])
    expect(done.state.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
  })

  it('has the conversation of a node with a memory', async () => {
    const model = new ScriptedModel(['One.', 'Two.'])
    const flow = graph({ state: { question: value<string>(), answer: value<string>() } })
      .addNode('agent', agentNode({ model, memory: true }), {
        input: ({ question = '' }) => question,
        output: (text) => ({ answer: text }),
      })
      .addEdge(START, 'agent')
      .addEdge('agent', END)
      .compile()
    await flow.invoke({ question: 'First?' }, { contextId })
    await flow.fork({ contextId, to: 'f' })
    await flow.invoke({ question: 'Second?' }, fork)
    expect(model.calls.at(-1)?.prompt.map(({ role }) => role)).toEqual(['user', 'assistant', 'user'])
  })
})
