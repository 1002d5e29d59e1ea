/** What user code throws reaches the caller in the same process as it was thrown: with its class, stack and name. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import type { Runnable } from '../../src/drive/index.ts'
import { END, graph, type NodeFunction, START, value } from '../../src/graph/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { bench, calls, probe } from './kit.ts'

class OutOfPaint extends Error {}

function paint(): never {
  throw new OutOfPaint('no blue left')
}

const thrownBy = (work: Promise<unknown>): Promise<Error> =>
  work.then(
    () => new Error('nothing was thrown'),
    (error: unknown) => error as Error,
  )

function expectOrigin(cause: unknown): void {
  expect(cause).toBeInstanceOf(OutOfPaint)
  expect((cause as Error).stack).toMatch(/at .*\bpaint\b/)
}

const STATE = { n: value<number>() }

const flowOf = (node: NodeFunction<typeof STATE> | Runnable<unknown, unknown>) =>
  graph({ state: STATE }).addNode('draw', node).addEdge(START, 'draw').addEdge('draw', END).compile()

describe('what is thrown', () => {
  it.each<[string, Parameters<typeof bench>[0], string]>([
    ['by a hook', { script: ['Hi.'], on: { beforeLlm: paint } }, 'The hook beforeLlm failed: no blue left'],
    ['by onAgentReady', { on: { onAgentReady: paint } }, 'The hook onAgentReady failed: no blue left'],
    ['by the model', { script: () => paint(), settings: { retries: 0 } }, 'no blue left'],
    [
      'by systemPrompt',
      { script: ['Hi.'], systemPrompt: paint },
      'The function systemPrompt failed: no blue left',
    ],
    ['by tools', { script: ['Hi.'], tools: paint }, 'The function tools failed: no blue left'],
  ])('%s is the cause of what input() throws, and of the outcome', async (_, config, message) => {
    const { agent } = bench(config)
    const error = await thrownBy(agent.input('Hi'))
    expect(error.message).toBe(message)
    expectOrigin(error.cause)
    const outcome = await agent.executeTurn('Hi').outcome
    expectOrigin(outcome.cause)
    expect(JSON.stringify(outcome)).not.toContain('cause')
  })

  it('by a tool is told to onError with the tool and its cause', async () => {
    const told: unknown[] = []
    const on: Hooks = {
      onError: ({ error }) => {
        if (error.source === 'tool') told.push(error.tool, error.cause)
      },
    }
    const { agent } = bench({ script: [calls('brush'), 'Sorry.'], tools: [probe('brush', paint)], on })
    expect(await agent.input('Paint')).toBe('Sorry.')
    expect(told[0]).toBe('brush')
    expectOrigin(told[1])
  })

  it('is known only where it was thrown: another process has what the journal keeps', async () => {
    const { agent, another } = bench({ script: ['Hi.'], on: { beforeLlm: paint } })
    await agent.executeTurn('Hi').outcome
    const outcome = await (await another().lastTurn())?.outcome
    expect([outcome?.error?.message, outcome?.cause]).toEqual([
      'The hook beforeLlm failed: no blue left',
      undefined,
    ])
  })
})

describe('what is thrown in a graph', () => {
  it.each<[string, () => ReturnType<typeof flowOf>]>([
    ['by a node', () => flowOf(paint)],
    ['by a step', () => flowOf(async (_, { step }) => ({ n: await step('mix', paint) }))],
    [
      'by a hook of an agent below',
      () => {
        const painter = agentNode({ model: new ScriptedModel(['Hi.']), on: { beforeLlm: paint } })
        return flowOf(async (_, { run }) => void (await run('painter', painter, 'Paint')))
      },
    ],
    ['by a node of a graph below', () => flowOf(flowOf(paint) as never)],
  ])('%s is found behind what invoke throws, with the name of the node', async (_, make) => {
    const error = await thrownBy(make().invoke({ n: 0 }))
    expect(error.message).toMatch(/^Node draw failed: (The hook beforeLlm failed: )?no blue left$/)
    const causes: unknown[] = []
    for (let cause = error.cause; cause instanceof Error; cause = cause.cause) causes.push(cause)
    expectOrigin(causes.at(-1))
  })

  it.each([
    ['a value', () => Promise.reject(7), 'Node draw failed: The node threw 7.'],
    ['nothing to read', () => Promise.reject({ a: 1 }), 'Node draw failed: The node threw {"a":1}.'],
  ])('as %s is said of the node, not of a tool', async (_, node, message) => {
    expect((await thrownBy(flowOf(node).invoke({ n: 0 }))).message).toBe(message)
  })

  it('by a route is the cause of what invoke throws', async () => {
    const flow = graph({ state: { n: value<number>() } })
      .addNode('draw', () => ({ n: 1 }))
      .addEdge(START, 'draw')
      .addConditionalEdges('draw', (): typeof END => paint(), [END])
      .compile()
    const error = await thrownBy(flow.invoke({ n: 0 }))
    expect(error.message).toContain('no blue left')
    expectOrigin(error.cause)
  })
})

describe('with HOLDFAST_DEBUG', () => {
  afterEach(() => {
    vi.unstubAllEnvs()
    vi.restoreAllMocks()
  })

  it.each(['1', ''])('%j, the stack of what a tool throws is printed, or not', async (set) => {
    vi.stubEnv('HOLDFAST_DEBUG', set)
    const printed: string[] = []
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
    const { agent } = bench({ script: [calls('brush'), 'Sorry.'], tools: [probe('brush', paint)] })
    await agent.input('Paint')
    const told = printed.join('')
    expect(told.includes('The tool brush threw')).toBe(set === '1')
    expect(/at .*\bpaint\b/.test(told)).toBe(set === '1')
  })
})
