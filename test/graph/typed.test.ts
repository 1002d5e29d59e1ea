/** Constants, inputs of `Send` and answers with a schema: refused by the compiler where it can, and always at run time. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { constant, END, graph, list, Send, START, value } from '../../src/graph/index.ts'

const where = { contextId: 'talk' }

describe('a constant', () => {
  const state = { repo: constant<{ readonly path: string }>(), log: list<string>() }
  const flow = graph({ state })
    .addNode('read', ({ repo, log }) => ({ log: `${repo?.path ?? 'none'} ${log.length}` }))
    .addEdge(START, 'read')
    .addEdge('read', END)
    .compile()

  it('is set by the input of the first run, and stays', async () => {
    await flow.invoke({ repo: { path: '/a' } }, where)
    expect((await flow.invoke({}, where)).state).toEqual({ repo: { path: '/a' }, log: ['/a 0', '/a 1'] })
    // The same value again changes nothing.
    expect((await flow.invoke({ repo: { path: '/a' } }, where)).state.log).toHaveLength(3)
  })

  it('is not changed by a later input: the run fails, and the next one goes on', async () => {
    const changed = flow.invoke({ repo: { path: '/b' } }, where)
    await expect(changed).rejects.toThrow('The input changes repo, a constant of this conversation')
    expect((await flow.invoke({}, where)).state.log.at(-1)).toBe('/a 3')
  })

  it('is not changed by a node, whose name is in the error', async () => {
    const wrong = graph({ state })
      // @ts-expect-error: a constant has no update
      .addNode('writes', () => ({ repo: { path: '/c' } }))
      .addEdge(START, 'writes')
      .addEdge('writes', END)
      .compile()
    await expect(wrong.invoke({ repo: { path: '/a' } })).rejects.toThrow(
      'Node writes failed: Node writes updates repo, a constant: only the input of the first run sets it',
    )
  })

  it('passes into a graph below, which leaves it alone', async () => {
    const above = graph({ state })
      .addNode('below', flow)
      .addEdge(START, 'below')
      .addEdge('below', END)
      .compile()
    const outcome = await above.invoke({ repo: { path: '/a' } })
    expect(outcome.state).toEqual({ repo: { path: '/a' }, log: ['/a 0'] })
  })
})

describe('the input of a Send', () => {
  const input = z.object({ n: z.number(), factor: z.number().default(10) })
  const build = (sent: () => Send<'work', z.input<typeof input>>) =>
    graph({ state: { sums: list<number>() } })
      .addNode('work', (_, context) => ({ sums: context.input.n * context.input.factor }), { input })
      .addConditionalEdges(START, sent)
      .addEdge('work', END)
      .compile()

  it('is read by the schema of the node, with its defaults', async () => {
    const { state } = await build(() => new Send('work', { n: 2 })).invoke({})
    expect(state.sums).toEqual([20])
  })

  it('that does not fit fails the route, before any task begins', async () => {
    const flow = build(() => new Send('work', { n: 'two' as never }))
    const { error, state } = await flow.stream({}).outcome
    expect(error).toMatchObject({ code: 'route-failed' })
    expect(error?.message).toContain('The input that the route after the start sends to work is invalid: n:')
    expect(state.sums).toEqual([])
  })

  it('is needed: an edge to a node with a schema fails the node', async () => {
    const flow = graph({ state: { sums: list<number>() } })
      .addNode('work', (_, context) => ({ sums: context.input.n }), { input })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile()
    await expect(flow.invoke({})).rejects.toThrow('Run it with new Send("work", input).')
  })

  it('has the type of the schema', () => {
    graph({ state: { sums: list<number>() } })
      .addNode('work', () => {}, { input })
      // @ts-expect-error: a text where the schema wants a number
      .addConditionalEdges(START, () => new Send('work', { n: 'two' }))
      // @ts-expect-error: one of two
      .addConditionalEdges(START, () => [new Send('work', { n: 1 }), new Send('work', {})])
    graph({ state: { sums: list<number>() } })
      .addNode('any', () => {})
      .addConditionalEdges(START, () => new Send('any', [1, 'two']))
      // @ts-expect-error: no JSON
      .addConditionalEdges(START, () => new Send('any', () => 1))
    const builder = graph({ state: { sums: list<number>() } })
    expect(() => builder.addNode('work', () => {}, { input: 'number' as never })).toThrow(
      'The input of node work, a function, must be a schema such as z.object({ … }), not "number"',
    )
  })
})

describe('the answer to a question with a schema', () => {
  const flow = graph({ state: { count: value<number>() } })
    .addNode('ask', async (_, { interrupt }) => {
      const { count } = await interrupt({
        prompt: 'How many?',
        schema: z.object({
          count: z
            .number()
            .max(9)
            .refine((n) => n % 2 === 0, 'Expected an even number'),
        }),
      })
      // @ts-expect-error: a number
      const text: string = count
      return { count: Number(text) }
    })
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile()

  it('needs no kind, and is checked', async () => {
    const { requests } = await flow.invoke({}, where)
    expect(requests[0]).toMatchObject({ kind: 'data', prompt: 'How many?' })
    const first = requests[0]?.requestId ?? ''
    const refused = await flow.answer({ [first]: { count: 'many' } }, where).outcome
    expect(refused.error?.code).toBe('invalid-answer')
    const again = await flow.answer({ [first]: { count: 3 } }, where).outcome
    expect(again.requests[0]?.prompt).toBe('How many? (count: Expected an even number)')
    const done = await flow.answer({ [again.requests[0]?.requestId ?? '']: { count: 4 } }, where).outcome
    expect(done.state.count).toBe(4)
  })
})
