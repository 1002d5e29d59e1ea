/** People in the loop over HTTP: some answers, in any order, late, nested, by the right person, and notices of all of it. */
import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { agentNode, agentTool } from '../../../src/agent/index.ts'
import { createClient } from '../../../src/client/index.ts'
import { END, graph, START, value } from '../../../src/graph/index.ts'
import type { HostConfig, RequestNotice } from '../../../src/host/index.ts'
import { ask, defineTool, memoryStore } from '../../../src/index.ts'
import type { RequestData } from '../../../src/protocol/index.ts'
import { apiKeyAuth } from '../../../src/serve/http/index.ts'
import { ManualClock, ScriptedModel } from '../../../src/testing/index.ts'
import { twoReviews } from '../../graph/two-reviews.ts'
import { open } from './kit.ts'

const paid: number[] = []
const pay = defineTool({
  name: 'pay',
  description: 'Pays.',
  input: z.object({ euros: z.number() }),
  approve: 'always',
  run: ({ euros }) => {
    paid.push(euros)
    return `paid ${euros}`
  },
})
const book = defineTool({
  name: 'book',
  description: 'Books.',
  input: z.object({}),
  run: (_, { answers }) =>
    answers['when'] === undefined
      ? ask([
          { kind: 'choice', name: 'when', prompt: 'When?', options: ['18:00', '20:00'] },
          { kind: 'text', name: 'who', prompt: 'For whom?' },
        ])
      : `booked ${JSON.stringify(answers)}`,
})

const payment = (euros: number) => ({ calls: [{ tool: 'pay', args: { euros } }] })

async function serve(
  config: Omit<HostConfig, 'store'> & { readonly store?: HostConfig['store'] },
  id: string,
) {
  paid.length = 0
  /** The prompts of each notice. */
  const notices: string[][] = []
  const onRequest = ({ requests }: RequestNotice) => notices.push(prompts(requests))
  const opened = await open({ store: memoryStore(), ...config, onRequest })
  const client = createClient({ url: opened.url })
  const list = async () => (await client.requests()).flatMap(({ requests }) => prompts(requests))
  return { ...opened, client, conversation: client.conversation(id), notices, open: list }
}

function prompts(requests: readonly RequestData[]): string[] {
  return requests.map(({ prompt, about }) =>
    prompt.includes('pay') ? `pay ${JSON.stringify((about as { args?: unknown }).args)}` : prompt,
  )
}

function idOf(requests: readonly RequestData[], text: string): string {
  const found = requests.find((request) => prompts([request])[0]?.includes(text))
  if (found === undefined) throw new Error(`No request has ${text}: ${JSON.stringify(requests)}`)
  return found.requestId
}

describe('requests of an agent', () => {
  test('are answered one by one in any order, listed and noticed until the last, and no answer counts twice', async () => {
    const model = new ScriptedModel([
      { calls: [...payment(5).calls, { tool: 'book' }, ...payment(7).calls] },
      'All done.',
    ])
    const {
      conversation,
      notices,
      open: list,
    } = await serve({ agents: { a: { model, tools: [pay, book] } } }, 'a:1')
    const { requests } = await conversation.ask('Pay and book')
    const [five, seven] = ['pay {"euros":5}', 'pay {"euros":7}']
    expect(prompts(requests)).toEqual([five, seven, 'When?', 'For whom?'])

    const first = await conversation.answer({ [idOf(requests, '7')]: true })
    expect([first.status, prompts(first.requests)]).toEqual(['input-required', [five, 'When?', 'For whom?']])
    expect(await list()).toEqual([five, 'When?', 'For whom?'])
    expect(paid).toEqual([7])
    await expect(conversation.answer({ [idOf(requests, '7')]: true })).rejects.toMatchObject({ status: 400 })

    await conversation.answer({ [idOf(requests, 'whom')]: 'Ann' })
    await expect(
      conversation.answer({ [idOf(requests, 'When')]: '3:00', [idOf(requests, '5')]: true }),
    ).rejects.toMatchObject({ code: 'invalid-answer', status: 400 })
    expect(await list()).toEqual([five, 'When?'])
    const last = await conversation.answer({
      [idOf(requests, 'When')]: '20:00',
      [idOf(requests, '5')]: false,
    })
    expect([last.status, last.text]).toEqual(['completed', 'All done.'])
    expect([paid, await list()]).toEqual([[7], []])
    expect(notices).toEqual([
      [five, seven, 'When?', 'For whom?'],
      [five, 'When?', 'For whom?'],
      [five, 'When?'],
    ])
  })

  test('expire: a late answer is refused, nothing is done, and a started host ends the turn', async () => {
    const clock = new ManualClock(1_000_000)
    const model = new ScriptedModel([payment(5), 'Nobody agreed.'])
    const config = {
      store: memoryStore({ clock }),
      clock,
      agents: { a: { model, tools: [pay], requestTtlMs: 1000 } },
    }
    const { conversation, host, open: list } = await serve(config, 'a:1')
    const { requests } = await conversation.ask('Pay 5')
    clock.advance(2000)
    await expect(conversation.answer({ [idOf(requests, '5')]: true })).rejects.toMatchObject({ status: 400 })
    expect(await list()).toEqual([])
    host.start()
    await expect.poll(async () => (await conversation.get()).status).toBe('idle')
    expect((await conversation.messages()).at(-1)?.content).toEqual([
      { type: 'text', text: 'Nobody agreed.' },
    ])
    expect(paid).toEqual([])
  })

  test('of a sub-agent are those of its caller, and its own conversation cannot be named', async () => {
    const helper = agentTool({
      name: 'helper',
      description: 'Helps.',
      agent: { model: new ScriptedModel([payment(5), 'Paid it.']), tools: [pay] },
    })
    const model = new ScriptedModel([
      { calls: [{ tool: 'helper', args: { message: 'Pay' } }] },
      'The helper paid.',
    ])
    const {
      conversation,
      client,
      host,
      notices,
      open: list,
    } = await serve({ agents: { a: { model, tools: [helper] } } }, 'a:1')
    const { requests } = await conversation.ask('Let it pay')
    expect(await list()).toEqual(['pay {"euros":5}'])
    const { heads } = await host.store.list({ owner: { tenant: 'local', actor: 'local' }, parent: 'a:1' })
    const below = heads[0]?.key.contextId ?? ''
    expect(below).toContain('a:1/')
    await expect(client.conversation(below).answer({ [idOf(requests, '5')]: true })).rejects.toMatchObject({
      status: 404,
    })
    expect((await conversation.answer({ [idOf(requests, '5')]: true })).text).toBe('The helper paid.')
    expect([paid, notices.length]).toEqual([[5], 1])
  })
})

describe('requests of a graph', () => {
  test('inside of graphs are answered in any order, and expire one by one', async () => {
    const clock = new ManualClock(1_000_000)
    const store = memoryStore({ clock })
    const {
      conversation,
      notices,
      open: list,
    } = await serve({ store, clock, graphs: { reviews: twoReviews(store, { clock }) } }, 'reviews:1')
    const { requests } = await conversation.ask({ values: { text: 'Hi' } })
    const [ann, bob] = ['Ann: is "Hi" good?', 'Bob: is "Hi" good?']
    expect([prompts(requests), await list()]).toEqual([
      [ann, bob],
      [ann, bob],
    ])
    clock.advance(2000)
    await expect(conversation.answer({ [idOf(requests, 'Bob')]: 'no' })).rejects.toMatchObject({
      status: 400,
    })
    const last = await conversation.answer({ [idOf(requests, 'Ann')]: 'yes' })
    expect(last).toMatchObject({
      status: 'completed',
      state: { published: 'Ann says yes, Bob says nothing' },
    })
    expect(notices).toEqual([[ann, bob]])
  })

  test('of an agent in a node are answered at the graph', async () => {
    const store = memoryStore()
    const payer = agentNode({ model: new ScriptedModel([payment(5), 'Paid it.']), tools: [pay] })
    const flow = graph({ state: { order: value<string>(''), done: value<string>() } })
      .addNode('pay', payer, { input: ({ order }) => order, output: (done) => ({ done }) })
      .addEdge(START, 'pay')
      .addEdge('pay', END)
      .compile({ store })
    const { conversation, notices } = await serve({ store, graphs: { flow } }, 'flow:1')
    const { requests } = await conversation.ask({ values: { order: 'Pay' } })
    expect(await conversation.answer({ [idOf(requests, '5')]: true })).toMatchObject({
      status: 'completed',
      state: { done: 'Paid it.' },
    })
    expect([paid, notices]).toEqual([[5], [['pay {"euros":5}']]])
  })
})

describe('somebody is needed', () => {
  test('only the owner sees a request and may answer it, whoever knows its id', async () => {
    const keys = ['ann', 'bob'].map((actor) => ({
      sha256: createHash('sha256').update(actor).digest('hex'),
      tenant: 'acme',
      actor,
    }))
    const agents = { a: { model: new ScriptedModel([payment(5), 'Done.']), tools: [pay] } }
    paid.length = 0
    const { url } = await open({ store: memoryStore(), agents }, { authenticate: apiKeyAuth(keys) })
    const [ann, bob] = ['ann', 'bob'].map((token) => createClient({ url, token }))
    const { requests } = (await ann?.conversation('a:1').ask('Pay 5')) ?? { requests: [] }
    const answers = { [idOf(requests, '5')]: true }
    await expect(bob?.conversation('a:1').answer(answers)).rejects.toMatchObject({ status: 404 })
    expect([await bob?.requests(), paid]).toEqual([[], []])
    expect((await ann?.conversation('a:1').answer(answers))?.text).toBe('Done.')
    expect(paid).toEqual([5])
  })

  test('is noticed when a server goes on with what another left, of an agent and of a graph', async () => {
    const store = memoryStore()
    const flow = () =>
      graph({ state: { word: value<string>() } })
        .addNode('ask', async (_, { interrupt }) => ({
          word: await interrupt({ kind: 'text', prompt: 'Which word?' }),
        }))
        .addEdge(START, 'ask')
        .addEdge('ask', END)
        .compile({ store })
    const principal = { tenant: 'local', actor: 'local' }
    for (const [contextId, data] of [
      ['a:1', { message: 'Pay 5', principal }],
      ['flow:1', { values: {}, principal }],
    ] as const)
      await store.append({
        key: { ...principal, contextId },
        id: `post ${contextId}`,
        since: 0,
        inbox: [{ type: 'input', key: 'k', data }],
      })
    const {
      host,
      notices,
      open: list,
    } = await serve(
      {
        store,
        agents: { a: () => ({ model: new ScriptedModel([payment(5)]), tools: [pay] }) },
        graphs: { flow: flow() },
      },
      'a:1',
    )
    host.start()
    await expect.poll(list).toHaveLength(2)
    await expect.poll(() => notices.length).toBe(2)
    expect(notices.flat().toSorted()).toEqual(['Which word?', 'pay {"euros":5}'])
  })
})
