/** Channels that a deploy adds or changes while a run is open: their initial values and updates count from then on. */
import { describe, expect, it } from 'vitest'
import { END, type Graph, graph, list, merge, reduce, START, value } from '../../src/graph/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

const contextId = 'c'
const request = { 'ask.1/answer': true }

/** Version 1: waits for a confirmation. */
function before(store: Store) {
  return graph({ state: { q: value<string>() } })
    .addNode('ask', async (_, { interrupt }) => {
      await interrupt({ kind: 'confirmation', prompt: 'ok?' })
      return {}
    })
    .addNode('write', () => ({}))
    .addEdge(START, 'ask')
    .addEdge('ask', 'write')
    .addEdge('write', END)
    .compile({ store })
}

const added = {
  q: value<string>(),
  verdict: value<string>(),
  notes: list<string>(['seed']),
  marks: merge<{ readonly a: number; readonly b: number }>({ a: 0, b: 0 }),
  sum: reduce<number>((total, one) => total + one, 10),
}

interface Shown {
  readonly node: string
  readonly notes: readonly string[] | undefined
  readonly sum: number | undefined
}

/** Version 2: its nodes write channels that version 1 did not have. */
function after(store: Store, shown: Shown[] = []): Graph<typeof added> {
  return graph({ state: added })
    .addNode('ask', async ({ notes, sum }, { interrupt }) => {
      await interrupt({ kind: 'confirmation', prompt: 'ok?' })
      shown.push({ node: 'ask', notes, sum })
      return { verdict: 'good', notes: ['n1'], marks: { a: 1 }, sum: 1 }
    })
    .addNode('write', ({ notes, sum }) => {
      shown.push({ node: 'write', notes, sum })
      return { notes: ['n2'], marks: { b: 2 }, sum: 2 }
    })
    .addEdge(START, 'ask')
    .addEdge('ask', 'write')
    .addEdge('write', END)
    .compile({ store })
}

describe('a channel that a deploy adds to an open run', () => {
  it('has its initial value and takes the updates of nodes', async () => {
    const store = memoryStore()
    await before(store).invoke({ q: 'x' }, { contextId })
    const shown: Shown[] = []
    const flow = after(store, shown)
    const done = await flow.answer(request, { contextId }).outcome
    const state = {
      q: 'x',
      verdict: 'good',
      notes: ['seed', 'n1', 'n2'],
      marks: { a: 1, b: 2 },
      sum: 13,
    }
    expect([done.status, done.state]).toEqual(['completed', state])
    expect(shown).toEqual([
      { node: 'ask', notes: ['seed'], sum: 10 },
      { node: 'write', notes: ['seed', 'n1'], sum: 11 },
    ])
    expect((await flow.getState({ contextId }))?.state).toEqual(state)
  })

  it('is written once, and a return to the version before finds the run where it is', async () => {
    const store = memoryStore()
    const old = before(store)
    await old.invoke({ q: 'x' }, { contextId })
    const flow = after(store)
    await flow.cancel({ contextId })
    await flow.invoke(null, { contextId })
    await flow.cancel({ contextId })
    await flow.invoke(null, { contextId })
    const entries = await store.read({ ...LOCAL_OWNER, contextId })
    expect(entries.filter(({ type }) => type === 'graph.channels')).toHaveLength(1)
    const [open] = await old.requests({ contextId })
    const done = await old.answer({ [open?.requestId ?? '']: true }, { contextId }).outcome
    expect([done.status, done.state]).toEqual(['completed', { q: 'x' }])
  })
})

describe('a channel whose kind a deploy changes in an open run', () => {
  const flowOf = <C extends Parameters<typeof graph>[0]['state']>(
    state: C,
    { store, update }: { readonly store: Store; readonly update: object },
  ) =>
    graph({ state })
      .addNode('ask', async (_, { interrupt }) => {
        await interrupt({ kind: 'confirmation', prompt: 'ok?' })
        return update
      })
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile({ store })

  it('keeps a value as the first item of the list', async () => {
    const store = memoryStore()
    await flowOf({ note: value<string>() }, { store, update: {} }).invoke({ note: 'one' }, { contextId })
    const flow = flowOf({ note: list<string>() }, { store, update: { note: 'two' } })
    expect((await flow.answer(request, { contextId }).outcome).state).toEqual({ note: ['one', 'two'] })
  })

  it('keeps a list as the value', async () => {
    const store = memoryStore()
    await flowOf({ note: list<string>() }, { store, update: {} }).invoke({ note: ['one'] }, { contextId })
    const flow = flowOf({ note: value<unknown>() }, { store, update: {} })
    expect((await flow.answer(request, { contextId }).outcome).state).toEqual({ note: ['one'] })
  })
})

describe('a channel whose kind a deploy changes between two runs', () => {
  const flowOf = <C extends Parameters<typeof graph>[0]['state']>(state: C, store: Store) =>
    graph({ state })
      .addNode('copy', (now) => ({ seen: JSON.stringify(now) }) as never)
      .addEdge(START, 'copy')
      .addEdge('copy', END)
      .compile({ store })
  const earlier = { note: value<string>(), seen: value<string>() }
  const later = { note: list<string>(), seen: value<string>() }

  it('keeps a value as the first item of the list, for nodes and readers', async () => {
    const store = memoryStore()
    await flowOf(earlier, store).invoke({ note: 'one' }, { contextId })
    const flow = flowOf(later, store)
    expect((await flow.getState({ contextId }))?.state.note).toEqual(['one'])
    const { state } = await flow.invoke({ note: 'two' }, { contextId })
    expect([state.note, state.seen]).toEqual([['one', 'two'], expect.stringContaining('["one","two"]')])
    expect((await flow.invoke({}, { contextId })).state.note).toEqual(['one', 'two'])
  })

  it('keeps it also if the input does not write the channel', async () => {
    const store = memoryStore()
    await flowOf(earlier, store).invoke({ note: 'one' }, { contextId })
    const { state } = await flowOf(later, store).invoke({}, { contextId })
    expect([state.note, state.seen]).toEqual([['one'], expect.stringContaining('["one"]')])
  })
})
