/** Invalid calls of a graph and invalid questions are refused with the valid form. */
import { expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { constant, END, graph, merge, type NodeContext, reduce, START, value } from '../../src/graph/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { ask } from '../../src/tool/index.ts'

const where = { contextId: 'c' }

function asking(question: unknown) {
  return graph({ state: { said: value<unknown>() } })
    .addNode('work', async (_, { interrupt }: NodeContext) => ({ said: await interrupt(question as never) }))
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile()
}

it('answer() without options says what is missing', async () => {
  const flow = asking({ kind: 'text', prompt: '?' })
  const { error } = await flow.answer({}, undefined as never).outcome
  expect(error).toEqual({
    code: 'invalid-option',
    message: 'contextId is missing: write answer(answers, { contextId }).',
  })
})

it('a key is refused where no input has it, by graphs and agents alike', async () => {
  const flow = asking({ kind: 'text', prompt: '?' })
  const agent = new Agent({ ...where, model: new ScriptedModel([]) })
  const options = { ...where, key: 'k' }
  for (const run of [flow.stream(null, options), agent.executeTurn(null, { key: 'k' })])
    expect((await run.outcome).error).toEqual({
      code: 'invalid-option',
      message:
        'key names an input that is sent once, and null is no input: leave `key` out. null joins an open turn, and continues one that was cut short as a new turn.',
    })
})

it('a question that is a text says how to write it', async () => {
  await expect(asking('Ok?').invoke({}, where)).rejects.toThrow(
    'Node work failed: A question is an object: write interrupt({ kind: "text", prompt: "Ok?" }).',
  )
})

it.each([
  [
    { kind: 'text', prompt: '?', options: ['a'] },
    '`options` belong to a choice, not to a question of kind text',
  ],
  [
    { kind: 'confirmation', prompt: '?', multiple: true },
    '`multiple` belongs to a choice, not to a question of kind confirmation',
  ],
  [
    { kind: 'confirmation', prompt: '?', schema: {} },
    '`schema` belongs to data, not to a question of kind confirmation',
  ],
])('what a question of its kind does not have is refused: %j', (question, why) => {
  expect(() => ask(question as never)).toThrow(why)
})

it('channels that need a first value say so', () => {
  expect(() => merge(undefined as never)).toThrow('merge(initial)')
  expect(() => reduce((a: number) => a, undefined as never)).toThrow('reduce(fn, initial)')
})

it('what is no store is refused where it is given', () => {
  const nodes = graph({ state: {} })
    .addNode('a', () => {})
    .addEdge(START, 'a')
    .addEdge('a', END)
  for (const store of [{}, Promise.resolve()])
    expect(() => nodes.compile({ store } as never)).toThrow('store must be a store')
})

it('a wrong answer is refused in whole sentences', async () => {
  const flow = asking({ kind: 'text', prompt: '?' })
  await flow.invoke({}, where)
  const problem = async (answers: Record<string, string>) =>
    (await flow.answer(answers, where).outcome).error?.message
  expect(await problem({ 'work.1/answer': '' })).toBe(
    'The answer was not sent: work.1/answer: The answer must be a text that is not empty; this is "". Waiting: work.1/answer.',
  )
  expect(await problem({ '': 'x' })).toBe(
    'The answer was not sent: nothing waits for "". Waiting: work.1/answer.',
  )
})

it.each([0, 1.5])('iterations: %s is no limit for an agent', (iterations) => {
  const model = new ScriptedModel([])
  expect(() => new Agent({ contextId: 'c', model, limits: { iterations } })).toThrow(
    'limits.iterations must be',
  )
})

it('a graph as a node is open to every principal that the outer graph lets in, unless its own `allow` refuses', async () => {
  const state = { who: value<string>() }
  const flowOf = (innerOptions: Parameters<ReturnType<typeof graph>['compile']>[0]) => {
    const inner = graph({ state })
      .addNode('see', (_, { principal }) => ({ who: principal.actor }))
      .addEdge(START, 'see')
      .addEdge('see', END)
      .compile(innerOptions)
    return graph({ state })
      .addNode('inner', inner)
      .addEdge(START, 'inner')
      .addEdge('inner', END)
      .compile({ allow: () => true })
  }
  const asked = { contextId: 'c', auth: { actor: 'ann' } }
  expect((await flowOf({}).stream({}, asked).outcome).state).toEqual({ who: 'ann' })
  const refusing = { allow: () => false }
  expect((await flowOf(refusing).stream({}, asked).outcome).error).toMatchObject({ code: 'forbidden' })
})

it.each([
  [{ topic: 'b' }, 'The input changes topic, a constant of this conversation'],
  [{ sum: 'x' }, 'The reducer of channel sum threw: no number'],
])('an input that is refused (%j) leaves the open run and its children to null', async (input, why) => {
  let paid = 0
  const inner = graph({ state: { said: value<string>() } })
    .addNode('ask', async (_, { step, interrupt }) => {
      await step('pay', () => ++paid)
      return { said: await interrupt({ kind: 'text', prompt: '?' }) }
    })
    .addEdge(START, 'ask')
    .addEdge('ask', END)
    .compile()
  const sum = reduce<unknown>((_, one) => {
    if (typeof one === 'number') return one
    throw new Error('no number')
  }, 0)
  const flow = graph({ state: { topic: constant<string>(), sum, said: value<string>() } })
    .addNode('inner', inner)
    .addEdge(START, 'inner')
    .addEdge('inner', END)
    .compile()
  await flow.invoke({ topic: 'a' }, where)
  await expect(flow.invoke(input, where)).rejects.toThrow(why)
  const { requests } = await flow.invoke(null, where)
  const answers = Object.fromEntries(requests.map(({ requestId }) => [requestId, 'yes']))
  const { status, state } = await flow.answer(answers, where).outcome
  expect([status, state.said, paid]).toEqual(['completed', 'yes', 1])
})

it('an entry to read the state at is a number, and the error says so', async () => {
  const flow = asking({ kind: 'text', prompt: '?' })
  await flow.invoke({}, where)
  for (const at of ['3', null, Number.NaN, -1])
    await expect(flow.getState({ ...where, at: at as never })).rejects.toThrow(
      /^at must be a number from 0 on, not /,
    )
  await expect(flow.trace({ ...where, turn: -1 })).rejects.toThrow('turn must be a number from 1 on, not -1.')
})

it.each([
  ['an error that is returned', () => new Error('no luck')],
  ['a date', () => new Date(0)],
])('%s is no update of a node', async (_, update) => {
  const flow = graph({ state: { said: value<unknown>() } })
    .addNode('work', update as never)
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile()
  await expect(flow.invoke({})).rejects.toThrow(
    'Node work failed: Node work must give an object of channels, or nothing, not a value of type object.',
  )
})

it('a fork without a name says which option is missing', async () => {
  const flow = asking({ kind: 'text', prompt: '?' })
  await flow.invoke({}, where)
  await expect(flow.fork({ ...where } as never)).rejects.toThrow(
    "to is missing: write fork({ contextId, to: 'the name of the branch' }).",
  )
})

it.each([
  [{ kind: 'choice', prompt: 'Which?' }, 'Invalid question: a choice without options was asked for.'],
  [{ kind: 'text', prompt: ' ' }, 'Invalid question: the prompt is empty.'],
  [{ kind: 'text', prompt: 'Again?', name: 'answer' }, 'Node work asks two questions with the name "answer"'],
])('a question is refused also if it is asked while another one waits: %j', async (question, why) => {
  const flow = graph({ state: { said: value<unknown>() } })
    .addNode('work', async (_, { interrupt, step }: NodeContext) => {
      const later = step('look', () => 'seen').then(() => interrupt(question as never))
      return { said: await Promise.all([interrupt({ kind: 'text', prompt: 'Who?' }), later]) }
    })
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile()
  const { requests } = await flow.invoke({}, where)
  expect(requests.map(({ prompt }) => prompt)).toEqual(['Who?'])
  const { error } = await flow.answer({ 'work.1/answer': 'Ann' }, where).outcome
  expect(error).toMatchObject({ code: 'invalid-option', message: expect.stringContaining(why) })
})

it.each([0, -1, Number.NaN, '20'])(
  'a step with the time limit %j is refused and does nothing',
  async (timeoutMs) => {
    let done = 0
    const flow = graph({ state: {} })
      .addNode('work', async (_, { step }: NodeContext) => {
        await step('pay', () => void (done += 1), { timeoutMs: timeoutMs as number })
      })
      .addEdge(START, 'work')
      .addEdge('work', END)
      .compile()
    const { error } = await flow.stream({}, where).outcome
    expect([error?.code, done]).toEqual(['invalid-option', 0])
    expect(error?.message).toContain('timeoutMs')
  },
)

it.each([undefined, 7, null])('an edge from %j is refused like one from a name that is no node', (from) => {
  const flow = graph({ state: {} })
    .addNode('work', () => ({}))
    .addEdge(START, 'work')
    .addEdge(from as never, 'work')
    .addEdge('work', END)
  expect(() => flow.compile()).toThrow(`an edge names ${String(from)}, which is no node`)
})

it('a state with null for a channel says how to write it', () => {
  expect(() => graph({ state: { said: null as never } })).toThrow(
    "The state's said is no channel; use value(), constant(), list(), merge() or reduce().",
  )
})

it('a route that ends the run without END among its answers is told which answers it has', async () => {
  const flow = graph({ state: {} })
    .addNode('a', () => ({}))
    .addNode('b', () => ({}))
    .addEdge(START, 'a')
    .addConditionalEdges('a', () => END as string as 'yes', { yes: 'b' })
    .addEdge('b', END)
    .compile()
  const { error } = await flow.stream({}, where).outcome
  expect(error?.message).toBe('The route after a answered "__end__", which leads nowhere. Known are yes.')
})

it('a retry policy may leave parts undefined', async () => {
  let runs = 0
  const flow = graph({ state: {} })
    .addNode(
      'work',
      () => {
        runs += 1
        if (runs === 1) throw new Error('not yet')
      },
      { retry: { attempts: 2, waitMs: 0, factor: undefined } as { attempts: number } },
    )
    .addEdge(START, 'work')
    .addEdge('work', END)
    .compile()
  expect([(await flow.invoke({}, where)).status, runs]).toEqual(['completed', 2])
})

it('cancel() and shutdown() without options say what they take', async () => {
  const flow = asking({ kind: 'text', prompt: '?' })
  await expect(flow.cancel(undefined as never)).rejects.toThrow(
    'cancel() takes options as an object, not undefined.',
  )
  await expect(flow.shutdown(undefined as never)).rejects.toThrow(
    'shutdown() takes options as an object, not undefined.',
  )
})
