/** The person's words count for the whole conversation, not only for their turn. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity } from '../../src/grounding/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ask, defineTool } from '../../src/tool/index.ts'
import { bench, calls, KEY, STORES } from '../turn/kit.ts'

const HOUR = 3_600_000
const user = entity('user', { pattern: /[a-z]+_\d+/ })
const order = entity('order', { ttl: '7h', pattern: /#?W\d{4,7}|\d{1,3}/ })
const city = entity('city', { pattern: /[a-z]{4,12}/ })

function shop() {
  const ran: string[] = []
  const tool = (name: string, mark: typeof order) =>
    defineTool({
      name,
      description: `Shows one ${mark.name}.`,
      input: z.object({ id: z.string().meta(mark.id()) }),
      replay: 'safe',
      run: ({ id }) => void ran.push(id),
    })
  const question = defineTool({
    name: 'question',
    description: 'Asks for the number of an order.',
    input: z.object({}),
    run: (_, { answers }) =>
      answers['number'] === undefined ? ask({ kind: 'text', name: 'number', prompt: 'Which?' }) : 'Thanks.',
  })
  const tools = [tool('user', user), tool('order', order), tool('city', city), question]
  return { ran, tools, entities: [user, order, city] }
}

const show = (tool: string, id: string) => calls([tool, { id }])

async function groundsIn(store: Store): Promise<unknown[]> {
  const entries = await store.read(KEY)
  return entries.flatMap(({ type, data }: Entry) => {
    const { grounds = [] } = data as { grounds?: readonly { source: string; seq?: number }[] }
    return type === 'tool.start'
      ? grounds.map(({ source, seq }) => [source, entries.find((entry) => entry.seq === seq)?.type])
      : []
  })
}

describe.each(STORES)('an id that the person wrote, on %s', (_name, open) => {
  it('counts in the turns after, and the journal says where it was written', async () => {
    const { ran, ...config } = shop()
    const store = open()
    const script = ['What can I do for you?', show('user', 'ann_42'), 'Here.', show('user', 'ann_43'), 'No.']
    const { agent } = bench({ store, script, ...config })
    await agent.input('Hello, my id is ann_42.')
    await agent.input('Show me my account')
    await agent.input('And the next one')
    expect(ran).toEqual(['ann_42'])
    expect(await groundsIn(store)).toEqual([['said', 'input']])
  })

  it('counts when no window has it any more, and after a compaction', async () => {
    const { ran, ...config } = shop()
    const chat = Array.from({ length: 8 }, () => 'Yes.')
    const script = ['Hello.', ...chat, show('user', 'ann_42'), 'Here.', show('order', '#W1234'), 'Here.']
    const { agent } = bench({ store: open(), script, maxMessages: 4, ...config })
    await agent.input('My id is ann_42, the order is W1234')
    for (const _ of chat) await agent.input('Well?')
    await agent.input('My account')
    await agent.compact({ strategy: 'sliding', keep: 2 })
    await agent.input('My order')
    expect(ran).toEqual(['ann_42', '#W1234'])
  })

  it('counts for the time to live of its entity', async () => {
    const { ran, ...config } = shop()
    const script = ['Hello.', show('order', 'W1234'), 'Here.', show('order', 'W1234'), 'No.']
    const { agent, clock } = bench({ store: open(), script, ...config })
    await agent.input('It is W1234')
    clock.advance(7 * HOUR - 1)
    await agent.input('Show it')
    expect(ran).toEqual(['W1234'])
    clock.advance(HOUR)
    await agent.input('Show it')
    expect(ran).toEqual(['W1234'])
  })

  it('counts no more after the conversation was cleared', async () => {
    const { ran, ...config } = shop()
    const { agent } = bench({ store: open(), script: ['Hello.', show('user', 'ann_42'), 'No.'], ...config })
    await agent.input('I am ann_42')
    await agent.clear()
    await agent.input('Show me')
    expect(ran).toEqual([])
  })

  it('counts in a fork, but only if it was written before', async () => {
    const { ran, ...config } = shop()
    const script = ['Hello.', 'Hm.', show('user', 'ann_42'), 'Here.', show('user', 'bob_7'), 'No.']
    const { agent } = bench({ store: open(), script, maxMessages: 2, ...config })
    await agent.input('I am ann_42')
    const fork = await agent.fork('branch')
    await agent.input('and bob_7')
    await fork.input('Show me')
    await fork.input('And him')
    expect(ran).toEqual(['ann_42'])
  })

  it('counts as an answer to a question, and as an imported message', async () => {
    const { ran, ...config } = shop()
    const script = [calls('question'), show('order', 'W5678'), 'Here.', show('user', 'eve_9'), 'Here.']
    const { agent } = bench({ store: open(), script, ...config })
    await agent.importMessages([
      { role: 'user', content: 'I am eve_9' },
      { role: 'assistant', content: 'Hi' },
    ])
    const { requests } = await agent.executeTurn('Show my order').outcome
    await agent.answer({ [requests[0]?.requestId ?? '']: 'W5678' }).outcome
    await agent.input('And me')
    expect(ran).toEqual(['W5678', 'eve_9'])
  })

  it('that looks like a word counts while the window has it', async () => {
    const { ran, ...config } = shop()
    const { agent } = bench({ store: open(), script: ['Hello.', show('city', 'oslo'), 'Here.'], ...config })
    await agent.input('I live in oslo')
    await agent.input('Show it')
    expect(ran).toEqual(['oslo'])
  })

  it('does not count if it was an amount, another kind, a part of a word or of somebody else’s words', async () => {
    const { ran, ...config } = shop()
    const tries = ['120', '12', '7', 'W1234', 'W9999']
    const script = ['The order W9999 is gone.', ...tries.flatMap((id) => [show('order', id), 'No.'])]
    const { agent } = bench({ store: open(), script, ...config })
    await agent.input('It cost 120 €, I want 12 of them, user 7 knows, see xW1234 and W1234-b')
    for (const _ of tries) await agent.input('Go on')
    expect(ran).toEqual([])
  })

  it('counts as the end of an address, and not inside of one or of a path', async () => {
    const { ran, ...config } = shop()
    const tries = ['W1111', 'W2222', 'W3333', 'W4444', 'W5555']
    const script = tries.flatMap((id) => [show('order', id), 'Well.'])
    const { agent } = bench({ store: open(), script, ...config })
    await agent.input(
      'https://shop.test/orders/W1111, https://shop.test/W2222/edit, logs/W3333 and W4444/W5555',
    )
    for (const _ of tries.slice(1)) await agent.input('Go on')
    expect(ran).toEqual(['W1111', 'W4444', 'W5555'])
  })

  it('counts as a small number after its noun or a sign', async () => {
    const { ran, ...config } = shop()
    const script = ['Hello.', show('order', '12'), 'Here.', show('order', '13'), 'Here.']
    const { agent } = bench({ store: open(), script, ...config })
    await agent.input('I mean order 12, or #13')
    await agent.input('Show the one')
    await agent.input('Show the other')
    expect(ran).toEqual(['12', '13'])
  })
})

it('what was written before something else was chosen does not count against that; what was written since does', async () => {
  const { ran, ...config } = shop()
  const script = ['Hello.', show('order', 'W1111'), 'No.', 'Which?', show('order', 'W2222'), 'Here.']
  const { agent, clock } = bench({ script, ...config })
  await agent.input('About W1111')
  clock.advance(10)
  await agent.select(order.select('W3333'))
  clock.advance(10)
  await agent.input('Show it')
  await agent.input('and W2222?')
  await agent.input('Yes')
  expect(ran).toEqual(['W2222'])
})
