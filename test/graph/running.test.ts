/** How a graph runs: steps, joins, branches, failures, limits. */
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { END, type Graph, graph, list, merge, reduce, Send, START, value } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { gate } from '../turn/kit.ts'

const sum = (a: number, b: number): number => a + b
const state = {
  text: value<string>(),
  notes: list<string>(),
  count: reduce(sum, 0),
  facts: merge<Record<string, number>>({}),
}
/** A value that JSON cannot carry. */
function circular(): object {
  const one: Record<string, unknown> = {}
  one['self'] = one
  return one
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))

/** The nodes of each step, in order. */
async function stepsOf(flow: Graph<typeof state>, input: object | null = {}): Promise<string[]> {
  const steps: string[] = []
  for await (const event of flow.stream(input))
    if (event.type === 'graph.step') steps.push(event.data.tasks.map(({ node }) => node).join('+'))
  return steps
}

describe('steps', () => {
  it('show every node of a step the same state, and count what they say in the order in which they were added', async () => {
    const flow = graph({ state })
      .addNode('slow', async ({ notes }) => {
        await wait(20)
        return { notes: `slow saw ${notes.length}`, count: 1, facts: { slow: 1, both: 1 } }
      })
      .addNode('quick', ({ notes }) => ({
        notes: `quick saw ${notes.length}`,
        count: 10,
        facts: { both: 2 },
      }))
      .addNode('last', ({ notes, count }) => ({ notes: `last saw ${notes.length}`, text: `${count}` }))
      .addEdge(START, 'slow')
      .addEdge(START, 'quick')
      .addEdge('slow', 'last')
      .addEdge('quick', 'last')
      .addEdge('last', END)
      .compile()
    const { state: reached } = await flow.invoke({ notes: ['given'] })
    expect(reached).toEqual({
      notes: ['given', 'slow saw 1', 'quick saw 1', 'last saw 3'],
      count: 11,
      facts: { slow: 1, both: 2 },
      text: '11',
    })
  })

  it('run a node once that two of a step lead to, and a join when all have arrived, however far apart', async () => {
    const nothing = (): void => {}
    const base = graph({ state })
      .addNode('a', nothing)
      .addNode('b', nothing)
      .addNode('c', nothing)
      .addNode('d', nothing)
      .addEdge(START, 'a')
      .addEdge(START, 'b')
      .addEdge('b', 'c')
    expect(await stepsOf(base.addEdge(['a', 'c'], 'd').addEdge('d', END).compile())).toEqual([
      'a+b',
      'c',
      'd',
      '',
    ])
  })

  it('say it if a join was never complete', async () => {
    const flow = graph({ state })
      .addNode('a', () => ({}))
      .addNode('b', () => ({}))
      .addNode('c', () => ({}))
      .addConditionalEdges(START, (): 'a' | 'b' => 'a', ['a', 'b'])
      .addEdge(['a', 'b'], 'c')
      .addEdge('c', END)
      .compile()
    const warnings: string[] = []
    for await (const event of flow.stream({})) if (event.type === 'warning') warnings.push(event.data.message)
    expect(warnings).toEqual(['The run is over, and c was never begun: it waited for b.'])
  })

  it('send a node as many inputs as there are things to do', async () => {
    const flow = graph({ state })
      .addNode('split', () => ({}))
      .addNode('work', (_, { input, task }) => ({ notes: `${task} did ${input as string}` }))
      .addNode('join', ({ notes }) => ({ text: notes.join('; ') }))
      .addEdge(START, 'split')
      .addConditionalEdges('split', () => ['x', 'y', 'z'].map((one) => new Send('work', one)), ['work'])
      .addEdge('work', 'join')
      .addEdge('join', END)
      .compile()
    expect((await flow.invoke({})).state.text).toBe('work.2 did x; work.3 did y; work.4 did z')
  })

  it('loop until a branch leads out', async () => {
    const flow = graph({ state })
      .addNode('again', () => ({ count: 1 }))
      .addEdge(START, 'again')
      .addConditionalEdges('again', ({ count }) => (count < 4 ? 'more' : 'enough'), {
        more: 'again',
        enough: END,
      })
      .compile()
    expect(await stepsOf(flow)).toEqual(['again', 'again', 'again', 'again', ''])
  })
})

describe('the state', () => {
  it('cannot be changed by a node, and what a node was shown does not change under it', async () => {
    const kept: (readonly string[])[] = []
    const flow = graph({ state })
      .addNode('a', (shown) => {
        kept.push(shown.notes)
        expect(() => (shown.notes as string[]).push('sneaked in')).toThrow(TypeError)
        expect(() => Object.assign(shown, { text: 'x' })).toThrow(TypeError)
        return { notes: 'a' }
      })
      .addNode('b', ({ notes }) => ({ text: notes.join() }))
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .addEdge('b', END)
      .compile()
    expect((await flow.invoke({ notes: 'given' })).state.text).toBe('given,a')
    expect(kept).toEqual([['given']])
  })

  it('is kept for the next run on the same conversation, which is merged into it', async () => {
    const flow = graph({ state })
      .addNode('note', ({ text }) => ({ notes: `heard ${text}`, count: 1 }))
      .addEdge(START, 'note')
      .addEdge('note', END)
      .compile()
    await flow.invoke({ text: 'one', notes: 'first' }, { contextId: 'c' })
    const { state: reached, turn } = await flow.invoke({ text: 'two' }, { contextId: 'c' })
    expect([turn, reached.notes, reached.count]).toEqual([2, ['first', 'heard one', 'heard two'], 2])
    expect((await flow.getState({ contextId: 'c' }))?.state).toEqual(reached)
    expect(await flow.getState({ contextId: 'other' })).toBeUndefined()
  })

  it('can be branched off from any point', async () => {
    const flow = graph({ state })
      .addNode('note', ({ text }) => ({ notes: `heard ${text}` }))
      .addEdge(START, 'note')
      .addEdge('note', END)
      .compile()
    await flow.invoke({ text: 'one' }, { contextId: 'c' })
    const { seq = 0 } = (await flow.getState({ contextId: 'c' })) ?? {}
    await flow.invoke({ text: 'two' }, { contextId: 'c' })
    await flow.fork({ contextId: 'c', to: 'd', at: seq })
    const { state: reached } = await flow.invoke({ text: 'three' }, { contextId: 'd' })
    expect(reached.notes).toEqual(['heard one', 'heard three'])
    expect((await flow.getState({ contextId: 'c' }))?.state.notes).toEqual(['heard one', 'heard two'])
  })

  it('is told after every step', async () => {
    const flow = graph({ state })
      .addNode('a', () => ({ count: 1 }))
      .addNode('b', () => ({ count: 10 }))
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .addEdge('b', END)
      .compile()
    await flow.invoke({}, { contextId: 'c' })
    const told: unknown[] = []
    for await (const { state: shown, next } of flow.history({ contextId: 'c' }))
      told.push([shown.count, next.map(({ node }) => node).join()])
    expect(told).toEqual([
      [0, ''],
      [0, 'a'],
      [1, 'b'],
      [11, ''],
    ])
  })
})

describe('what a node says', () => {
  const saying = (said: unknown) =>
    graph({ state })
      .addNode('a', () => said as never)
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile()
      .stream({}).outcome

  it.each([
    ['a channel that is not there', { note: 'x' }, 'Did you mean notes?'],
    ['no object', 'x', 'must give an object'],
    ['something that is no JSON', { text: circular() }, 'cannot be written as JSON'],
    ['no object to merge', { facts: 7 }, 'must be an object'],
  ])('is refused if it is %s, and nothing is lost', async (_, said, message) => {
    const { status, error, state: reached } = await saying(said)
    expect([status, error?.['node']]).toEqual(['failed', 'a'])
    expect(error?.message).toContain(message)
    expect(reached.count).toBe(0)
  })

  it('may be all that it was shown: a list that comes back is not added again', async () => {
    const flow = graph({ state })
      .addNode('a', (shown) => ({ ...shown, count: 0, text: 'a' }))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile()
    const { state: reached } = await flow.invoke({ notes: ['one', 'two'] })
    expect([reached.notes, reached.text]).toEqual([['one', 'two'], 'a'])
  })

  it('may be nothing', async () => {
    expect((await saying(undefined)).status).toBe('completed')
    expect((await saying({ text: undefined })).status).toBe('completed')
  })

  it('cannot contradict what another says in the same step', async () => {
    const flow = graph({ state })
      .addNode('a', () => ({ text: 'a' }))
      .addNode('b', () => ({ text: 'b' }))
      .addEdge(START, 'a')
      .addEdge(START, 'b')
      .addEdge(['a', 'b'], END)
      .compile()
    const { error } = await flow.stream({}).outcome
    expect(error?.code).toBe('conflicting-update')
    expect(error?.message).toContain('a and b both write text')
  })

  it('is refused in an input, too', async () => {
    const { status, error, turn } = await graph({ state })
      .addNode('a', () => ({}))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile()
      .stream({ note: 'x' } as never).outcome
    expect([status, turn]).toEqual(['failed', 0])
    expect(error?.message).toContain('Did you mean notes?')
  })
})

describe('a node that fails', () => {
  const failing = (attempts: number, succeedAt: number, clock = new ManualClock(1000)) => {
    const tried: number[] = []
    const flow = graph({ state })
      .addNode('good', () => ({ notes: 'good' }))
      .addNode(
        'bad',
        (_, { attempt }) => {
          tried.push(attempt)
          if (attempt < succeedAt) throw new Error(`attempt ${attempt}`)
          return { notes: 'at last' }
        },
        { retry: { attempts, waitMs: 100 } },
      )
      .addEdge(START, 'good')
      .addEdge(START, 'bad')
      .addEdge(['good', 'bad'], END)
      .compile({ store: memoryStore({ clock }), clock, timer: clock })
    return { flow, tried, clock }
  }

  it('is tried again after a while, as often as it may', async () => {
    const { flow, tried, clock } = failing(3, 3)
    const run = flow.stream({}, { contextId: 'c' })
    const passing = setInterval(() => clock.advance(10), 1)
    const waits: unknown[] = []
    for await (const event of run)
      if (event.type === 'node.end' && event.data.error !== undefined) waits.push(event.data.error['waitMs'])
    clearInterval(passing)
    const { status, state: reached } = await run.outcome
    expect([status, tried, waits, reached.notes]).toEqual([
      'completed',
      [1, 2, 3],
      [100, 200],
      ['good', 'at last'],
    ])
  })

  it('does not wait where no wait is wanted, however often it is tried', async () => {
    const run = graph({ state })
      .addNode(
        'bad',
        (_, { attempt }) => {
          if (attempt < 4) throw new Error('again')
        },
        { retry: { attempts: 4, waitMs: 0, factor: 1e200 } },
      )
      .addEdge(START, 'bad')
      .addEdge('bad', END)
      .compile()
      .stream({})
    const waits: unknown[] = []
    for await (const event of run)
      if (event.type === 'node.end' && event.data.error !== undefined) waits.push(event.data.error['waitMs'])
    expect(waits).toEqual([0, 0, 0])
  })

  it('fails the run when it may not be tried any more; null tries again and keeps what others have done', async () => {
    const { flow, tried } = failing(1, 2)
    const failed = await flow.stream({}, { contextId: 'c' }).outcome
    expect([failed.status, failed.error]).toEqual([
      'failed',
      { code: 'node-failed', message: 'attempt 1', node: 'bad', task: 'bad.2' },
    ])
    expect((await flow.getState({ contextId: 'c' }))?.next).toEqual([{ task: 'bad.2', node: 'bad' }])
    const { status, state: reached } = await flow.invoke(null, { contextId: 'c' })
    expect([status, tried, reached.notes]).toEqual(['completed', [1, 2], ['good', 'at last']])
  })

  it('what cannot be begun throws its own reason', async () => {
    const { flow } = failing(1, 1)
    await expect(flow.invoke(null, { contextId: 'never' })).rejects.toMatchObject({
      code: 'nothing-to-continue',
    })
    await expect(flow.invoke({ note: 1 } as never)).rejects.toMatchObject({ code: 'invalid-option' })
  })

  it('makes invoke() throw, with where and why', async () => {
    const { flow } = failing(1, 9)
    await expect(flow.invoke({})).rejects.toMatchObject({
      code: 'node-failed',
      message: 'Node bad failed: attempt 1',
      details: { node: 'bad', task: 'bad.2' },
    })
  })

  it('is not tried again if its error is not worth it', async () => {
    let tried = 0
    const flow = graph({ state })
      .addNode(
        'bad',
        () => {
          tried += 1
          throw new TypeError('no')
        },
        { retry: { attempts: 5, waitMs: 0, when: (error) => !(error instanceof TypeError) } },
      )
      .addEdge(START, 'bad')
      .addEdge('bad', END)
      .compile()
    expect([(await flow.stream({}).outcome).status, tried]).toEqual(['failed', 1])
  })

  it('is tried again by an error, also if it threw none', async () => {
    const errors: unknown[] = []
    let tried = 0
    const works = [
      () => new Promise<never>(() => {}),
      async () => ({ notes: 1n }) as never,
      async () => ({ notes: 'x' }),
    ]
    const flow = graph({ state })
      .addNode('bad', () => (works[tried++] ?? works[2])?.(), {
        timeoutMs: 20,
        retry: {
          attempts: 3,
          waitMs: 0,
          when: (error) => errors.push((error as { code: unknown }).code) > 0,
        },
      })
      .addEdge(START, 'bad')
      .addEdge('bad', END)
      .compile({ graceMs: 0 })
    const { status } = await flow.stream({}).outcome
    expect([status, errors]).toEqual(['completed', ['timeout', 'invalid-update']])
  })

  it('fails with a text also if it throws a value that nobody can read', async () => {
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    const flow = graph({ state })
      .addNode('bad', async (_, { step }) => {
        await step('worse', () => Promise.reject(proxy as Error)).catch(() => {})
        throw proxy as Error
      })
      .addEdge(START, 'bad')
      .addEdge('bad', END)
      .compile()
    const { error } = await flow.stream({}).outcome
    expect(error?.message).toBe('The node threw something that cannot be read.')
  })

  it('is not waited for longer than it may take', async () => {
    const signals: boolean[] = []
    const flow = graph({ state })
      .addNode(
        'stuck',
        (_, { signal }) =>
          new Promise<undefined>(() => signal.addEventListener('abort', () => signals.push(signal.aborted))),
        { timeoutMs: 20 },
      )
      .addEdge(START, 'stuck')
      .addEdge('stuck', END)
      .compile()
    const { error } = await flow.stream({}).outcome
    expect([error?.code, signals]).toEqual(['timeout', [true]])
  })
})

describe('a route', () => {
  const routed = (route: () => unknown) =>
    graph({ state })
      .addNode('a', () => ({ notes: 'a' }))
      .addEdge(START, 'a')
      .addConditionalEdges('a', route as () => 'b', { b: END })
      .compile()

  it.each([
    [
      'that throws',
      () => {
        throw new Error('lost')
      },
      'The route after a failed: lost',
    ],
    ['that answers what nobody expects', () => 'z', 'answered "z", which leads nowhere. Known are b.'],
    ['that answers nothing', () => undefined, 'which leads nowhere'],
  ])('%s fails the run; null asks it again', async (_, route, message) => {
    let isMended = false
    const flow = routed(() => (isMended ? 'b' : route()))
    const { status, error } = await flow.stream({}, { contextId: 'c' }).outcome
    expect([status, error?.code]).toEqual(['failed', 'route-failed'])
    expect(error?.message).toContain(message)
    isMended = true
    expect((await flow.invoke(null, { contextId: 'c' })).state.notes).toEqual(['a'])
  })
})

describe('limits', () => {
  const endless = (limits = {}) =>
    graph({ state })
      .addNode('again', async () => {
        await wait(1)
        return { count: 1 }
      })
      .addEdge(START, 'again')
      .addConditionalEdges('again', (): 'again' | typeof END => 'again')
      .compile({ limits })

  it('are 50 steps, and the outcome has what was reached', async () => {
    const { status, reason, limit, maximum, state: reached } = await endless().stream({}).outcome
    expect([status, reason, limit, maximum, reached.count]).toEqual(['completed', 'limit', 'steps', 50, 50])
  })

  it('make invoke reject: a run that was stopped is no run that has ended', async () => {
    const flow = endless({ steps: 3 })
    const error: unknown = await flow.invoke({}, { contextId: 'endless' }).catch((thrown: unknown) => thrown)
    expect(error).toMatchObject({
      code: 'limit-reached',
      message: `graph was stopped by its limit on steps (3) and is not finished. Its progress is stored: invoke(null, { contextId: "endless" }) goes on, \`limits: { steps }\` allows more.`,
      details: { limit: 'steps', maximum: 3, turn: 1, contextId: 'endless' },
    })
    expect((await flow.getState({ contextId: 'endless' }))?.state.count).toBe(3)
  })

  it('can be said for all runs or for one; null goes on from there', async () => {
    const flow = endless({ steps: 3 })
    expect((await flow.stream({}, { contextId: 'c' }).outcome).state.count).toBe(3)
    const more = flow.stream(null, { contextId: 'c', limits: { steps: 4 } })
    expect((await more.outcome).state.count).toBe(7)
  })

  it('end a run whose time is up', async () => {
    const { limit, state: reached } = await endless({ steps: 1e6, durationMs: 400 }).stream({}).outcome
    expect(limit).toBe('durationMs')
    expect(reached.count).toBeGreaterThan(0)
  })
})

describe('a conversation', () => {
  it('of a graph is not for agents, nor one of an agent for graphs; neither is touched', async () => {
    const store = memoryStore()
    const flow = graph({ state })
      .addNode('a', () => ({ notes: 'a' }))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile({ store })
    await flow.invoke({}, { contextId: 'graph' })
    const agentOf = (contextId: string) =>
      new Agent({ contextId, store, model: new ScriptedModel(['Hello.']) })
    await agentOf('agent').input('Hi')
    const before = await store.read({ ...LOCAL_OWNER, contextId: 'graph' })
    const { error } = await agentOf('graph').executeTurn('Hi').outcome
    expect([error?.code, error?.message]).toEqual([
      'wrong-kind',
      'graph is a conversation of the graph graph, not of an agent. Run it with that graph, or use another contextId.',
    ])
    expect(await store.read({ ...LOCAL_OWNER, contextId: 'graph' })).toEqual(before)
    await expect(flow.invoke({}, { contextId: 'agent' })).rejects.toMatchObject({ code: 'wrong-kind' })
  })
})

describe('cancelling', () => {
  it('reaches a node that runs, keeps what was reached, and null goes on', async () => {
    const begun = Promise.withResolvers<void>()
    let isQuick = false
    const flow = graph({ state })
      .addNode('first', () => ({ notes: 'first' }))
      .addNode('long', async (_, { signal }) => {
        begun.resolve()
        if (!isQuick) await new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
        return { notes: 'long' }
      })
      .addEdge(START, 'first')
      .addEdge('first', 'long')
      .addEdge('long', END)
      .compile()
    const run = flow.stream({}, { contextId: 'c' })
    await begun.promise
    await flow.cancel({ contextId: 'c', reason: 'enough' })
    const { status, state: reached } = await run.outcome
    expect([status, reached.notes]).toEqual(['cancelled', ['first']])
    isQuick = true
    expect((await flow.invoke(null, { contextId: 'c' })).state.notes).toEqual(['first', 'long'])
  })

  it('of a turn by its number reaches no other', async () => {
    const begun = gate()
    const flow = graph({ state })
      .addNode('long', async (_, { signal }) => {
        begun.resolve()
        await new Promise((_resolve, reject) => signal.addEventListener('abort', reject))
      })
      .addEdge(START, 'long')
      .addEdge('long', END)
      .compile()
    const run = flow.stream({}, { contextId: 'c' })
    await begun.promise
    await flow.cancel({ contextId: 'c', turn: 2 })
    const posted = async () =>
      (await flow.store.read({ ...LOCAL_OWNER, contextId: 'c' })).map(({ type }) => type)
    expect(await posted()).not.toContain('cancel')
    await flow.cancel({ contextId: 'c', turn: 1 })
    expect((await run.outcome).status).toBe('cancelled')
  })

  it('can be done by a signal, also before it began', async () => {
    const flow = graph({ state })
      .addNode(
        'a',
        (_, { signal }) => new Promise<void>((_resolve, reject) => signal.addEventListener('abort', reject)),
      )
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile()
    const abort = new AbortController()
    const run = flow.stream({}, { signal: abort.signal })
    setTimeout(() => abort.abort(), 10)
    expect((await run.outcome).status).toBe('cancelled')
    const { status, error } = await flow.stream({}, { signal: AbortSignal.abort() }).outcome
    expect([status, error?.code]).toEqual(['cancelled', 'cancelled'])
  })
})

describe('the history of a run', () => {
  it('cannot be changed through one of its states', async () => {
    const flow = graph({
      state: { order: value<{ sum: number }>(), lines: list<{ sum: number }>(), n: value(0) },
    })
      .addNode('count', ({ n }) => ({ n: n + 1 }))
      .addEdge(START, 'count')
      .addConditionalEdges('count', ({ n }) => (n < 2 ? 'count' : END), ['count', END])
      .compile()
    await flow.invoke({ order: { sum: 1 }, lines: { sum: 1 } }, { contextId: 'c' })
    const sums: unknown[] = []
    for await (const { state: reached } of flow.history({ contextId: 'c' })) {
      sums.push([reached.n, reached.order?.sum, reached.lines[0]?.sum])
      for (const part of [reached.order, ...reached.lines])
        expect(() => Object.assign(part ?? {}, { sum: 99 })).toThrow(TypeError)
    }
    expect(sums.at(-1)).toEqual([2, 1, 1])
  })
})
