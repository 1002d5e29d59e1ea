/** The port for observers: what they get, in what order, and that they cannot hurt a turn. */
import { describe, expect, it } from 'vitest'
import { END, graph, list, START } from '../../src/graph/index.ts'
import type { ContextTelemetry, ObservedStep, Telemetry } from '../../src/loop/index.ts'
import { bench, calls, KEY, probe } from '../turn/kit.ts'

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

const fail = () =>
  probe('fail', () => {
    throw new TypeError('broken by sesame-1234')
  })

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

  it('cannot fail, repeat or change anything', async () => {
    const wrong = (): never => {
      throw new Error('The observer is broken.')
    }
    const look = probe('look')
    const telemetry: Telemetry[] = [
      { context: wrong },
      {
        context: () => ({
          begin: wrong,
          entry: wrong,
          step: wrong,
          thrown: wrong,
          completing: async () => wrong(),
        }),
      },
      {
        context: () => ({
          step: (_, work) => {
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

  it('is checked', () => {
    expect(() => bench({ telemetry: { on: () => {} } as never })).toThrow(
      'telemetry must be an observer with context()',
    )
  })
})
