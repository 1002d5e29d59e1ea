/** The port for observers: what they get, in what order, and that they cannot hurt a turn. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { describe, expect, it } from 'vitest'
import { takeOver } from '../../src/agent/index.ts'
import { END, graph, list, START } from '../../src/graph/index.ts'
import type { ContextTelemetry, ObservedStep, Telemetry } from '../../src/loop/index.ts'
import { type BenchOptions, bench, calls, gate, KEY, probe, until } from '../turn/kit.ts'

function recorder(lines: string[], more: ContextTelemetry = {}): Telemetry {
  return {
    context: ({ name, kind }) => ({
      begin: (turn) => {
        lines.push(`${kind} ${name} begins ${turn}`)
        return { traceparent: `00-${turn}` }
      },
      entry: ({ type }) => lines.push(type),
      step: (step, work) => {
        lines.push(`> ${stepName(step)}`)
        void work().finally(() => lines.push(`< ${stepName(step)}`))
      },
      thrown: (by, { name: type, message, stack }) =>
        lines.push(`${by.kind} ${by.name} threw ${type}: ${message}${stack?.includes('at ') ? ' at …' : ''}`),
      completing: (turn) => void lines.push(`completing ${turn}`),
      ...more,
    }),
  }
}

function stepName(step: ObservedStep): string {
  return step.kind === 'model' ? `model ${step.iteration}` : `${step.kind} ${step.name}`
}

function broken(): never {
  throw new TypeError('broken by sesame-1234')
}

const fail = () => probe('fail', broken)

describe('an observer of turns', () => {
  it('gets entries when they are durable, steps around their work, and exceptions with their stack', async () => {
    const lines: string[] = []
    const { agent, store } = bench({
      name: 'clerk',
      script: [calls('fail'), 'Done'],
      tools: [fail()],
      telemetry: recorder(lines),
      on: { onComplete: () => void lines.push('onComplete') },
    })
    const auth = { credentials: { token: 'sesame-1234' } }
    await agent.executeTurn('Go', { auth }).outcome
    expect(lines).toEqual([
      'agent clerk begins 1',
      'input',
      'claim',
      'turn.start',
      'model.start',
      '> model 1',
      '< model 1',
      'model.end',
      'tool.start',
      '> tool fail',
      'tool fail threw TypeError: broken by [redacted] at …',
      '< tool fail',
      'tool.end',
      'model.start',
      '> model 2',
      '< model 2',
      'model.end',
      'completing 1',
      'onComplete',
      'phase',
      'turn.end',
    ])
    const start = (await store.read(KEY)).find(({ type }) => type === 'turn.start')
    expect(start?.data['traceparent']).toBe('00-1')
  })

  it('is inherited by graphs, their nodes and effects', async () => {
    const lines: string[] = []
    const flow = graph({ name: 'flow', state: { notes: list<string>() } })
      .addNode('write', async (_, { step }) => ({ notes: [await step('save', () => 'saved')] }))
      .addEdge(START, 'write')
      .addEdge('write', END)
      .compile({ telemetry: [recorder(lines)] })
    await flow.invoke({})
    expect(lines).toEqual([
      'graph flow begins 1',
      'input',
      'claim',
      'turn.start',
      'graph.start',
      'graph.step',
      '> node write',
      'effect.start',
      '> effect save of write',
      '< effect save of write',
      '< node write',
      'effect.end',
      'node.end',
      'graph.step',
      'turn.end',
    ])
  })

  it.each([
    [
      'a hook',
      { on: { onComplete: () => broken() } },
      'hook onComplete threw TypeError: broken by [redacted] at broken',
    ],
    [
      'a function of the config',
      { systemPrompt: () => broken() },
      'function systemPrompt threw TypeError: broken by [redacted] at broken',
    ],
    [
      'a hook before any turn',
      { on: { onAgentReady: () => broken() } },
      'turn hook-failed threw TypeError: broken by [redacted] at broken',
    ],
  ] satisfies [string, BenchOptions, string][])('gets the own exception of %s', async (_, config, line) => {
    const lines: string[] = []
    const telemetry = recorder(lines, {
      thrown: ({ kind, name }, error) =>
        lines.push(`${kind} ${name} threw ${error.stack?.split(' (')[0]?.replace(/\s+/g, ' ')}`),
    })
    const { agent } = bench({ script: ['Done'], ...config, telemetry })
    await agent.executeTurn('Go', { auth: { credentials: { token: 'sesame-1234' } } }).outcome
    expect(lines.filter((each) => each.includes('threw'))).toEqual([line])
  })

  it('gets text as it streams, and turns that were refused', async () => {
    const deltas: string[] = []
    const { agent } = bench({
      script: ['Good day'],
      telemetry: recorder([], {
        delta: ({ type, turn, data }) => deltas.push(`${turn} ${type} ${JSON.stringify(data)}`),
      }),
    })
    await agent.executeTurn('Hello').outcome
    await agent.shutdown()
    await agent.executeTurn('Once more').outcome
    const text = deltas.flatMap((line) => /^1 text\.delta \{"text":"(.*)"\}$/.exec(line)?.[1] ?? [])
    expect(text.join('')).toBe('Good day')
    expect(deltas.at(-1)).toMatch(/^0 turn\.refused \{"code":"shutdown","message":"/)
  })

  it('reads a turn that began elsewhere', async () => {
    const seen: string[] = []
    const { agent, another } = bench({ script: ['One', 'Two'] })
    await agent.executeTurn('Hello').outcome
    const second = another({
      telemetry: {
        context: ({ session, read }) => ({
          begin: (turn) => void seen.push(`begins ${turn} after ${session().turn}`),
          completing: async (turn) => {
            const entries = await Promise.all([turn - 1, turn].map((each) => read(each)))
            seen.push(...entries.map((page) => page.map(({ type }) => type).join(' ')))
          },
        }),
      },
      on: { onComplete: () => {} },
    })
    await second.executeTurn('Again').outcome
    expect(seen).toEqual([
      'begins 2 after 1',
      'input claim turn.start model.start model.end turn.end',
      'input claim turn.start model.start model.end',
    ])
  })

  it('cannot fail, repeat or change anything', async () => {
    const wrong = (): never => {
      throw new Error('The observer is broken.')
    }
    const rejects = () => Promise.reject(new Error('The observer is broken.')) as never
    const look = probe('look')
    const telemetry: Telemetry[] = [
      { context: wrong },
      {
        context: () => ({
          begin: wrong,
          entry: wrong,
          step: wrong,
          within: wrong,
          thrown: wrong,
          completing: async () => wrong(),
        }),
      },
      {
        context: () => ({
          entry: rejects,
          delta: rejects,
          step: (_, work) => work().then(wrong) as never,
        }),
      },
      {
        context: () => ({
          step: (_, work) => {
            void work()
            void work()
            throw new Error('The observer is broken.')
          },
          within: (_, work) => {
            void work()
            void work()
            throw new Error('The observer is broken.')
          },
        }),
      },
    ]
    const warnings: Error[] = []
    const onWarning = (warning: Error): void => void warnings.push(warning)
    process.on('warning', onWarning)
    const { agent } = bench({
      script: [calls('look'), 'Done'],
      tools: [look],
      telemetry,
      on: { onComplete: () => {} },
    })
    expect(await agent.input('Look')).toBe('Done')
    expect(look.ran).toEqual(['call_1'])
    await new Promise((resolve) => setImmediate(resolve))
    process.off('warning', onWarning)
    expect(warnings.map(({ message }) => message)).toEqual([
      'An observer of turns failed, and was ignored: The observer is broken.',
    ])
  })

  it('is called for the start of a turn in the async context of its request, also of one that waited', async () => {
    const request = new AsyncLocalStorage<string>()
    const starts: string[] = []
    const telemetry: Telemetry = {
      context: () => ({
        begin: (turn, key) => {
          starts.push(`turn ${turn} of ${request.getStore()}, ${key}`)
          return undefined
        },
      }),
    }
    const slow = gate()
    const { agent, model } = bench({
      script: [calls('slow'), 'One', 'Two', calls('slow'), 'Four'],
      telemetry,
      tools: [probe('slow', () => slow.promise.then(() => 'done'))],
    })
    const first = request.run('first', () => agent.executeTurn('1', { key: 'k1' }))
    await until('the model has replied', () => model.calls.length === 1)
    const second = request.run('second', () => agent.executeTurn('2', { key: 'k2', whileBusy: 'queue' }))
    slow.resolve()
    await Promise.all([first.outcome, second.outcome])
    await agent.executeTurn('3', { key: 'k3', limits: { iterations: 1 } }).outcome
    await request.run('fourth', () => agent.executeTurn(null)).outcome
    expect(starts).toEqual([
      'turn 1 of first, k1',
      'turn 2 of second, k2',
      'turn 3 of undefined, k3',
      'turn 4 of fourth, undefined',
    ])
  })

  it('is told of a turn that is taken over, with its trace, and of one that is lost', async () => {
    const lines: string[] = []
    const named = (name: string): Telemetry =>
      recorder(lines, {
        entry: ({ type }) => type.startsWith('t') && lines.push(`${name} ${type}`),
        step: (_, work) => void work(),
        resume: (turn, traceparent) => lines.push(`${name} resumes ${turn} of ${traceparent}`),
        leave: () => lines.push(`${name} leaves`),
      })
    const slow = gate()
    const tool = probe('slow', () => slow.promise.then(() => 'done'), { replay: 'safe' })
    const { agent, another, store } = bench({
      name: 'clerk',
      script: [calls('slow'), 'Done'],
      tools: [tool],
      telemetry: named('a'),
      realTime: true,
    })
    const turn = agent.executeTurn('Go')
    await until('the tool runs', () => tool.ran.length === 1)
    await takeOver(store, KEY)
    const other = another({ telemetry: named('b'), tools: [probe('slow', () => 'here', { replay: 'safe' })] })
    await other.start()
    await other.turn?.outcome
    slow.resolve()
    await turn.outcome
    await agent.shutdown()
    expect(lines).toEqual([
      'agent clerk begins 1',
      'a turn.start',
      'a tool.start',
      'b resumes 1 of 00-1',
      'b tool.end',
      'b turn.end',
      'a leaves',
    ])
  })

  it('gets requests without secrets', async () => {
    const seen: unknown[] = []
    const telemetry: Telemetry = {
      context: () => ({
        step: (step, work) => {
          if (step.kind === 'model') seen.push(step.request.system)
          void work()
        },
      }),
    }
    const auth = { credentials: { token: 'sesame-1234' } }
    const systemPrompt = () => 'Use sesame-1234.'
    const { agent } = bench({ script: ['Done'], telemetry, systemPrompt })
    await agent.executeTurn('Go', { auth }).outcome
    expect(seen).toEqual(['Use [redacted].'])
  })

  it('is checked', () => {
    expect(() => bench({ telemetry: { on: () => {} } as never })).toThrow(
      'telemetry must be an observer with context()',
    )
  })
})
