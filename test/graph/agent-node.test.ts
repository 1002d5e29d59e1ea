/** Agents as nodes: messages of the state as their conversation, and a memory between runs. */
import { describe, expect, it } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import { END, graph, list, Send, START, value } from '../../src/graph/index.ts'
import type { Message } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel } from '../../src/testing/index.ts'
import { gate, quiet, until } from '../turn/kit.ts'
import { contextId, toolOf, typesOf } from './nodes-kit.ts'

const where = { contextId }

describe('messages of the state', () => {
  const history: readonly Message[] = [
    { role: 'user', content: 'My name is Ann.' },
    { role: 'assistant', content: [{ type: 'text', text: 'Hello, Ann.' }] },
  ]

  const flowOf = (model: ScriptedModel) =>
    graph({ state: { messages: list<Message>(), answer: value<string>() } })
      .addNode('clerk', agentNode({ model, tools: [toolOf('look')] }), {
        input: ({ messages }) => messages,
        output: (answer) => ({ answer }),
      })
      .addEdge(START, 'clerk')
      .addEdge('clerk', END)
      .compile()

  it('are the conversation so far, and the last one of the user is the task', async () => {
    const model = new ScriptedModel([{ calls: [{ tool: 'look' }] }, 'Ann.'])
    const asked = { role: 'user', content: 'What is my name?' } as const
    const { state } = await flowOf(model).invoke({ messages: [...history, asked] })
    expect(state.answer).toBe('Ann.')
    expect(model.calls.map(({ prompt }) => prompt.map(({ role }) => role))).toEqual([
      ['user', 'assistant', 'user'],
      ['user', 'assistant', 'user', 'assistant', 'tool'],
    ])
  })

  it('may end with a reply: the agent goes on', async () => {
    const model = new ScriptedModel(['As I said.'])
    const { state } = await flowOf(model).invoke({ messages: history })
    expect(state.answer).toBe('As I said.')
    expect(model.calls[0]?.prompt.at(-1)?.role).toBe('user')
  })
})

it('the input of a Send reaches the mapping of the node', async () => {
  const model = new ScriptedModel(({ prompt }) => `Seen: ${JSON.stringify(prompt.at(-1)?.content)}`)
  const flow = graph({ state: { answers: list<string>() } })
    .addNode('clerk', agentNode({ model }), {
      input: (_, sent) => `Look at ${String(sent as number)}.`,
      output: (answer) => ({ answers: answer }),
    })
    .addConditionalEdges(START, () => [1, 2].map((n) => new Send('clerk', n)))
    .addEdge('clerk', END)
    .compile()
  const { state } = await flow.invoke({})
  expect(state.answers.map((answer) => /Look at \d/.exec(answer)?.[0])).toEqual(['Look at 1', 'Look at 2'])
})

describe('a memory', () => {
  const flowOf = (
    model: ScriptedModel,
    { memory = true, store = memoryStore(), approve = 'never' as const } = {},
  ) =>
    graph({ state: { question: value<string>(), answers: list<string>() } })
      .addNode('clerk', agentNode({ model, memory, tools: [toolOf('look', () => 'seen', { approve })] }), {
        input: ({ question = '' }) => question,
        output: (answer) => ({ answers: answer }),
      })
      .addEdge(START, 'clerk')
      .addConditionalEdges('clerk', ({ answers }) => (answers.length % 2 === 1 ? 'clerk' : END))
      .compile({ store })

  it.each([
    [true, [1, 3, 5, 7]],
    [false, [1, 1, 1, 1]],
  ])('%s: prompts of two steps and two runs have these lengths', async (memory, lengths) => {
    const model = new ScriptedModel(['One.', 'Two.', 'Three.', 'Four.'])
    const store = memoryStore()
    const flow = flowOf(model, { memory, store })
    const first = await flow.invoke({ question: 'Well?' }, where)
    const { state, usage } = await flow.invoke({ question: 'And?' }, where)
    expect(state.answers).toEqual(['One.', 'Two.', 'Three.', 'Four.'])
    expect(model.calls.map(({ prompt }) => prompt.length)).toEqual(lengths)
    const sent = await typesOf(store, `${contextId}/clerk~1`)
    expect(sent.filter((type) => type === 'turn.end')).toHaveLength(memory ? 4 : 0)
    // Each run counts its own calls, and no other.
    const used = [first.usage, usage].map(({ outputTokens }) => outputTokens)
    expect(used).toEqual([tokensOf('One.', 'Two.'), tokensOf('Three.', 'Four.')])
  })

  it('survives a question that was never answered: the next message is no answer to it', async () => {
    const model = new ScriptedModel([{ calls: [{ tool: 'look' }] }, 'One.', 'Two.'])
    const flow = flowOf(model, { approve: 'always' as never })
    expect((await flow.invoke({ question: 'Look.' }, where)).status).toBe('input-required')
    const { state, status } = await flow.invoke({ question: 'Forget it.' }, where)
    expect({ status, answers: state.answers }).toEqual({ status: 'completed', answers: ['One.', 'Two.'] })
    const texts = JSON.stringify(model.calls[1]?.prompt)
    expect(texts).toContain('Forget it.')
    expect(texts).toContain('Not run')
  })

  it('takes the next message, not messages', async () => {
    const model = new ScriptedModel(['One.'])
    const flow = graph({ state: { messages: list<Message>(), answer: value<string>() } })
      .addNode('clerk', agentNode({ model, memory: true }), {
        input: ({ messages }) => messages,
        output: (answer) => ({ answer }),
      })
      .addEdge(START, 'clerk')
      .addEdge('clerk', END)
      .compile()
    const messages = [{ role: 'user', content: 'x' } as const]
    await expect(flow.invoke({ messages })).rejects.toThrow('must be the next message as a text')
  })
})

function tokensOf(...replies: readonly string[]): number {
  return replies.reduce((sum, reply) => sum + Math.ceil(reply.length / 4), 0)
}

it('an attempt goes on with the turn that an earlier one cancelled when its time was up', async () => {
  const clock = new ManualClock()
  const work = gate<string>()
  let [started, attempts] = [0, 0]
  const slow = toolOf('slow', () => {
    started += 1
    return work.promise
  })
  const model = new ScriptedModel([{ calls: [{ tool: 'slow' }] }, 'Done.'])
  const flow = graph({ state: { answer: value<string>() } })
    .addNode('clerk', agentNode({ model, tools: [slow] }), {
      input: () => `attempt ${++attempts}`,
      output: (answer) => ({ answer }),
      timeoutMs: 1000,
      retry: { attempts: 2, waitMs: 0 },
    })
    .addEdge(START, 'clerk')
    .addEdge('clerk', END)
    .compile({ store: memoryStore({ clock }), clock, timer: clock })
  const run = flow.stream({}, where)
  await until('the tool runs', () => started === 1)
  clock.advance(1000)
  await until('the second attempt has begun', () => attempts === 2)
  await quiet()
  work.resolve('late')
  const { status, error, state } = await run.outcome
  expect([status, error, state.answer, started]).toEqual(['completed', undefined, 'Done.', 1])
})

it.each(['constructor', '__proto__', 'k'])(
  'the usage below a run with the key %s counts for the run',
  async (key) => {
    const model = new ScriptedModel(['Done.'])
    const flow = graph({ state: { answer: value<string>() } })
      .addNode('clerk', async (_, { run }) => ({ answer: await run(key, agentNode({ model }), 'Try.') }))
      .addEdge(START, 'clerk')
      .addEdge('clerk', END)
      .compile()
    const { usage } = await flow.invoke({}, where)
    expect([usage.inputTokens > 0, usage.outputTokens > 0]).toEqual([true, true])
  },
)
