/** Hostile names and values: what every object has, what JSON has not, far too much, and what leads nowhere. */
import { describe, expect, it } from 'vitest'
import {
  type Channels,
  END,
  type Graph,
  graph,
  list,
  merge,
  type NodeFunction,
  reduce,
  Send,
  START,
  value,
} from '../../src/graph/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { openSqlite } from '../turn/kit.ts'

const WHERE = { contextId: 'talk' }

function flowOf<C extends Channels>(state: C, node: unknown): Graph<C> {
  return graph({ state })
    .addNode('work', node as NodeFunction<C>)
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile({ store: memoryStore() })
}

describe('a channel', () => {
  const INHERITED = ['constructor', 'toString', 'hasOwnProperty', 'valueOf']

  it.each(INHERITED)('may be called %s, whatever it holds', async (name) => {
    const held = async (channel: Channels[string], said: Json) => {
      const flow = flowOf<Channels>({ [name]: channel, other: value<number>() }, () => ({ [name]: said }))
      const { state } = await flow.invoke({ other: 1 }, WHERE)
      return Object.getOwnPropertyDescriptor(state, name)?.value as Json
    }
    expect(await held(value<string>() as Channels[string], 'x')).toBe('x')
    expect(await held(list<string>() as Channels[string], 'x')).toEqual(['x'])
    expect(await held(merge({ a: 1 }) as Channels[string], { b: 2 })).toEqual({ a: 1, b: 2 })
    const sum = reduce((total: number, said: number) => total + said, 1)
    expect(await held(sum as Channels[string], 5)).toBe(6)
  })

  it.each(INHERITED)('may be called %s in a graph inside of another, and have no value', async (name) => {
    const state = { [name]: value<string>(), other: value<number>() } as Channels
    const { status, state: after } = await flowOf(
      state,
      flowOf(state, () => ({ other: 1 })),
    ).invoke({}, WHERE)
    expect([status, Object.keys(after)]).toEqual(['completed', ['other']])
  })

  it('cannot be called __proto__, which would be lost', () => {
    expect(() => flowOf({ ['__proto__']: value<string>() }, () => {})).toThrow('cannot be called __proto__')
  })
})

it.each(['constructor', '__proto__', 'toString', 'ünï', '日本', 'a'.repeat(64)])(
  'a node may be called %s',
  async (name) => {
    const flow = graph({ state: { said: list<string>() } })
      .addNode(name, () => ({ said: 'first' }))
      .addNode('other', () => ({ said: 'other' }))
      .addNode('last', () => ({ said: 'last' }))
      .addEdge(START, name)
      .addConditionalEdges(name, () => 'on', { on: 'other' })
      .addEdge([name, 'other'], 'last')
      .addEdge('last', END)
      .compile()
    expect((await flow.invoke({}, WHERE)).state.said).toEqual(['first', 'other', 'last'])
    expect(flow.toMermaid()).toContain(name)
    expect((await flow.trace(WHERE)).nodes[0]?.node).toBe(name)
  },
)

describe('what a node says', () => {
  it('is kept as JSON has it, keys that objects have included', async () => {
    const polluting = JSON.parse('{"__proto__":{"bad":1},"constructor":2}') as Json
    const flow = flowOf({ v: value<unknown>(), l: list<unknown>(), m: merge<object>({}) }, () => ({
      v: { date: new Date(0), left: undefined, polluting },
      l: [[], [1, [2]], null],
      m: polluting,
    }))
    const { state } = await flow.invoke({}, WHERE)
    expect(JSON.stringify(state)).toBe(
      '{"v":{"date":"1970-01-01T00:00:00.000Z","polluting":{"__proto__":{"bad":1},"constructor":2}},"l":[[],[1,[2]],null],"m":{"__proto__":{"bad":1},"constructor":2}}',
    )
    expect('bad' in {}).toBe(false)
  })

  it.each([
    ['a Map', () => new Map([['said', 1]])],
    ['a list', () => [{ said: 1 }]],
    [
      'a generator',
      async function* generated() {
        yield await Promise.resolve({ said: 1 })
      },
    ],
    ['a text', () => 'said'],
    ['a Map of a channel', () => ({ said: new Map([[1, 2]]) })],
    ['a function', () => ({ said: () => 1 })],
  ])('is refused if it is %s', async (_, node) => {
    const { error } = await flowOf({ said: value<unknown>() }, node).stream({}, WHERE).outcome
    expect(error?.code).toBe('invalid-update')
  })

  it('may be of any size, and is the same when it is read from a file', async () => {
    const store = openSqlite()
    const flow = graph({ state: { text: value<string>(), rows: list<string>() } })
      .addNode('work', () => ({
        text: 'x'.repeat(5_000_000),
        rows: Array.from({ length: 3000 }, (_, n) => `row ${n}`),
      }))
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile({ store })
    const { state } = await flow.invoke({}, WHERE)
    expect((await flow.getState(WHERE))?.state).toEqual(state)
    expect([state.text?.length, state.rows.at(-1)]).toEqual([5_000_000, 'row 2999'])
  })

  it('and what came out is nobody else\u2019s to change', async () => {
    const flow = flowOf({ v: value<{ a: number[] }>(), l: list<{ b: number }>() }, () => ({
      v: { a: [1] },
      l: { b: 1 },
    }))
    const { state } = await flow.invoke({}, WHERE)
    state.v?.a.push(2)
    Object.assign(state.l[0] ?? {}, { b: 2 })
    expect((await flow.getState(WHERE))?.state).toEqual({ v: { a: [1] }, l: [{ b: 1 }] })
  })
})

describe('a route', () => {
  const routed = (answer: unknown) =>
    graph({ state: { said: list<Json>() } })
      .addNode('a', (_, { input }) => ({ said: input ?? 'a' }))
      .addNode('b', () => ({ said: 'b' }))
      .addConditionalEdges(START, () => answer as 'a')
      .addEdge('a', END)
      .addEdge('b', END)
      .compile()
      .stream({}, WHERE).outcome

  it.each([
    ['the same twice, and the end', ['a', 'a', END], ['a']],
    ['the end', END, []],
    ['nothing to do', [], []],
    ['a node and things to do', [new Send('a', 1), 'b', new Send('a', 1), 'a'], ['a', 'b', 1, 1]],
    ['null as the thing to do', new Send('a', null), ['a']],
  ])('may answer %s', async (_, answer, said) => {
    expect((await routed(answer)).state.said).toEqual(said)
  })

  it.each([
    [[['a']]],
    [null],
    [undefined],
    [7],
    [START],
    ['__proto__'],
    ['toString'],
    [new Send('nobody', 1)],
  ])('fails the run if it answers %j', async (answer) => {
    expect((await routed(answer)).error?.code).toBe('route-failed')
  })

  it('that would wait for its own run is told so', async () => {
    const flow: Graph<{ said: ReturnType<typeof list<string>> }> = graph({ state: { said: list<string>() } })
      .addNode('a', () => {})
      .addEdge(START, 'a')
      .addConditionalEdges('a', async () => {
        await flow.invoke({}, WHERE)
        return END
      })
      .compile()
    const { error } = await flow.stream({}, WHERE).outcome
    expect([error?.code, error?.message]).toEqual([
      'route-failed',
      expect.stringContaining('from inside its own run'),
    ])
  })
})

describe('steps and what is run below', () => {
  it('have keys of their own, whatever these look like', async () => {
    const keys: string[] = []
    const note = ({ idempotencyKey }: { idempotencyKey: string }) => void keys.push(idempotencyKey)
    const flow = graph({ state: { said: list<string>() } })
      .addNode(
        'work',
        async (_, { step, attempt }) => {
          await step('pay~2', note)
          await step('__proto__', note)
          await step('pay', (effect) => {
            note(effect)
            if (attempt === 1) throw new Error('not yet')
          })
        },
        { retry: { attempts: 2, waitMs: 1 } },
      )
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile()
    await flow.invoke({}, WHERE)
    expect([keys.length, new Set(keys).size]).toEqual([4, 4])
  })

  it('cannot share a key: the second would be given what the first one said', async () => {
    const below = flowOf({ said: value<string>() }, ({ said }: { said: string }) => ({ said: `${said}!` }))
    const flow = flowOf({ said: list<string>() }, (async (_, { run }) => {
      await run('ask', below, { said: 'one' })
      await run('ask', below, { said: 'two' })
    }) satisfies NodeFunction<{ said: ReturnType<typeof list<string>> }>)
    const { error } = await flow.stream({}, WHERE).outcome
    expect(error?.message).toBe('Node work runs two with the key "ask"; each needs one of its own.')
  })

  it('may be a thousand', async () => {
    const flow = graph({ state: { said: list<Json>() } })
      .addNode('work', async (_, { input, step }) => ({ said: await step('do', () => input ?? null) }))
      .addConditionalEdges(START, () => Array.from({ length: 1000 }, (_, n) => new Send('work', n)), ['work'])
      .addEdge('work', END)
      .compile({ store: openSqlite() })
    const { state } = await flow.invoke({}, WHERE)
    expect(state.said).toEqual(Array.from({ length: 1000 }, (_, n) => n))
  })
})
