/** The conversations that are cut off at every point: one for each thing that a turn can do. */
import { tmpdir } from 'node:os'
import { agentTool } from '../../src/agent/index.ts'
import { entity, grounded } from '../../src/grounding/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { breakpoint } from '../../src/plugin/index.ts'
import type { RequestData } from '../../src/protocol/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { ask, type Tool } from '../../src/tool/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'
import type { AutoCompact } from '../../src/turn/index.ts'
import type { Process, Script } from './world.ts'

const safe = { replay: 'safe' } as const

/** The first purchase is approved, and no other. */
function isFirst({ about }: RequestData): boolean {
  return JSON.stringify(about?.['args']) === '{}'
}

function calls(...tools: (string | readonly [string, number])[]): ScriptedStep {
  return {
    text: 'Let me see.',
    calls: tools.map((tool) =>
      typeof tool === 'string' ? { tool } : { tool: tool[0], args: { n: tool[1] } },
    ),
  }
}

const pay = (process: Process) => process.tool('pay')
const look = (process: Process) => process.tool('look', safe)

export const PLAYS: readonly Script[] = [
  {
    name: 'two plain turns',
    steps: [{ say: 'hello' }, { say: 'again' }],
    replies: { hello: ['Hi.'], again: ['Hi again.'] },
  },
  {
    name: 'two tools at once, one of them safe, and another round',
    steps: [{ say: 'both' }],
    replies: { both: [calls(['pay', 2], ['look', 6]), calls(['look', 1]), 'Done.'] },
    config: (process) => ({ tools: [pay(process), look(process)] }),
  },
  {
    name: 'the same, saved only when it must be',
    steps: [{ say: 'both' }, { say: 'thanks' }],
    replies: { both: [calls(['pay', 2], ['look', 6]), calls(['look', 1]), 'Done.'], thanks: ['Welcome.'] },
    config: (process) => ({ autoSave: false, tools: [pay(process), look(process)] }),
  },
  {
    name: 'a tool that knows whether it has happened',
    steps: [{ say: 'send' }],
    replies: { send: [calls('send', ['send', 1]), 'Sent.'] },
    config: (process) => ({ tools: [sending(process)] }),
  },
  {
    name: 'a tool that runs alone',
    steps: [{ say: 'in order' }],
    replies: { 'in order': [calls(['look', 1], ['alone', 2], ['look', 3]), 'Done.'] },
    config: (process) => ({ tools: [look(process), process.tool('alone', { exclusive: true })] }),
  },
  {
    name: 'an approval that is given, and one that is not',
    steps: [{ say: 'buy' }, { answer: isFirst }, { say: 'buy more' }, { answer: isFirst }],
    replies: { buy: [calls('buy', 'look'), 'Bought.'], 'buy more': [calls(['buy', 1]), 'Not bought.'] },
    config: (process) => ({ tools: [process.tool('buy', { approve: 'always' }), look(process)] }),
  },
  {
    name: 'a tool that asks and is answered',
    steps: [{ say: 'book' }, { answer: () => 'aisle' }],
    replies: { book: [calls('book', ['look', 1]), 'Booked.'] },
    config: (process) => ({
      tools: [
        look(process),
        process.tool('book', safe, ({ answers }) =>
          answers['seat'] === undefined
            ? ask({ kind: 'text', prompt: 'Which seat?', name: 'seat' })
            : undefined,
        ),
      ],
    }),
  },
  {
    name: 'something said while a tool runs',
    steps: [{ say: 'work' }],
    replies: { work: [calls('work')], 'and hurry': ['As fast as I can.'] },
    config: (process) => ({
      tools: [process.tool('work', safe, () => process.sayWhileRunning('and hurry'))],
    }),
  },
  {
    name: 'a cancel while tools run',
    steps: [{ say: 'work' }, { say: 'next' }],
    replies: { work: [calls('work', ['look', 1])], next: ['What else?'] },
    config: (process) => ({
      tools: [look(process), process.tool('work', safe, ({ signal }) => cancelled(process, signal))],
    }),
  },
  {
    name: 'a compaction',
    steps: ['one', 'two', 'three', 'four'].map((say) => ({ say })),
    replies: { one: ['1'], two: [calls('look'), '2'], three: ['3'], four: ['4'] },
    config: (process) => ({ autoCompact: true, maxMessages: 4, tools: [look(process)] }),
  },
  {
    name: 'a compaction with a summary',
    steps: ['one', 'two', 'three', 'four'].map((say) => ({ say })),
    replies: { one: ['1'], two: [calls('look'), '2'], three: ['3'], four: [calls('look'), '4'] },
    config: (process) => ({ autoCompact: summarising(), tools: [look(process)] }),
  },
  {
    name: 'a compaction with a summary, and hooks that edit the prompt',
    steps: ['one', 'two', 'three', 'four'].map((say) => ({ say })),
    replies: { one: ['1'], two: [calls('look'), '2'], three: ['3'], four: [calls('look'), '4'] },
    config: (process) => ({
      autoCompact: summarising(),
      maxTokens: 60,
      tools: [look(process)],
      on: { beforeLlm: ({ edit, prompt }) => edit({ messages: [...prompt.messages], system: 'Be brief.' }) },
    }),
  },
  {
    name: 'artifacts',
    steps: [{ say: 'write' }],
    replies: { write: [calls('write', 'keep'), 'Written.'] },
    config: (process) => ({
      tools: [
        process.tool('write', safe, async ({ artifacts }) => {
          await artifacts.createFile('report')
          await artifacts.appendFile('report', 'first part, ')
          await artifacts.appendFile('report', 'second part')
          await artifacts.complete('report')
        }),
        process.tool('keep', {}, async ({ artifacts }) => {
          await artifacts.writeData('numbers', { n: 1 })
        }),
      ],
    }),
  },
  {
    name: 'files that are created, edited, overwritten and read',
    steps: [{ say: 'write' }, { say: 'show' }],
    replies: {
      write: [
        { calls: [{ tool: 'write_to_file', args: { path: 'new/a.txt', content: 'x\ny\n' } }] },
        {
          calls: [
            // Twice would be seen.
            { tool: 'replace_in_file', args: { path: 'new/a.txt', diff: blockOf('x', 'xx') } },
            { tool: 'replace_in_file', args: { path: 'new/a.txt', diff: blockOf('y', '') } },
            { tool: 'write_to_file', args: { path: 'b.txt', content: '1' } },
          ],
        },
        { calls: [{ tool: 'write_to_file', args: { path: 'b.txt', content: '22' } }] },
        'Written.',
      ],
      show: [
        {
          calls: [
            { tool: 'list_files', args: { path: '.', recursive: true } },
            { tool: 'read_file', args: { path: 'new/a.txt' } },
            { tool: 'read_file', args: { path: 'b.txt' } },
          ],
        },
        'There they are.',
      ],
    },
    config: (process) => ({ tools: () => fileTools(process.world.folder) }),
  },
  {
    name: 'a model that fails twice, and then another that is asked instead',
    steps: [{ say: 'hello' }, { say: 'again' }],
    replies: { hello: [calls('look'), 'Hi.'], again: ['Hi again.'] },
    config: (process) => ({
      tools: [look(process)],
      model: [failing(process), process.model(FALLBACK, 'scripted/other')],
    }),
  },
  {
    name: 'a sub-agent with a tool of its own',
    steps: [{ say: 'research' }],
    replies: { research: [{ calls: [{ tool: 'helper', args: { message: 'find out' } }] }, 'It says so.'] },
    config: (process) => ({ tools: [helper(process, [pay(process)])] }),
  },
  {
    name: 'a sub-agent that wants an approval',
    steps: [{ say: 'research' }, { answer: () => true }],
    replies: { research: [{ calls: [{ tool: 'helper', args: { message: 'find out' } }] }, 'It says so.'] },
    config: (process) => ({ tools: [helper(process, [process.tool('pay', { approve: 'always' })])] }),
  },
  {
    name: 'as many iterations as are allowed',
    steps: [{ say: 'for ever' }],
    replies: { 'for ever': [calls('look'), calls(['look', 1]), calls('look')] },
    config: (process) => ({ tools: [look(process)], limits: { iterations: 2 } }),
  },
  {
    name: 'a thing that is chosen and used, and one that was made up',
    steps: [{ say: 'choose' }, { say: 'use' }],
    replies: {
      choose: [calls('list'), calls(['take', 4], ['take', 77]), 'Chosen.'],
      use: [calls(['pay', 4], ['pay', 78]), 'Used.'],
    },
    config: (process) => ({ entities: [thing], tools: groundedTools(process) }),
  },
  {
    name: 'hooks that add, edit and reject',
    steps: [{ say: 'work' }, { say: 'thanks' }],
    replies: {
      'It is Monday.': [calls('pay', ['look', 1], ['look', 9])],
      'That was pay look look.': ['Done.'],
      thanks: [],
      'Still Monday.': ['Welcome.'],
    },
    config: (process) => ({ tools: [pay(process), look(process)], plugins: [{ name: 'busy', on: BUSY }] }),
  },
  {
    name: 'a breakpoint that edits arguments and a result',
    steps: [{ say: 'work' }, { say: 'thanks' }],
    replies: { work: [calls('pay', ['look', 1]), 'Done.'], thanks: ['Welcome.'] },
    config: (process) => ({
      tools: [pay(process), look(process)],
      plugins: [
        breakpoint({
          before: ['look'],
          after: ['pay'],
          on: ({ when, edit }) => edit(when === 'before' ? { n: 2 } : 'edited'),
        }),
      ],
    }),
  },
  {
    name: 'a hook that wants to stop after the first round',
    steps: [{ say: 'work' }, { say: 'thanks' }],
    replies: { work: [calls('pay', 'look')], thanks: ['Welcome.'] },
    config: (process) => ({
      tools: [pay(process), look(process)],
      on: {
        afterEachTool: ({ result, stop }) => {
          if (result.tool === 'pay') stop('paid')
        },
        onComplete: ({ add, turn }) => (turn === 1 ? add('[stopped]') : undefined),
      },
    }),
  },
  {
    name: 'two messages at once, and one behind them',
    steps: [{ queue: ['first', 'second'] }, { say: 'third' }],
    replies: { first: [calls('pay'), 'One.'], second: [calls('look'), 'Two.'], third: ['Three.'] },
    config: (process) => ({ tools: [pay(process), look(process)] }),
  },
  {
    name: 'a command that is approved, and one that is not',
    steps: [{ say: 'run' }, { answer: ({ about }) => JSON.stringify(about).includes('echo done') }],
    replies: {
      run: [
        {
          calls: ['echo done', 'echo refused'].map((text) => ({
            tool: 'execute_command',
            args: { command: text },
          })),
        },
        'Run.',
      ],
    },
    config: (process) => ({ tools: [process.remembered(command as Tool)] }),
  },
  {
    name: 'a history from elsewhere, and what is said about it',
    steps: [
      { once: ({ agent }) => agent.importMessages(HISTORY), leaves: 'import' },
      { say: 'and now?' },
      { once: ({ agent }) => agent.importMessages(HISTORY), leaves: 'import' },
      { say: 'good' },
    ],
    replies: { 'and now?': [calls('pay'), 'Now you know.'], good: ['Indeed.'] },
    config: (process) => ({ tools: [pay(process)] }),
  },
]

/** Without a sandbox: looking for one takes time in every process. The commands leave nothing. */
const [command] = await loadTools({ cwd: tmpdir(), toolIds: ['execute_command'], sandbox: 'off' })

function blockOf(search: string, replace: string): string {
  return `------- SEARCH\n${search}\n=======\n${replace === '' ? '' : `${replace}\n`}+++++++ REPLACE`
}

/** Nobody is there to approve. */
async function fileTools(cwd: string): Promise<readonly Tool[]> {
  const tools = await loadTools({
    cwd,
    toolIds: ['read_file', 'list_files', 'write_to_file', 'replace_in_file'],
  })
  return tools.map((tool) => ({ ...tool, approve: 'never' }))
}

const HISTORY = [
  { role: 'user', content: 'how is the weather?' },
  {
    role: 'assistant',
    content: null,
    tool_calls: [{ id: 'w', type: 'function', function: { name: 'weather', arguments: '{}' } }],
  },
  { role: 'tool', tool_call_id: 'w', content: 'sun' },
  { role: 'assistant', content: 'Sunny.' },
] as const

const thing = entity('thing')

/** Ids that are shown, chosen and used; an invented one does not get through. */
function groundedTools(process: Process) {
  const shown = [
    { entity: 'thing', id: '4', label: 'Oslo' },
    { entity: 'thing', id: '5', label: 'Bern' },
  ]
  return [
    grounded(process.tool('list', safe), { returns: () => shown }),
    grounded(process.tool('take', safe), {
      input: { n: thing },
      selects: () => [thing.select(4, { label: 'Oslo' })],
    }),
    grounded(pay(process), { input: { n: thing } }),
  ]
}

const BUSY: Hooks = {
  afterUserInput: ({ add, turn }) => add(turn === 1 ? 'It is Monday.' : 'Still Monday.'),
  beforeLlm: ({ edit, prompt }) => edit({ messages: [...prompt.messages], system: 'Be brief.' }),
  afterLlm: ({ reply, reject }) => {
    for (const { callId, args } of reply.calls)
      if ((args as { n?: number }).n === 9) reject(callId, 'too much')
  },
  beforeEachTool: ({ pending, edit }) => {
    if (pending.tool === 'pay') edit({ n: 4 })
  },
  afterTools: ({ results, add }) => add(`That was ${results.map(({ tool }) => tool).join(' ')}.`),
}

const FALLBACK: Script['replies'] = { hello: [calls('look'), 'Hi.'], again: ['Hi again.'] }

/** Busy for the first two calls that anybody makes, and gone from the fourth on. */
function failing(process: Process) {
  const { world } = process
  const replies: Script['replies'] = { hello: [calls('look'), 'Hi.'], again: [() => gone] }
  const busy: ScriptedStep = { error: { status: 503 } }
  const gone: ScriptedStep = { error: { status: 401 } }
  const wrap = (steps: readonly ScriptedStep[]) =>
    steps.map(
      (step): ScriptedStep =>
        () =>
          world.asked <= 2 ? busy : step,
    )
  return process.model(
    Object.fromEntries(Object.entries(replies).map(([said, steps]) => [said, wrap(steps)])),
  )
}

function summarising(): AutoCompact {
  const model = ScriptedModel.forever('They counted.', { name: 'scripted/writer' })
  return { strategy: 'summary', overMessages: 4, keep: 2, model }
}

function sending(process: Process) {
  return process.tool('send', {
    verify: ({ n = 0 }, { callId }) =>
      process.world.hasHappened(callId)
        ? { happened: true, output: { done: 'send', n } }
        : { happened: false },
  })
}

function helper(process: Process, tools: ReturnType<Process['tool']>[]) {
  return agentTool({
    name: 'helper',
    description: 'Helps',
    agent: { model: process.model({ 'find out': [calls('pay'), 'Found.'] }), tools, maxClaims: 1000 },
  })
}

async function cancelled(process: Process, signal: AbortSignal): Promise<void> {
  await process.agent.cancel('changed my mind')
  signal.throwIfAborted()
}
