/** Options of a question are the asker's words: a picked option mentions a thing, and grounds no id. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { Agent, agentTool } from '../../src/agent/index.ts'
import { agentNode } from '../../src/entry/graph.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { entity } from '../../src/grounding/index.ts'
import { LOCAL_OWNER } from '../../src/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ManualClock, ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, askUser, defineTool } from '../../src/tool/index.ts'
import { calls } from '../turn/kit.ts'

const order = entity('order', { pattern: /ord_\d{4}/ })
const refundIt = calls(['refund', { orderId: 'ord_6666' }])
const LATEST = 'Your latest order (ord_6666)'
const OPTIONS = [LATEST, 'None']
const askWhich = calls(['ask_user', { question: 'Which order?', options: OPTIONS }])

function shop(script: readonly ScriptedStep[]) {
  const refunded: string[] = []
  const refund = defineTool({
    name: 'refund',
    description: 'Refunds an order.',
    input: z.object({ orderId: z.string().meta(order.id()) }),
    run: ({ orderId }) => void refunded.push(orderId),
  })
  const list = defineTool({
    name: 'list',
    description: 'Lists orders.',
    input: z.object({}),
    run: () => [{ id: 'ord_6666', label: 'Lamp' }],
    returns: (rows) => order.rows(rows, { id: 'id', label: 'label' }),
  })
  const form = defineTool({
    name: 'form',
    description: 'Asks with the schema of a model.',
    input: z.object({ schema: z.record(z.string(), z.any()) }),
    run: ({ schema }, { answers }) =>
      answers['answer'] === undefined
        ? ask({ kind: 'data', prompt: 'Which?', schema: schema as JsonObject })
        : { answer: answers['answer'] },
  })
  const tools = [refund, list, form, askUser()]
  const config = { store: memoryStore(), tools, entities: [order], model: new ScriptedModel(script) }
  return { refunded, config, agent: new Agent({ contextId: 'shop', ...config }) }
}

async function answered(agent: Agent, answer: Json, words = 'Refund my latest order'): Promise<void> {
  const { requests } = await agent.executeTurn(words).outcome
  await agent.answer({ [requests[0]?.requestId ?? '']: answer }).outcome
}

it('an id in an option that a model wrote is not the person’s when it is picked', async () => {
  const { agent, refunded } = shop([askWhich, refundIt, 'Sorry.', refundIt, 'Sorry.'])
  await answered(agent, LATEST)
  await agent.input('Please do it')
  expect(refunded).toEqual([])
})

it('nor when it is one of several, or a value that the schema of a question lists', async () => {
  const several = shop([
    calls(['ask_user', { question: 'Which?', options: OPTIONS, multiple: true }]),
    refundIt,
    'Sorry.',
  ])
  await answered(several.agent, [LATEST])
  const schema = { type: 'object', properties: { id: { enum: ['ord_6666', 'ord_7777'] } } }
  const listed = shop([calls(['form', { schema }]), refundIt, 'Sorry.'])
  await answered(listed.agent, { id: 'ord_6666' })
  expect([several.refunded, listed.refunded]).toEqual([[], []])
})

it('an answer that the person types is the person’s', async () => {
  const { agent, refunded } = shop([
    calls(['ask_user', { question: 'Which order?' }]),
    refundIt,
    'Done.',
    calls(['form', { schema: { type: 'object', properties: { id: { type: 'string' } } } }]),
    refundIt,
    'Done.',
  ])
  await answered(agent, 'ord_6666')
  await agent.clear()
  await answered(agent, { id: 'ord_6666' })
  expect(refunded).toEqual(['ord_6666', 'ord_6666'])
})

it('a picked option with an id that was shown, or that the person wrote, is good for that reason', async () => {
  const shown = shop([calls('list'), askWhich, refundIt, 'Done.'])
  await answered(shown.agent, LATEST)
  const said = shop([askWhich, refundIt, 'Done.'])
  await answered(said.agent, LATEST, 'Refund ord_6666')
  expect([shown.refunded, said.refunded]).toEqual([['ord_6666'], ['ord_6666']])
})

it('a picked option speaks of a thing that is known, so that another chosen one does not win over it', async () => {
  const { agent, refunded } = shop([calls('list'), 'Here.', askWhich, refundIt, 'Done.'])
  await agent.input('List them')
  await agent.select(order.select('ord_1001'))
  await answered(agent, LATEST)
  expect(refunded).toEqual(['ord_6666'])
})

it('an option that a sub-agent’s model wrote makes no id good below or above', async () => {
  const below = shop([askWhich, refundIt, 'Sorry.'])
  const { store: _, ...helper } = below.config
  const sub = agentTool({ name: 'helper', description: 'Helps.', agent: helper })
  const model = new ScriptedModel([calls(['helper', { message: 'Go' }]), refundIt, 'Sorry.'])
  const tools = [...below.config.tools, sub]
  await answered(new Agent({ contextId: 'top', model, tools, entities: [order] }), LATEST)
  expect(below.refunded).toEqual([])
})

it('an option that a node wrote makes no id good in the run of its graph', async () => {
  const { config, refunded } = shop([refundIt, 'Sorry.'])
  const { store: _, ...agent } = config
  const flow = graph({ name: 'desk', state: { done: value<string>() } })
    .addNode('ask', async (_state, { interrupt }) => {
      await interrupt({ kind: 'choice', prompt: 'Which?', options: OPTIONS })
    })
    .addNode('act', agentNode(agent), { input: () => 'Refund it', output: (done: string) => ({ done }) })
    .addEdge(START, 'ask')
    .addEdge('ask', 'act')
    .addEdge('act', END)
    .compile()
  const { requests } = await flow.invoke({}, { contextId: 'run' })
  await flow.answer({ [requests[0]?.requestId ?? '']: LATEST }, { contextId: 'run' }).outcome
  expect(refunded).toEqual([])
})

it('holds for an answer that was posted through the store, and when the window no longer has it', async () => {
  const talk = Array.from({ length: 3 }, (_, at) => `Reply ${at}.`)
  const { agent, config, refunded } = shop([askWhich, 'Noted.', ...talk, refundIt, 'Sorry.'])
  const { requests } = await agent.executeTurn('Refund my latest order').outcome
  const { requestId = '' } = requests[0] ?? {}
  await config.store.append({
    key: { ...LOCAL_OWNER, contextId: 'shop' },
    id: 'posted',
    since: 0,
    inbox: [{ type: 'answer', key: 'a', data: { requestId, value: LATEST } }],
  })
  const other = new Agent({ contextId: 'shop', ...config, maxMessages: 2 })
  while ((await other.drive()).state === 'again');
  for (const _ of talk) await other.input('And?')
  await other.input('Go')
  expect(refunded).toEqual([])
})

it('an id that was typed as an answer is still known when the window no longer has it', async () => {
  const talk = Array.from({ length: 3 }, (_, at) => `Reply ${at}.`)
  const { config, refunded } = shop([
    calls(['ask_user', { question: 'Which order?' }]),
    'Noted.',
    ...talk,
    refundIt,
    'Done.',
  ])
  const agent = new Agent({ contextId: 'shop', ...config, maxMessages: 2 })
  await answered(agent, 'ord_6666')
  for (const _ of talk) await agent.input('And?')
  await agent.input('Go')
  expect(refunded).toEqual(['ord_6666'])
})

it('a message that answers a question has a program’s words where it says so', async () => {
  const { agent, refunded } = shop([calls(['ask_user', { question: 'Which order?' }]), refundIt, 'Sorry.'])
  await agent.input('Refund my latest order')
  await agent.executeTurn([
    { type: 'text', text: 'The one in this mail:' },
    { type: 'text', text: 'ord_6666', by: 'program' },
  ]).outcome
  expect(refunded).toEqual([])
})

describe('of two things with one label', () => {
  const lamp = entity('lamp')
  const use = calls(['use', { lampId: 'Lamp' }])

  function house(script: readonly ScriptedStep[]) {
    const used: string[] = []
    const list = defineTool({
      name: 'list',
      description: 'Lists lamps.',
      input: z.object({}),
      run: () => [
        { id: 'l-1', name: 'Lamp', room: 'Kitchen' },
        { id: 'l-2', name: 'Lamp', room: 'Hall' },
      ],
      returns: (rows) => lamp.rows(rows, { id: 'id', label: 'name', detail: 'room' }),
    })
    const useIt = defineTool({
      name: 'use',
      description: 'Uses a lamp.',
      input: z.object({ lampId: z.string().meta(lamp.id()) }),
      run: ({ lampId }) => void used.push(lampId),
    })
    const clock = new ManualClock(1000)
    const model = new ScriptedModel([calls('list'), use, 'Done.', ...script])
    const config = { contextId: 'house', clock, store: memoryStore({ clock }), entities: [lamp] }
    const agent = new Agent({ ...config, model, tools: [list, useIt] })
    return { used, agent, clock }
  }

  it('the one that the person picked is meant from then on', async () => {
    const { agent, used } = house([use, 'Done.', use, 'Done.'])
    await answered(agent, 'Lamp (Hall)', 'Use the lamp')
    expect((await agent.executeTurn('Use the lamp again').outcome).reason).toBe('stop')
    expect(used).toEqual(['l-2', 'l-2'])
  })

  it('the question is asked again if the person speaks of the other one, or after the time to live', async () => {
    const { agent, used, clock } = house([use, 'Done.', use, 'Done.'])
    await answered(agent, 'Lamp (Hall)', 'Use the lamp')
    await answered(agent, 'Lamp (Kitchen)', 'Use the lamp in the kitchen')
    expect(used).toEqual(['l-2', 'l-1'])
    clock.advance(8 * 3_600_000)
    expect((await agent.executeTurn('Use the lamp').outcome).reason).toBe('stop')
    expect(used).toEqual(['l-2', 'l-1'])
  })

  it('the question is asked again after the conversation was cleared', async () => {
    const { agent, used } = house([calls('list'), use, 'Which?'])
    await answered(agent, 'Lamp (Hall)', 'Use the lamp')
    await agent.clear()
    expect((await agent.executeTurn('Use the lamp').outcome).requests).toHaveLength(1)
    expect(used).toEqual(['l-2'])
  })
})
