import { expect, it } from 'vitest'
import { z } from 'zod'
import { constant, END, graph, list, Send, START, value } from '../../src/graph/index.ts'

it('types', async () => {
  const flow = graph({ state: { repo: constant<string>(), sums: list<number>() } })
    .addNode('plan', () => ({}))
    .addNode('work', (_, { input }) => ({ sums: input.n + input.factor }), {
      input: z.object({ n: z.number(), factor: z.number().default(10) }),
    })
    .addEdge(START, 'plan')
    .addConditionalEdges('plan', () => [new Send('work', { n: 1 }), new Send('work', { n: 2, factor: 3 })])
    .addEdge('work', END)
    .compile()
  const { state } = await flow.invoke({ repo: 'a' })
  expect(state.sums).toEqual([11, 5])
  graph({ state: { repo: constant<string>(), sums: list<number>() } })
    // @ts-expect-error A constant has no update.
    .addNode('plan', () => ({ repo: 'b' }))
  graph({ state: { sums: list<number>() } })
    .addNode('work', (_, { input }) => ({ sums: input.n }), { input: z.object({ n: z.number() }) })
    // @ts-expect-error The schema of `work` wants a number.
    .addConditionalEdges(START, () => new Send('work', { n: 'one' }))
  graph({ state: { sums: value<number>() } }).addNode('ask', async (_, { interrupt }) => {
    const { n } = await interrupt({ prompt: 'How many?', schema: z.object({ n: z.number() }) })
    // @ts-expect-error A number.
    const text: string = n
    return { sums: n + text.length }
  })
})
