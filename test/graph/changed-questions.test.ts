/** The answer to a question counts for that question: one that has changed when the node runs again is asked again. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { END, graph, type Question, START, value } from '../../src/graph/index.ts'
import { defined, type Json } from '../../src/protocol/index.ts'
import type { AppendRequest, Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

const where = { contextId: 'c' }

/** A node that asks this question; each deploy may have another one. */
const deploy = (store: Store, question: Question, clock = new ManualClock()) =>
  graph({ state: { said: value<Json>() } })
    .addNode('ask', async (_, { interrupt }) => ({
      said: (await interrupt(question as { kind: 'text'; prompt: string })) as Json,
    }))
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile({ store, clock })

const ask5: Question = { kind: 'confirmation', prompt: 'Pay 5?' }
const choice: Question = { kind: 'choice', prompt: 'Which?', options: ['red', 'green'] }
const amount: Question = { kind: 'data', prompt: 'How much?', schema: { type: 'number' } }

describe('a question that has changed since it was asked', () => {
  it.each<[string, readonly [Question, Question], Json]>([
    ['prompt', [ask5, { ...ask5, prompt: 'Pay 5000?' }], true],
    ['kind', [{ kind: 'text', prompt: 'Pay 5?' }, ask5], 'yes'],
    ['options', [choice, { ...choice, options: ['blue'] }], 'red'],
    ['number of options to pick', [choice, { ...choice, multiple: true }], 'red'],
    ['schema', [amount, { ...amount, schema: { type: 'string' } }], 7],
    [
      'subject',
      [
        { ...ask5, about: { to: 'Ann' } },
        { ...ask5, about: { to: 'Bob' } },
      ],
      true,
    ],
  ])('by its %s is asked again', async (_, [before, after], answer) => {
    const store = memoryStore()
    await deploy(store, before).invoke({}, where)
    const { status, requests } = await deploy(store, after).answer({ 'ask.1/answer': answer }, where).outcome
    expect([status, requests.map(({ requestId }) => requestId)]).toEqual([
      'input-required',
      ['ask.1/answer/2'],
    ])
    expect(requests[0]).toMatchObject({ kind: after.kind, prompt: after.prompt })
  })

  it('is asked as itself, and an answer to it counts', async () => {
    const store = memoryStore()
    await deploy(store, ask5).invoke({}, where)
    const later = deploy(store, { ...ask5, prompt: 'Pay 6?' })
    await later.answer({ 'ask.1/answer': true }, where).outcome
    const { status, state } = await later.answer({ 'ask.1/answer/2': false }, where).outcome
    expect([status, state.said]).toEqual(['completed', false])
  })

  it('does not expire with the one that was asked', async () => {
    const clock = new ManualClock(1_000_000)
    const store = memoryStore({ clock })
    const timed: Question = { ...ask5, expiresInMs: 1000, otherwise: true }
    await deploy(store, timed, clock).invoke({}, where)
    clock.advance(2000)
    const later = deploy(store, { ...timed, prompt: 'Pay 5000?' }, clock)
    expect((await later.invoke(null, where)).requests).toMatchObject([{ prompt: 'Pay 5000?' }])
    clock.advance(2000)
    expect((await later.invoke(null, where)).state.said).toBe(true)
  })
})

describe('a question that is the same', () => {
  it('keeps its answer, however long the next one will be open, and whatever the order of its fields', async () => {
    const store = memoryStore()
    const about = { to: 'Ann', sum: 5 }
    await deploy(store, { ...ask5, about }).invoke({}, where)
    const later = deploy(store, { ...ask5, about: { sum: 5, to: 'Ann' }, expiresInMs: 5000 })
    const { status, state } = await later.answer({ 'ask.1/answer': true }, where).outcome
    expect([status, state.said]).toEqual(['completed', true])
  })

  it('keeps an answer that came after one that its schema refused', async () => {
    const store = memoryStore()
    const even = z.number().refine((sum) => sum % 2 === 0, 'must be even')
    const flow = deploy(store, { prompt: 'How much?', schema: even })
    await flow.invoke({}, where)
    await flow.answer({ 'ask.1/answer': 3 }, where).outcome
    const { status, state } = await flow.answer({ 'ask.1/answer/2': 4 }, where).outcome
    expect([status, state.said]).toEqual(['completed', 4])
  })
})

describe('the answer to a question of an older version', () => {
  it('counts by the name of the question, since its journal does not say what was asked', async () => {
    const store = memoryStore()
    const old = new Proxy(store, {
      get: (_, name) => {
        const method = store[name as keyof Store]
        if (name !== 'append') return typeof method === 'function' ? method.bind(store) : method
        return (request: AppendRequest) => store.append({ ...request, ...withoutKeys(request) })
      },
    })
    await deploy(old, ask5).invoke({}, where)
    const later = deploy(store, { ...ask5, prompt: 'Shall I pay 5?' })
    expect((await later.answer({ 'ask.1/answer': true }, where).outcome).state.said).toBe(true)
  })
})

function withoutKeys({ entries }: AppendRequest): Pick<AppendRequest, 'entries'> {
  return defined({
    entries: entries?.map(({ data, ...rest }) => ({ ...rest, data: { ...data, inputKey: undefined } })),
  })
}

describe('a node that asks twice', () => {
  const flow = (prices: number[]) =>
    graph({ state: { paid: value<string>() } })
      .addNode('pay', async (_, { interrupt }) => {
        const price = prices.shift() ?? 0
        const whom = await interrupt({ kind: 'text', prompt: 'Whom?' })
        const may = await interrupt({ kind: 'confirmation', prompt: `Pay ${price}?` })
        return { paid: `${price} to ${whom}: ${may}` }
      })
      .addEdge(START, 'pay')
      .addEdge('pay', END)
      .compile()

  it('keeps its first answer, and gets a second one for what was shown last', async () => {
    const run = flow([1, 5, 6, 6])
    await run.invoke({}, where)
    expect((await run.answer({ 'pay.1/answer': 'Ann' }, where).outcome).requests).toMatchObject([
      { requestId: 'pay.1/answer-2', prompt: 'Pay 5?' },
    ])
    expect((await run.answer({ 'pay.1/answer-2': true }, where).outcome).requests).toMatchObject([
      { requestId: 'pay.1/answer-2/2', prompt: 'Pay 6?' },
    ])
    const { state } = await run.answer({ 'pay.1/answer-2/2': false }, where).outcome
    expect(state.paid).toBe('6 to Ann: false')
  })
})
