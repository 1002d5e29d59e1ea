/** Four plugins that people write against a trace: reflection, approval of a round, a log of tools, a guard of the context. */
import { describe, expect, it } from 'vitest'
import type { Plugin } from '../../src/hook/index.ts'
import type { TraceEntry } from '../../src/protocol/index.ts'
import { bench, calls, probe, promptLines } from '../turn/kit.ts'

type Execution = Extract<TraceEntry, { type: 'tool_execution' }>

const executions = (trace: readonly TraceEntry[]): readonly Execution[] =>
  trace.filter((entry) => entry.type === 'tool_execution')

describe('a plugin', () => {
  it('reflects after each round on the last three tools of the trace', async () => {
    const asked: string[] = []
    const reflect: Plugin = {
      name: 'reflect',
      on: {
        afterTools: ({ trace, add }) => {
          const last = executions(trace).slice(-3)
          asked.push(last.map(({ tool_name: name, status }) => `${name} ${status}`).join(', '))
          add(`Observation: ${last.length} tools`)
        },
      },
    }
    const { agent, model } = bench({
      script: [calls('one', 'two'), calls('three', 'one'), 'Done'],
      tools: [probe('one'), probe('two'), probe('three')],
      plugins: [reflect],
    })
    await agent.input('Go')
    expect(asked).toEqual(['one success, two success', 'two success, three success, one success'])
    expect(promptLines(model, 2).at(-1)).toBe('user "Observation: 3 tools"')
  })

  it('asks before a round, with all of its calls; a no rejects them and leaves the conversation whole', async () => {
    const shown: string[] = []
    const answers = ['y', 'n']
    const approve: Plugin = {
      name: 'approve',
      on: {
        beforeTools: ({ pending, reject }) => {
          shown.push(
            `About to run ${pending.length}: ${pending.map(({ tool, args }) => `${tool}(${JSON.stringify(args)})`).join(' ')}`,
          )
          if (answers.shift() !== 'y')
            for (const { callId } of pending) reject(callId, 'The user rejected it.')
        },
      },
    }
    const look = probe('look')
    const { agent } = bench({
      script: [calls(['look', { n: 1 }], 'look'), calls('look'), 'Done'],
      tools: [look],
      plugins: [approve],
    })
    await agent.input('Go')
    expect(shown).toEqual(['About to run 2: look({"n":1}) look({})', 'About to run 1: look({})'])
    expect(look.ran).toHaveLength(2)
    expect(executions(await agent.trace()).map(({ status, error }) => [status, error])).toEqual([
      ['success', undefined],
      ['success', undefined],
      ['rejected', 'The user rejected it.'],
    ])
  })

  it('logs each tool: its start from `pending`, its end from the last entry of the trace', async () => {
    const lines: string[] = []
    const log: Plugin = {
      name: 'log',
      on: {
        beforeEachTool: ({ pending }) =>
          void lines.push(`START: ${pending.tool}(${JSON.stringify(pending.args)})`),
        afterEachTool: ({ trace }) => {
          const { tool_name: name, timing = -1, status } = trace.at(-1) as Execution
          lines.push(`END: ${name} (${timing.toFixed(1)}ms) -> ${status}`)
        },
      },
    }
    const { agent } = bench({
      script: [calls(['look', { n: 1 }]), calls('nowhere'), 'Done'],
      tools: [probe('look')],
      plugins: [log],
    })
    await agent.input('Go')
    expect(lines).toEqual([
      'START: look({"n":1})',
      'END: look (0.0ms) -> success',
      'START: nowhere({})',
      'END: nowhere (0.0ms) -> not_found',
    ])
  })

  it('warns when the context is nearly full', async () => {
    const warnings: string[] = []
    const guard: Plugin = {
      name: 'guard',
      on: {
        beforeLlm: ({ contextPercent = 0 }) => {
          if (contextPercent > 80) warnings.push(`Context ${contextPercent.toFixed(0)}% full`)
        },
      },
    }
    const { agent } = bench({
      script: ['Short', 'Long'],
      plugins: [guard],
      settings: { contextTokens: 100 },
    })
    await agent.input('Hi')
    await agent.input('word '.repeat(80))
    expect(warnings).toEqual([expect.stringMatching(/^Context \d+% full$/)])
  })
})
