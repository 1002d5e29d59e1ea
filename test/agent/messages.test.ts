/** Reading a conversation's history: the newest messages by number, and the session view. */
import { describe, expect, it } from 'vitest'
import { viewsOf } from '../../src/agent/index.ts'
import { windowOf } from '../../src/agent/message-window.ts'
import type { Message } from '../../src/protocol/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { bench, calls, expectLegal, gate, messageLine, probe, until } from '../turn/kit.ts'

/** `count` messages, user and assistant in turn. */
function exchanges(count: number): Message[] {
  return Array.from({ length: count }, (_, index): Message => {
    const text = `Message ${index + 1}`
    return index % 2 === 0
      ? { role: 'user', content: text }
      : { role: 'assistant', content: [{ type: 'text', text }] }
  })
}

it('a window of messages has the newest round, even if that alone is too long', async () => {
  const round: Message[] = [
    { role: 'assistant', content: [{ type: 'tool-call', callId: 'a', tool: 'look', args: {} }] },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', callId: 'a', tool: 'look', status: 'ok', output: 'word '.repeat(200) },
      ],
    },
  ]
  const asked: Message = { role: 'user', content: 'Look' }
  const window = await windowOf('here', [...exchanges(4), asked, ...round], { maxTokens: 50 })
  expect(window.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
})

describe('the newest messages', () => {
  it('are exactly as many as were asked for, in the agent and in the message store', async () => {
    const store = memoryStore()
    const { messageStore } = viewsOf(store)
    const all = exchanges(120)
    await messageStore.append('talk', all)
    const { agent } = bench({ store })
    for (const maxMessages of [1, 2, 7, 49, 50, 51, 52, 119, 120, 121, Number.POSITIVE_INFINITY]) {
      const newest = all.slice(-Math.min(maxMessages, 120))
      expect(await messageStore.getRecent('talk', { maxMessages })).toEqual(newest)
      expect(await agent.getMessages({ maxMessages })).toEqual(newest)
    }
    expect(await messageStore.getRecent('talk')).toEqual(all.slice(-50))
  })

  it('are fewer only where a round would be split, however many results it has', async () => {
    const { agent } = bench({
      script: ({ call }) => (call % 2 === 1 ? calls('a', 'b', 'c') : `Reply ${call / 2}`),
      tools: [probe('a'), probe('b'), probe('c')],
    })
    for (let n = 1; n <= 20; n++) await agent.executeTurn(`Question ${n}`).outcome
    const all = await agent.getMessages({ maxMessages: Number.POSITIVE_INFINITY })
    expect(all).toHaveLength(80)
    for (let maxMessages = 1; maxMessages <= 80; maxMessages++) {
      const found = await agent.getMessages({ maxMessages })
      expectLegal(found)
      const splits = all.at(-maxMessages)?.role === 'tool'
      expect(found).toEqual(all.slice(-(splits ? maxMessages - 1 : maxMessages)))
    }
  })

  it('are not bounded by the window, and no argument means the window', async () => {
    const { agent } = bench({ script: ({ call }) => `Reply ${call}`, maxMessages: 8 })
    for (let n = 1; n <= 10; n++) await agent.executeTurn(`Question ${n}`).outcome
    expect((await agent.getMessages()).map(messageLine)).toEqual(agent.session.messages.map(messageLine))
    expect(await agent.getMessages()).toHaveLength(8)
    expect(await agent.getMessages({ maxMessages: 15 })).toHaveLength(15)
    expect(await agent.getMessages({ maxTokens: 1_000_000 })).toHaveLength(20)
  })

  it('reach past the window while a turn runs, and past what is not saved', async () => {
    const held = gate()
    const { agent } = bench({
      script: ({ call }) => (call === 11 ? calls('slow') : `Reply ${call}`),
      tools: [probe('slow', () => held.promise.then(() => 'done'))],
      maxMessages: 4,
      autoSave: false,
    })
    for (let n = 1; n <= 10; n++) await agent.executeTurn(`Question ${n}`).outcome
    expect(await agent.getMessages({ maxMessages: 11 })).toHaveLength(11)
    const turn = agent.executeTurn('Question 11')
    await until('the tool runs', () => agent.session.trace.some(({ type }) => type === 'tool_execution'))
    const found = await agent.getMessages({ maxMessages: 12 })
    expect(found.map(messageLine).slice(-3, -1)).toEqual(['assistant "Reply 10"', 'user "Question 11"'])
    expect(found).toHaveLength(12)
    held.resolve()
    await turn.outcome
  })
})

describe('the session view', () => {
  it('is empty after clear()', async () => {
    const { agent } = bench({ script: ['Hello.', 'Again.'] })
    await agent.executeTurn('Hi').outcome
    await agent.clear()
    expect(agent.session.messages).toEqual([])
    expect(agent.session.userPrompt).toBe('')
    await agent.executeTurn('Once more').outcome
    expect(agent.session.messages.map(messageLine)).toEqual(['user "Once more"', 'assistant "Again."'])
  })

  it('has what importMessages() brought', async () => {
    const { agent } = bench({ script: ['Hello.'] })
    await agent.executeTurn('Hi').outcome
    await agent.importMessages([
      { role: 'user', content: 'Elsewhere' },
      { role: 'assistant', content: 'Said there.' },
    ])
    expect(agent.session.messages.map(messageLine)).toEqual([
      'user "Hi"',
      'assistant "Hello."',
      'user "Elsewhere"',
      'assistant "Said there."',
    ])
  })

  it('has no more than compact() left, and no more than autoCompact left', async () => {
    const { agent } = bench({ script: ({ call }) => `Reply ${call}` })
    for (let n = 1; n <= 4; n++) await agent.executeTurn(`Question ${n}`).outcome
    await agent.compact({ keep: 2 })
    expect(agent.session.messages.map(messageLine)).toEqual(['user "Question 4"', 'assistant "Reply 4"'])
    const { agent: other } = bench({
      script: ({ call }) => `Reply ${call}`,
      autoCompact: true,
      maxMessages: 4,
    })
    for (let n = 1; n <= 3; n++) await other.executeTurn(`Question ${n}`).outcome
    expect(other.session.messages.map(messageLine)).toEqual(['user "Question 3"', 'assistant "Reply 3"'])
  })

  it('begins with the system prompt', async () => {
    const { agent } = bench({
      script: ['Hello.'],
      systemPrompt: 'Be brief.',
      plugins: [{ name: 'manners', prompt: 'Be kind.' }],
    })
    const system = { role: 'system', content: 'Be brief.\n\nBe kind.' }
    expect(agent.session.messages).toEqual([system])
    await agent.executeTurn('Hi').outcome
    expect(agent.session.messages[0]).toEqual(system)
    expect(agent.session.messages).toHaveLength(3)
  })

  it('begins with the system prompt of the newest turn, where that is a function of the turn', async () => {
    const { agent } = bench({
      script: ({ call }) => `Reply ${call}`,
      systemPrompt: ({ turn }) => `This is turn ${turn}.`,
    })
    expect(agent.session.messages).toEqual([])
    await agent.executeTurn('Hi').outcome
    await agent.executeTurn('Hi again').outcome
    expect(agent.session.messages[0]).toEqual({ role: 'system', content: 'This is turn 2.' })
  })
})
