/** ACP with the client of its own package: in this process, and with `holdfast acp` as an editor starts it. */
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { END, graph, list, START, value } from '../../../src/entry/graph.ts'
import { createHost, type HostedFlow } from '../../../src/host/index.ts'
import { ask, askUser, defineTool, memoryStore, type Tool } from '../../../src/index.ts'
import { approvalPolicy, type Plugin } from '../../../src/plugin/index.ts'
import type { Message } from '../../../src/protocol/index.ts'
import { acpModes, type ServeAcpOptions } from '../../../src/serve/acp/index.ts'
import { previewContent } from '../../../src/serve/acp/tool-calls.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { FIXTURE } from '../../cli/kit.ts'
import { chunkText, inProcess, startAcp } from './kit.ts'

const CWD = '/projects/site'
const call = (tool: string, args: object): ScriptedStep => ({ calls: [{ tool, args: args as never }] })

const order = defineTool({
  name: 'order',
  description: 'Orders bags.',
  input: z.object({ bags: z.number() }),
  approve: ({ input }) => (input.bags > 45 ? `Really ${input.bags}?` : input.bags > 10),
  run: ({ bags }) => ({ ordered: bags }),
})

function served(steps: readonly ScriptedStep[], tools: readonly Tool[] = [order]) {
  const model = new ScriptedModel([...steps])
  const host = createHost({ store: memoryStore(), agents: { site: { model, tools: [...tools] } } })
  return { model, host }
}

describe('a session with an agent', () => {
  test('streams messages, thoughts, calls and results', async () => {
    const { host } = served([
      { reasoning: 'Two, then.', text: 'I order.', calls: [{ tool: 'order', args: { bags: 2 } }] },
      { deltas: ['Two bags ', 'are on their way.'] },
    ])
    const editor = await inProcess(host, { agent: 'site' })
    expect(await editor.initialize()).toMatchObject({
      protocolVersion: 1,
      agentCapabilities: { loadSession: true, promptCapabilities: { image: false, embeddedContext: true } },
    })
    const session = await editor.open(CWD)
    expect(await editor.prompt(session, 'Two bags')).toBe('end_turn')
    expect(editor.text('agent_thought_chunk')).toBe('Two, then.')
    expect(editor.text()).toBe('I order.Two bags are on their way.')
    const [shown] = editor.of('tool_call')
    expect(shown).toMatchObject({ title: 'order', status: 'pending', rawInput: { bags: 2 } })
    expect(editor.of('tool_call_update').map(({ toolCallId, status }) => [toolCallId, status])).toEqual([
      [shown?.toolCallId, 'in_progress'],
      [shown?.toolCallId, 'completed'],
    ])
  })

  test('asks for permission with the call, and takes yes and no', async () => {
    const { host } = served([
      call('order', { bags: 40 }),
      'Ordered.',
      call('order', { bags: 50 }),
      'Not ordered.',
    ])
    const editor = await inProcess(host, { agent: 'site' })
    const session = await editor.open(CWD)
    expect(await editor.prompt(session, 'Forty')).toBe('end_turn')
    const [asked] = editor.asked
    expect(asked?.toolCall).toMatchObject({
      toolCallId: editor.of('tool_call')[0]?.toolCallId,
      rawInput: { bags: 40 },
      content: [],
    })
    expect(asked?.options.map(({ kind }) => kind)).toEqual(['allow_once', 'reject_once'])
    editor.choose = () => 'reject'
    expect(await editor.prompt(session, 'Fifty')).toBe('end_turn')
    // A question of the tool's own says more than the call.
    expect(editor.asked[1]?.toolCall.content).toEqual([
      { type: 'content', content: { type: 'text', text: 'Really 50?' } },
    ])
    expect(editor.of('tool_call_update').map(({ status }) => status)).toEqual([
      'in_progress',
      'completed',
      'failed',
    ])
    expect(editor.text()).toBe('Ordered.Not ordered.')
  })

  test('says that a preview failed, and that it shows only the beginning', async () => {
    const note = defineTool({
      name: 'write_to_file',
      description: 'Writes a file.',
      input: z.object({ path: z.string(), content: z.string() }),
      approve: 'always',
      preview: ({ content }) => {
        if (content === '') throw new Error('There is nothing to write.')
        return `--- a\n+++ b\n@@ -1 +1 @@\n-old\n+${content}`
      },
      run: () => 'Written.',
    })
    const { host } = served(
      [
        call('write_to_file', { path: 'a', content: '' }),
        'One.',
        call('write_to_file', { path: 'a', content: 'x'.repeat(40_000) }),
        'Two.',
      ],
      [note],
    )
    const editor = await inProcess(host, { agent: 'site' })
    const session = await editor.open(CWD)
    await editor.prompt(session, 'Nothing')
    await editor.prompt(session, 'A lot')
    const text = (shown: string) => ({ type: 'content', content: { type: 'text', text: shown } })
    expect(editor.asked.map(({ toolCall }) => toolCall.content)).toEqual([
      [
        text('The preview failed: There is nothing to write.'),
        { type: 'diff', path: `${CWD}/a`, newText: '' },
      ],
      [
        expect.objectContaining({ type: 'diff', path: `${CWD}/a`, oldText: 'old\n' }),
        text('The rest of the preview is too long to be shown.'),
      ],
    ])
  })

  test('says how to answer a question that is a message', async () => {
    const size = { type: 'object', properties: { m2: { type: 'number' } }, required: ['m2'] }
    const towns = { question: 'Which?', kind: 'choice', options: ['Lyon', 'Nantes'], multiple: true }
    const { host } = served(
      [call('measure', {}), 'Measured.', call('ask_user', towns), 'Both.'],
      [
        askUser(),
        defineTool({
          name: 'measure',
          description: 'Measures.',
          input: z.object({}),
          run: (_, { answers }) =>
            answers['size'] ?? ask({ kind: 'data', name: 'size', prompt: 'How large?', schema: size }),
        }),
      ],
    )
    const editor = await inProcess(host, { agent: 'site' })
    const session = await editor.open(CWD)
    await editor.prompt(session, 'Measure')
    expect(editor.text()).toBe(`How large?\nAnswer with JSON that fits ${JSON.stringify(size)}.`)
    await editor.prompt(session, '{"m2":9}')
    await editor.prompt(session, 'Go')
    expect(editor.text()).toMatch(
      /Which\?\n1\. Lyon\n2\. Nantes\nAnswer with numbers, separated by commas\.$/,
    )
  })

  test('puts a choice as options, and another question as a message that the next prompt answers', async () => {
    const { host, model } = served(
      [
        call('ask_user', { question: 'Which?', kind: 'choice', options: ['Lyon', 'Nantes'] }),
        call('ask_user', { question: 'When?', kind: 'text' }),
        'On Monday, in Nantes.',
      ],
      [askUser()],
    )
    const editor = await inProcess(host, { agent: 'site' })
    editor.choose = ({ options }) => options.find(({ name }) => name === 'Nantes')?.optionId
    const session = await editor.open(CWD)
    expect(await editor.prompt(session, 'Go')).toBe('end_turn')
    expect(editor.text()).toBe('When?')
    expect(await editor.prompt(session, 'Monday')).toBe('end_turn')
    expect(editor.text()).toBe('When?On Monday, in Nantes.')
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toMatch(/Nantes.*Monday/)
  })

  test('is cancelled while a tool runs, and while a permission is asked; the next prompt goes on', async () => {
    const started = Promise.withResolvers<void>()
    const wait = defineTool({
      name: 'wait',
      description: 'Waits.',
      input: z.object({}),
      run: async (_, { signal }) => {
        started.resolve()
        await new Promise((go) => signal.addEventListener('abort', go))
        return 'stopped'
      },
    })
    const { host } = served([call('wait', {}), call('order', { bags: 40 }), 'Hello.'], [wait, order])
    const editor = await inProcess(host, { agent: 'site' })
    const session = await editor.open(CWD)
    const waiting = editor.prompt(session, 'Wait')
    await started.promise
    await expect(editor.prompt(session, 'Too early')).rejects.toThrow('under way')
    await editor.agent.notify('session/cancel', { sessionId: session })
    expect(await waiting).toBe('cancelled')
    editor.choose = () => undefined
    expect(await editor.prompt(session, 'Forty')).toBe('cancelled')
    expect(await editor.prompt(session, 'Hi')).toBe('end_turn')
    expect(editor.text()).toBe('Hello.')
  })

  test('is cancelled before its turn has begun, and while its person has just allowed a call', async () => {
    const { host, model } = served([call('order', { bags: 40 }), 'Hello.'])
    const editor = await inProcess(host, { agent: 'site' })
    const session = await editor.open(CWD)
    const cancel = () => editor.agent.notify('session/cancel', { sessionId: session })
    const early = editor.prompt(session, 'Forty')
    await cancel()
    expect([await early, model.calls.length]).toEqual(['cancelled', 0])
    const key = { tenant: 'local', actor: 'local', contextId: `site:${session}` }
    editor.choose = async () => {
      await cancel()
      await expect.poll(() => host.requests(key)).toEqual([])
      return 'once'
    }
    expect([await editor.prompt(session, 'Forty'), model.calls.length]).toEqual(['cancelled', 1])
    expect(await editor.prompt(session, 'Hi')).toBe('end_turn')
  })

  test('is cancelled while its person is asked, also if the editor does not answer the question', async () => {
    const { host } = served([call('order', { bags: 40 }), call('order', { bags: 41 }), 'Hello.'])
    const editor = await inProcess(host, { agent: 'site' })
    const session = await editor.open(CWD)
    const late = Promise.withResolvers<string>()
    editor.choose = async () => {
      await editor.agent.notify('session/cancel', { sessionId: session })
      return late.promise
    }
    expect(await editor.prompt(session, 'Forty')).toBe('cancelled')
    editor.choose = async () => {
      late.resolve('once')
      return 'reject'
    }
    expect(await editor.prompt(session, 'Forty-one')).toBe('end_turn')
    const results = editor.of('tool_call_update').filter(({ status }) => status === 'failed')
    expect(results.map(({ rawOutput }) => rawOutput)).toHaveLength(2)
    expect(editor.text()).toBe('Hello.')
  })

  test('that is loaded with an open question is cancelled with the prompt that waits for it', async () => {
    const { host } = served([call('order', { bags: 40 }), 'Hello.'])
    const first = await inProcess(host, { agent: 'site' })
    first.choose = () => new Promise(() => {})
    const session = await first.open(CWD)
    void first.prompt(session, 'Forty').catch(() => {})
    await expect.poll(() => first.asked.length).toBe(1)
    const later = await inProcess(host, { agent: 'site' })
    later.choose = () => new Promise(() => {})
    await later.load(session, CWD)
    await expect.poll(() => later.asked.length).toBe(1)
    const waiting = later.prompt(session, 'Hi')
    await later.agent.notify('session/cancel', { sessionId: session })
    expect(await waiting).toBe('cancelled')
    expect(await later.prompt(session, 'Hi again')).toBe('end_turn')
    expect(later.text()).toBe('Hello.')
  })

  test('takes links, resources and images as far as the model does, and knows no session of others', async () => {
    const { host, model } = served(['Read.', 'Seen.'])
    const editor = await inProcess(host, { agent: 'site' })
    const sessionId = await editor.open(CWD)
    await editor.agent.request('session/prompt', {
      sessionId,
      prompt: [
        { type: 'text', text: 'Read' },
        { type: 'resource_link', name: 'a.ts', uri: `file://${CWD}/src/a.ts` },
        { type: 'resource', resource: { uri: `file://${CWD}/b.ts`, text: 'const b = 1' } },
      ],
    })
    const prompt = JSON.stringify(model.calls[0]?.prompt)
    expect(prompt).toContain('[a.ts](src/a.ts)')
    expect(prompt).toContain('const b = 1')
    await expect(editor.prompt(sessionId, ' ')).rejects.toMatchObject({
      code: -32_602,
      message: expect.stringContaining('The message is empty.'),
    })
    const image = { type: 'image' as const, mimeType: 'image/png', data: 'AAAA' }
    await expect(editor.agent.request('session/prompt', { sessionId, prompt: [image] })).rejects.toThrow(
      'takes no images',
    )
    for (const unknown of ['session_x', 'nobody:1'])
      await expect(editor.load(unknown, CWD)).rejects.toMatchObject({ code: -32_002 })
    await expect(editor.prompt('session_x', 'Hi')).rejects.toMatchObject({ code: -32_002 })
  })
})

describe('the mode of a session', () => {
  const ran: string[] = []
  const tool = (name: string, approve: 'always' | 'never') =>
    defineTool({
      name,
      description: name,
      input: z.object({ path: z.string().optional(), command: z.string().optional() }),
      approve,
      run: () => {
        ran.push(name)
        return 'ok'
      },
    })
  const tools = [
    tool('read_file', 'never'),
    tool('write_to_file', 'always'),
    tool('execute_command', 'always'),
    tool('deploy', 'never'),
  ]
  const NAMES = tools.map(({ name }) => name)

  function serving(policy: readonly Plugin[] = []) {
    const store = memoryStore()
    const start = async (isBounded = true) => {
      const modes = acpModes()
      const model = new ScriptedModel(({ prompt }) =>
        prompt.at(-1)?.role === 'tool' ? 'Done.' : { calls: NAMES.map((name) => ({ tool: name, args: {} })) },
      )
      const plugins = isBounded ? [modes.plugin, ...policy] : []
      const host = createHost({ store, agents: { site: { model, tools, plugins } } })
      const editor = await inProcess(host, { agent: 'site', ...(isBounded ? { modes } : {}) })
      /** The tools that were asked about, and those that ran, in one prompt. */
      const prompt = async (session: string) => {
        ran.length = 0
        editor.asked.length = 0
        expect(await editor.prompt(session, 'Go')).toBe('end_turn')
        return [editor.asked.map(({ toolCall }) => toolCall.title), [...ran]]
      }
      return { editor, prompt }
    }
    return start
  }

  test('is asked, accepted or refused by the kind of tool, from the next call on', async () => {
    const { editor, prompt } = await serving()()
    const session = await editor.open(CWD)
    expect(editor.modes).toMatchObject({
      currentModeId: 'ask',
      availableModes: [{ id: 'ask' }, { id: 'accept-edits' }, { id: 'read-only' }],
    })
    const all = expect.toSatisfy((names: string[]) => names.toSorted().join() === NAMES.toSorted().join())
    expect(await prompt(session)).toEqual([['write_to_file', 'execute_command'], all])
    await editor.setMode(session, 'accept-edits')
    expect(await prompt(session)).toEqual([['execute_command'], all])
    await editor.setMode(session, 'read-only')
    expect(await prompt(session)).toEqual([[], ['read_file']])
    const refused = editor.of('tool_call_update').filter(({ status }) => status === 'failed')
    expect(refused).toHaveLength(3)
    expect(JSON.stringify(refused[0])).toContain('The session is read only.')
    await editor.setMode(session, 'ask')
    expect(await prompt(session)).toEqual([['write_to_file', 'execute_command'], all])
    await expect(editor.setMode(session, 'constructor')).rejects.toMatchObject({ code: -32_602 })
  })

  test('allows nothing that a policy of the agent asks about or denies', async () => {
    const rules = [
      { tool: 'write_to_file', decision: 'deny' },
      { tool: ['read_file', 'deploy'], decision: 'allow' },
    ] as const
    const { editor, prompt } = await serving([approvalPolicy({ rules })])()
    const session = await editor.open(CWD)
    await editor.setMode(session, 'accept-edits')
    expect(await prompt(session)).toEqual([['execute_command'], ['read_file', 'deploy', 'execute_command']])
  })

  test('is kept with the session, from before its first prompt on', async () => {
    const start = serving()
    const first = await start()
    const session = await first.editor.open(CWD)
    await first.editor.setMode(session, 'read-only')
    expect(await first.prompt(session)).toEqual([[], ['read_file']])
    const second = await start()
    await second.editor.load(session, CWD)
    expect(second.editor.modes).toMatchObject({ currentModeId: 'read-only' })
    expect(await second.prompt(session)).toEqual([[], ['read_file']])
    await second.editor.setMode(session, 'accept-edits')
    const third = await start()
    await third.editor.load(session, CWD)
    expect(third.editor.modes).toMatchObject({ currentModeId: 'accept-edits' })
    const plain = await start(false)
    const other = await plain.editor.open(CWD)
    expect(plain.editor.modes).toBeUndefined()
    await expect(plain.editor.setMode(other, 'ask')).rejects.toMatchObject({ code: -32_602 })
  })
})

test('a session with a graph has a run for each prompt, with the state of the one before, and loads them all', async () => {
  const store = memoryStore()
  const echo = graph({ name: 'echo', state: { messages: list<Message>() } })
    .addNode('speak', ({ messages }) => ({
      messages: [
        { role: 'assistant' as const, content: [{ type: 'text' as const, text: `${messages.length}.` }] },
      ],
    }))
    .addEdge(START, 'speak')
    .addEdge('speak', END)
    .compile({ store })
  const host = createHost({ store, graphs: { echo } })
  const graphInput: NonNullable<ServeAcpOptions['graphInput']> = ({ text, state }) => {
    const { messages = [] } = (state ?? {}) as { readonly messages?: readonly Message[] }
    return { messages: [...messages, { role: 'user', content: text }] }
  }
  const editor = await inProcess(host, { agent: 'echo', graphInput })
  const session = await editor.open(CWD)
  expect(await editor.prompt(session, 'One')).toBe('end_turn')
  expect(await editor.prompt(session, 'Two')).toBe('end_turn')
  expect(editor.text()).toBe('1.3.')
  const later = await inProcess(host, { agent: 'echo', graphInput })
  await later.load(session, CWD)
  const shown = later.updates.map((update) => `${update.sessionUpdate} ${chunkText(update)}`)
  expect(shown).toEqual([
    'user_message_chunk One',
    'agent_message_chunk 1.',
    'user_message_chunk Two',
    'agent_message_chunk 3.',
  ])
  expect(await later.prompt(session, 'Three')).toBe('end_turn')
  expect(later.text()).toBe('1.3.5.')
})

test('the diff of a file that has a diff in it keeps the old text', () => {
  const text = '--- a/p.patch\n+++ b/p.patch\n@@ -1,2 +1,2 @@\n --- /dev/null\n-+old\n++new\n'
  const about = { args: { path: 'p.patch' }, preview: { text } }
  expect(previewContent(about, { content: [], cwd: CWD })).toEqual([
    {
      type: 'diff',
      path: `${CWD}/p.patch`,
      oldText: '--- /dev/null\n+old\n',
      newText: '--- /dev/null\n+new\n',
    },
  ])
})

const CONFIG = resolve('test/cli/fixture/acp.config.ts')
const SUM = 'export function sum(a, b) {\n  return a - b\n}\n'

function projectFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-acp-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'sum.mjs'), SUM)
  return folder
}

test('a session with a flow has its replies, also when it is loaded', async () => {
  const built = graph({ state: { question: value<string>(''), answer: value<string>('') } })
    .addNode('write', ({ question }) => ({ answer: `You asked: ${question}` }))
    .addEdge(START, 'write')
    .addEdge('write', END)
  const flow: HostedFlow = {
    build: (store) => built.compile({ store }),
    values: (question) => ({ question }),
    reply: ({ answer }) => answer as string,
  }
  const host = createHost({ store: memoryStore(), flows: { ask: flow } })
  const editor = await inProcess(host, { agent: 'ask' })
  const session = await editor.open(CWD)
  for (const text of ['one', 'two']) expect(await editor.prompt(session, text)).toBe('end_turn')
  expect(editor.of('agent_message_chunk').map(chunkText)).toEqual(['You asked: one', 'You asked: two'])
  const later = await inProcess(host, { agent: 'ask' })
  await later.load(session, CWD)
  expect(later.updates.map(chunkText)).toEqual(['one', 'You asked: one', 'two', 'You asked: two'])
})

test('holdfast acp --agent --policy refuses what the policy denies', async () => {
  const rules = [{ tool: 'slow', decision: 'deny' }]
  const cwd = projectFolder()
  writeFileSync(join(cwd, 'policy.json'), JSON.stringify({ rules }))
  const args = ['--config', FIXTURE, '--agent', 'site', '--policy', 'policy.json']
  const { editor } = startAcp(args, cwd, { HOLDFAST_HOME: join(cwd, 'data') })
  expect(await editor.prompt(await editor.open(cwd), 'quick')).toBe('end_turn')
  expect(editor.of('tool_call_update').map(({ status }) => status)).toEqual(['failed'])
})

test('holdfast acp ends the MCP servers of a session that cannot be opened', async () => {
  const cwd = projectFolder()
  const [policy, pid] = [join(cwd, 'policy.json'), join(cwd, 'pid')]
  writeFileSync(policy, '{"rules":[]}')
  const { editor } = startAcp(['--config', CONFIG, '--policy', policy], cwd, {
    HOLDFAST_HOME: join(cwd, 'data'),
  })
  await editor.initialize()
  writeFileSync(policy, '{')
  const command = `echo $$ > ${pid}; exec ${process.execPath} ${resolve('test/mcp/fixture/honest.ts')} stdio ${cwd}/log`
  const server = { name: 'own', command: 'sh', args: ['-c', command], env: [] }
  const opening = editor.agent.request('session/new', { cwd, mcpServers: [server] })
  await expect(opening).rejects.toThrow('cannot be read')
  const started = Number(readFileSync(pid, 'utf8'))
  expect(() => process.kill(started, 0)).toThrow('ESRCH')
})

test('holdfast acp shows the plan and the diff of a task, survives kill -9 twice, and goes on when it is loaded', async () => {
  const cwd = projectFolder()
  const go = join(cwd, 'go')
  const start = () => startAcp(['--config', CONFIG], cwd, { GO: go, HOLDFAST_HOME: join(cwd, '.holdfast') })

  const first = start()
  const asked = Promise.withResolvers<void>()
  first.editor.choose = () => {
    asked.resolve()
    return new Promise(() => {})
  }
  const later = join(cwd, 'later')
  await expect(first.editor.open(later)).rejects.toThrow('there is no such folder')
  mkdirSync(later)
  await first.editor.open(later)
  const session = await first.editor.open(cwd)
  const broken = first.editor.prompt(session, 'Make the test pass').catch(() => {})
  await asked.promise
  expect(first.editor.of('plan').map(({ entries }) => entries.map(({ content }) => content))).toEqual([
    ['Read sum.mjs.', 'Mend it.', 'Run the test.'],
    ['Read sum.mjs', 'Mend it'],
  ])
  const diff = { type: 'diff', path: join(cwd, 'sum.mjs') }
  expect(first.editor.of('tool_call').find(({ kind }) => kind === 'edit')).toMatchObject({
    content: [{ ...diff, oldText: '  return a - b', newText: '  return a * b' }],
    locations: [{ path: join(cwd, 'sum.mjs') }],
  })
  expect(first.editor.asked[0]?.toolCall).toMatchObject({
    content: [{ ...diff, oldText: SUM, newText: SUM.replace('-', '*') }],
  })
  await first.editor.setMode(session, 'accept-edits')
  await first.kill()
  await broken

  const second = start()
  await second.editor.load(session, cwd)
  expect(second.editor.modes).toMatchObject({ currentModeId: 'accept-edits' })
  expect(second.editor.text('user_message_chunk')).toBe('Make the test pass')
  await expect
    .poll(() => second.editor.text('agent_message_chunk'), { timeout: 60_000 })
    .toBe('sum() adds now.')
  expect(second.editor.asked).toHaveLength(1)
  await second.kill()
  expect(readFileSync(join(cwd, 'sum.mjs'), 'utf8')).toBe(SUM.replace('-', '*'))

  const third = start()
  await third.editor.load(session, cwd)
  writeFileSync(go, '')
  const thoughts = () => third.editor.text('agent_thought_chunk')
  await expect.poll(thoughts, { timeout: 60_000 }).toContain('Verification: VERIFIED')
  expect(third.editor.asked).toEqual([])
  expect(third.editor.text('agent_message_chunk')).toBe('sum() adds now.')
  expect([first, second, third].map(({ errors }) => errors())).toEqual(['', '', ''])
  expect(existsSync(join(cwd, '.holdfast', 'holdfast.db'))).toBe(true)
})
