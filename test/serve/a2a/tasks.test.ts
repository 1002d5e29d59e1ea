/** Tasks over A2A, in one process and in memory: messages, states, artifacts and lists. */
import { TaskState } from '@a2a-js/sdk'
import { expect, test, vi } from 'vitest'
import { z } from 'zod'
import type { HostedAgentConfig } from '../../../src/host/index.ts'
import { agentTool, ask, askUser, defineTool, memoryStore, type Store } from '../../../src/index.ts'
import { a2a } from '../../../src/serve/a2a/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../../src/testing/index.ts'
import { until } from '../../turn/kit.ts'
import { open } from '../http/kit.ts'
import { officialClient, partsRequest, requestOf, textIn } from './clients.ts'

async function serve(
  script: ScriptedStep[],
  more: Partial<HostedAgentConfig> = {},
  store: Store = memoryStore(),
) {
  const model = new ScriptedModel(script)
  const opened = await open({ store, agents: { helper: { model, ...more } } }, { mounts: [await a2a()] })
  const client = await officialClient('JSONRPC', `${opened.url}/a2a/helper`)
  const send = async (request: ReturnType<typeof requestOf>) => {
    const task = await client.sendMessage(request)
    if ('messageId' in task) throw new Error('A message instead of a task')
    return task
  }
  return { ...opened, client, send, model }
}

const calls = (tool: string, args = {}): ScriptedStep => ({ calls: [{ tool, args }] })

test('text, files, addresses and data of a message reach the model, and are in the history as they were sent', async () => {
  const { send, model } = await serve(['Seen.'])
  const parts = [
    { text: 'Look at these.' },
    { raw: Buffer.from('hello').toString('base64'), filename: 'a.txt', mediaType: 'text/plain' },
    { url: 'https://files.example/b.png', mediaType: 'image/png' },
    { data: { order: 7 }, mediaType: 'application/json' },
  ]
  const { history } = await send(partsRequest(parts))
  expect(JSON.stringify(model.calls[0]?.prompt)).toMatch(/Look at these.*files\.example.*order/s)
  const [message] = history
  expect(message?.parts.map(({ content }) => content?.$case)).toEqual(['text', 'raw', 'url', 'data'])
  expect(message?.parts.map(({ filename, mediaType }) => [filename, mediaType])).toEqual([
    ['', ''],
    ['a.txt', 'text/plain'],
    ['', 'image/png'],
    ['', 'application/json'],
  ])
  expect(message?.parts[3]?.content?.value).toEqual({ order: 7 })
})

test('outcomes become states, with their reasons', async () => {
  const look = defineTool({ name: 'look', description: 'Looks.', input: z.object({}), run: () => 'seen' })
  const limited = await serve([calls('look'), calls('look'), 'End.'], {
    tools: [look],
    limits: { iterations: 2 },
  })
  const incomplete = await limited.send(requestOf({ text: 'Hi' }))
  expect(incomplete.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(incomplete.metadata).toEqual({ reason: 'max_iterations', iterations: 2 })
  const failing = await serve([{ error: { status: 401, message: 'bad key' } }])
  const failed = await failing.send(requestOf({ text: 'Hi' }))
  expect(failed.status?.state).toBe(TaskState.TASK_STATE_FAILED)
  expect(failed.metadata).toMatchObject({ reason: 'error', error: { code: expect.any(String) as string } })
  const { error } = failed.metadata as { error: { message: string } }
  expect(textIn(failed.status?.message?.parts)).toBe(error.message)
})

test('artifacts of tools are streamed in chunks, and the output as data', async () => {
  const write = defineTool({
    name: 'write',
    description: 'Writes a report.',
    input: z.object({}),
    run: async (_, { artifacts }) => {
      await artifacts.createFile('report', { name: 'report.md', mediaType: 'text/markdown' })
      await artifacts.appendFile('report', '# One')
      await artifacts.appendFile('report', ' and two')
      await artifacts.complete('report')
      await artifacts.writeFile('bytes', new Uint8Array([1, 2, 3]))
      return 'written'
    },
  })
  const { client, send } = await serve([calls('write'), '{"pages":2}', '{"pages":3}'], {
    tools: [write],
    output: z.object({ pages: z.number() }),
  })
  const updates: [string | undefined, string, boolean, boolean][] = []
  for await (const { payload } of client.sendMessageStream(requestOf({ text: 'Write.', contextId: 'c' })))
    if (payload?.$case === 'artifactUpdate') {
      const { artifact, append, lastChunk } = payload.value
      const text = textIn(artifact?.parts)
      const last = updates.at(-1)
      // A reply comes in as many pieces as the reader is slow.
      if (last !== undefined && artifact?.artifactId === '~reply' && append && !lastChunk) last[1] += text
      else updates.push([artifact?.artifactId, text, append, lastChunk])
    }
  expect(updates).toEqual([
    ['report', '', false, false],
    ['report', '# One', true, false],
    ['report', ' and two', true, false],
    ['report', '', true, true],
    ['bytes', '', false, true],
    ['~reply', '{"pages":2}', false, false],
    ['~reply', '', true, true],
    ['~output', '', false, true],
  ])
  const task = await client.getTask({ id: 'c.1', tenant: '' })
  const found = task.artifacts.map(({ artifactId, parts }) => [
    artifactId,
    parts.map(({ content }) => content?.value as unknown),
  ])
  expect(found).toEqual([
    ['report', ['# One', ' and two']],
    ['bytes', [Buffer.from([1, 2, 3])]],
    ['~reply', ['{"pages":2}']],
    ['~output', [{ pages: 2 }]],
  ])
  expect((await send(requestOf({ text: 'Again.', contextId: 'c' }))).artifacts).toHaveLength(2)
})

test('a task that adds to an artifact of an earlier one has its own part, in its stream and afterwards', async () => {
  const log = defineTool({
    name: 'log',
    description: 'Logs.',
    input: z.object({ line: z.string(), isFirst: z.boolean(), isLast: z.boolean() }),
    run: async ({ line, isFirst, isLast }, { artifacts }) => {
      if (isFirst) await artifacts.createFile('log')
      if (line !== '') await artifacts.appendFile('log', line)
      if (isLast) await artifacts.complete('log')
      return 'logged'
    },
  })
  const script = [
    calls('log', { line: 'one', isFirst: true, isLast: false }),
    '',
    calls('log', { line: 'two', isFirst: false, isLast: false }),
    '',
    calls('log', { line: '', isFirst: false, isLast: true }),
    '',
  ]
  const { client, send } = await serve(script, { tools: [log] })
  await send(requestOf({ text: 'One.', contextId: 'c' }))
  const streamed: string[] = []
  let id = ''
  for await (const { payload } of client.sendMessageStream(requestOf({ text: 'Two.', contextId: 'c' }))) {
    if (payload?.$case === 'task') id = payload.value.id
    if (payload?.$case === 'artifactUpdate') streamed.push(textIn(payload.value.artifact?.parts))
  }
  const { artifacts } = await client.getTask({ id, tenant: '' })
  expect(streamed).toEqual(['two'])
  expect(artifacts.map((each) => [each.artifactId, textIn(each.parts)])).toEqual([['log', 'two']])
  expect((await send(requestOf({ text: 'Three.', contextId: 'c' }))).artifacts).toEqual([])
})

test('a message that is sent again is one message, with and without a contextId', async () => {
  const { send, model } = await serve(['One.', 'Two.'])
  const request = requestOf({ text: 'Hi', messageId: 'm-1' })
  const [first, second] = [await send(request), await send(request)]
  expect(second).toEqual(first)
  await expect(send(requestOf({ text: 'Other words', messageId: 'm-1' }))).rejects.toThrow(/used before|key/)
  expect(model.calls).toHaveLength(1)
})

test('a message that is streamed again, at once or later, streams the same task to its end', async () => {
  const { client, model } = await serve([{ deltas: ['One ', 'two.'] }])
  const request = requestOf({ text: 'Hi', messageId: 'm-1' })
  const read = async () => {
    const seen: unknown[] = []
    let text = ''
    for await (const { payload } of client.sendMessageStream(request)) {
      if (payload?.$case === 'task')
        text = textIn(payload.value.artifacts.find(({ artifactId }) => artifactId === '~reply')?.parts)
      if (payload?.$case === 'artifactUpdate')
        text = (payload.value.append ? text : '') + textIn(payload.value.artifact?.parts)
      if (payload?.$case !== 'artifactUpdate') seen.push(payload?.value)
    }
    return { seen, text }
  }
  const [first, second] = await Promise.all([read(), read()])
  for (const { seen, text } of [first, second, await read()]) {
    expect(text).toBe('One two.')
    expect(seen.at(-1)).toMatchObject({ status: { state: TaskState.TASK_STATE_COMPLETED } })
    expect(seen[0]).toMatchObject({ history: [{ messageId: 'm-1' }] })
  }
  expect(model.calls).toHaveLength(1)
})

test('several questions are answered by id, a wrong answer is refused, and an answer that is sent again is one', async () => {
  const order = defineTool({
    name: 'order',
    description: 'Orders.',
    input: z.object({}),
    run: (_, { answers }) =>
      answers['sure'] === undefined
        ? ask([
            { kind: 'choice', prompt: 'Which?', name: 'which', options: ['red', 'blue'] },
            { kind: 'confirmation', prompt: 'Sure?', name: 'sure' },
          ])
        : answers,
  })
  const { send, client, model } = await serve([calls('order'), 'Ordered.'], { tools: [order] })
  const asked = await send(requestOf({ text: 'Order.' }))
  expect(asked.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED)
  expect(textIn(asked.status?.message?.parts)).toBe('Which?\n\nSure?')
  const [, data] = asked.status?.message?.parts ?? []
  const { requests } = (data?.content?.value ?? {}) as { requests: { requestId: string; kind: string }[] }
  expect(requests.map(({ kind }) => kind)).toEqual(['choice', 'confirmation'])
  const taskId = asked.id
  await expect(send(requestOf({ text: 'yes', taskId }))).rejects.toThrow(/2 answers/)
  const [which = '', sure = ''] = requests.map(({ requestId }) => requestId)
  const answer = (value: object, messageId: string) =>
    partsRequest([{ data: { answers: value } }], { taskId, messageId })
  await expect(send(answer({ [which]: 'green', [sure]: true }, 'a-1'))).rejects.toThrow(/not offered/)
  const answers = answer({ [which]: 'red', [sure]: true }, 'a-2')
  const done = await send(answers)
  expect([done.id, done.status?.state]).toEqual([taskId, TaskState.TASK_STATE_COMPLETED])
  expect((await send(answers)).status).toEqual(done.status)
  expect(model.calls).toHaveLength(2)
  await expect(send(requestOf({ text: 'More', taskId }))).rejects.toThrow(/has ended/)
  expect((await client.getTask({ id: taskId, tenant: '', historyLength: 1 })).history).toHaveLength(1)
})

test('a task that goes on elsewhere waits for its credentials, which come with the next message and are not stored', async () => {
  const held = Promise.withResolvers<void>()
  const used: unknown[] = []
  const spend = defineTool({
    name: 'spend',
    description: 'Uses a token.',
    input: z.object({}),
    run: async (_, { credentials }) => {
      used.push(credentials['token'])
      await held.promise
      return 'spent'
    },
  })
  const store = memoryStore()
  const first = await serve([calls('spend')], { tools: [spend] }, store)
  const token = 'tok-9f8e7d6c5b4a39281706'
  const secret = { metadata: { credentials: { token } } }
  const request = partsRequest([{ text: 'Spend' }], { contextId: 'c', ...secret })
  const { id } = await first.send({ ...request, configuration: NOW })
  await until('the tool runs', () => used.length === 1)
  const closed = first.close()
  held.resolve()
  await closed
  const second = await serve([calls('spend'), 'Done.'], { tools: [spend] }, store)
  second.host.start()
  const state = async () => (await second.client.getTask({ id, tenant: '' })).status?.state
  await expect.poll(state).toBe(TaskState.TASK_STATE_AUTH_REQUIRED)
  const here = partsRequest([{ text: 'Here' }], { taskId: id, messageId: 'here', ...secret })
  const done = await second.send(here)
  expect(done.status?.state).toBe(TaskState.TASK_STATE_COMPLETED)
  expect(await second.send(here)).toEqual(done)
  expect(used).toEqual([token, token])
  const entries = await store.read({ tenant: 'local', actor: 'local', contextId: 'helper:c' })
  expect(JSON.stringify(entries)).not.toContain(token)
})

test('a streamed task that another host goes on with is streamed to its end', async () => {
  const store = memoryStore()
  const first = await serve([{ stall: true, after: 'One' }], {}, store)
  const seen: unknown[] = []
  const request = requestOf({ text: 'Hi', contextId: 'c' })
  for await (const { payload } of first.client.sendMessageStream(request)) {
    if (payload?.$case === 'statusUpdate') seen.push(payload.value.status?.state)
    if (payload?.$case !== 'artifactUpdate') continue
    const { artifact, append } = payload.value
    seen.push([textIn(artifact?.parts), append])
    if (seen.length !== 2) continue
    // The text of the first host was sent; its turn is released, and its server still streams.
    await first.host.shutdown()
    const second = await serve(['Two.'], {}, store)
    second.host.start()
  }
  expect(seen).toEqual([
    TaskState.TASK_STATE_WORKING,
    ['One', false],
    ['Two.', false],
    TaskState.TASK_STATE_COMPLETED,
  ])
})

test('a message without its task dismisses the question: that task is canceled, and the message is a new one', async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    approve: () => true,
    run: () => 'paid',
  })
  const { send, client } = await serve([calls('pay'), 'Never mind.'], { tools: [pay] })
  const asked = await send(requestOf({ text: 'Pay', contextId: 'c' }))
  const next = await send(requestOf({ text: 'Something else', contextId: 'c' }))
  expect([next.id === asked.id, next.status?.state]).toEqual([false, TaskState.TASK_STATE_COMPLETED])
  expect((await client.getTask({ id: asked.id, tenant: '' })).status?.state).toBe(
    TaskState.TASK_STATE_CANCELED,
  )
})

test('a waiting task can be canceled, and a subscriber sees it', async () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays.',
    input: z.object({}),
    approve: () => true,
    run: () => 'paid',
  })
  const { send, client } = await serve([calls('pay')], { tools: [pay] })
  const { id } = await send(requestOf({ text: 'Pay' }))
  const updates = client.resubscribeTask({ id, tenant: '' })
  expect((await updates.next()).value?.payload?.$case).toBe('task')
  const canceled = await client.cancelTask({ id, tenant: '', metadata: undefined })
  expect(canceled.status?.state).toBe(TaskState.TASK_STATE_CANCELED)
  const states: unknown[] = []
  for await (const { payload } of updates)
    if (payload?.$case === 'statusUpdate') states.push(payload.value.status?.state)
  expect(states).toEqual([TaskState.TASK_STATE_CANCELED])
})

test('a stream that fails after its first update reaches onError with the reason', async () => {
  const failures: unknown[] = []
  const model = new ScriptedModel([{ calls: [{ tool: 'ask_user', args: { question: 'Which?' } }] }])
  const { host, url } = await open(
    { store: memoryStore(), agents: { helper: { model, tools: [askUser()] } } },
    { mounts: [await a2a()], onError: (error) => failures.push(error) },
  )
  const client = await officialClient('JSONRPC', `${url}/a2a/helper`)
  const task = await client.sendMessage(requestOf({ text: 'Go' }))
  const broken = new Error('the disk is broken')
  vi.spyOn(host, 'events').mockImplementation(() => {
    throw broken
  })
  const updates = client.resubscribeTask({ id: 'id' in task ? task.id : '', tenant: '' })
  expect((await updates.next()).value?.payload?.$case).toBe('task')
  await expect(updates.next()).rejects.toThrow('Its log has the reason')
  expect(failures).toEqual([broken])
})

test('a message to a running task steers it, one to its context waits as a task of its own', async () => {
  const held = Promise.withResolvers<void>()
  const wait = defineTool({
    name: 'wait',
    description: 'Waits.',
    input: z.object({}),
    run: async () => {
      await held.promise
      return 'waited'
    },
  })
  const { client, send, host, model } = await serve([calls('wait'), 'First.', 'Second.'], { tools: [wait] })
  const immediately = (request: ReturnType<typeof requestOf>) =>
    send({ ...request, configuration: { ...NOW, returnImmediately: true } })
  const first = await immediately(requestOf({ text: 'Go', contextId: 'c' }))
  expect(first.status?.state).not.toBe(TaskState.TASK_STATE_COMPLETED)
  const key = { tenant: 'local', actor: 'local', contextId: 'helper:c' }
  await until('the tool runs', async () =>
    (await host.store.read(key)).some(({ type }) => type === 'tool.start'),
  )
  await immediately(requestOf({ text: 'Be quick', taskId: first.id }))
  const second = await immediately(requestOf({ text: 'And then?', contextId: 'c' }))
  expect(second.status?.state).toBe(TaskState.TASK_STATE_SUBMITTED)
  await expect(client.cancelTask({ id: second.id, tenant: '', metadata: undefined })).rejects.toThrow(/waits/)
  const early = immediately(requestOf({ text: 'For the second', taskId: second.id }))
  await expect(early).rejects.toThrow(/has not begun/)
  held.resolve()
  await until('both have ended', async () => {
    const { tasks } = await client.listTasks({ ...LIST, status: TaskState.TASK_STATE_COMPLETED })
    return tasks.length === 2
  })
  expect(JSON.stringify(model.calls[1]?.prompt)).toContain('Be quick')
  expect(JSON.stringify(model.calls[1]?.prompt)).not.toContain('And then?')
  const done = await client.getTask({ id: first.id, tenant: '' })
  expect(done.history.map(({ parts }) => textIn(parts))).toEqual(['Go', 'Be quick'])
})

const NOW = {
  acceptedOutputModes: [],
  taskPushNotificationConfig: undefined,
  historyLength: undefined,
  returnImmediately: true,
}

const LIST = {
  tenant: '',
  contextId: '',
  status: TaskState.TASK_STATE_UNSPECIFIED,
  pageSize: undefined,
  pageToken: '',
  historyLength: undefined,
  statusTimestampAfter: undefined,
  includeArtifacts: undefined,
}

test('tasks are listed by context, state and time, in pages, over both transports', async () => {
  const { send, client, url } = await serve(Array.from({ length: 5 }, (_, at) => `Reply ${at}`))
  for (const contextId of ['a', 'b', 'a', 'c', 'a']) await send(requestOf({ text: 'Hi', contextId }))
  const rest = await officialClient('HTTP+JSON', `${url}/a2a/helper`)
  for (const each of [client, rest]) {
    const ids: string[] = []
    let pageToken = ''
    do {
      const page = await each.listTasks({ ...LIST, pageSize: 2, pageToken })
      expect(page.tasks.every(({ artifacts }) => artifacts.length === 0)).toBe(true)
      ids.push(...page.tasks.map(({ id }) => id))
      pageToken = page.nextPageToken
      expect(page.totalSize).toBe(pageToken === '' ? 5 : ids.length + 1)
    } while (pageToken !== '')
    expect(ids).toEqual(['a.13', 'a.7', 'a.1', 'c.1', 'b.1'])
    const { tasks } = await each.listTasks({ ...LIST, contextId: 'b', includeArtifacts: true })
    expect(tasks.map(({ id, artifacts }) => [id, textIn(artifacts[0]?.parts)])).toEqual([['b.1', 'Reply 1']])
    const working = await each.listTasks({ ...LIST, status: TaskState.TASK_STATE_WORKING })
    expect([working.tasks, working.totalSize]).toEqual([[], 0])
    const later = new Date(Date.now() + 60_000).toISOString()
    expect((await each.listTasks({ ...LIST, statusTimestampAfter: later })).tasks).toEqual([])
    await expect(each.listTasks({ ...LIST, pageToken: 'nonsense' })).rejects.toThrow(/pageToken/)
    await expect(each.listTasks({ ...LIST, pageSize: 1000 })).rejects.toThrow(/pageSize/)
  }
})

test('after a turn the conversation is free for other clients, and the task is not theirs', async () => {
  const { send, client, call } = await serve(['One.', 'Two.', 'Three.'])
  await send(requestOf({ text: 'Hi', contextId: 'c' }))
  const outcome = await call('/conversations/helper:c/messages?wait=true', { json: { message: 'Over HTTP' } })
  expect(await outcome.json()).toMatchObject({ status: 'completed', text: 'Two.' })
  expect((await send(requestOf({ text: 'Again', contextId: 'c' }))).status?.state).toBe(
    TaskState.TASK_STATE_COMPLETED,
  )
  const first = await client.getTask({ id: 'c.1', tenant: '' })
  expect(first.artifacts.map(({ parts }) => textIn(parts))).toEqual(['One.'])
})

test('a conversation below another has no tasks, also while it runs', async () => {
  const helper = agentTool({
    name: 'helper',
    description: 'Helps.',
    agent: { model: new ScriptedModel([{ stall: true, after: 'Hm' }]) },
  })
  const store = memoryStore()
  const { client, send, host, call } = await serve(
    [calls('helper', { task: 'Internal', message: 'Internal' })],
    { tools: [helper] },
    store,
  )
  const { id } = await send({ ...requestOf({ text: 'Go', contextId: 'c' }), configuration: NOW })
  const below = async () =>
    (await store.scan({ limit: 100 })).map(({ key }) => key.contextId).filter((each) => each.includes('/'))
  await until('the sub-agent runs', async () => (await below()).length > 0)
  const contextId = ((await below())[0] ?? '').slice('helper:'.length)
  const headers = { 'a2a-version': '1.0' }
  for (const at of [1, 2, 3])
    expect(
      (await call(`/a2a/helper/tasks/${encodeURIComponent(`${contextId}.${at}`)}`, { headers })).status,
    ).toBe(404)
  const { tasks } = await client.listTasks({ ...LIST, contextId })
  expect(tasks).toEqual([])
  await expect(send(requestOf({ text: 'Mine', contextId }))).rejects.toThrow(/no such conversation/)
  await host.cancel({ tenant: 'local', actor: 'local', contextId: 'helper:c' })
  expect(id).toBe('c.1')
})
