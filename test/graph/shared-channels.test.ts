/** The channels that a graph shares with the graph that it is a node of. */
import { describe, expect, it } from 'vitest'
import { END, graph, list, merge, START, value } from '../../src/graph/index.ts'

describe('a merge channel that graphs side by side share', () => {
  interface Marks {
    readonly a: number
    readonly b: number
    readonly c?: { readonly d: number }
  }
  const state = { marks: merge<Marks>({ a: 0, b: 0 }) }
  const setting = (name: string, marks: Partial<Marks>) =>
    graph({ name, state })
      .addNode('set', () => ({ marks }))
      .addEdge(START, 'set')
      .addEdge('set', END)
      .compile()

  it('keeps the fields that each of them set', async () => {
    const flow = graph({ state })
      .addNode('x', setting('x', { a: 1 }))
      .addNode('y', setting('y', { b: 1, c: { d: 1 } }))
      .addEdge(START, 'x')
      .addEdge(START, 'y')
      .addEdge('x', END)
      .addEdge('y', END)
      .compile()
    expect((await flow.invoke({})).state).toEqual({ marks: { a: 1, b: 1, c: { d: 1 } } })
  })
})

describe('a shared channel with an initial value', () => {
  it('begins in the inner graph as it is in the outer one', async () => {
    const shown: unknown[] = []
    const state = { log: list<string>(['seed']), marks: merge<Record<string, number>>({ a: 0 }) }
    const inner = graph({ state })
      .addNode('look', ({ log, marks }) => {
        shown.push([log, marks])
        return {}
      })
      .addEdge(START, 'look')
      .addEdge('look', END)
      .compile()
    const flow = graph({ state })
      .addNode('inner', inner)
      .addNode('again', inner)
      .addEdge(START, 'inner')
      .addEdge('inner', 'again')
      .addEdge('again', END)
      .compile()
    const { state: after } = await flow.invoke({ log: 'one', marks: { b: 1 } })
    const expected = { log: ['seed', 'one'], marks: { a: 0, b: 1 } }
    expect(after).toEqual(expected)
    expect(shown).toEqual([Object.values(expected), Object.values(expected)])
  })

  it('is the inner value where the outer graph has none', async () => {
    const inner = graph({ state: { log: list<string>(['seed']), top: value<string>('inner') } })
      .addNode('add', ({ top }) => ({ log: top }))
      .addEdge(START, 'add')
      .addEdge('add', END)
      .compile()
    const flow = graph({ state: { log: list<string>(), top: value<string>() } })
      .addNode('inner', inner)
      .addEdge(START, 'inner')
      .addEdge('inner', END)
      .compile()
    expect((await flow.invoke({})).state).toEqual({ log: ['inner'], top: 'inner' })
  })
})

describe('a shared channel of another kind', () => {
  it.each([
    ['that appends', (items: readonly string[]) => [...items, 'c'], ['completed', ['a', 'b', 'c']]],
    ['that replaces items', () => ['c'], ['invalid-update', ['a', 'b']]],
    ['that puts one first', (items: readonly string[]) => ['c', ...items], ['invalid-update', ['a', 'b']]],
  ])('%s never changes the items of an outer list', async (_, change, expected) => {
    const inner = graph({ name: 'inner', state: { items: value<readonly string[]>([]) } })
      .addNode('set', ({ items }) => ({ items: change(items) }))
      .addEdge(START, 'set')
      .addEdge('set', END)
      .compile()
    const flow = graph({ state: { items: list<string>() } })
      .addNode('inner', inner)
      .addEdge(START, 'inner')
      .addEdge('inner', END)
      .compile()
    const { status, error, state } = await flow.stream({ items: ['a', 'b'] }).outcome
    expect([error?.code ?? status, state.items]).toEqual(expected)
  })

  it('gives the outer value whole', async () => {
    const inner = graph({ state: { notes: list<string>(), marks: merge<Record<string, number>>({}) } })
      .addNode('add', () => ({ notes: 'two', marks: { b: 2 } }))
      .addEdge(START, 'add')
      .addEdge('add', END)
      .compile()
    const flow = graph({
      state: { notes: value<readonly string[]>(), marks: value<Record<string, number>>() },
    })
      .addNode('inner', inner)
      .addEdge(START, 'inner')
      .addEdge('inner', END)
      .compile()
    const { state } = await flow.invoke({ notes: ['one'], marks: { a: 1 } })
    expect(state).toEqual({ notes: ['one', 'two'], marks: { a: 1, b: 2 } })
  })
})

describe('a channel that another mapping or another kind could lose parts of', () => {
  const appending = graph({ state: { items: list<string>() } })
    .addNode('append', () => ({ items: 'y' }))
    .addEdge(START, 'append')
    .addEdge('append', END)
    .compile()

  it('is refused for a list that began with other items, because of a mapped input alone', async () => {
    const flow = graph({ state: { items: list<string>() } })
      .addNode('inner', appending, { input: () => ({ items: ['x'] }) })
      .addEdge(START, 'inner')
      .addEdge('inner', END)
      .compile()
    expect((await flow.invoke({})).state).toEqual({ items: ['x', 'y'] })
    const { error, state } = await flow.stream({ items: ['a', 'b'] }).outcome
    expect([error?.code, error?.message, state]).toEqual([
      'invalid-update',
      'items of graph has lost or changed items, but it is a list() in the graph above, which can only grow: write { input, output } to map the state.',
      { items: ['a', 'b'] },
    ])
  })

  it('is refused for a merge() whose fields a value() has dropped', async () => {
    const replacing = graph({ state: { marks: value<Record<string, number>>({}) } })
      .addNode('set', ({ marks }) => ({ marks: 'b' in marks ? { a: 5 } : { ...marks, c: 1 } }))
      .addEdge(START, 'set')
      .addEdge('set', END)
      .compile()
    const flow = graph({ state: { marks: merge<Record<string, number>>({}) } })
      .addNode('inner', replacing)
      .addEdge(START, 'inner')
      .addEdge('inner', END)
      .compile()
    expect((await flow.invoke({ marks: { a: 1 } })).state).toEqual({ marks: { a: 1, c: 1 } })
    const { error, state } = await flow.stream({ marks: { a: 1, b: 2 } }).outcome
    expect([error?.code, error?.message, state]).toEqual([
      'invalid-update',
      'marks of graph has lost fields, but it is a merge() in the graph above, which keeps them: write { input, output } to map the state.',
      { marks: { a: 1, b: 2 } },
    ])
  })
})
