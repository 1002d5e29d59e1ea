/** The operator's API: find stuck conversations, settle unknown calls, take a conversation from a driver. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, listStuck, settleCall, takeOver } from '../../src/agent/index.ts'
import { END, graph, list, START } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { CountingIds, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool } from '../../src/tool/index.ts'

const key = { tenant: 'local', actor: 'local', contextId: 'c' }
const call = { calls: [{ tool: 'pay', args: { euros: 5 } }] }

/** A turn between the intent of a payment and its end, its driver gone. */
async function abandoned(): Promise<{
  store: Store
  paid: number[]
  config: ConstructorParameters<typeof Agent>[0]
}> {
  const dead = new Set<string>()
  const store = memoryStore({ liveness: (driver) => (dead.has(driver) ? 'dead' : 'alive') })
  const paid: number[] = []
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    input: z.object({ euros: z.number() }),
    run: ({ euros }) => {
      paid.push(euros)
      return 'paid'
    },
  })
  const config = { contextId: 'c', store, tools: [pay], ids: new CountingIds() }
  const agent = new Agent({ ...config, model: new ScriptedModel([call]) })
  const turn = agent.executeTurn('Pay 5', { manual: true })
  for (let next = ''; next !== 'tools'; ) ({ next } = await turn.step())
  dead.add((await store.head(key))?.lease?.driver ?? '')
  return { store, paid, config }
}

describe('stuck conversations', () => {
  it('are those that want a driver and have none', async () => {
    const { store } = await abandoned()
    expect(await listStuck(store)).toEqual([])
    expect(await listStuck(store, { olderThanMs: 0 })).toMatchObject([
      { head: { key }, why: 'turn without a driver' },
    ])
  })
})

describe('settling by hand', () => {
  it('gives a started call the result that the operator knows, without running it', async () => {
    const { store, paid, config } = await abandoned()
    await settleCall(store, key, { callId: 'call_1', status: 'ok', output: 'paid, says the bank' })
    const agent = new Agent({ ...config, model: new ScriptedModel(['Paid.']) })
    await agent.start()
    expect(await agent.turn?.outcome).toMatchObject({ reason: 'stop', text: 'Paid.' })
    expect(paid).toEqual([])
    const end = (await store.read(key)).find(({ type }) => type === 'tool.end')
    expect(end?.data).toMatchObject({ callId: 'call_1', status: 'ok', output: 'paid, says the bank' })
  })

  it('tells the model of a call that was settled as unknown, and frees it to be repeated', async () => {
    const { store, paid, config } = await abandoned()
    const model = new ScriptedModel(['I do not know.', call, 'Now it is paid.'])
    const agent = new Agent({ ...config, model })
    await agent.start()
    expect(await agent.turn?.outcome).toMatchObject({ text: 'I do not know.' })
    await settleCall(store, key, {
      callId: 'call_1',
      status: 'not-run',
      output: 'the bank knows nothing of it',
    })
    expect(await agent.input('Then do it')).toBe('Now it is paid.')
    expect(paid).toEqual([5])
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain('the bank knows nothing of it')
  })

  it('is refused for a call that is not unknown', async () => {
    const { store } = await abandoned()
    await expect(
      settleCall(store, key, { callId: 'call_9', status: 'ok', output: null }),
    ).rejects.toMatchObject({ code: 'not-found' })
  })
})

describe('repeating a call of unknown outcome', () => {
  it('needs a person (R4)', async () => {
    const { paid, config } = await abandoned()
    const agent = new Agent({ ...config, model: new ScriptedModel([call, 'Paid.']) })
    await agent.start()
    const outcome = await agent.turn?.outcome
    expect(outcome).toMatchObject({
      reason: 'input-required',
      requests: [{ kind: 'confirmation', from: 'approval', about: { tool: 'pay', args: { euros: 5 } } }],
    })
    expect(paid).toEqual([])
    const [request] = outcome?.requests ?? []
    expect(await agent.answer({ [request?.requestId ?? '']: true }).outcome).toMatchObject({ text: 'Paid.' })
    expect(paid).toEqual([5])
  })
})

describe('taking over', () => {
  it('fences the driver that has the conversation, and leaves it free', async () => {
    const store = memoryStore()
    const agent = new Agent({ contextId: 'c', store, model: new ScriptedModel([{ stall: true }, 'Back.']) })
    const turn = agent.executeTurn('Hello')
    for await (const event of turn) if (event.type === 'model.start') break
    const head = await takeOver(store, key)
    expect(head).toMatchObject({ status: 'running', epoch: 2 })
    expect(head.lease).toBe(undefined)
    expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'Back.' })
    expect((await store.head(key))?.epoch).toBe(3)
  })

  it('of what nobody drives changes nothing, and of nothing is refused', async () => {
    const { store } = await abandoned()
    const before = await store.head(key)
    await expect(takeOver(store, { ...key, contextId: 'none' })).rejects.toMatchObject({ code: 'not-found' })
    expect(before?.epoch).toBe(1)
  })
})

describe('effects of a graph whose outcome is unknown', () => {
  it('can be settled one by one, however many there are', async () => {
    const store = memoryStore()
    const steps = Array.from({ length: 60 }, (_, index) => `s${index}`)
    const state = { done: list<string>() }
    const flow = graph({ state })
      .addNode('work', async (_, { step }) => ({
        done: await Promise.all(steps.map((name) => step(name, () => 'again'))),
      }))
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    const started = steps.map((step) => ({
      type: 'effect.start',
      turn: 1,
      data: { callId: `work.1/${step}`, task: 'work.1', key: step, idempotencyKey: step, replay: 'never' },
    }))
    await store.append({
      key,
      id: 'elsewhere',
      since: 0,
      inbox: [{ type: 'input', key: 'in', data: { values: {} } }],
      claim: { driver: 'elsewhere', leaseMs: 1000 },
      entries: [
        { type: 'turn.start', turn: 1, data: { principal: LOCAL_OWNER }, takes: ['in'] },
        { type: 'graph.start', turn: 1, data: { graph: 'graph', channels: { done: 'list' }, update: {} } },
        { type: 'graph.step', turn: 1, data: { tasks: [{ task: 'work.1', node: 'work' }] } },
        ...started,
        { type: 'release', turn: 1, data: { reason: 'gone' } },
      ],
    })
    expect((await flow.stream(null, { contextId: 'c' }).outcome).error?.code).toBe('unknown-outcome')
    for (const step of steps)
      await settleCall(store, key, { callId: `work.1/${step}`, status: 'ok', output: `${step} is paid` })
    const { status, state: reached } = await flow.stream(null, { contextId: 'c' }).outcome
    expect([status, reached.done]).toEqual(['completed', steps.map((step) => `${step} is paid`)])
  })
})
