import { HttpAgent } from '@ag-ui/client'
import { DefaultChatTransport, readUIMessageStream, type UIMessage } from 'ai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { createClient } from '../../src/client/index.ts'
import { END, graph, START, value } from '../../src/graph/index.ts'
import type { HostedFlow } from '../../src/host/index.ts'
import { memoryStore, type Store } from '../../src/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { agUi } from '../../src/serve/ag-ui/index.ts'
import { openai } from '../../src/serve/openai/index.ts'
import { uiMessageStream } from '../../src/serve/ui/index.ts'
import { open } from './http/kit.ts'

const built = graph({ state: { question: value<string>(''), answer: value<string>('') } })
  .addNode('write', ({ question }) => ({ answer: `You asked: ${question}` }))
  .addEdge(START, 'write')
  .addEdge('write', END)

const flow: HostedFlow = {
  build: (store) => built.compile({ store }),
  values: (question) => ({ question }),
  reply: ({ answer }) => answer as string,
}

test('the reply of a flow is the reply in every protocol', async () => {
  const { url } = await open(
    { store: memoryStore(), flows: { ask: flow } },
    { mounts: [openai(), uiMessageStream(), agUi()] },
  )
  const client = new OpenAI({ baseURL: `${url}/v1`, apiKey: 'any' })
  const messages = [{ role: 'user' as const, content: 'chat?' }]
  const completion = await client.chat.completions.create({ model: 'ask', messages })
  expect(completion.choices[0]?.message.content).toBe('You asked: chat?')
  let streamed = ''
  for await (const { choices } of await client.chat.completions.create({
    model: 'ask',
    messages,
    stream: true,
    user: 'other',
  }))
    streamed += choices[0]?.delta.content ?? ''
  expect(streamed).toBe('You asked: chat?')
  expect((await client.responses.create({ model: 'ask', input: 'response?' })).output_text).toBe(
    'You asked: response?',
  )

  const stream = await new DefaultChatTransport<UIMessage>({ api: `${url}/ui/chat` }).sendMessages({
    chatId: 'ask:ui',
    trigger: 'submit-message',
    messageId: undefined,
    abortSignal: undefined,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'ui?' }] }],
  })
  let last: UIMessage | undefined
  for await (const message of readUIMessageStream({ stream })) last = message
  expect(last?.parts).toEqual([{ type: 'text', text: 'You asked: ui?', state: 'done' }])

  const agent = new HttpAgent({ url: `${url}/ag-ui/ask`, threadId: 't1' })
  agent.messages = [{ id: 'x', role: 'user', content: 'ag?' }]
  const { newMessages } = await agent.runAgent({ runId: 'r1' })
  expect(newMessages).toMatchObject([{ role: 'assistant', content: 'You asked: ag?' }])
})

test('the replies of a flow are messages of their own, also for a client that comes without messages', async () => {
  const { url } = await open({ store: memoryStore(), flows: { ask: flow } }, { mounts: [agUi()] })
  const talk = async (agent: HttpAgent, ...texts: string[]) => {
    for (const content of texts) {
      agent.addMessage({ id: content, role: 'user', content })
      await agent.runAgent()
    }
    return agent.messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`)
  }
  const said = ['user: "one"', 'assistant: "You asked: one"', 'user: "two"', 'assistant: "You asked: two"']
  const agent = (): HttpAgent => new HttpAgent({ url: `${url}/ag-ui/ask`, threadId: 't1' })
  expect(await talk(agent(), 'one', 'two')).toEqual(said)
  expect(await talk(agent(), 'three')).toEqual([...said, 'user: "three"', 'assistant: "You asked: three"'])
})

test('a turn of a flow that fails or asks does not have the reply of an earlier turn', async () => {
  const careful = graph({ state: { question: value<string>(''), answer: value<string>('') } })
    .addNode('write', async ({ question }, { interrupt }) => {
      if (question === 'fail') throw new Error('There is no ink.')
      const ink = question === 'ask' ? await interrupt({ kind: 'text', prompt: 'Which ink?' }) : 'blue'
      return { answer: `Written in ${ink}.` }
    })
    .addEdge(START, 'write')
    .addEdge('write', END)
  const flows = { ask: { ...flow, build: (store: Store) => careful.compile({ store }) } }
  const mounts = [openai(), uiMessageStream(), agUi(), await a2a()]
  const { host, call } = await open({ store: memoryStore(), flows }, { mounts })
  const texts: string[] = []
  for (const text of ['write', 'fail', 'ask']) {
    const { outcome } = await host.send({ tenant: 'local', actor: 'local', contextId: 'ask:c' }, text)
    texts.push((await outcome).text ?? '')
    const body = { model: 'ask', user: 'o', stream: true, messages: [{ role: 'user', content: text }] }
    const person = { id: text, role: 'user', content: text, parts: [{ type: 'text', text }] }
    const message = { messageId: text, role: 'ROLE_USER', contextId: 'a', parts: [{ text }] }
    const run = { threadId: 'g', runId: text, messages: [person] }
    for (const [path, json] of [
      ['/v1/chat/completions', body],
      ['/ui/chat', { id: 'ask:u', messages: [person] }],
      ['/ag-ui', { ...run, messages: [{ id: 'h', role: 'assistant', content: '' }, person] }],
      ['/a2a/ask/message:stream', { message }],
    ] as const)
      texts.push(await (await call(path, { json, headers: { 'a2a-version': '1.0' } })).text())
  }
  const isReplied = texts.map((text) => text.includes('Written in'))
  expect(isReplied).toEqual([...Array(5).fill(true), ...Array(10).fill(false)])
})

test('a name is listed once: agents and flows take messages, graphs take values', async () => {
  const store = memoryStore()
  const graphs = { fill: built.compile({ store }) }
  const agents = { helper: { model: 'reflex' } }
  const { call, url } = await open({ store, agents, graphs, flows: { ask: flow } })
  expect(await (await call('/agents')).json()).toEqual({ agents: ['helper', 'ask'], graphs: ['fill'] })
  const client = createClient({ url })
  expect([await client.agents(), await client.graphs()]).toEqual([['helper', 'ask'], ['fill']])
})

test('a file for a flow is refused, and nothing is stored', async () => {
  const { url } = await open({ store: memoryStore(), flows: { ask: flow } })
  const client = createClient({ url })
  const file = { type: 'file', mediaType: 'text/plain', data: 'aGk=' } as const
  const sent = client.conversation('ask:1').ask({ message: [{ type: 'text', text: 'Read it.' }, file] })
  await expect(sent).rejects.toMatchObject({ status: 400, code: 'wrong-kind' })
  expect((await client.list()).conversations).toEqual([])
})

test('the stream of a conversation has the reply of a flow before the end of each turn', async () => {
  const { url } = await open({ store: memoryStore(), flows: { ask: flow } })
  const conversation = await createClient({ url }).create('ask')
  for (const question of ['one?', 'two?']) await conversation.ask(question)
  const seen: string[] = []
  for await (const event of conversation.events()) {
    if (event.type === 'text') seen.push(`${event.turn} ${event.text}`)
    if (event.type === 'entry' && event.entry.type === 'turn.end') seen.push('end')
    if (seen.filter((each) => each === 'end').length === 2) break
  }
  expect(seen).toEqual(['1 You asked: one?', 'end', '2 You asked: two?', 'end'])
})

test('a conversation of a flow is found by the words of its person', async () => {
  const { url } = await open({ store: memoryStore(), flows: { ask: flow } })
  const client = createClient({ url })
  await client.conversation('ask:1').ask('Where is the "green" boat?')
  await client.conversation('ask:2').ask('And the other?')
  const found = async (q: string) =>
    (await client.list({ q })).conversations.map(({ contextId }) => contextId)
  expect(await found('"GREEN" boat')).toEqual(['ask:1'])
  expect(await found('answer')).toEqual([])
})
