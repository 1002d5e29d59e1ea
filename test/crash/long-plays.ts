/**
 * Longer conversations: many turns, rounds, approvals and sub-agents, so that there are many places to be killed at. No
 * payment is like another: one that repeats what nobody knows of is not made before somebody was asked.
 */
import { agentTool } from '../../src/agent/index.ts'
import type { RequestData } from '../../src/protocol/index.ts'
import type { ScriptedStep } from '../../src/testing/index.ts'
import type { Process, Script, Step } from '../recovery/world.ts'

const safe = { replay: 'safe' } as const

function numbers(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1)
}

function calls(...tools: readonly (readonly [string, number?])[]): ScriptedStep {
  return { calls: tools.map(([tool, n = 0]) => ({ tool, args: { n } })) }
}

function both(process: Process) {
  return [process.tool('pay'), process.tool('look', safe)]
}

function day(turns: number): Script {
  return {
    name: `a day of work: ${turns} turns with tools`,
    steps: numbers(turns).map((n) => ({ say: `task ${n}` })),
    replies: Object.fromEntries(
      numbers(turns).map((n) => [`task ${n}`, [calls(['pay', n], ['look', 2]), `Task ${n} is done.`]]),
    ),
    config: (process) => ({ tools: both(process), maxMessages: 20, autoCompact: true }),
  }
}

function rounds(count: number): Script {
  return {
    name: `${count} rounds in one turn`,
    steps: [{ say: 'dig' }],
    replies: {
      dig: [
        ...numbers(count).map((n) => calls(['pay', 2 * n], ['look', n % 4], ['pay', 2 * n + 1])),
        'There it is.',
      ],
    },
    config: (process) => ({ tools: both(process) }),
  }
}

function approvals(count: number): Script {
  // By what is asked, not by when: after a death an earlier step meets the request of a later one.
  const isOdd = ({ about }: RequestData) =>
    Number((about?.['args'] as { n?: number } | undefined)?.n) % 2 === 1
  const steps = numbers(count).flatMap((n): Step[] => [{ say: `buy ${n}` }, { answer: isOdd }])
  return {
    name: `${count} approvals, every other one given`,
    steps,
    replies: Object.fromEntries(
      numbers(count).map((n) => [`buy ${n}`, [calls(['buy', n], ['look']), `That was number ${n}.`]]),
    ),
    config: (process) => ({
      tools: [process.tool('buy', { approve: 'always' }), process.tool('look', safe)],
    }),
  }
}

function errands(count: number): Script {
  const tasks = numbers(count).map((n) => `errand ${n}`)
  const twice = ['this errand', 'that errand']
  const send = (message: string) => ({ calls: [{ tool: 'helper', args: { message } }] })
  return {
    name: `${count} sub-agents, one after the other and two at once`,
    steps: [{ say: 'run' }, { say: 'run twice' }],
    replies: {
      run: [...tasks.map(send), 'All back.'],
      'run twice': [{ calls: twice.map((message) => ({ tool: 'helper', args: { message } })) }, 'Both back.'],
    },
    config: (process) => ({ tools: [runner(process, [...tasks, ...twice])] }),
  }
}

function runner(process: Process, tasks: readonly string[]) {
  const replies = Object.fromEntries(tasks.map((task) => [task, [calls(['pay'], ['look', 1]), 'Run.']]))
  return agentTool({
    name: 'helper',
    description: 'Runs errands',
    agent: { model: process.model(replies), tools: both(process), maxClaims: 1000 },
  })
}

/** What the tools work on lies in artifacts, which are entries of the same journal. */
function notebook(turns: number): Script {
  return {
    name: `a notebook of ${turns} pages`,
    steps: numbers(turns).map((n) => ({ say: `page ${n}` })),
    replies: Object.fromEntries(
      numbers(turns).map((n) => [`page ${n}`, [calls(['write', n]), `Page ${n} is written.`]]),
    ),
    config: (process) => ({
      tools: [
        process.tool('write', safe, async ({ artifacts }, n) => {
          const name = `page-${n}`
          await artifacts.createFile(name)
          for (const part of ['one, ', 'two, ', 'three']) await artifacts.appendFile(name, part)
          await artifacts.complete(name)
        }),
      ],
    }),
  }
}

function crowd(count: number): Script {
  const texts = numbers(count).map((n) => `request ${n}`)
  return {
    name: `${count} messages in the queue`,
    steps: [{ queue: texts }],
    replies: Object.fromEntries(texts.map((text, n) => [text, [calls(['pay', n]), 'Served.']])),
    config: (process) => ({ tools: both(process) }),
  }
}

export const LONG_PLAYS: readonly Script[] = [
  day(12),
  rounds(10),
  approvals(6),
  errands(4),
  notebook(6),
  crowd(6),
]
