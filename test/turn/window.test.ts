/** The window of a conversation: kept, cleared, forked and shown. */
import { describe, expect, it } from 'vitest'
import {
  type BenchOptions,
  bench,
  calls,
  expectLegal,
  journal,
  KEY,
  messageLine,
  probe,
  promptLines,
  STORES,
  said,
  until,
} from './kit.ts'

/** Each turn: a message, a reply with one call, its result, a reply. */
const talk = (different: BenchOptions) =>
  bench({
    script: ({ call }) => (call % 2 === 1 ? calls('a') : `Reply ${call / 2}`),
    tools: [probe('a')],
    ...different,
  })

describe.each(STORES)('the window, on %s', (_, open) => {
  it('is compacted between two turns, and the model is given what is left', async () => {
    const { agent, model, store } = talk({ store: open() })
    for (const text of ['1', '2', '3']) await agent.executeTurn(text).outcome
    expect(await agent.compact({ keep: 5 })).toBe(true)
    expect((await agent.getMessages()).map(messageLine)).toEqual([
      'user "3"',
      'assistant call_3:a',
      'tool call_3:ok',
      'assistant "Reply 3"',
    ])
    expect(await agent.compact({ keep: 5 })).toBe(false)
    await agent.executeTurn('4').outcome
    expect(promptLines(model, 6)).toEqual([
      'user "3"',
      'assistant tool-call:a',
      'tool tool-result:a',
      'assistant "Reply 3"',
      'user "4"',
    ])
    expect((await journal(store)).filter((text) => text.includes('compact'))).toEqual([
      expect.stringContaining('kept 4'),
    ])
  })

  it('is compacted by itself when a turn ends with more than it may hold', async () => {
    const { agent, model } = talk({ store: open(), maxMessages: 8, autoCompact: true })
    for (const text of ['1', '2', '3', '4', '5']) await agent.executeTurn(text).outcome
    for (const call of model.calls.keys()) {
      const prompt = promptLines(model, call)
      expect(prompt[0]).toMatch(/^user/)
      expect(prompt.length).toBeLessThanOrEqual(11)
      const asked = prompt.filter((text) => text.includes('tool-call:')).length
      expect(prompt.filter((text) => text.startsWith('tool')).length).toBe(asked)
    }
    const messages = await agent.getMessages()
    expectLegal(messages)
    expect(messages.length).toBeLessThanOrEqual(8)
  })

  it('is cleared of messages and artifacts', async () => {
    const write = probe('write', async (_input, { artifacts }) => {
      await artifacts.writeFile('note.txt', 'Hello')
      return 'written'
    })
    const { agent, model, store } = bench({
      store: open(),
      script: [calls('write'), 'Done', 'Who are you?'],
      tools: [write],
    })
    await agent.executeTurn('Write').outcome
    expect((await agent.getArtifacts()).map(({ artifactId }) => artifactId)).toEqual(['note.txt'])
    await agent.clear()
    expect(await agent.getMessages()).toEqual([])
    expect(await agent.getArtifacts()).toEqual([])
    await agent.executeTurn('Hi').outcome
    expect(promptLines(model, 2)).toEqual(['user "Hi"'])
    expect(await said(store)).toEqual(['user "Hi"', 'assistant "Who are you?"'])
    expect(agent.state.turnCount).toBe(2)
  })

  it('of nothing can be cleared and compacted', async () => {
    const { agent, store } = bench({ store: open() })
    await agent.clear()
    expect(await agent.compact()).toBe(false)
    expect(await agent.getMessages()).toEqual([])
    expect(await store.head(KEY)).toBeUndefined()
  })

  it('of a fork begins with the history of its parent and goes its own way', async () => {
    const { agent, store } = talk({ store: open() })
    await agent.executeTurn('1').outcome
    const fork = await agent.fork('branch')
    expect(await fork.getMessages()).toEqual(await agent.getMessages())
    await fork.executeTurn('2').outcome
    await agent.executeTurn('3').outcome
    expect(await said(store)).toHaveLength(8)
    const branch = await said(store, { ...KEY, contextId: 'branch' })
    expect(branch).toHaveLength(8)
    expect(branch[4]).toBe('user "2"')
    expect((await said(store))[4]).toBe('user "3"')
  })

  it('can be asked for in part, and never shows half a round', async () => {
    const { agent } = talk({ store: open() })
    for (const text of ['1', '2', '3']) await agent.executeTurn(text).outcome
    const last = async (query: Parameters<typeof agent.getMessages>[0]) => {
      const messages = await agent.getMessages(query)
      expectLegal(messages)
      return messages.map(messageLine)
    }
    expect(await last({})).toHaveLength(12)
    expect(await last({ maxMessages: 1 })).toEqual(['assistant "Reply 3"'])
    expect(await last({ maxMessages: 2 })).toEqual(['assistant "Reply 3"'])
    expect(await last({ maxMessages: 3 })).toEqual([
      'assistant call_3:a',
      'tool call_3:ok',
      'assistant "Reply 3"',
    ])
    expect((await last({ maxTokens: 20 })).length).toBeLessThan(6)
    expect(await last({ maxTokens: 0 })).toEqual([])
  })
})

describe('the state of an agent', () => {
  it('says how it is and what it has done', async () => {
    const { agent, model, clock } = bench({ script: [{ stall: true }, 'Done'], metadata: { from: 'config' } })
    expect(agent.state).toEqual({ status: 'created', turnCount: 0, metadata: { from: 'config' } })
    await agent.start()
    expect(agent.state.status).toBe('ready')
    const turn = agent.executeTurn('Hi')
    await until('it runs', () => model.calls.length === 1)
    expect(agent.state.status).toBe('busy')
    expect(agent.turn).toBe(turn)
    await turn.cancel()
    await turn.outcome
    clock.advance(5000)
    await agent.executeTurn('Again').outcome
    expect(agent.state).toEqual({
      status: 'ready',
      turnCount: 2,
      createdAt: new Date(1000),
      lastActivity: new Date(6000),
      metadata: { from: 'config' },
    })
    expect(agent.turn).toBeUndefined()
  })

  it('keeps metadata in the journal', async () => {
    const { agent, another } = bench({ script: ['Hello'] })
    await agent.saveState({ mood: 'good' })
    expect(agent.state.metadata).toEqual({ mood: 'good' })
    await agent.executeTurn('Hi').outcome
    const other = another()
    await other.start()
    expect(other.state).toMatchObject({ turnCount: 1, metadata: { mood: 'good' } })
  })

  it('shows the session as hooks see it', async () => {
    const seen: unknown[] = []
    const tool = probe('look', () => {
      const { turn, iteration, userPrompt, pendingTool, messages, trace } = agent.session
      seen.push({
        turn,
        iteration,
        userPrompt,
        pendingTool,
        messages: messages.length,
        trace: trace.map(({ type }) => type),
      })
      return null
    })
    const { agent } = bench({ script: ['Hello', calls(['look', { n: 1 }]), 'Done'], tools: [tool] })
    await agent.executeTurn('Hi').outcome
    await agent.executeTurn('Look').outcome
    expect(seen).toEqual([
      {
        turn: 2,
        iteration: 1,
        userPrompt: 'Look',
        pendingTool: { callId: 'call_1', tool: 'look', args: { n: 1 } },
        messages: 4,
        trace: ['user_input', 'llm_call', 'tool_execution'],
      },
    ])
    expect(agent.session).toMatchObject({ turn: 2, iteration: 2, userPrompt: 'Look' })
    expect(agent.session.pendingTool).toBeUndefined()
    expect(agent.session.messages.map(messageLine).at(-1)).toBe('assistant "Done"')
  })
})

describe('more messages than maxMessages', () => {
  const warnings = async (store: Parameters<typeof journal>[0]) =>
    (await journal(store)).filter((text) => text.includes('over-max-messages')).length

  it('are warned of once, and again only after there was room', async () => {
    const { agent, store, another } = talk({ maxMessages: 9 })
    const after: number[] = []
    for (const text of ['1', '2', '3', '4']) {
      await agent.executeTurn(text).outcome
      after.push(await warnings(store))
    }
    expect(after).toEqual([0, 0, 1, 1])
    await agent.shutdown()
    const other = another({ maxMessages: 9 })
    await other.executeTurn('5').outcome
    expect(await warnings(store)).toBe(1)
    await other.compact({ keep: 4 })
    for (const text of ['6', '7']) await other.executeTurn(text).outcome
    expect(await warnings(store)).toBe(2)
  })

  it('are not warned of where they are compacted', async () => {
    const { agent, store } = talk({ maxMessages: 9, autoCompact: true })
    for (const text of ['1', '2', '3', '4']) await agent.executeTurn(text).outcome
    expect(await warnings(store)).toBe(0)
  })
})
