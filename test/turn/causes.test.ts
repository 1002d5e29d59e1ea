/** An exception of user code reaches the caller in the same process unchanged: with its class, stack and name. */
import { afterEach, describe, expect, it, vi } from 'vitest'
import { agentNode } from '../../src/agent/index.ts'
import type { Runnable } from '../../src/drive/index.ts'
import { END, graph, type NodeFunction, START, value } from '../../src/graph/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { ScriptedModel } from '../../src/testing/scripted-model.ts'
import { type BenchOptions, bench, calls, KEY, probe } from './kit.ts'

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

  const printedBy = async (set: string, config: BenchOptions): Promise<string> => {
    vi.stubEnv('HOLDFAST_DEBUG', set)
    const printed: string[] = []
    vi.spyOn(process.stderr, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
    const { agent } = bench({ script: [calls('brush'), 'Sorry.'], ...config })
    await agent.executeTurn('Paint').outcome
    const auth = { actor: 'bob' }
    await agent.executeTurn('Paint', { auth }).outcome
    return printed.join('')
  }
  const brush = (different: object = {}) => probe('brush', () => 'done', different)

  it.each(['1', '', '0', 'false'])('%j, the stack of what a tool throws is printed, or not', async (set) => {
    const told = await printedBy(set, { tools: [probe('brush', paint)] })
    expect(told.includes('The tool brush threw')).toBe(set === '1')
    expect(/at .*\bpaint\b/.test(told)).toBe(set === '1')
  })

  it.each<[string, BenchOptions]>([
    ['The hook beforeEachTool', { tools: [brush()], on: { beforeEachTool: paint } }],
    ['The hook onAgentReady', { on: { onAgentReady: paint } }],
    ['The function approve of the tool brush', { tools: [brush({ approve: paint })] }],
    ['The function display of the tool brush', { tools: [brush({ display: paint })] }],
    ['The function allow', { allow: paint }],
    ['The function systemPrompt threw OutOfPaint', { systemPrompt: paint }],
  ])('1, what is thrown is printed with its stack and who threw it: %s', async (who, config) => {
    const told = await printedBy('1', config)
    expect(told).toContain(who)
    expect(told).toMatch(/at .*\bpaint\b/)
  })
})

describe('what is thrown where it ends no turn', () => {
  it.each(['no', 'yes', 1, {}, undefined])(
    'by an allow that returns %j, which is not true',
    async (answer) => {
      const { agent } = bench({ script: ['Hi.'], allow: () => answer as never })
      const { error } = await agent.executeTurn('Go', { auth: { actor: 'eve' } }).outcome
      expect(error?.code).toBe('forbidden')
    },
  )

  it('by an allow that returns a promise refuses the turn: a promise is no yes', async () => {
    const allow = (async () => false) as unknown as () => boolean
    const { agent, store } = bench({ script: ['Hi.'], allow })
    const { error } = await agent.executeTurn('Hi', { auth: { actor: 'guest' } }).outcome
    expect(error).toMatchObject({
      code: 'option-failed',
      message: 'The function allow failed: it returned a promise. Return true or false',
    })
    expect(await store.head(KEY)).toBeUndefined()
  })

  it('by allow refuses the turn under its name', async () => {
    const { agent } = bench({ script: ['Hi.'], allow: paint })
    const { error, cause } = await agent.executeTurn('Hi', { auth: { actor: 'bob' } }).outcome
    expect(error).toMatchObject({
      code: 'option-failed',
      message: 'The function allow failed: no blue left',
    })
    expectOrigin(cause)
  })

  it('by approve asks the person without the details, which a warning has', async () => {
    const tools = [probe('brush', () => 'done', { approve: paint })]
    const { agent, store } = bench({ script: [calls('brush')], tools })
    const { requests } = await agent.executeTurn('Paint').outcome
    expect(requests[0]?.prompt).toBe(
      'May "brush" be run? (You are asked because the approval function of this tool failed.)',
    )
    const warning = (await store.read(KEY)).find(({ type }) => type === 'warning')
    expect(warning?.data).toEqual({
      code: 'approve-failed',
      message: 'The function approve of the tool brush failed: no blue left',
    })
  })

  it.each<[string, Error | string, unknown]>([
    ['an error of a class', new TypeError('kaput'), { message: 'kaput', name: 'TypeError' }],
    [
      'an error with a code',
      Object.assign(new Error('kaput'), { code: 'E1' }),
      { message: 'kaput', code: 'E1' },
    ],
  ])('by a tool is told to onError in its own words: %s', async (_, thrown, expected) => {
    const told: unknown[] = []
    const on: Hooks = { onError: ({ error }) => void told.push(error) }
    const tools = [probe('brush', () => Promise.reject(thrown))]
    const { agent } = bench({ script: [calls('brush'), 'Sorry.'], tools, on })
    await agent.input('Paint')
    expect(told).toMatchObject([expected])
  })
})
