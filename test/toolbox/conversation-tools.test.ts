/** The tools that belong to a conversation: todo list, questions to the person, completion. */
import { beforeEach, describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/index.ts'
import { type ApprovalPolicyOptions, approvalPolicy } from '../../src/plugin/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/index.ts'
import { defineTool, type Tool } from '../../src/tool/index.ts'
import { loadTools, TODO_ARTIFACT } from '../../src/toolbox/index.ts'

const IDS = ['write_todo_list', 'read_todo_list', 'ask_followup_question', 'attempt_completion']
let store: Store
let tools: readonly Tool[]

beforeEach(async () => {
  store = memoryStore()
  tools = await loadTools({ cwd: import.meta.dirname, toolIds: IDS })
})

function agentWith(contextId: string, ...steps: ScriptedStep[]): Agent {
  return new Agent({ contextId, store, tools, model: new ScriptedModel(steps) })
}

function call(tool: string, args: Record<string, Json> = {}): ScriptedStep {
  return { calls: [{ tool, args }] }
}

/** The results of the tools of one turn. */
async function resultsOf(contextId: string, ...steps: ScriptedStep[]) {
  const agent = agentWith(contextId, ...steps, 'Done.')
  const results: { readonly status: unknown; readonly output: unknown }[] = []
  const turn = agent.executeTurn('go')
  for await (const event of turn)
    if (event.type === 'tool.end') {
      const { status, output } = event.data as { readonly status: unknown; readonly output: unknown }
      results.push({ status, output })
    }
  await agent.shutdown()
  return results
}

const write = (content: string): ScriptedStep => call('write_todo_list', { content })

describe('the todo list', () => {
  it('is written, read by another agent of the conversation, and unknown to others', async () => {
    const [written] = await resultsOf('a', write('1. [x] Look\n2) [ ] Leap  \n\n'))
    const list = { list: '1. [x] Look\n2. [ ] Leap', done: 1, open: 1 }
    expect(written).toEqual({ status: 'ok', output: list })
    expect(await resultsOf('a', call('read_todo_list'))).toEqual([{ status: 'ok', output: list }])
    expect(await resultsOf('b', call('read_todo_list'))).toEqual([
      {
        status: 'ok',
        output: {
          list: '',
          done: 0,
          open: 0,
          notice: 'There is no todo list yet. Write one with write_todo_list.',
        },
      },
    ])
  })

  it('is an artifact with a version for each change', async () => {
    await resultsOf('a', write('1. [ ] Look'), write('1. [ ] Look'), write('1. [x] Look'))
    const agent = agentWith('a')
    const { info, content } = await agent.artifacts.read(TODO_ARTIFACT)
    expect([info.version, content]).toEqual([2, { items: [{ text: 'Look', done: true }] }])
    const first = await agent.artifacts.read(TODO_ARTIFACT, { version: 1 })
    expect(first.content).toEqual({ items: [{ text: 'Look', done: false }] })
    await agent.shutdown()
  })

  it.each([
    ['Item 2 has the number 3. Number the items 1, 2, 3', '1. [ ] a\n3. [ ] b'],
    ['Item 1 has the number 0.', '0. [ ] a'],
    ['Item 2 has the number 1.', '1. [ ] a\n1. [ ] b'],
    ['Line 1, "- [ ] a", is no item. Write "1. [ ] …"', '- [ ] a'],
    ['Line 2, "2. b", is no item. Write "2. [ ] …"', '1. [ ] a\n2. b'],
    ['Line 1, "1. [?] a", is no item.', '1. [?] a'],
    ['Line 1, "1. [ ]", is no item.', '1. [ ] '],
    ['The list has 201 items', Array.from({ length: 201 }, (_, n) => `${n + 1}. [ ] x`).join('\n')],
  ])('that is none is refused, and the old one stays: %s', async (message, content) => {
    const [, refused, after] = await resultsOf(
      'a',
      write('1. [ ] Look'),
      write(content),
      call('read_todo_list'),
    )
    expect(refused).toMatchObject({ status: 'error', output: { error: expect.stringContaining(message) } })
    expect(after).toMatchObject({ output: { list: '1. [ ] Look' } })
  })

  it('may be empty', async () => {
    const results = await resultsOf('a', write('1. [ ] Look'), write(' \n'), call('read_todo_list'))
    expect(results.at(-1)?.output).toEqual({ list: '', done: 0, open: 0 })
  })
})

describe('a follow-up question', () => {
  it('ends the turn to wait, and the answer is the result', async () => {
    const asking = agentWith('a', call('ask_followup_question', { question: 'Which colour?' }))
    expect(await asking.executeTurn('paint').outcome).toMatchObject({ reason: 'input-required' })
    await asking.shutdown()
    const agent = agentWith('a', 'Blue it is.')
    const [request] = await agent.requests()
    expect(request).toMatchObject({ kind: 'text', prompt: 'Which colour?', from: 'ask_followup_question' })
    const turn = agent.answer({ [request?.requestId ?? '']: 'blue' })
    const ends: unknown[] = []
    for await (const event of turn) if (event.type === 'tool.end') ends.push(event.data['output'])
    expect(ends).toEqual([{ answer: 'blue' }])
    expect(await turn.outcome).toMatchObject({ reason: 'stop', text: 'Blue it is.' })
    await agent.shutdown()
  })

  it('with options is a choice among them', async () => {
    const agent = agentWith(
      'a',
      call('ask_followup_question', { question: 'Which colour?', options: ['red', 'blue'] }),
      'Fine.',
    )
    await agent.executeTurn('paint').outcome
    const [request] = await agent.requests()
    expect(request).toMatchObject({ kind: 'choice', options: ['red', 'blue'] })
    const id = request?.requestId ?? ''
    expect(await agent.answer({ [id]: 'green' }).outcome).toMatchObject({ error: { code: 'invalid-answer' } })
    expect(await agent.answer({ [id]: 'red' }).outcome).toMatchObject({ reason: 'stop' })
    await agent.shutdown()
  })

  it.each([{ question: ' ' }, { question: 'x', options: [] }, { question: 'x', options: ['a', 'a'] }, {}])(
    'with %o is rejected',
    async (args) => {
      expect(await resultsOf('a', call('ask_followup_question', args as Record<string, Json>))).toMatchObject(
        [{ status: 'rejected' }],
      )
    },
  )
})

it('a completion returns its result and ends nothing', async () => {
  const completion = { result: 'It is done.', command: 'open index.html' }
  const results = await resultsOf('a', call('attempt_completion', completion), write('1. [x] Look'))
  expect(results).toEqual([
    { status: 'ok', output: completion },
    { status: 'ok', output: { list: '1. [x] Look', done: 1, open: 0 } },
  ])
  expect(await resultsOf('b', call('attempt_completion', { result: ' ' }))).toMatchObject([
    { status: 'rejected' },
  ])
})

describe('an approval policy', () => {
  const EVERY = [
    write('1. [ ] Look'),
    call('read_todo_list'),
    call('attempt_completion', { result: 'Done.', command: 'cat .env' }),
  ]
  /** Statuses of the calls that ran, and the tools that somebody is asked about. */
  async function under(options: ApprovalPolicyOptions, ...steps: ScriptedStep[]) {
    const plugins = [approvalPolicy({ cwd: import.meta.dirname, ...options })]
    const model = new ScriptedModel([...steps, 'Done.'])
    const agent = new Agent({ contextId: 'policy', tools, plugins, model })
    const turn = agent.executeTurn('go')
    const statuses: unknown[] = []
    for await (const { type, data } of turn) if (type === 'tool.end') statuses.push(data.status)
    const { requests } = await turn.outcome
    await agent.shutdown()
    return {
      statuses,
      asked: requests.map(({ kind, from, about }) => [kind, about?.['tool'] ?? from]),
    }
  }

  it.each<ApprovalPolicyOptions>([
    { rules: [{ tool: 'read_file', decision: 'allow' }] },
    { rules: [{ tool: 'read_file', decision: 'allow' }], unknown: 'deny' },
    { rules: [{ tool: '*', decision: 'allow' }] },
    { rules: [{ tool: '*', path: ['.env', '**'], decision: 'deny' }] },
    { rules: [{ tool: '*', command: 'cat *', decision: 'ask' }] },
  ])('without a rule about them stops none of them: %j', async (options) => {
    expect(await under(options, ...EVERY)).toEqual({ statuses: ['ok', 'ok', 'ok'], asked: [] })
    const question = call('ask_followup_question', { question: 'Which?' })
    expect(await under(options, question)).toEqual({
      statuses: [],
      asked: [['text', 'ask_followup_question']],
    })
  })

  it('with a rule about them decides', async () => {
    const asking = await under({ rules: [{ tool: 'attempt_completion', decision: 'ask' }] }, ...EVERY)
    expect(asking).toEqual({ statuses: ['ok', 'ok'], asked: [['confirmation', 'attempt_completion']] })
    const denying = { rules: [{ tool: '*', decision: 'deny' }] } as const
    expect((await under(denying, ...EVERY)).statuses).toEqual(['rejected', 'rejected', 'rejected'])
  })

  it('does not take a tool of your own for one of them, whatever its name', async () => {
    tools = tools.map(({ name, description, input, parameters }) =>
      defineTool({ name, description, input, parameters, run: () => 'paid' }),
    )
    const { asked } = await under({ rules: [{ tool: 'read_file', decision: 'allow' }] }, EVERY[0] ?? '')
    expect(asked).toEqual([['confirmation', 'write_todo_list']])
  })
})
