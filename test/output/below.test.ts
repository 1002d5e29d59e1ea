/** Structured output of agents below others: as the result of a tool, and as the output of a node. */
import { expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { agentNode } from '../../src/entry/graph.ts'
import { graph, value } from '../../src/graph/index.ts'
import { type Agent, agentTool, type Tool } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { bench } from '../turn/kit.ts'

const weather = z.object({ city: z.string(), degrees: z.number().nullable() })
type Weather = z.infer<typeof weather>

function helper(...replies: string[]): Tool<unknown, Weather> {
  return agentTool({
    name: 'helper',
    description: 'Helps',
    agent: { model: new ScriptedModel(replies), output: weather, outputRetries: 1 },
  })
}

async function resultOf(agent: Agent): Promise<unknown> {
  await agent.executeTurn('ask').outcome
  const results = (await agent.getMessages()).flatMap((message) =>
    message.role === 'tool' ? message.content : [],
  )
  return results.map(({ status, output }) => ({ status, output }))
}

const ASKING = [{ calls: [{ tool: 'helper', args: { message: 'weather?' } }] }, 'Done.']

it('is the result of the tool', async () => {
  const { agent } = bench({ script: ASKING, tools: [helper('no', '{"city":"Rome","degrees":null}')] })
  expect(await resultOf(agent)).toEqual([{ status: 'ok', output: { city: 'Rome', degrees: null } }])
})

it('fails the tool if no reply fits, with the last text', async () => {
  const { agent } = bench({ script: ASKING, tools: [helper('no', 'never')] })
  const error = '2 replies are not the required output. The last one: It has no JSON value.'
  expect(await resultOf(agent)).toEqual([{ status: 'error', output: { error, text: 'never' } }])
})

it('may be null', async () => {
  const tool = agentTool({
    name: 'helper',
    description: 'Helps',
    agent: { model: new ScriptedModel(['null']), output: z.null() },
  })
  const { agent } = bench({ script: ASKING, tools: [tool] })
  expect(await resultOf(agent)).toEqual([{ status: 'ok', output: null }])
})

it('fails the tool if a hook stops the agent first', async () => {
  const tool = agentTool({
    name: 'helper',
    description: 'Helps',
    agent: {
      model: new ScriptedModel(['no']),
      output: weather,
      on: { afterLlm: ({ stop }) => stop('enough') },
    },
  })
  const { agent } = bench({ script: ASKING, tools: [tool] })
  const error = 'afterLlm stopped the agent before it gave its output.'
  expect(await resultOf(agent)).toEqual([{ status: 'error', output: { error, text: 'no' } }])
})

it('is the output of a node, typed', async () => {
  const model = new ScriptedModel(['{"city":"Rome"}', '{"city":"Rome","degrees":21}'])
  const node = agentNode({ model, output: weather })
  expectTypeOf(node['~run']).returns.resolves.toHaveProperty('output').toEqualTypeOf<Weather | undefined>()
  const flow = graph({ state: { question: value<string>(), degrees: value<number>() } })
    .addNode('look', node, {
      input: ({ question = '' }) => question,
      output: ({ degrees }) => ({ degrees: degrees ?? 0 }),
    })
    .addEdge('__start__', 'look')
    .addEdge('look', '__end__')
    .compile()
  const run = flow.stream({ question: 'weather?' })
  expect(await run.outcome).toMatchObject({ status: 'completed', state: { degrees: 21 } })
})

it('fails a node if no reply fits', async () => {
  const model = new ScriptedModel(['no'])
  const flow = graph({ state: { question: value<string>(), city: value<string>() } })
    .addNode('look', agentNode({ model, output: weather, outputRetries: 0 }), {
      input: ({ question = '' }) => question,
      output: ({ city }) => ({ city }),
    })
    .addEdge('__start__', 'look')
    .addEdge('look', '__end__')
    .compile()
  const outcome = await flow.stream({ question: 'weather?' }).outcome
  expect(outcome).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('It has no JSON value') },
  })
})
