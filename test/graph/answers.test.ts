/** The answer that a node gets to its question, and the state of a run that never began. */
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { END, graph, list, START, value } from '../../src/graph/index.ts'

const where = { contextId: 'c' }

describe('an answer', () => {
  const order = z.object({
    bags: z.number().refine((bags) => bags % 2 === 0, 'must be even'),
    colour: z.string().default('grey'),
  })
  const flow = () =>
    graph({ state: { said: value<string>('') } })
      .addNode('ask', async (_, { interrupt }) => {
        const answer = await interrupt({ kind: 'data', prompt: 'What to order?', schema: order })
        expectTypeOf(answer).toEqualTypeOf<{ bags: number; colour: string }>()
        const sure = await interrupt({ kind: 'confirmation', prompt: 'Sure?', name: 'sure' })
        expectTypeOf(sure).toEqualTypeOf<boolean>()
        return { said: `${answer.bags} ${answer.colour} ${String(sure)}` }
      })
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile()

  it('has the type of the schema, and is what the schema makes of it', async () => {
    const run = flow()
    await run.invoke({}, where)
    await run.answer({ 'ask.1/answer': { bags: 2 } }, where).outcome
    const { state } = await run.answer({ 'ask.1/sure': true }, where).outcome
    expect(state).toEqual({ said: '2 grey true' })
  })

  it('that the schema does not take is asked for again, with the reason', async () => {
    const run = flow()
    await run.invoke({}, where)
    const again = await run.answer({ 'ask.1/answer': { bags: 3 } }, where).outcome
    expect(again.status).toBe('input-required')
    const [asked] = await run.requests(where)
    expect(asked?.prompt).toMatch(/^What to order\? \(.*must be even.*\)$/)
    await run.answer({ [asked?.requestId ?? '']: { bags: 4, colour: 'red' } }, where).outcome
    const { state } = await run.answer({ 'ask.1/sure': false }, where).outcome
    expect(state).toEqual({ said: '4 red false' })
  })
})

describe('a run that was refused', () => {
  it('has the state that its type promises', async () => {
    const flow = graph({ state: { notes: list<string>(), count: value(0), open: value<string>() } })
      .addNode('work', () => ({ notes: 'done', count: 1 }))
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile()
    const refused = await flow.stream({ strange: 1 } as never, where).outcome
    expect(refused.status).toBe('failed')
    expect(refused.state).toEqual({ notes: [], count: 0 })
    await flow.invoke({}, where)
    const next = await flow.stream({ strange: 1 } as never, where).outcome
    expect(next.state).toEqual({ notes: ['done'], count: 1 })
  })
})
