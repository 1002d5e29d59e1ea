/** Valid graphs: mistakes are found at definition or compilation, not at run time. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { agentNode } from '../../src/agent/index.ts'
import { END, graph, list, merge, type NodeContext, reduce, START, value } from '../../src/graph/index.ts'
import { HoldfastError, type Json } from '../../src/protocol/index.ts'

const state = { text: value<string>(), notes: list<string>() }
const nothing = (): void => {}

function problemOf(work: () => unknown): { readonly code: string; readonly message: string } {
  try {
    work()
  } catch (error) {
    if (HoldfastError.is(error)) return { code: error.code, message: error.message }
    throw error
  }
  throw new Error('Nothing was refused.')
}

describe('compile() refuses', () => {
  const one = () => graph({ state }).addNode('a', nothing)

  it.each([
    ['a graph without nodes', () => graph({ state }).compile(), 'it has no nodes'],
    ['one without a beginning', () => one().addEdge('a', END).compile(), 'it has no beginning'],
    ['a node that leads nowhere', () => one().addEdge(START, 'a').compile(), 'a leads nowhere'],
    [
      'a node that nothing leads to',
      () => one().addNode('b', nothing).addEdge(START, 'a').addEdge('a', END).addEdge('b', END).compile(),
      'nothing leads to b',
    ],
    [
      'an edge to a node that is not there',
      () =>
        one()
          .addEdge(START, 'a')
          .addEdge('a', 'z' as never)
          .compile(),
      'an edge names z, which is no node',
    ],
    [
      'an answer that leads to no node',
      () =>
        one()
          .addEdge(START, 'a')
          .addConditionalEdges('a', () => 'on', { on: 'z' as never })
          .compile(),
      'the answer on after a leads to z, which is no node',
    ],
    [
      'a way back to the start',
      () =>
        one()
          .addEdge(START, 'a')
          .addEdge('a', START as never)
          .compile(),
      'nothing can lead back to START',
    ],
    [
      'a way on from the end',
      () =>
        one()
          .addEdge(END as never, 'a')
          .addEdge(START, 'a')
          .compile(),
      'after END',
    ],
    [
      'an unknown option',
      () =>
        one()
          .addEdge(START, 'a')
          .addEdge('a', END)
          .compile({ stor: 1 } as never),
      'Did you mean store?',
    ],
    [
      'a limit that makes no sense',
      () =>
        one()
          .addEdge(START, 'a')
          .addEdge('a', END)
          .compile({ limits: { steps: 0 } }),
      'limits.steps must be a number from 1 on',
    ],
  ])('%s', (_, work, message) => {
    expect(problemOf(work).message).toContain(message)
  })

  it('says all that is wrong at once', () => {
    const { code, message } = problemOf(() => one().addNode('b', nothing).compile())
    expect(code).toBe('invalid-graph')
    expect(message).toContain('no beginning')
    expect(message).toContain('a leads nowhere')
    expect(message).toContain('nothing leads to b')
  })
})

describe('writing it down refuses', () => {
  const agent = agentNode({ model: 'reflex' })
  const counted = graph({ state: { n: reduce((a: number, b: number) => a + b, 0) } })
    .addNode('count', () => ({ n: 1 }))
    .addEdge(START, 'count')
    .addEdge('count', END)
    .compile()

  it.each([
    [
      'two nodes of one name',
      () => graph({ state }).addNode('a', nothing).addNode('a', nothing),
      'two nodes a',
    ],
    ['a name that is no name', () => graph({ state }).addNode('a/b', nothing), 'is no name for a node'],
    ['the name of the start', () => graph({ state }).addNode(START, nothing), 'cannot be a node'],
    ['a node that cannot be run', () => graph({ state }).addNode('a', 7 as never), 'neither a function'],
    [
      'an unknown option',
      () => graph({ state }).addNode('a', nothing, { retrys: 3 } as never),
      'Did you mean retry?',
    ],
    [
      'an option of agents and graphs for a function',
      () => graph({ state }).addNode('a', nothing, { output: () => ({}) }),
      'Known are retry, timeoutMs, input.',
    ],
    [
      'no attempts at all',
      () => graph({ state }).addNode('a', nothing, { retry: 0 }),
      'attempts must be a number from 1 on',
    ],
    ['a state that is none', () => graph({} as never), 'takes { state }'],
    ['a channel that is none', () => graph({ state: { a: 1 } as never }), 'is no channel'],
    [
      'a route that is none',
      () =>
        graph({ state })
          .addNode('a', nothing)
          .addConditionalEdges('a', 'b' as never),
      'is no function',
    ],
    ['an agent without a question', () => graph({ state }).addNode('a', agent), 'needs { input'],
    [
      'a graph with a sum that nobody can take apart',
      () => graph({ state: { n: reduce((a: number, b: number) => a + b, 0) } }).addNode('a', counted),
      'n of graph',
    ],
  ])('%s', (_, work, message) => {
    expect(problemOf(work).message).toContain(message)
  })
})

describe('types', () => {
  it('know the state, the names of nodes and the answers of routes', () => {
    const typed = graph({
      state: { ...state, sum: reduce((a: number, b: number) => a + b, 0), all: merge({ x: 1 }) },
    })
      .addNode('a', ({ text, notes, sum, all }) => {
        const known: [string | undefined, readonly string[], number, number] = [text, notes, sum, all.x]
        return { notes: known[1].concat('more'), sum: 1, all: { x: 2 } }
      })
      // @ts-expect-error: a channel that is not part of the state
      .addNode('b', () => ({ texts: 'x' }))
      // @ts-expect-error: a channel that is not part of the state, beside one that is
      .addNode('b2', () => ({ sum: 1, texts: 'x' }))
      // @ts-expect-error: the same, later
      .addNode('b3', async () => Promise.resolve({ sum: 1, texts: 'x' }))
      // @ts-expect-error: the same, on one of two ways
      .addNode('b4', ({ sum }) => (sum > 1 ? { sum: 1 } : { texts: ['x'] }))
      // @ts-expect-error: a value of another type
      .addNode('c', () => ({ sum: 'x' }))
    // @ts-expect-error: a node that was not added
    const edge = () => typed.addEdge('a', 'z')
    // @ts-expect-error: an answer without a way
    const branch = () => typed.addConditionalEdges('a', () => (Math.random() > 2 ? 'x' : 'y'), { x: 'b' })
    const wider = () => typed.addConditionalEdges('a', () => 'x' as const, { x: 'b', y: END })
    const open = () => typed.addConditionalEdges('a', ({ text = '' }) => text, { x: 'b' })
    expect([typeof wider, typeof open]).toEqual(['function', 'function'])
    expect([typeof edge, typeof branch]).toEqual(['function', 'function'])
  })

  it('know what comes back for each kind of question', () => {
    const asked = async ({ interrupt }: NodeContext): Promise<void> => {
      const prompt = '?'
      const yes = await interrupt({ kind: 'confirmation', prompt })
      const words = await interrupt({ kind: 'text', prompt, name: 'words', expiresInMs: 5, otherwise: null })
      const one = await interrupt({ kind: 'choice', prompt, options: ['a', 2] })
      const some = await interrupt({ kind: 'choice', prompt, options: ['a', 'b'], multiple: true })
      const data = await interrupt({ kind: 'data', prompt, schema: z.object({ ok: z.boolean() }) })
      const open = await interrupt({ kind: 'data', prompt, schema: { type: 'object' } })
      expectTypeOf(yes).toEqualTypeOf<boolean>()
      expectTypeOf(words).toEqualTypeOf<string | null>()
      expectTypeOf(one).toEqualTypeOf<'a' | 2>()
      expectTypeOf(some).toEqualTypeOf<readonly ('a' | 'b')[]>()
      expectTypeOf(data).toEqualTypeOf<{ ok: boolean }>()
      expectTypeOf(open).toEqualTypeOf<Json>()
      // @ts-expect-error: what is wanted does not decide what comes back
      const wanted: boolean = await interrupt({ kind: 'choice', prompt, options: ['a'] })
      // @ts-expect-error: no option of a question
      await interrupt({ kind: 'text', prompt, expireInMs: 5 })
      expect(wanted).toBe(true)
    }
    expect(typeof asked).toBe('function')
  })
})
