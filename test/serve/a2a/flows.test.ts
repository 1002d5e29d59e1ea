/** Flows over A2A: a message is text, and the reply is an artifact with the text that other protocols give. */
import type { Task } from '@a2a-js/sdk'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { researchFlow } from '../../../src/flow/research/index.ts'
import { END, graph, START, value } from '../../../src/graph/index.ts'
import type { HostedFlow } from '../../../src/host/index.ts'
import { memoryStore, type Store } from '../../../src/index.ts'
import { a2a } from '../../../src/serve/a2a/index.ts'
import { openai } from '../../../src/serve/openai/index.ts'
import { memoryCorpus } from '../../flow/research/kit.ts'
import { open } from '../http/kit.ts'
import { CLIENTS, connect, officialClient, partsRequest, requestOf, textIn } from './clients.ts'

const built = graph({ state: { question: value<string>(''), answer: value<string>('') } })
  .addNode('write', async ({ question }, { interrupt }) => {
    const name = question === 'who?' ? await interrupt({ kind: 'text', prompt: 'Who are you?' }) : 'you'
    return { answer: `${name} asked: ${question}` }
  })
  .addEdge(START, 'write')
  .addEdge('write', END)

const flow: HostedFlow = {
  build: (store) => built.compile({ store }),
  values: (question) => ({ question, answer: '' }),
  reply: ({ answer }) => answer as string,
}

async function serve(store = memoryStore()) {
  const opened = await open({ store, flows: { ask: flow } }, { mounts: [await a2a()] })
  const at = `${opened.url}/a2a/ask`
  return { ...opened, at, client: await officialClient('JSONRPC', at) }
}

const said = ({ history }: Task): string[] => history.map(({ parts }) => textIn(parts))

test('the reply of a flow is the artifact of its task, and the history has the words of the person', async () => {
  const store = memoryStore()
  const { client, close } = await serve(store)
  for (const text of ['one?', 'two?'])
    expect(await client.sendMessage(requestOf({ text, contextId: 'c' }))).toMatchObject({
      artifacts: [{ artifactId: '~reply', parts: [{ content: { value: `you asked: ${text}` } }] }],
      history: [{ parts: [{ content: { $case: 'text', value: text } }] }],
    })
  const file = partsRequest([{ text: 'Read' }, { raw: 'aGk=', mediaType: 'text/plain' }])
  await expect(client.sendMessage(file)).rejects.toThrow(/no files/)
  await close()
  const later = (await serve(store)).client
  const { tasks } = await later.listTasks({ ...LIST, includeArtifacts: true })
  expect(tasks.map((task) => [textIn(task.artifacts[0]?.parts), ...said(task)])).toEqual([
    ['you asked: two?', 'two?'],
    ['you asked: one?', 'one?'],
  ])
})

test.each(CLIENTS)('the reply is streamed before the state that ends the task: %s', async (name) => {
  const { at } = await serve()
  const client = await connect(name, at)
  const seen: unknown[] = []
  for await (const { kind, state, text, last } of client.stream({ text: 'who?', contextId: 'c' }))
    seen.push(kind === 'artifact' ? [text, last] : state)
  expect(seen).toEqual(['submitted', 'working', 'input-required'])
  seen.length = 0
  for await (const { kind, state, text, last } of client.stream({ text: 'Ann', taskId: 'c.1' }))
    seen.push(kind === 'artifact' ? [text, last] : state)
  expect(seen).toEqual(['input-required', 'working', ['Ann asked: who?', true], 'completed'])
  expect(await client.get('c.1')).toMatchObject({ state: 'completed', text: 'Ann asked: who?' })
})

test('a task is streamed while it runs; a message to it is refused, and one to its context is a task of its own', async () => {
  const gate = Promise.withResolvers<void>()
  const slow = graph({ state: { question: value<string>(''), answer: value<string>('') } })
    .addNode('wait', () => gate.promise.then(() => ({})))
    .addEdge(START, 'wait')
    .addEdge('wait', END)
  const flows = { ask: { ...flow, build: (store: Store) => slow.compile({ store }) } }
  const { url } = await open({ store: memoryStore(), flows }, { mounts: [await a2a()] })
  const client = await officialClient('JSONRPC', `${url}/a2a/ask`)
  const updates = client.sendMessageStream(requestOf({ text: 'one', contextId: 'c' }))
  for await (const { payload } of updates) if (payload?.$case === 'statusUpdate') break
  const steering = client.sendMessage(requestOf({ text: 'two', taskId: 'c.1' }))
  await expect(steering).rejects.toThrow(/takes no message meanwhile/)
  const next = client.sendMessage(requestOf({ text: 'three', contextId: 'c' }))
  gate.resolve()
  expect(said((await next) as Task)).toEqual(['three'])
  const query = { contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }
  expect((await client.listTasks({ tenant: '', ...query })).tasks.map(said)).toEqual([['three'], ['one']])
})

test('the values of a graph that is no flow stay data', async () => {
  const store = memoryStore()
  const graphs = { ask: built.compile({ store }) }
  const { url } = await open({ store, graphs }, { mounts: [await a2a()] })
  const client = await officialClient('HTTP+JSON', `${url}/a2a/ask`)
  const task = (await client.sendMessage(partsRequest([{ data: { question: 'one?' } }]))) as Task
  expect(task.history[0]?.parts[0]?.content).toEqual({ $case: 'data', value: { question: 'one?' } })
  expect(task.artifacts).toEqual([])
})

test('research answers with the text that the OpenAI API gives, also for a question that came by it', async () => {
  const flows = { research: researchFlow({ corpus: memoryCorpus() }) }
  const { url } = await open({ store: memoryStore(), flows }, { mounts: [await a2a(), openai()] })
  const question = 'When does the gate of the dock of Granville open?'
  const completion = await new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any' }).chat.completions.create({
    model: 'research',
    messages: [{ role: 'user', content: question }],
  })
  const client = await officialClient('JSONRPC', `${url}/a2a/research`)
  await client.sendMessage(requestOf({ text: question }))
  const { tasks } = await client.listTasks({ ...LIST, includeArtifacts: true })
  expect(completion.choices[0]?.message.content).toContain('2 hours before high tide')
  expect(tasks.map((task) => [textIn(task.artifacts[0]?.parts), ...said(task)])).toEqual([
    [completion.choices[0]?.message.content, question],
    [completion.choices[0]?.message.content, question],
  ])
})

const LIST = { tenant: '', contextId: '', status: 0, pageToken: '', statusTimestampAfter: undefined }
