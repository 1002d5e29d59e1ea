/** A confirmation is a boolean to the node or tool that asked, in whatever form it was answered, with its reason. */
import { expect, it } from 'vitest'
import { z } from 'zod'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { Agent, agentTool, ask, askUser, defineTool, type Json, memoryStore } from '../../src/index.ts'
import { LOCAL_OWNER } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const NO = { approved: false, reason: 'do NOT mail' }
const contextId = 'c'

it('a node that was told no with a reason does not go on', async () => {
  const store = memoryStore()
  const mails: string[] = []
  const reasons: unknown[] = []
  const flow = graph({ state: { to: value('') } })
    .addNode('ask', async ({ to }, context) => {
      const may = await context.interrupt({ kind: 'confirmation', prompt: `Mail ${to}?` })
      reasons.push({ ...context.reasons })
      if (!may) throw new Error('Nobody wants that mail.')
    })
    .addNode('mail', ({ to }) => void mails.push(to))
    .addEdge(START, 'ask')
    .addEdge('ask', 'mail')
    .addEdge('mail', END)
    .compile({ store })
  await flow.invoke({ to: 'ann@example.com' }, { contextId })
  const { status } = await flow.answer({ 'ask.1/answer': NO }, { contextId }).outcome
  expect({ status, mails, reasons }).toEqual({
    status: 'failed',
    mails: [],
    reasons: [{ answer: 'do NOT mail' }],
  })
  const entries = await store.read({ ...LOCAL_OWNER, contextId })
  expect(entries.find(({ type }) => type === 'request.end')?.data).toMatchObject({ value: NO })
})

const told: unknown[] = []
const remove = defineTool({
  name: 'remove',
  description: 'Removes everything.',
  input: z.object({}),
  run: (_, { answers, reasons }) => {
    if (answers['sure'] === undefined) return ask({ kind: 'confirmation', name: 'sure', prompt: 'Sure?' })
    told.push([answers['sure'], reasons['sure']])
    return answers['sure'] ? 'removed' : 'kept'
  },
})

it.each([
  [NO, [false, 'do NOT mail']],
  [{ approved: true }, [true, undefined]],
  [false, [false, undefined]],
] as [Json, unknown[]][])('a tool that is told %j gets %j', async (answer, expected) => {
  told.length = 0
  const model = new ScriptedModel([{ calls: [{ tool: 'remove', args: {} }] }, 'Done.'])
  const agent = new Agent({ contextId, model, tools: [remove] })
  const { requests } = await agent.executeTurn('Remove it').outcome
  await agent.answer({ [requests[0]?.requestId ?? '']: answer }).outcome
  expect(told).toEqual([expected])
})

it.each(['approval', 'credentials', 'grounding'])(
  'a tool that is called %s asks like any other, and so does a node',
  async (name) => {
    const got: unknown[] = []
    const tool = defineTool({
      name,
      description: 'Asks twice.',
      input: z.object({}),
      approve: 'always',
      run: (_, { answers: { sure, why } }) => {
        if (sure === undefined) return ask({ kind: 'confirmation', name: 'sure', prompt: 'Sure?' })
        if (why === undefined) return ask({ kind: 'text', name: 'why', prompt: 'Why?' })
        got.push(sure, why)
        return 'done'
      },
    })
    const model = new ScriptedModel([{ calls: [{ tool: name, args: {} }] }, 'Done.'])
    const agent = new Agent({ contextId, model, tools: [tool] })
    await agent.executeTurn('Do it').outcome
    const [call] = (await agent.requests()).map(({ callId }) => callId)
    await agent.answer({ [`${call}/approval`]: true }).outcome
    expect(await agent.requests()).toMatchObject([{ name: 'sure', from: `tool:${name}` }])
    await agent.answer({ [`${call}/sure-1`]: NO }).outcome
    const { reason } = await agent.answer({ [`${call}/why-2`]: 'because' }).outcome
    expect([reason, got]).toEqual(['stop', [false, 'because']])

    const flow = graph({ state: { may: value(true) } })
      .addNode(name, async (_, { interrupt }) => ({
        may: await interrupt({ kind: 'confirmation', prompt: 'Sure?' }),
      }))
      .addEdge(START, name)
      .addEdge(name, END)
      .compile({ store: memoryStore() })
    const { requests } = await flow.invoke({}, { contextId })
    expect(requests).toMatchObject([{ from: `node:${name}` }])
    const { state } = await flow.answer({ [`${name}.1/answer`]: NO }, { contextId }).outcome
    expect(state).toEqual({ may: false })
  },
)

it('the model that asked reads the reason beside the answer', async () => {
  const question = { question: 'Sure?', kind: 'confirmation' }
  const model = new ScriptedModel([{ calls: [{ tool: 'ask_user', args: question }] }, 'Done.'])
  const store = memoryStore()
  const agent = new Agent({ contextId, model, store, tools: [askUser()] })
  const { requests } = await agent.executeTurn('Do it').outcome
  await agent.answer({ [requests[0]?.requestId ?? '']: NO }).outcome
  const entries = await store.read({ ...LOCAL_OWNER, contextId })
  expect(entries.find(({ type }) => type === 'tool.end')?.data).toMatchObject({
    output: { answer: false, reason: 'do NOT mail' },
  })
})

it('an answer that is handed down to a sub-agent keeps its reason', async () => {
  const order = defineTool({
    name: 'order',
    description: 'Orders.',
    input: z.object({}),
    approve: 'always',
    run: () => 'ordered',
  })
  const inner = new ScriptedModel([{ calls: [{ tool: 'order', args: {} }] }, 'No order.'])
  const buyer = agentTool({ name: 'buyer', description: 'Buys.', agent: { model: inner, tools: [order] } })
  const model = new ScriptedModel([{ calls: [{ tool: 'buyer', args: { message: 'Buy' } }] }, 'Done.'])
  const agent = new Agent({ contextId, model, tools: [buyer] })
  const { requests } = await agent.executeTurn('Buy it').outcome
  await agent.answer({ [requests[0]?.requestId ?? '']: NO }).outcome
  expect(JSON.stringify(inner.calls.at(-1))).toContain('do NOT mail')
})
