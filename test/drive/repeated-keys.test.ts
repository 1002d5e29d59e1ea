/** A repeated key follows the newest turn that its message led to, however many turns that took. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { END, graph, reduce, START, value } from '../../src/graph/index.ts'
import { Agent, askUser, defineTool, memoryStore, type Store } from '../../src/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const contextId = 'order-7'
const order = { contextId, key: 'order-7-paid' }

function asking(store: Store = memoryStore(), pay: () => Promise<void> | void = () => {}) {
  return graph({ state: { first: value(''), second: value(''), receipt: value('') } })
    .addNode('one', async (_, { interrupt }) => ({
      first: await interrupt({ kind: 'text', prompt: 'One?' }),
    }))
    .addNode('two', async (_, { interrupt }) => ({
      second: await interrupt({ kind: 'text', prompt: 'Two?' }),
    }))
    .addNode('pay', async () => {
      await pay()
      return { receipt: 'paid' }
    })
    .addEdge(START, 'one')
    .addEdge(START, 'two')
    .addEdge(['one', 'two'], 'pay')
    .addEdge('pay', END)
    .compile({ store, leaseMs: 50 })
}

it('a run that was answered since is told as it stands', async () => {
  const flow = asking()
  const state = async () => {
    const { status, turn, requests, state: held } = await flow.invoke({}, order)
    return [status, turn, requests.map(({ requestId }) => requestId), held.receipt]
  }
  expect(await state()).toEqual(['input-required', 1, ['one.1/answer', 'two.2/answer'], ''])
  await flow.answer({ 'one.1/answer': 'yes' }, { contextId }).outcome
  expect(await state()).toEqual(['input-required', 2, ['two.2/answer'], ''])
  await flow.answer({ 'two.2/answer': 'yes' }, { contextId }).outcome
  expect(await state()).toEqual(['completed', 3, [], 'paid'])
})

it('a run that was given up for another input keeps its own end, and waits for nothing', async () => {
  const flow = asking()
  await flow.invoke({}, order)
  await flow.answer({ 'one.1/answer': 'yes' }, { contextId }).outcome
  const next = await flow.invoke({}, { contextId, key: 'order-8-paid' })
  expect(next.turn).toBe(3)
  const first = await flow.invoke({}, order)
  expect([first.status, first.turn, first.requests]).toEqual(['input-required', 2, []])
  const again = await flow.invoke({}, { contextId, key: 'order-8-paid' })
  expect([again.turn, again.requests.length]).toEqual([3, 2])
})

it('a run that a limit stopped and null finished is complete', async () => {
  const flow = graph({ state: { n: reduce((a: number, b: number) => a + b, 0) } })
    .addNode('spin', () => ({ n: 1 }))
    .addEdge(START, 'spin')
    .addConditionalEdges('spin', ({ n }) => (n < 5 ? 'again' : 'out'), { again: 'spin', out: END })
    .compile({ limits: { steps: 3 } })
  await expect(flow.invoke({}, order)).rejects.toMatchObject({ code: 'limit-reached' })
  await expect(flow.invoke({}, order)).rejects.toMatchObject({ code: 'limit-reached' })
  await flow.invoke(null, { contextId })
  expect(await flow.invoke({}, order)).toMatchObject({ status: 'completed', turn: 2, state: { n: 5 } })
})

/** A store that rejects every call of a process that has died. */
function mortal(store: Store, isDead: () => boolean): Store {
  return new Proxy(store, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name)
      if (typeof member !== 'function') return member
      return (...given: unknown[]): unknown => {
        if (isDead()) throw new Error('dead')
        return Reflect.apply(member, target, given) as unknown
      }
    },
  })
}

it('a run whose process died after the answer is taken up', async () => {
  const store = memoryStore()
  let isDead = false
  const dying = mortal(store, () => isDead)
  const first = asking(dying, () => void (isDead = true))
  await first.invoke({}, order)
  const answers = { 'one.1/answer': 'yes', 'two.2/answer': 'yes' }
  expect((await first.answer(answers, { contextId }).outcome).status).toBe('failed')
  const { status, turn, state } = await asking(store).invoke({}, order)
  expect([status, turn, state.receipt]).toEqual(['completed', 2, 'paid'])
})

it('a run whose process died goes on with the credentials that come with the repeated key', async () => {
  const store = memoryStore()
  const seen: unknown[] = []
  let isDead = false
  const paying = (on: Store, dies: boolean) =>
    graph({ state: {} })
      .addNode('pay', (_, { credentials }) => {
        isDead = dies
        seen.push(credentials['token'])
      })
      .addEdge(START, 'pay')
      .addEdge('pay', END)
      .compile({ store: on, leaseMs: 50 })
  const secret = { ...order, auth: { credentials: { token: 'sentinel-0123456789' } } }
  await paying(
    mortal(store, () => isDead),
    true,
  ).stream({}, secret).outcome
  expect((await paying(store, false).invoke({}, secret)).status).toBe('completed')
  expect(seen).toEqual(['sentinel-0123456789', 'sentinel-0123456789'])
})

it('a key without a contextId is refused', async () => {
  const flow = asking()
  await expect(flow.invoke({}, { key: 'order-7-paid' })).rejects.toMatchObject({
    code: 'invalid-option',
    message:
      'key needs a contextId: a key is known in one conversation, and without a contextId each run has one of its own. Write { contextId: "order-7", key: "order-7-paid" }.',
  })
})

it('a message whose turn waited and was answered since is told as it stands', async () => {
  const model = new ScriptedModel([{ calls: [{ tool: 'ask_user', args: { question: 'Which?' } }] }, 'Blue.'])
  const agent = new Agent({ contextId, model, tools: [askUser()] })
  const ask = () => agent.executeTurn('Paint', { key: 'k' }).outcome
  expect(await ask()).toMatchObject({ status: 'input-required', turn: 1, requests: [{ prompt: 'Which?' }] })
  expect(await ask()).toMatchObject({ status: 'input-required', turn: 1, requests: [{ prompt: 'Which?' }] })
  await agent.executeTurn('blue', { key: 'k2' }).outcome
  expect(await ask()).toMatchObject({ status: 'completed', turn: 2, text: 'Blue.', requests: [] })
})

it('an interrupt that is sent again spares the turn that goes on with its own', async () => {
  const { promise: gate, resolve: open } = Promise.withResolvers<void>()
  const { promise: begun, resolve: begin } = Promise.withResolvers<void>()
  const slow = defineTool({
    name: 'slow',
    description: 'Takes its time.',
    input: z.object({}),
    run: async () => {
      begin()
      await gate
      return 'done'
    },
  })
  const calls = [{ tool: 'ask_user', args: { question: 'Which?' } }]
  const model = new ScriptedModel([{ calls }, { calls: [{ tool: 'slow', args: {} }] }, 'Blue.'])
  const agent = new Agent({ contextId, model, tools: [askUser(), slow] })
  const send = () => agent.executeTurn('Paint', { key: 'k', whileBusy: 'interrupt' }).outcome
  const [request] = (await send()).requests
  const answered = agent.answer({ [request?.requestId ?? '']: 'blue' }).outcome
  await begun
  const again = send()
  open()
  expect((await answered).status).toBe('completed')
  expect(await again).toMatchObject({ status: 'completed', turn: 2, text: 'Blue.' })
})

it('a message that was taken for nothing between turns is reported as not taken again', async () => {
  const store = memoryStore()
  const key = { ...LOCAL_OWNER, contextId }
  const { epoch } = await store.append({ key, id: 'x', since: 0, claim: { driver: 'x', leaseMs: 60_000 } })
  const agent = new Agent({ contextId, store, model: new ScriptedModel([]) })
  const send = () => agent.executeTurn('Paint', { key: 'k' }).outcome
  const sent = send()
  await expect.poll(() => store.inbox(key)).toHaveLength(1)
  const { seq = 0 } = (await store.head(key)) ?? {}
  await store.append({
    ...{ key, id: 'y', since: seq, epoch },
    entries: [
      { type: 'take', turn: 0, data: { as: 'nothing', reason: 'It has the wrong shape.' }, takes: ['k'] },
      { type: 'release', turn: 0, data: { reason: 'idle' } },
    ],
  })
  const notTaken = { status: 'failed', error: { code: 'not-taken', message: 'It has the wrong shape.' } }
  expect(await sent).toMatchObject(notTaken)
  expect(await send()).toMatchObject(notTaken)
})
