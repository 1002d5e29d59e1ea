/** What becomes of runs: stores that break, limits, branches, pruned and erased conversations, other owners. */

import { describe, expect, it } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import type { Timer } from '../../src/base/index.ts'
import { END, type Graph, graph, list, type NodeFunction, START, value } from '../../src/graph/index.ts'
import { clearContext, pruneContext } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { type Fault, faultyStore, ScriptedModel } from '../../src/testing/index.ts'
import { historyOf, PLACES } from '../graph/kit.ts'

const STATE = { said: list<string>() }
type Node = NodeFunction<typeof STATE>

const contextId = 'talk'
const WHERE = { contextId }
const KEY = { ...LOCAL_OWNER, contextId }

function flowOf(node: Node | Graph<typeof STATE>, store: Store = memoryStore()): Graph<typeof STATE> {
  const start = graph({ state: STATE })
  const built = typeof node === 'function' ? start.addNode('work', node) : start.addNode('work', node)
  return built.addEdge(START, 'work').addEdge('work', END).compile({ store })
}

const asking: Node = async (_, { interrupt }) => ({
  said: await interrupt({ kind: 'text', prompt: '?' }),
})

const counting: Node = ({ said }) => ({ said: `${said.length}` })

describe('the outcome of a run comes', () => {
  it.each(PLACES)('when the store is closed under it (%s)', async (_, place) => {
    const { store } = place()
    const flow = flowOf(async () => {
      await store.close()
      return { said: 'done' }
    }, store)
    const { status, error } = await flow.stream({}, WHERE).outcome
    expect([status, error?.code]).toEqual(['failed', 'store-closed'])
  })

  it('when nothing can be read', async () => {
    const store = memoryStore()
    store.read = () => Promise.reject(new Error('The disk is gone.'))
    const { status, error } = await flowOf(counting, store).stream({}, WHERE).outcome
    expect([status, error?.message]).toEqual(['failed', 'The disk is gone.'])
  })

  it.each([1, 2, 3, 4, 5, 6])('when no append works from the %ith on', async (first) => {
    const plan: Fault[] = [{ at: (_, n) => n >= first, how: 'refuse' }]
    const flow = flowOf(
      async (_, { step }) => {
        await step('one', () => 1)
        return { said: await step('two', () => 'done') }
      },
      faultyStore(memoryStore(), plan),
    )
    const { status, error } = await flow.stream({}, WHERE).outcome
    expect([status, error?.code]).toEqual(['failed', 'store-failed'])
  })
})

describe('a limit', () => {
  const speaker = () => agentNode({ model: new ScriptedModel(() => 'all of this was said') })
  const said = { input: () => 'Speak', output: (text: string) => ({ said: text }) }

  it('that is reached by the last step stops nothing: the run is over', async () => {
    const flow = graph({ state: STATE })
      .addNode('work', speaker(), said)
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ limits: { tokens: 1 } })
    const { reason, limit, state } = await flow.invoke({}, WHERE)
    expect([reason, limit, state.said]).toEqual(['stop', undefined, ['all of this was said']])
  })

  it('that is reached on the way leaves what was said, and null goes on after it', async () => {
    const flow = graph({ state: STATE })
      .addNode('work', speaker(), said)
      .addNode('rest', () => ({ said: 'rest' }))
      .addEdge(START, 'work')
      .addEdge('work', 'rest')
      .addEdge('rest', END)
      .compile({ limits: { tokens: 1 } })
    const { limit, state } = await flow.stream({}, WHERE).outcome
    expect([limit, state.said]).toEqual(['tokens', ['all of this was said']])
    expect((await flow.invoke(null, WHERE)).state.said).toEqual(['all of this was said', 'rest'])
  })

  it('of one step gives a run a step at a time', async () => {
    const flow = graph({ state: STATE })
      .addNode('a', () => ({ said: 'a' }))
      .addNode('b', () => ({ said: 'b' }))
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .addEdge('b', END)
      .compile({ limits: { steps: 1 } })
    expect(await flow.stream({}, WHERE).outcome).toMatchObject({ limit: 'steps', state: { said: ['a'] } })
    expect(await flow.invoke(null, WHERE)).toMatchObject({ reason: 'stop', state: { said: ['a', 'b'] } })
    await expect(flow.invoke(null, WHERE)).rejects.toMatchObject({ code: 'nothing-to-continue' })
  })

  it('that makes no sense is refused where it is written', async () => {
    const compile = (options: object) => () =>
      graph({ state: STATE }).addNode('a', counting).addEdge(START, 'a').addEdge('a', END).compile(options)
    for (const options of [
      { limits: { steps: 0 } },
      { limits: { often: 1 } },
      { maxClaims: 0 },
      { graceMs: -1 },
    ])
      expect(compile(options)).toThrow(expect.objectContaining({ code: 'invalid-option' }))
    const flow = flowOf(counting)
    const limits = { steps: Number.NaN }
    for (const run of [flow.stream({}, { contextId, limits }), flow.answer({ a: 1 }, { contextId, limits })])
      expect((await run.outcome).error?.code).toBe('invalid-option')
  })
})

describe('a branch', () => {
  it('can be made after every entry, and comes to an end of its own', async () => {
    let effects = 0
    const flow = graph({ state: { ...STATE, count: value(0) } })
      .addNode('work', async ({ count }, { step }) => {
        await step('do', () => {
          effects += 1
        })
        return { said: `work ${count}`, count: count + 1 }
      })
      .addNode('ask', asking as never)
      .addEdge(START, 'work')
      .addConditionalEdges('work', ({ count }) => (count < 2 ? 'work' : 'ask'), ['work', 'ask'])
      .addEdge('ask', END)
      .compile()
    await flow.invoke({}, WHERE)
    await flow.answer({ 'ask.3/answer': 'here' }, WHERE).outcome
    const entries = await flow.store.read(KEY)
    for (const { seq } of entries.slice(0, -1)) {
      const there = { contextId: `branch-${seq}` }
      await flow.fork({ contextId, to: there.contextId, at: seq })
      const { requests } = await flow.invoke(null, there).catch(() => flow.invoke({}, there))
      const answers = Object.fromEntries(requests.map(({ requestId }) => [requestId, 'there']))
      const { state } = (await flow.getState(there)) ?? {}
      const ended = requests.length === 0 ? state : (await flow.answer(answers, there).outcome).state
      expect(ended?.said.slice(0, 2)).toEqual(['work 0', 'work 1'])
      expect(['here', 'there']).toContain(ended?.said[2])
    }
    expect((await flow.getState(WHERE))?.state.said).toEqual(['work 0', 'work 1', 'here'])
    expect(effects).toBeGreaterThan(2)
  })

  it('of a run whose graph below waits asks for itself', async () => {
    const flow = flowOf(flowOf(asking))
    await flow.invoke({}, WHERE)
    await flow.fork({ contextId, to: 'branch' })
    const [request] = (await flow.invoke(null, { contextId: 'branch' })).requests
    const id = request?.requestId ?? ''
    const said = async (there: string) =>
      (await flow.answer({ [id]: there }, { contextId: there }).outcome).state.said
    expect([await said('branch'), await said(contextId)]).toEqual([['branch'], [contextId]])
    await expect(flow.fork({ contextId, to: 'branch' })).rejects.toMatchObject({ code: 'exists' })
  })
})

describe('a conversation', () => {
  it('that was pruned tells the rest of its history as it was', async () => {
    const flow = flowOf(counting)
    for (let turn = 1; turn <= 5; turn++) await flow.invoke({}, WHERE)
    const before = await historyOf(flow, contextId)
    await pruneContext(flow.store, KEY, { keepTurns: 2 })
    const after = await historyOf(flow, contextId)
    expect(after).toEqual(before.slice(-after.length))
    expect(after).toHaveLength(6)
    expect((await flow.invoke({}, WHERE)).state.said).toHaveLength(6)
  })

  it('that was cleared begins with nothing but first values', async () => {
    const flow = flowOf(counting)
    await flow.invoke({}, WHERE)
    await clearContext(flow.store, KEY)
    expect((await flow.getState(WHERE))?.state).toEqual({ said: [] })
    expect((await flow.invoke({}, WHERE)).state.said).toEqual(['0'])
  })

  it('that was erased takes everything below it along, and takes nothing more', async () => {
    const flow = flowOf(flowOf(asking))
    await flow.invoke({}, WHERE)
    await flow.store.erase(KEY)
    const { heads } = await flow.store.list({ owner: LOCAL_OWNER, parent: contextId })
    expect([heads, await flow.getState(WHERE), await flow.requests(WHERE)]).toEqual([[], undefined, []])
    expect((await flow.stream({}, WHERE).outcome).error?.code).toBe('erased')
  })

  it('is its owner\u2019s, whoever else has one of the same name', async () => {
    const flow = flowOf(counting)
    const [ann, bob] = [
      { tenant: 'firm', actor: 'ann' },
      { tenant: 'firm', actor: 'bob' },
    ]
    await flow.invoke({ said: 'of Ann' }, { contextId, owner: ann })
    expect(await flow.getState({ contextId, owner: bob })).toBeUndefined()
    const { error } = await flow.stream({}, { contextId, owner: ann, auth: bob }).outcome
    expect(error?.code).toBe('forbidden')
    expect((await flow.invoke({}, { contextId, owner: bob })).state.said).toEqual(['0'])
  })
})

describe('credentials', () => {
  const spending: Node = async (_, { interrupt, credentials }) => {
    const said = await interrupt({ kind: 'text', prompt: '?' })
    return { said: `${said} ${String(credentials['token']).length}` }
  }

  it('reach a graph below; another process asks for them, and goes on when it has them', async () => {
    const store = memoryStore()
    const flow = () => flowOf(flowOf(spending), store)
    const auth = { credentials: { token: 'very-secret' } }
    const { requests } = await flow().invoke({}, { contextId, auth })
    const answers = { [requests[0]?.requestId ?? '']: 'yes' }
    expect((await flow().answer(answers, WHERE).outcome).status).toBe('auth-required')
    expect((await flow().stream(null, WHERE).outcome).error?.code).toBe('nothing-to-continue')
    expect((await flow().invoke(null, { contextId, auth })).state.said).toEqual(['yes 11'])
    expect(JSON.stringify(await store.read(KEY))).not.toContain('very-secret')
  })
})

it('many runs on one graph leave nothing behind in it, and many at once wait for nobody but each other', async () => {
  // No time passes: whoever waited for a heartbeat would wait for ever.
  const timer: Timer = {
    wait: (_, { signal } = {}) =>
      new Promise((resolve) => signal?.addEventListener('abort', () => resolve())),
    after: () => () => {},
  }
  const flow = graph({ state: STATE })
    .addNode('work', counting)
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ timer })
  await Promise.all(Array.from({ length: 20 }, () => flow.invoke({}, WHERE)))
  for (let turn = 0; turn < 100; turn++) await flow.invoke({}, WHERE)
  expect((await flow.getState(WHERE))?.state.said).toHaveLength(120)
})
