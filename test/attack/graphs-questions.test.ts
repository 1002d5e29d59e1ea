/** Questions as nobody meant them: not waited for, under one name, inside of effects, too late, of what is gone. */
import { describe, expect, it } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import { END, type Graph, graph, list, type NodeFunction, Send, START, value } from '../../src/graph/index.ts'
import { clearContext } from '../../src/journal/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { until } from '../turn/kit.ts'

const STATE = { said: list<string>() }
type Node = NodeFunction<typeof STATE>

const contextId = 'talk'
const WHERE = { contextId }
const KEY = { ...LOCAL_OWNER, contextId }

function flowOf(node: Node | Graph<typeof STATE>, clock = new ManualClock(1_000_000)): Graph<typeof STATE> {
  const start = graph({ state: STATE })
  const built = typeof node === 'function' ? start.addNode('work', node) : start.addNode('work', node)
  return built
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store: memoryStore({ clock }), clock })
}

const text = (more: { name?: string; expiresInMs?: number } = {}) =>
  ({ kind: 'text', prompt: '?', ...more }) as const

const idsOf = (requests: readonly { readonly requestId: string }[]) =>
  requests.map(({ requestId }) => requestId)

describe('a node', () => {
  it('may ask several things before it waits for the first', async () => {
    const flow = flowOf(async (_, { interrupt }) => {
      const [first, second] = [interrupt(text()), interrupt(text())]
      return { said: [await first, await second] }
    })
    const { requests } = await flow.invoke({}, WHERE)
    expect(idsOf(requests)).toEqual(['work.1/answer', 'work.1/answer-2'])
    await new Promise((resolve) => setImmediate(resolve))
    const { state } = await flow.answer({ 'work.1/answer': 'a', 'work.1/answer-2': 'b' }, WHERE).outcome
    expect(state.said).toEqual(['a', 'b'])
  })

  it('that swallows its question asks nevertheless', async () => {
    const flow = flowOf(async (_, { interrupt }) => ({
      said: await interrupt(text()).catch(() => 'swallowed'),
    }))
    expect((await flow.invoke({}, WHERE)).status).toBe('input-required')
    expect((await flow.answer({ 'work.1/answer': 'a' }, WHERE).outcome).state.said).toEqual(['a'])
  })

  it('cannot take one answer for two questions', async () => {
    const flow = flowOf(async (_, { interrupt }) => ({
      said: [await interrupt(text({ name: 'n' })), await interrupt(text({ name: 'n' }))],
    }))
    await flow.invoke({}, WHERE)
    const { error } = await flow.answer({ 'work.1/n': 'a' }, WHERE).outcome
    expect([error?.code, error?.message]).toEqual([
      'invalid-option',
      'Node work asks two questions with the name "n"; each needs one of its own.',
    ])
  })

  it.each(['', 'a/b'])('cannot name a question %j, which would be a path', async (name) => {
    const flow = flowOf(async (_, { interrupt }) => ({ said: await interrupt(text({ name })) }))
    expect((await flow.stream({}, WHERE).outcome).error?.code).toBe('invalid-option')
  })

  it('cannot ask inside of an effect, and is told so at once', async () => {
    const flow = flowOf(async (_, { step, interrupt }) => ({
      said: await step('pay', () => interrupt(text())),
    }))
    const { status, error } = await flow.stream({}, WHERE).outcome
    expect([status, error?.message]).toEqual([
      'failed',
      'An effect cannot ask; ask with interrupt() before the step.',
    ])
  })

  it('keeps its answer over the attempts that follow', async () => {
    const attempts: number[] = []
    const flow = graph({ state: STATE })
      .addNode(
        'work',
        async (_, { interrupt, attempt }) => {
          const said = await interrupt(text())
          attempts.push(attempt)
          if (attempt < 3) throw new Error('not yet')
          return { said }
        },
        { retry: { attempts: 3, waitMs: 1 } },
      )
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile()
    await flow.invoke({}, WHERE)
    const { state } = await flow.answer({ 'work.1/answer': 'a' }, WHERE).outcome
    expect([state.said, attempts]).toEqual([['a'], [1, 2, 3]])
  })

  it('changes neither what was stored of a step, nor an answer, nor what it was sent', async () => {
    const seen: string[] = []
    const flow = graph({ state: STATE })
      .addNode(
        'work',
        async (_, { step, interrupt, input }) => {
          const stored = await step('look', () => ({ found: [1] }))
          const told = await interrupt({ kind: 'data', prompt: '?' })
          seen.push(JSON.stringify([stored, told, input]))
          stored.found.push(2)
          ;(told as number[]).push(2)
          ;(input as number[]).push(2)
          if (seen.length < 3) throw new Error('again')
        },
        { retry: { attempts: 3, waitMs: 1 } },
      )
      .addConditionalEdges(START, () => new Send('work', [1]), ['work'])
      .addEdge('work', END)
      .compile()
    await flow.invoke({}, WHERE)
    await flow.answer({ 'work.1/answer': [1] }, WHERE).outcome
    expect(new Set(seen)).toEqual(new Set(['[{"found":[1]},[1],[1]]']))
  })
})

describe('a question that nobody answered in time', () => {
  const asking: Node = async (_, { interrupt }) => ({
    said: await interrupt(text({ expiresInMs: 1000 })),
  })

  it.each([
    ['of a node', 'work.1/answer/2'],
    ['from below', 'work.1/work.1/answer/2'],
  ])('%s is asked again when what failed is tried again', async (where, again) => {
    const clock = new ManualClock(1_000_000)
    const flow = where === 'of a node' ? flowOf(asking, clock) : flowOf(flowOf(asking), clock)
    await flow.invoke({}, WHERE)
    clock.advance(2000)
    expect((await flow.stream(null, WHERE).outcome).error?.code).toBe('expired')
    const { status, requests } = await flow.stream(null, WHERE).outcome
    expect([status, idsOf(requests)]).toEqual(['input-required', [again]])
    expect((await flow.answer({ [again]: 'late' }, WHERE).outcome).state.said).toEqual(['late'])
  })

  it('counts as undefined, if that is what it says', async () => {
    const clock = new ManualClock(1_000_000)
    const flow = flowOf(async (_, { interrupt }) => {
      const told = await interrupt({
        ...text({ expiresInMs: 1000 }),
        otherwise: undefined,
      })
      return { said: String(told) }
    }, clock)
    await flow.invoke({}, WHERE)
    clock.advance(2000)
    expect((await flow.invoke(null, WHERE)).state.said).toEqual(['undefined'])
  })
})

describe('answers', () => {
  const asking: Node = async (_, { interrupt }) => ({ said: await interrupt(text()) })

  it('to what is over, or to nothing, are refused and change nothing', async () => {
    const flow = flowOf(asking)
    await flow.invoke({}, WHERE)
    for (const wrong of [{}, { nobody: 'a' }, { 'work.1/answer': '' }, { 'work.1/answer': 7 }])
      expect((await flow.answer(wrong, WHERE).outcome).error?.code).toBe('invalid-answer')
    await flow.answer({ 'work.1/answer': 'a' }, WHERE).outcome
    const again = await flow.answer({ 'work.1/answer': 'b' }, WHERE).outcome
    expect([again.error?.code, again.state.said]).toEqual(['invalid-answer', ['a']])
  })

  it('bring the limits of the turn that they begin', async () => {
    const flow = graph({ state: { count: value(0) } })
      .addNode('ask', async (_, { interrupt }) => void (await interrupt(text())))
      .addNode('more', ({ count }) => ({ count: count + 1 }))
      .addEdge(START, 'ask')
      .addEdge('ask', 'more')
      .addConditionalEdges('more', ({ count }) => (count < 9 ? 'more' : END), ['more', END])
      .compile()
    await flow.invoke({}, WHERE)
    const { limit, state } = await flow.answer({ 'ask.1/answer': 'a' }, { contextId, limits: { steps: 3 } })
      .outcome
    expect([limit, state]).toEqual(['steps', { count: 3 }])
  })

  it('to an agent below leave it what is left of the limits', async () => {
    const tool = (name: string, approve: 'always' | 'never') =>
      defineTool({
        ...{ name, approve, description: name, input: jsonSchema({ type: 'object' }) },
        run: () => 'x'.repeat(400),
      })
    let calls = 0
    const model = new ScriptedModel(() => {
      calls += 1
      return { calls: [{ tool: calls === 1 ? 'pay' : 'look', args: {} }] }
    })
    const flow = graph({ state: STATE })
      .addNode('work', agentNode({ model, tools: [tool('pay', 'always'), tool('look', 'never')] }), {
        input: () => 'Pay',
        output: (said) => ({ said }),
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ limits: { tokens: 200 } })
    const { requests } = await flow.invoke({}, WHERE)
    await flow.answer({ [requests[0]?.requestId ?? '']: true }, WHERE).outcome
    expect(calls).toBeLessThan(5)
  })

  it('cannot be given after the conversation was cleared, and null has nothing to go on with', async () => {
    const flow = flowOf(asking)
    await flow.invoke({}, WHERE)
    await clearContext(flow.store, KEY)
    expect(await flow.requests(WHERE)).toEqual([])
    expect((await flow.stream(null, WHERE).outcome).error?.code).toBe('nothing-to-continue')
    expect((await flow.answer({ 'work.1/answer': 'a' }, WHERE).outcome).error?.code).toBe('invalid-answer')
    expect(idsOf((await flow.invoke({}, WHERE)).requests)).toEqual(['work.2/answer'])
  })

  it('come through three graphs, one by one', async () => {
    const flow = flowOf(
      flowOf(
        flowOf(async (_, { interrupt }) => {
          const both = await Promise.all([interrupt(text()), interrupt(text())])
          return { said: [...both, await interrupt(text())] }
        }),
      ),
    )
    const [first = '', second = ''] = idsOf((await flow.invoke({}, WHERE)).requests)
    expect([first, second]).toEqual(['work.1/work.1/work.1/answer', 'work.1/work.1/work.1/answer-2'])
    expect(idsOf((await flow.answer({ [second]: 'b' }, WHERE).outcome).requests)).toEqual([first])
    const [third = ''] = idsOf((await flow.answer({ [first]: 'a' }, WHERE).outcome).requests)
    expect((await flow.answer({ [third]: 'c' }, WHERE).outcome).state.said).toEqual(['a', 'b', 'c'])
  })
})

it('a new input gives up everything that waits below, however much it is', async () => {
  const below = flowOf(async (_, { interrupt }) => void (await interrupt(text())))
  const flow = graph({ state: { count: value(180) } })
    .addNode('work', async (_, { run }) => void (await run('ask', below, {})))
    .addNode('rest', () => {})
    .addConditionalEdges(
      START,
      ({ count }) =>
        count === 0 ? 'rest' : Array.from({ length: count }, (_, index) => new Send('work', index)),
      ['work', 'rest'],
    )
    .addEdge(['work'], END)
    .addEdge('rest', END)
    .compile()
  expect((await flow.invoke({}, WHERE)).requests).toHaveLength(180)
  await flow.invoke({ count: 0 }, WHERE)
  await until('nobody wants to be woken', async () => {
    const { heads } = await flow.store.list({ owner: LOCAL_OWNER, parent: contextId, limit: 500 })
    return heads.length === 180 && heads.every(({ wakeAt }) => wakeAt === undefined)
  })
})
