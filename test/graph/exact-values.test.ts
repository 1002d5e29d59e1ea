/** State and steps hold exact values: a value that JSON would silently change is refused by name. */
import { expect, it } from 'vitest'
import { END, graph, reduce, Send, START, value } from '../../src/graph/index.ts'

const where = { contextId: 'c' }

function saying(said: unknown) {
  return graph({ state: { total: value<unknown>(0), sum: reduce((a: number, b: number) => a + b, 0) } })
    .addNode('a', () => said as { total: unknown })
    .addEdge(START, 'a')
    .addEdge('a', END)
    .compile()
}

it.each([
  ['NaN', Number.NaN, 'it is NaN; use null, or leave it out'],
  ['Infinity', Number.POSITIVE_INFINITY, 'it is Infinity; use null, or leave it out'],
  ['a bigint', 3n, 'it is a bigint; use a number or String() for it'],
  ['an invalid Date', new Date(Number.NaN), 'it is an invalid Date'],
  ['one deep inside', { rows: [{ price: Number.NaN }] }, '`rows[0].price` is NaN; use null, or leave it out'],
])('%s is refused, from a node and from the input', async (_, given, why) => {
  await expect(saying({ total: given }).invoke({}, where)).rejects.toThrow(
    `Node a failed: The update of total by node a cannot be written as JSON: ${why}.`,
  )
  await expect(saying({}).invoke({ total: given }, where)).rejects.toThrow(
    `The update of total by the input cannot be written as JSON: ${why}.`,
  )
})

it('a reducer that makes NaN, and one that throws, are named by their channel', async () => {
  const flow = (fn: (a: number, b: number) => number) =>
    graph({ state: { sum: reduce(fn, 0) } })
      .addNode('a', () => ({ sum: 1 }))
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile()
  await expect(flow(() => Number.NaN).invoke({})).rejects.toThrow(
    'The reducer of sum made something that cannot be written as JSON: it is NaN; use null, or leave it out.',
  )
  const failing = flow(() => {
    throw new Error('cannot add')
  })
  await expect(failing.invoke({})).rejects.toThrow('The reducer of channel sum threw: cannot add')
})

it('a step whose result cannot be stored is named, and is not done again', async () => {
  let done = 0
  const flow = graph({ state: { total: value<number>(0) } })
    .addNode('pay', async (_, { step }) => ({ total: await step('charge', () => ++done && Number.NaN) }), {
      retry: { attempts: 3, waitMs: 0 },
    })
    .addEdge(START, 'pay')
    .addEdge('pay', END)
    .compile()
  await expect(flow.invoke({}, where)).rejects.toThrow(
    'Node pay failed: Step charge of pay ran to its end, but its result cannot be used: it cannot be written as JSON: it is NaN; use null, or leave it out. It is not done again.',
  )
  expect(done).toBe(1)
})

it('a Date is its text, as JSON has it', async () => {
  const { state } = await saying({ total: new Date(0) }).invoke({}, where)
  expect(state.total).toBe('1970-01-01T00:00:00.000Z')
})

it('what a route sends is refused, too', async () => {
  const flow = graph({ state: {} })
    .addNode('a', () => {})
    .addConditionalEdges(START, () => new Send('a', Number.NaN), ['a'])
    .addEdge('a', END)
    .compile()
  await expect(flow.invoke({})).rejects.toThrow('cannot be written as JSON: it is NaN')
})
