/** A remote agent that is served by Holdfast: its questions, answers that it refuses, and messages that are sent twice. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { END, graph, START, value } from '../../src/graph/index.ts'
import { Agent, ask, defineTool, memoryStore } from '../../src/index.ts'
import { type RemoteAgentOptions, remoteAgent, remoteNode } from '../../src/remote/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { officialClient, requestOf } from '../serve/a2a/clients.ts'
import { open } from '../serve/http/kit.ts'

async function serve() {
  const effects: unknown[] = []
  const pay = (name: string, approve: 'always' | 'never') =>
    defineTool({
      name,
      description: name,
      input: z.object({}),
      approve,
      run: () => {
        effects.push(name)
        return 'paid'
      },
    })
  const choose = defineTool({
    name: 'choose',
    description: 'Asks which.',
    input: z.object({}),
    run: (_, { answers }) => {
      if (answers['size'] === undefined)
        return ask([
          { kind: 'choice', name: 'colour', prompt: 'Which colour?', options: ['red', 'blue'] },
          { kind: 'data', name: 'size', prompt: 'Which size?', schema: z.object({ cm: z.number() }) },
        ])
      effects.push(answers)
      return 'chosen'
    },
  })
  const login = defineTool({
    name: 'login',
    description: 'Asks for a code.',
    input: z.object({}),
    run: (_, { answers }) => {
      if (answers['answer'] === undefined) return ask({ kind: 'auth', prompt: 'Which code?' })
      effects.push(answers['answer'])
      return 'signed in'
    },
  })
  const write = defineTool({
    name: 'write',
    description: 'Writes files.',
    input: z.object({}),
    run: async (_, { artifacts }) => {
      await artifacts.createFile('report', { name: 'report.md', mediaType: 'text/markdown' })
      await artifacts.appendFile('report', '# One')
      await artifacts.appendFile('report', ' and two')
      await artifacts.complete('report')
      await artifacts.createFile('bytes')
      await artifacts.appendFile('bytes', new Uint8Array([1, 2]))
      await artifacts.appendFile('bytes', new Uint8Array([3]))
      await artifacts.complete('bytes')
      return 'written'
    },
  })
  const tools = [pay('pay', 'never'), pay('ask_pay', 'always'), choose, login, write]
  const model = new ScriptedModel(({ prompt }) => {
    const last = prompt.at(-1)
    if (last?.role === 'tool') return 'It is done.'
    const tool = /ask_pay|choose|login|write|pay/.exec(JSON.stringify(last?.content))?.[0] ?? 'pay'
    return { calls: [{ tool, args: {} }] }
  })
  const agents = { desk: { model, tools } }
  const { url, host } = await open({ store: memoryStore(), agents }, { mounts: [await a2a()] })
  return { url: `${url}/a2a/desk`, host, effects, model }
}

function caller(url: string, message: string, more: Partial<RemoteAgentOptions> = {}) {
  const desk = remoteAgent({ name: 'desk', description: 'Pays.', url, ...more })
  const call = { calls: [{ tool: 'desk', args: { message } }] }
  const model = new ScriptedModel([call, 'Done.'])
  return new Agent({ contextId: 'c1', store: memoryStore(), model, tools: [desk] })
}

test('an approval of a remote agent is an approval here, with the call that it is about', async () => {
  for (const [answer, done] of [
    [true, ['ask_pay']],
    [false, []],
  ] as const) {
    const { url, effects } = await serve()
    const agent = caller(url, 'ask_pay')
    const [request] = (await agent.executeTurn('Hi').outcome).requests
    expect(request).toMatchObject({ kind: 'confirmation', prompt: 'May "ask_pay" be run?' })
    expect(request?.about).toEqual({ remoteAgent: 'desk', tool: 'ask_pay', args: {} })
    const requestId = request?.requestId ?? ''
    expect(await agent.answer({ [requestId]: 'perhaps' }).outcome).toMatchObject({ status: 'failed' })
    expect(effects).toEqual([])
    expect(await agent.answer({ [requestId]: answer }).outcome).toMatchObject({ text: 'Done.' })
    expect(effects).toEqual(done)
  }
})

test('a choice stays a choice, data stays data, and their answers arrive together', async () => {
  const { url, effects } = await serve()
  const agent = caller(url, 'choose')
  const [colour, size] = (await agent.executeTurn('Hi').outcome).requests
  expect(colour).toMatchObject({ kind: 'choice', prompt: 'Which colour?', options: ['red', 'blue'] })
  expect(size).toMatchObject({ kind: 'data', schema: { properties: { cm: { type: 'number' } } } })
  const answers = { [colour?.requestId ?? '']: 'blue', [size?.requestId ?? '']: { cm: 7 } }
  expect(await agent.answer(answers).outcome).toMatchObject({ text: 'Done.' })
  expect(effects).toEqual([{ colour: 'blue', size: { cm: 7 } }])
})

test('a request for access stays one', async () => {
  const { url, effects } = await serve()
  const agent = caller(url, 'login')
  const { reason, requests } = await agent.executeTurn('Hi').outcome
  expect([reason, requests[0]?.kind, requests[0]?.prompt]).toEqual(['auth-required', 'auth', 'Which code?'])
  const answer = { [requests[0]?.requestId ?? '']: '4711' }
  expect(await agent.answer(answer).outcome).toMatchObject({ text: 'Done.' })
  expect(effects).toEqual(['4711'])
})

test('a node asks the same questions', async () => {
  const { url, effects } = await serve()
  const run = graph({ state: { wish: value<string>(), reply: value<string>('') } })
    .addNode(
      'desk',
      remoteNode({
        name: 'desk',
        url,
        input: ({ wish = '' }: { readonly wish?: string | undefined }) => wish,
        output: (reply) => ({ reply }),
      }),
    )
    .addEdge(START, 'desk')
    .addEdge('desk', END)
    .compile({ store: memoryStore() })
  const { requests } = await run.stream({ wish: 'choose' }, { contextId: 'g' }).outcome
  expect(requests.map(({ kind }) => kind)).toEqual(['choice', 'data'])
  const [colour = '', size = ''] = requests.map(({ requestId }) => requestId)
  const outcome = await run.answer({ [colour]: 'red', [size]: { cm: 5 } }, { contextId: 'g' }).outcome
  expect(outcome).toMatchObject({ status: 'completed', state: { reply: 'It is done.' } })
  expect(effects).toEqual([{ colour: 'red', size: { cm: 5 } }])
})

const report = { name: 'report.md', mediaType: 'text/markdown' }

test('data goes to the remote agent, and its files come back as artifacts; the kept task is no artifact for others', async () => {
  const { url, model } = await serve()
  const call = { calls: [{ tool: 'desk', args: { message: 'write', data: { order: 7 } } }] }
  const desk = remoteAgent({ name: 'desk', description: 'Writes.', url })
  const front = { model: new ScriptedModel([call, 'Done.']), tools: [desk] }
  const opened = await open({ store: memoryStore(), agents: { front } }, { mounts: [await a2a()] })
  const client = await officialClient('JSONRPC', `${opened.url}/a2a/front`)
  const task = await client.sendMessage(requestOf({ text: 'Hi', contextId: 'c' }))
  expect(JSON.stringify(model.calls[0]?.prompt)).toContain('order')
  const shown = 'artifacts' in task ? task.artifacts : []
  expect(shown.map(({ artifactId }) => artifactId.replace(/-file-.*-/, '-file-'))).toEqual([
    'remote-file-1',
    'remote-file-2',
    '~reply',
  ])
  const key = { tenant: 'local', actor: 'local', contextId: 'front:c' }
  const entries = await opened.host.store.read(key)
  const output = entries.find(({ type }) => type === 'tool.end')?.data['output'] as {
    files: { artifact: string }[]
  }
  expect(output).toMatchObject({ text: 'It is done.', files: [report, {}] })
  const contents = output.files.map(({ artifact }) => opened.host.reads.artifact(key, artifact))
  const [first, second] = (await Promise.all(contents)).map(({ content }) => content as Uint8Array)
  expect(Buffer.from(first ?? '').toString()).toBe('# One and two')
  expect([...(second ?? [])]).toEqual([1, 2, 3])
})

test('a node sends text, data and files, and gets files', async () => {
  const { url, model } = await serve()
  const run = graph({ state: { files: value<unknown>() } })
    .addNode(
      'desk',
      remoteNode({
        name: 'desk',
        url,
        input: () => ({
          text: 'write',
          data: { order: 7 },
          files: [{ name: 'a.txt', mediaType: 'text/plain', content: 'hello' }],
        }),
        output: (_, __, files) => ({ files }),
      }),
    )
    .addEdge(START, 'desk')
    .addEdge('desk', END)
    .compile({ store: memoryStore() })
  const { state } = await run.stream({}, { contextId: 'g' }).outcome
  expect(state).toMatchObject({ files: [{ ...report, artifact: expect.any(String) as string }, {}] })
  const sent = JSON.stringify(model.calls[0]?.prompt)
  expect(sent).toMatch(/write.*order/)
  expect(sent).toMatch(/a\.txt|text\/plain/)
})

test('an answer that the remote agent refuses is asked for again, with its reason', async () => {
  const { url, effects } = await serve()
  let left = 1
  const changing: typeof fetch = (input, init) => {
    const body = typeof init?.body === 'string' ? init.body : ''
    const isAnswer = body.includes('"answers"') && left-- > 0
    return fetch(input, isAnswer ? { ...init, body: body.replace(':true', ':7') } : init)
  }
  const agent = caller(url, 'ask_pay', { fetch: changing })
  const [first] = (await agent.executeTurn('Hi').outcome).requests
  const [second] = (await agent.answer({ [first?.requestId ?? '']: true }).outcome).requests
  expect(second?.kind).toBe('confirmation')
  expect(second?.prompt).toMatch(/true or false.*\n\nMay "ask_pay" be run\?$/is)
  expect(effects).toEqual([])
  expect(await agent.answer({ [second?.requestId ?? '']: true }).outcome).toMatchObject({ text: 'Done.' })
  expect(effects).toEqual(['ask_pay'])
})

test('a message that is sent many times, also at once, begins one task', async () => {
  const { url, host, effects } = await serve()
  const client = await officialClient('JSONRPC', url)
  for (const ids of [{ messageId: 'm-1' }, { messageId: 'm-2', contextId: 'c' }]) {
    const send = () => client.sendMessage(requestOf({ text: 'pay', ...ids }))
    const sent = [...(await Promise.all([send(), send(), send(), send()])), await send()]
    expect(new Set(sent.map((task) => ('id' in task ? task.id : 'none'))).size).toBe(1)
  }
  expect(effects).toEqual(['pay', 'pay'])
  const { heads } = await host.store.list({ owner: { tenant: 'local', actor: 'local' } })
  expect(heads.map(({ turn }) => turn)).toEqual([1, 1])
})
