import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { z } from 'zod'
import {
  runTask,
  TaskAgent,
  type TaskAgentConfig,
  taskFlow,
  withInstructions,
} from '../../src/entry/flows.ts'
import { createHost } from '../../src/host/index.ts'
import { defineTool, memoryStore } from '../../src/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { reflex } from '../../src/reflex/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'

const folders: string[] = []

afterEach(() => {
  for (const each of folders.splice(0)) rmSync(each, { recursive: true, force: true })
})

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'holdfast-task-'))
  folders.push(made)
  return made
}

type Script = ConstructorParameters<typeof ScriptedModel>[0]

const call = (tool: string, args: JsonObject) => ({ tool, args })
const calls = (...list: { tool: string; args: JsonObject }[]) => ({ calls: list })
const done = (result: string) => calls(call('attempt_completion', { result }))
const verdict = (verified: boolean, unmet: string[] = []) =>
  JSON.stringify({ verified, unmet, evidence: ['step 1'] })

const note = defineTool({
  name: 'note',
  description: 'Takes a note. It is kept.',
  input: z.object({ text: z.string() }),
  run: ({ text }) => `noted ${text}`,
})

function task(script: Script, config: Partial<TaskAgentConfig> = {}) {
  const model = new ScriptedModel(script)
  const store = memoryStore()
  const agent = new TaskAgent({ model, store, verbose: false, tools: [note], ...config })
  const nodes = async (contextId: string): Promise<string[]> =>
    (await store.read({ tenant: 'local', actor: 'local', contextId })).flatMap(({ type, data }) =>
      type === 'node.end' ? [(data['task'] as string).replace(/\.\d+$/, '')] : [],
    )
  return { agent, model, store, nodes }
}

describe('the task agent', () => {
  test('is a flow of a host: a message is a task, and the next one is a new round that knows the result', async () => {
    const store = memoryStore()
    const model = new ScriptedModel([
      ...['1. Note it', done('It is noted.'), verdict(true)],
      ...['1. Translate it', done('Es ist notiert.'), verdict(true)],
      ...['1. Shout', 'Hm.', 'Well.', 'So.', 'I give up.'],
    ])
    const host = createHost({
      store,
      flows: { task: taskFlow({ model, verbose: false, tools: [note] }) },
    })
    const where = { tenant: 'acme', actor: 'ann', contextId: 'task:1' }
    const send = async (text: string) => (await host.send(where, text)).outcome
    expect(await send('Take a note')).toMatchObject({ reason: 'stop', text: 'It is noted.' })
    expect(await send('Now in German')).toMatchObject({ reason: 'stop', text: 'Es ist notiert.' })
    expect(await send('Louder')).toMatchObject({
      reason: 'stop',
      text: 'I give up.\n\nNot verified: there was no verdict.',
    })
    await host.shutdown()
    const system = (at: number): string => model.calls[at]?.prompt[0]?.content as string
    expect(system(0)).not.toContain('earlier')
    for (const at of [3, 4, 5])
      expect(system(at)).toContain(
        'Now in German\n\n## Earlier tasks of this conversation\n1. Task: Take a note\n   Result: It is noted.\n   Verification: VERIFIED',
      )
    expect(system(6)).toContain('2. Task: Now in German\n   Result: Es ist notiert.')
    expect(JSON.stringify(model.calls[4]?.prompt.slice(1))).toContain('It is noted.')
  })

  test('a round begins anew: plans are counted from 1, and no earlier attempt or todo list counts', async () => {
    const { agent, model } = task([
      ...['P1', done('Half'), verdict(false, ['the other half']), 'P2', done('Whole'), verdict(true)],
      ...['Q1', 'Hm.', 'Well.', 'So.', 'No idea.'],
    ])
    const first = await agent.run('Do all of it', { contextId: 'r' })
    expect(first.attempts.map(({ answer }) => answer)).toEqual(['Half', 'Whole'])
    const second = await agent.run('And again', { contextId: 'r' })
    expect(second).toMatchObject({ ended: 'limit', finalAnswer: 'No idea.', plan: 'Q1', planIteration: 1 })
    expect([second.attempts, second.isVerified]).toEqual([[], null])
    expect((await agent.getState('r'))?.task).toBe('And again')
    expect(model.calls).toHaveLength(11)
  })

  test('the verifier of a round reads the steps of that round, and so does its trace', async () => {
    const { agent, model } = task(
      [
        ...['P', calls(call('note', { text: 'all tests pass' })), done('Noted.'), verdict(true)],
        ...['Q', done('Nothing to do.'), verdict(false, ['no tests ran'])],
      ],
      { maxReplans: 0 },
    )
    await agent.run('Note it', { contextId: 'r' })
    expect(await agent.displayTrace()).toContain('result of 🛠️ [own] note (ok): noted all tests pass')
    await agent.run('Test it again', { contextId: 'r' })
    const prompt = model.calls.at(-1)?.prompt[0]?.content as string
    expect(prompt).toContain('1. Task: Note it\n   Result: Noted.')
    expect(prompt).toContain('# Execution trace\n1. user: Test it again\n2. user: Plan 1:')
    expect(prompt).not.toContain('all tests pass')
    expect(await agent.displayTrace()).not.toContain('all tests pass')
  })

  test('a task that was never stored cannot be resumed', async () => {
    const { agent } = task(['P', done('Done.'), verdict(true)])
    const early = await agent.run('Do it', { signal: AbortSignal.abort() })
    expect(early).toMatchObject({ ended: 'cancelled', isResumable: false })
    await expect(agent.resume(early.contextId)).rejects.toMatchObject({
      code: 'nothing-to-continue',
      message: expect.stringContaining('There is no task'),
    })
    const stop = new AbortController()
    const cut = await agent.run('Do it', { signal: stop.signal, onEvent: () => stop.abort() })
    expect(cut).toMatchObject({ ended: 'cancelled', isResumable: true })
    expect(await agent.resume(cut.contextId)).toMatchObject({ ended: 'verified', isResumable: false })
  })

  test.each([
    [
      'throws',
      () => {
        throw new Error('the listener is broken')
      },
    ],
    ['rejects', () => Promise.reject(new Error('the listener is broken, too'))],
  ])('an onEvent that %s loses nothing: the task goes on, and the events come', async (_, fail) => {
    const { agent } = task(['P', calls(call('note', { text: 'a' })), done('Done.'), verdict(true)])
    const types: string[] = []
    const onEvent = ({ type }: { readonly type: string }) => {
      types.push(type)
      return fail()
    }
    expect(await agent.run('Do it', { onEvent })).toMatchObject({ ended: 'verified', finalAnswer: 'Done.' })
    expect(types.at(-1)).toBe('turn.end')
  })

  test('an onRequest that throws rejects the call, and the task waits for its answers', async () => {
    const pay = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ to: z.string() }),
      approve: 'always',
      run: () => 'paid',
    })
    const { agent } = task(['P', calls(call('pay', { to: 'Meyer' })), done('Paid.'), verdict(true)], {
      tools: [pay],
    })
    const onRequest = () => {
      throw new Error('nobody is there')
    }
    await expect(agent.run('Pay', { contextId: 'w', onRequest })).rejects.toThrow('nobody is there')
    expect((await agent.resume('w')).ended).toBe('waiting')
    expect(await agent.resume('w', { onRequest: () => true })).toMatchObject({ ended: 'verified' })
  })

  test('a round after one that was cut short runs none of its calls', async () => {
    const ran: string[] = []
    const asks = defineTool({
      name: 'pay',
      description: 'Pays.',
      input: z.object({ to: z.string() }),
      approve: 'always',
      run: ({ to }) => {
        ran.push(to)
        return 'paid'
      },
    })
    const { agent } = task(
      ['P', calls(call('pay', { to: 'Meyer' })), 'Q', '', done('Left alone.'), verdict(true)],
      { tools: [asks] },
    )
    expect((await agent.run('Pay Meyer', { contextId: 'w' })).ended).toBe('waiting')
    const second = await agent.run('Leave it', { contextId: 'w' })
    expect(second).toMatchObject({ ended: 'verified', finalAnswer: 'Left alone.', requests: [] })
    expect(ran).toEqual([])
  })

  test.each([
    ['reflex'],
    ['holdfast/reflex'],
    [reflex()],
    [{ model: 'reflex', settings: {} }],
    [['openai/gpt-4.1-mini', 'reflex']],
  ])('%j cannot plan, and is refused before anything runs', (model) => {
    const message =
      "reflex follows rules and cannot plan a task. Set OPENAI_API_KEY and model: 'openai/gpt-4.1-mini'"
    expect(() => new TaskAgent({ model })).toThrow(message)
    expect(() => taskFlow({ model })).toThrow(message)
    expect(() => new TaskAgent({ model: 'openai/gpt-4.1-mini', verifierModel: model })).toThrow(
      'reflex follows rules and cannot verify a task. Leave verifierModel out, or set it to null',
    )
  })

  test.each([
    [{ apiKey: 'sk-1' }, 'anthropic/claude-sonnet-4-5', 'apiKey'],
    [{ settings: { apiKey: 'sk-1' } }, ['openai/o3', 'claude-sonnet-4-5'], 'apiKey'],
    [{ apiKey: 'sk-1' }, { model: 'openai/o3', settings: { baseURL: 'http://127.0.0.1:1/v1' } }, 'apiKey'],
    [
      { baseURL: 'http://127.0.0.1:1/v1' },
      { model: 'anthropic/claude-sonnet-4-5', settings: { apiKey: 'sk-2' } },
      'baseURL',
    ],
  ])('%j is not sent to the verifier %j: it is refused', (shared, verifierModel, option) => {
    const make = () => new TaskAgent({ model: 'openai/gpt-4.1-mini', verifierModel, ...shared })
    expect(make).toThrow(`${option} would go to openai/gpt-4.1-mini and to `)
    expect(make).toThrow(
      `Give it to its model alone: { model: 'openai/gpt-4.1-mini', settings: { ${option} } }`,
    )
    expect(make).not.toThrow(/sk-/)
  })

  test.each([
    [{ apiKey: 'sk-1' }, 'o3'],
    [
      { apiKey: 'sk-1', baseURL: 'http://127.0.0.1:1/v1' },
      { model: 'openai/o3', settings: { apiKey: 'sk-2' } },
    ],
    [{ apiKey: 'sk-1' }, { model: 'anthropic/claude-sonnet-4-5', settings: { apiKey: 'sk-2' } }],
    [{ apiKey: 'sk-1' }, new ScriptedModel([])],
    [{ apiKey: 'sk-1' }, null],
    [{ settings: { temperature: 0 } }, 'anthropic/claude-sonnet-4-5'],
  ])('%j is accepted beside the verifier %j', (shared, verifierModel) => {
    expect(() => new TaskAgent({ model: 'openai/gpt-4.1-mini', verifierModel, ...shared })).not.toThrow()
  })

  test('plans, works, completes, and is verified', async () => {
    const { agent, nodes, model } = task([
      '1. Note it',
      calls(call('note', { text: 'a' })),
      done('It is noted.'),
      verdict(true),
    ])
    const results = await agent.run('Take a note', { contextId: 't1' })
    expect(results).toMatchObject({
      finalAnswer: 'It is noted.',
      isVerified: true,
      planIteration: 1,
      plan: '1. Note it',
      ended: 'verified',
      todoList: null,
    })
    expect(await nodes('t1')).toEqual(['planner', 'agent', 'tools', 'agent', 'tools', 'verifier'])
    expect(model.calls).toHaveLength(4)
    expect(agent.results).toBe(results)
    const trace = await agent.displayTrace()
    expect(trace).toContain('call 🛠️ [own] note {"text":"a"}')
    expect(trace).toContain('Plans: 1. Verified: yes. Ended: verified.')
  })

  test('plans again after a verification that failed, with its feedback', async () => {
    const { agent, nodes, model } = task([
      'First plan',
      done('Half'),
      verdict(false, ['the other half']),
      'Second plan',
      calls(call('note', { text: 'b' })),
      done('Whole'),
      verdict(true),
    ])
    const results = await agent.run('Do all of it', { contextId: 't2' })
    expect(results).toMatchObject({
      finalAnswer: 'Whole',
      isVerified: true,
      planIteration: 2,
      plan: 'Second plan',
    })
    expect(await nodes('t2')).toEqual([
      'planner',
      'agent',
      'tools',
      'verifier',
      'replan',
      'agent',
      'tools',
      'agent',
      'tools',
      'verifier',
    ])
    expect(results.attempts.map(({ answer, isVerified }) => [answer, isVerified])).toEqual([
      ['Half', false],
      ['Whole', true],
    ])
    const replan = JSON.stringify(model.calls[3]?.prompt)
    expect(replan).toContain('First plan')
    expect(replan).toContain('not met: the other half')
  })

  test('without planning, the run ends after the verifier', async () => {
    const { agent, nodes } = task([done('Quick'), verdict(false, ['all of it'])], { planning: false })
    const results = await agent.run('Do it', { contextId: 't3' })
    expect(results).toMatchObject({
      finalAnswer: 'Quick',
      isVerified: false,
      planIteration: 0,
      ended: 'not-verified',
    })
    expect(results.reason).toBe('The verification failed: all of it.')
    expect(await nodes('t3')).toEqual(['agent', 'tools', 'verifier'])
    expect(() => agent.setPlannerPrompt('x')).toThrow('Planning is off')
  })

  test('a reply without a call is nudged three times, then the run ends with its text', async () => {
    const { agent, nodes } = task(['Plan', 'Hm.', 'Well.', 'So.', 'The answer is 4.'])
    const results = await agent.run('2 + 2?', { contextId: 't4' })
    expect(results).toMatchObject({ ended: 'limit', finalAnswer: 'The answer is 4.', isVerified: null })
    expect(results.reason).toContain('4 replies in a row without a tool call')
    expect(await nodes('t4')).toEqual(['planner', 'agent', 'agent', 'agent', 'agent'])
    const nudges = results.messages.filter(({ content }) =>
      JSON.stringify(content).includes('Your reply has no tool call'),
    )
    expect(nudges).toHaveLength(3)
  })

  test('a limit on steps returns the best answer so far, and resume goes on', async () => {
    const { agent } = task(
      ['Plan', done('One'), verdict(false, ['x']), 'Plan 2', done('Two'), verdict(true)],
      {
        recursionLimit: 5,
      },
    )
    const stopped = await agent.run('Do it', { contextId: 't5' })
    expect(stopped).toMatchObject({ ended: 'limit', finalAnswer: 'One', isVerified: false, planIteration: 2 })
    const resumed = await agent.resume('t5')
    expect(resumed).toMatchObject({ ended: 'verified', finalAnswer: 'Two' })
  })

  test('the number of new plans is limited', async () => {
    const attempt = [done('No'), verdict(false, ['it'])]
    const { agent } = task(['P1', ...attempt, 'P2', ...attempt, 'P3', ...attempt], { maxReplans: 2 })
    const results = await agent.run('Do it')
    expect(results).toMatchObject({ ended: 'limit', planIteration: 3, finalAnswer: 'No' })
    expect(results.reason).toContain('The limit of 2 new plans was reached.')
  })

  test('a completion counts wherever it stands in a round, and only as a call', async () => {
    const first = task([
      'P',
      calls(call('attempt_completion', { result: 'Early' }), call('note', { text: 'x' })),
      verdict(true),
    ])
    expect(await first.agent.run('Do it')).toMatchObject({ finalAnswer: 'Early', isVerified: true })
    const marker = task([
      'P',
      calls(call('note', { text: '[TASK_COMPLETE] attempt_completion' })),
      done('Now'),
      verdict(true),
    ])
    expect(await marker.agent.run('Do it', { contextId: 'm' })).toMatchObject({ finalAnswer: 'Now' })
    expect(await marker.nodes('m')).toEqual(['planner', 'agent', 'tools', 'agent', 'tools', 'verifier'])
    const bad = task(['P', calls(call('attempt_completion', { result: '' })), done('Right'), verdict(true)])
    expect(await bad.agent.run('Do it')).toMatchObject({ finalAnswer: 'Right' })
  })

  test('words of weak models are a verdict; an unreadable one is asked for again, then there is none', async () => {
    const words = task(['P', done('A'), '**NOT_VERIFIED:** no file', 'P2', done('B'), 'VERIFIED: yes'])
    expect(await words.agent.run('Do it')).toMatchObject({ isVerified: true, planIteration: 2 })
    const again = task(['P', done('A'), 'Looks good to me!', verdict(true)])
    expect(await again.agent.run('Do it')).toMatchObject({ isVerified: true })
    const never = task(['P', done('A'), 'Looks good!', 'Really good!'])
    expect(await never.agent.run('Do it')).toMatchObject({
      isVerified: null,
      ended: 'no-verdict',
      finalAnswer: 'A',
    })
  })

  test('criteria decide whatever the model claims', async () => {
    const cwd = folder()
    const tools = await loadTools({ cwd })
    const script: Script = [
      'P',
      done('The file is there.'),
      'P2',
      calls(call('write_to_file', { path: 'a.txt', content: 'a\n' })),
      done('Now it is there.'),
      verdict(true),
    ]
    const { agent, model } = task(script, {
      cwd,
      tools: tools.map((tool) => (tool.name === 'write_to_file' ? { ...tool, approve: 'never' } : tool)),
      criteria: [{ name: 'file', command: 'test -f a.txt' }],
    })
    const results = await agent.run('Make a.txt')
    expect(results).toMatchObject({ isVerified: true, planIteration: 2 })
    expect(results.attempts[0]).toMatchObject({ isVerified: false, unmet: ['file fails'] })
    expect(readFileSync(join(cwd, 'a.txt'), 'utf8')).toBe('a\n')
    expect(model.calls).toHaveLength(6)
  })

  test('without a model for the verifier, criteria alone decide; without any, there is no verdict', async () => {
    const cwd = folder()
    const tools = await loadTools({ cwd })
    writeFileSync(join(cwd, 'a.txt'), '')
    const criteria = [{ name: 'file', command: 'test -f a.txt' }]
    const checked = task(['P', done('A')], { cwd, tools, criteria, verifierModel: null })
    expect(await checked.agent.run('Do it')).toMatchObject({ isVerified: true })
    const none = task(['P', done('A')], { verifierModel: null })
    expect(await none.agent.run('Do it')).toMatchObject({ isVerified: null, ended: 'no-verdict' })
    await expect(task(['P'], { criteria }).agent.run('Do it')).rejects.toThrow(
      'the tools have no execute_command',
    )
  })

  test('the reason says who has checked the answer', async () => {
    const cwd = folder()
    const tools = await loadTools({ cwd })
    const criteria = [{ name: 'exit', command: 'true' }]
    const checked = { cwd, tools, criteria }
    const reasonOf = async (replies: Script, config: Partial<TaskAgentConfig>) =>
      (await task(['P', done('A'), ...(replies as string[])], config).agent.run('Do it')).reason
    expect(await reasonOf([verdict(true)], checked)).toBe('Verified by the criteria and a model.')
    expect(await reasonOf([], { ...checked, verifierModel: null })).toBe('Verified by the criteria.')
    expect(await reasonOf([verdict(true)], {})).toBe('Verified by a model; no criterion was run.')
    expect(await reasonOf(['Hm.', 'Hm.'], checked)).toBe(
      'The criteria passed, but the model gave no readable verdict.',
    )
    expect(await reasonOf(['Hm.', 'Hm.'], {})).toBe(
      'The model gave no readable verdict, and no criterion was run: give criteria, or another verifierModel.',
    )
    expect(await reasonOf([], { verifierModel: null })).toBe(
      'Nothing could verify the answer: give criteria, or a model that gives a verdict.',
    )
  })

  test('a task that is stopped before a verdict on its answer has none', async () => {
    const stop = new AbortController()
    const cancels = async () => {
      stop.abort()
      await new Promise((resolve) => setImmediate(resolve))
      return verdict(true)
    }
    const { agent } = task(['P', done('One'), verdict(false, ['x']), 'P2', done('Two'), cancels])
    const results = await agent.run('Do it', { signal: stop.signal })
    expect(results).toMatchObject({ ended: 'cancelled', finalAnswer: 'Two', isVerified: null })
    expect(await agent.displayTrace()).toContain('Verified: no verdict.')
  })

  test('the reply of a served task says so if its answer is not verified', async () => {
    const replyTo = async (script: Script, config: Partial<TaskAgentConfig> = {}) => {
      const flow = taskFlow({ model: new ScriptedModel(script), verbose: false, tools: [note], ...config })
      const host = createHost({ store: memoryStore(), flows: { task: flow } })
      const where = { tenant: 'acme', actor: 'ann', contextId: 'task:1' }
      const { text } = await (await host.send(where, 'Do it')).outcome
      await host.shutdown()
      return text
    }
    expect(await replyTo(['P', done('All done.'), verdict(true)])).toBe('All done.')
    expect(await replyTo(['P', done('All done.'), verdict(false, ['half of it'])], { maxReplans: 0 })).toBe(
      'All done.\n\nNot verified: half of it.',
    )
    expect(await replyTo(['P', done('All done.')], { verifierModel: null })).toBe(
      'All done.\n\nNot verified: there was no verdict.',
    )
  })

  test('a question waits for the person, and the todo list is in the results', async () => {
    const cwd = folder()
    const tools = await loadTools({ cwd })
    const script: Script = [
      'P',
      calls(call('write_todo_list', { content: '1. [ ] Ask' })),
      calls(call('ask_followup_question', { question: 'Which colour?' })),
      done('Red it is.'),
      verdict(true),
    ]
    const { agent } = task(script, { cwd, tools })
    const waiting = await agent.run('Paint it', { contextId: 'q' })
    expect(waiting).toMatchObject({ ended: 'waiting', todoList: '1. [ ] Ask' })
    const [request] = waiting.requests
    const results = await agent.answer('q', { [request?.requestId ?? '']: 'Red' })
    expect(results).toMatchObject({ ended: 'verified', finalAnswer: 'Red it is.' })
    expect(JSON.stringify(results.messages)).toContain('Red')
    const inline = task(script, { cwd, tools })
    expect(await inline.agent.run('Paint it', { onRequest: () => 'Blue' })).toMatchObject({
      ended: 'verified',
    })
  })

  test('the usage is that of the whole task, and a task that waits is not resumed without its answers', async () => {
    const usage = { inputTokens: 10, outputTokens: 1 }
    const asks = { ...note, approve: 'always' } as const
    const script: Script = [
      { text: 'P', usage },
      { ...calls(call('note', { text: 'a' })), usage },
      { ...done('Noted.'), usage },
      { text: verdict(true), usage },
    ]
    const { agent, model } = task(script, { tools: [asks] })
    const waiting = await agent.run('Take a note', { contextId: 'u' })
    expect([waiting.ended, waiting.usage.inputTokens]).toEqual(['waiting', 20])
    const resumed = await agent.resume('u')
    expect(resumed).toMatchObject({ ended: 'waiting', requests: waiting.requests, usage: waiting.usage })
    expect((await agent.getState('u'))?.plan).toBe('P')
    expect(await agent.getState('other')).toBeUndefined()
    const [request] = resumed.requests
    const ended = await agent.answer('u', { [request?.requestId ?? '']: true })
    expect([ended.ended, ended.usage.inputTokens, ended.usage.outputTokens]).toEqual(['verified', 40, 4])
    expect(model.calls).toHaveLength(4)
  })

  test('a criterion that was cancelled while it ran is run again, and a task that has ended is not', async () => {
    const cwd = folder()
    const tools = await loadTools({ cwd })
    const criteria = [{ name: 'go', command: 'test -f go || { touch waits; sleep 600; }' }]
    const { agent, model } = task(['P', done('A')], { cwd, tools, criteria, verifierModel: null })
    const stop = new AbortController()
    const running = agent.run('Do it', { contextId: 'c', signal: stop.signal })
    await expect.poll(() => existsSync(join(cwd, 'waits'))).toBe(true)
    stop.abort()
    expect(await running).toMatchObject({ ended: 'cancelled', isResumable: true })
    writeFileSync(join(cwd, 'go'), '')
    const ended = await agent.resume('c')
    expect(ended).toMatchObject({ ended: 'verified', planIteration: 1, isResumable: false })
    expect(await agent.resume('c')).toEqual(ended)
    expect(model.calls).toHaveLength(2)
  })

  test('prompts: custom ones are sent, instructions of tools reach their nodes, the preview is what is sent', async () => {
    const cwd = folder()
    const noted = withInstructions(note, { planner: 'Plan one note.', verifier: 'Look for the note.' })
    const { agent, model } = task(['P', done('A'), verdict(true)], { cwd, tools: [noted] })
    agent.setPlannerPrompt('Be brief.')
    const preview = await agent.displaySystemPrompts('Take a note', 'A plan', { saveTo: true })
    expect(readFileSync(join(cwd, 'notes/system_prompts.md'), 'utf8')).toBe(preview)
    await agent.run('Take a note')
    const system = (at: number): string => model.calls[at]?.prompt[0]?.content as string
    expect(preview).toContain(system(0))
    expect(system(0)).toContain('# Task\nTake a note\n\nBe brief.')
    expect(system(0)).toContain('- note: Plan one note.')
    expect(system(1)).not.toContain('Plan one note.')
    expect(system(2)).toContain('- note: Look for the note.')
  })

  test('runTask is the same in one call', async () => {
    const model = new ScriptedModel([done('A'), verdict(true)])
    const results = await runTask({ task: 'Do it', model, planning: false, verbose: false, tools: [note] })
    expect(results).toMatchObject({ finalAnswer: 'A', isVerified: true })
  })

  test.each([
    [{}, 'needs a model'],
    [{ model: 'x/y', enable_planning: false }, 'planning'],
    [{ model: 'x/y', maxContextTokens: 10 }, 'maxContextTokens'],
    [{ model: 'x/y', prompts: { planner: '{task}' } }, 'lacks {tool_instructions}'],
  ])('%j is refused', (config, message) => {
    expect(() => new TaskAgent(config as never)).toThrow(message)
  })
})
