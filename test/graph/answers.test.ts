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

describe('an answer that is sent again', () => {
  const word = z.string().refine((said) => said !== 'no', 'must be a name')
  const flow = () =>
    graph({ state: { paid: value<string>() } })
      .addNode('ask', async (_, { interrupt }) => {
        const payee = await interrupt({ prompt: 'Whom?', schema: word })
        const amount = await interrupt({ kind: 'text', prompt: 'How much?' })
        return { paid: `${payee}: ${amount}` }
      })
      .addEdge(START, 'ask')
      .addEdge('ask', END)
      .compile()
  type Flow = ReturnType<typeof flow>

  it.each<[string, (run: Flow) => Promise<unknown>]>([
    [
      'dismissed and asked again',
      async (run) => {
        await run.cancel(where)
        return run.invoke(null, where)
      },
    ],
    [
      'answered with what the schema refuses',
      async (run) => {
        const [asked] = await run.requests(where)
        return run.answer({ [asked?.requestId ?? '']: 'no' }, where).outcome
      },
    ],
  ])('does not reach the next question, after its own was %s', async (_, askAgain) => {
    const run = flow()
    await run.invoke({}, where)
    const ids = [(await run.requests(where))[0]?.requestId]
    for (let times = 0; times < 3; times++) {
      await askAgain(run)
      ids.push((await run.requests(where))[0]?.requestId)
    }
    expect(ids).toEqual(['ask.1/answer', 'ask.1/answer/2', 'ask.1/answer/3', 'ask.1/answer/4'])
    const ann = { 'ask.1/answer/4': 'Ann' }
    expect((await run.answer(ann, where).outcome).requests).toMatchObject([{ requestId: 'ask.1/answer-2' }])
    expect((await run.answer(ann, where).outcome).error?.code).toBe('invalid-answer')
    expect((await run.answer({ 'ask.1/answer-2': '7' }, where).outcome).state.paid).toBe('Ann: 7')
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
