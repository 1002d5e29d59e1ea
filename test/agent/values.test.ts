/** Invalid values are refused where they are written, with the valid form. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { agentNode } from '../../src/entry/graph.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { Agent, agentTool, defineTool, jsonSchema } from '../../src/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench } from '../turn/kit.ts'

const refused = (message: string): unknown =>
  expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining(message) })

const made = (more: object) => () => new Agent({ contextId: 'talk', ...more })
const settings = (given: object) => made({ settings: given })
const tool = (more: object) => () =>
  defineTool({ name: 'pay', description: 'Pays.', run: () => 'paid', ...more } as never)
const sub = (agent: unknown) => () => agentTool({ name: 'a', description: 'b', agent: agent as never })
const flow = () =>
  graph({ state: { n: value<number>() } })
    .addNode('count', () => ({ n: 1 }))
    .addEdge(START, 'count')
    .addEdge('count', END)

const SCHEMA = 'write `input: z.object({ … })` of Zod, Valibot or ArkType, or `input: jsonSchema({ … })`'
const STORE = "store must be a store such as sqliteStore('x.db') of holdfast/sqlite or memoryStore(), not"

describe('a value that could not work is refused', () => {
  it.each<[string, () => unknown, string]>([
    [
      'a timer without after()',
      made({ timer: { wait: async () => {} } }),
      'must be a timer with wait() and after()',
    ],
    ['toolChoice', settings({ toolChoice: 'weather' }), "a tool by its name as { tool: 'weather' }"],
    ['toolChoice', settings({ toolChoice: { name: 'x' } }), 'toolChoice must be auto, none, required or'],
    ['temperature', settings({ temperature: '1' }), 'temperature must be a number, not "1".'],
    ['temperature', settings({ temperature: Number.NaN }), 'temperature must be a number, not NaN.'],
    ['retries', settings({ retries: '2' }), 'retries must be a number, not "2".'],
    ['reasoning', settings({ reasoning: 'hard' }), 'reasoning must be provider-default, none,'],
    ['stopSequences', settings({ stopSequences: 'END' }), 'stopSequences must be a list, not "END".'],
    ['apiKey', settings({ apiKey: 5 }), 'apiKey must be a text, not 5.'],
    ['iterations', made({ limits: { iterations: 1.5 } }), 'must be a whole number from 1 on, not 1.5.'],
    ['toolCalls', made({ limits: { toolCalls: 0.5 } }), 'limits.toolCalls must be a whole number'],
    ['metadata', made({ metadata: { f: () => 1 } }), 'metadata.f is a function, which JSON cannot carry.'],
    ['metadata', made({ metadata: { a: [new Map()] } }), 'metadata.a[0] is a Map, which JSON cannot carry.'],
    ['store', made({ store: 'x.db' }), `${STORE} "x.db".`],
    ['store', made({ store: {} }), `${STORE} an object.`],
    ['store', () => flow().compile({ store: 'x.db' } as never), `${STORE} "x.db".`],
    [
      'a script',
      () => new ScriptedModel('hi' as never),
      "a list of replies such as ['Hello.'], or a function",
    ],
    ['a step', () => new ScriptedModel([{ content: 'x' }] as never), 'Write text instead.'],
    ['a step', () => new ScriptedModel([5] as never), 'Step 1 of the script must be a text, { text, calls }'],
    [
      'a call',
      () => new ScriptedModel(['Hi.', { calls: [{ name: 'x' }] }] as never),
      'Call 1 of step 2 of the script has no "name". Write tool instead.',
    ],
    ['a call', () => new ScriptedModel([{ calls: [{ args: {} }] }] as never), 'tool must name the tool'],
    [
      'an error of a step',
      () => new ScriptedModel([{ error: { statusCode: 429 } }] as never),
      'The error of step 1 of the script has no "statusCode". Write status instead.',
    ],
    [
      'the usage of a step',
      () => new ScriptedModel(['Hi.', { text: 'Hi.', usage: { inputToken: 5 } }] as never),
      'The usage of step 2 of the script has no "inputToken". Did you mean inputTokens?',
    ],
    ['a sub-agent', sub(new Agent({ contextId: 'x' })), 'not an Agent: each call gets a conversation'],
    ['a sub-agent', () => agentNode(new Agent({ contextId: 'x' }) as never), 'not an Agent: each call gets'],
    ['a sub-agent', sub({ contextId: 'x' }), 'contextId cannot be set for a sub-agent: its caller'],
    ['a sub-agent', sub({ store: {} }), 'store cannot be set for a sub-agent: its caller sets it'],
    ['a sub-agent', sub({ leaseMs: 5000 }), 'leaseMs cannot be set for a sub-agent: its caller sets it'],
    ['a sub-agent', sub({ telemetry: [] }), 'telemetry cannot be set for a sub-agent: its caller sets it'],
    ['a sub-agent', sub({ parent: 'other' }), 'parent cannot be set for a sub-agent: its caller sets it'],
    ['parameters', tool({ parameters: z.object({}) }), SCHEMA],
    ['a raw shape', tool({ input: { n: z.number() } }), SCHEMA],
    ['JSON Schema', tool({ input: { type: 'object', properties: {} } }), SCHEMA],
    [
      'a tool of the AI SDK',
      made({ tools: [{ description: 'd', inputSchema: z.object({}), execute: () => 1 }] }),
      'Tool 1 of the list is one of the AI SDK, and has no name there. Give it by name: tools: { weather: tool({ … }) }.',
    ],
    ['a function', made({ tools: [() => 1] }), 'Tool 1 of the list is a function. Make it with defineTool('],
  ])('%s: %#', (_, make, message) => {
    expect(make).toThrow(refused(message))
  })

  it.each<[string, () => unknown]>([
    ['toolChoice', settings({ toolChoice: 'required' })],
    ['toolChoice', settings({ toolChoice: { tool: 'weather' } })],
    ['limits', made({ limits: { iterations: Number.POSITIVE_INFINITY, costUsd: 0.5 } })],
    ['metadata', made({ metadata: { at: new Date(0), none: undefined } })],
    ['JSON Schema', tool({ input: jsonSchema({ type: 'object' }) })],
    [
      'steps',
      () => new ScriptedModel([{ error: { status: 503 }, after: 'So' }, { stall: true }, { text: '' }]),
    ],
  ])('and a good one is not: %s, %#', (_, make) => {
    expect(make).not.toThrow()
  })

  it('when a function of a script returns it', async () => {
    const { agent } = bench({ script: (() => ({ content: 'x' })) as never, settings: { retries: 0 } })
    expect((await agent.executeTurn('Hi').outcome).error?.message).toContain('Write text instead.')
  })

  it.each([
    [{ threadId: 'x' }, 'executeTurn() has no "threadId". Write contextId into the config of the agent'],
    [{ configurable: { thread_id: 'x' } }, 'Write contextId into the config of the agent'],
    [{ sessionId: 'x' }, 'Write contextId into the config of the agent'],
    [{ metadata: { f: () => 1 } }, 'metadata.f is a function, which JSON cannot carry.'],
    [{ responseFormat: {} }, 'Write output: z.object({ … }) instead.'],
  ])('by a turn: %j', async (options, message) => {
    const { agent } = bench({ script: ['Hi.'] })
    expect((await agent.executeTurn('Hi', options as never).outcome).error?.message).toContain(message)
  })
})
