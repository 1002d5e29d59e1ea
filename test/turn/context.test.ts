/** The fill level of the context, and its warnings. */
import { describe, expect, it } from 'vitest'
import type { Turn } from '../../src/agent/index.ts'
import { viewsOf } from '../../src/agent/index.ts'
import type { Hooks } from '../../src/hook/index.ts'
import { loadSession } from '../../src/journal/index.ts'
import { countTokens } from '../../src/model/index.ts'
import type { Entry } from '../../src/protocol/index.ts'
import { ScriptedModel, type ScriptedReply } from '../../src/testing/scripted-model.ts'
import { runTurn } from '../../src/turn/index.ts'
import {
  type Bench,
  type BenchOptions,
  bench,
  calls,
  entryLines,
  expectLegal,
  KEY,
  messageLine,
  probe,
  promptLines,
} from './kit.ts'

const settings = { contextTokens: 1000 }

/** A reply with this count of input tokens. */
const read = (inputTokens: number, text = 'ok'): ScriptedReply => ({
  text,
  usage: { inputTokens, outputTokens: 1 },
})

async function warnings(turn: Turn): Promise<string[]> {
  return (await entryLines(turn)).filter((line) => line.includes('warning'))
}

const ask = async ({ agent }: Bench, text: string): Promise<string[]> => warnings(agent.executeTurn(text))

describe('how full the context is', () => {
  it('is unknown for a model that nobody knows, and before anything was loaded', async () => {
    const { agent, another } = bench({ script: [read(500)] })
    await agent.executeTurn('Hi').outcome
    expect(agent.contextPercent).toBeUndefined()
    expect(agent.session).not.toHaveProperty('contextPercent')
    const other = another({ settings })
    expect(other.contextPercent).toBeUndefined()
    await other.start()
    // 500, and 6 for the reply
    expect(other.contextPercent).toBe(51)
  })

  it('is what the provider has counted, and an estimate of what came since', async () => {
    const { agent } = bench({ settings, script: [read(300, 'word '.repeat(180))] })
    await agent.start()
    expect(agent.contextPercent).toBe(0)
    await agent.executeTurn('Hi').outcome
    expect(agent.contextPercent).toBe(49)
    expect(agent.session.contextPercent).toBe(49)
  })

  it('is told to hooks, and is not there where no size is known', async () => {
    const seen: unknown[] = []
    const on: Hooks = {
      onComplete: (point) => void seen.push(point.contextPercent, 'contextPercent' in point),
    }
    for (const known of [{ settings }, {}])
      await bench({ ...known, on, script: [read(480)] }).agent.executeTurn('Hi').outcome
    expect(seen).toEqual([49, true, undefined, false])
  })

  it('counts the results of a round before the model reads them', async () => {
    const seen: unknown[] = []
    const { agent } = bench({
      settings,
      tools: [probe('look', () => 'word '.repeat(380))],
      script: ({ call }) => {
        seen.push(agent.contextPercent)
        return call === 1
          ? { calls: [{ tool: 'look' }], usage: { inputTokens: 200, outputTokens: 5 } }
          : read(620)
      },
    })
    await agent.executeTurn('Look').outcome
    expect(seen).toEqual([1, 62])
    expect(agent.contextPercent).toBe(63)
  })

  it('is computed anew after a compaction', async () => {
    const { agent, another } = bench({ settings, script: [read(300), read(600), read(900)] })
    for (const text of ['1', '2', '3']) await agent.executeTurn(text).outcome
    expect(agent.contextPercent).toBe(91)
    expect(await agent.compact({ keep: 2 })).toBe(true)
    // The count from before no longer applies: two short messages are left.
    expect(agent.contextPercent).toBe(1)
    const other = another()
    await other.start()
    expect(other.contextPercent).toBe(1)
  })

  it('is computed anew after a clear', async () => {
    const { agent } = bench({ settings, script: [read(900)] })
    await agent.executeTurn('1').outcome
    await agent.clear()
    await agent.requests()
    expect(agent.contextPercent).toBe(0)
  })

  it('is known of models in the table without being told', async () => {
    const model = new ScriptedModel([read(64_000)], { name: 'openai/gpt-4o-2024-11-20' })
    const { agent } = bench({ model })
    await agent.executeTurn('Hi').outcome
    expect(agent.contextPercent).toBe(50)
  })
})

describe('a context that is nearly full', () => {
  it('is warned of once, and again when it has been emptier meanwhile', async () => {
    const script = [500, 810, 850, 900, 700, 790, 820].map((tokens) => read(tokens))
    const table = bench({ settings, script })
    const told: number[] = []
    for (let n = 1; n <= script.length; n++) told.push((await ask(table, `${n}`)).length)
    expect(told).toEqual([0, 1, 0, 0, 0, 1, 0])
  })

  it('is warned of inside of a turn, before the next model call', async () => {
    const big = probe('look', () => 'word '.repeat(600))
    const step = { calls: [{ tool: 'look' }], usage: { inputTokens: 300, outputTokens: 5 } }
    const { agent } = bench({ settings, tools: [big], script: [step, read(950)] })
    const lines = await entryLines(agent.executeTurn('Look'))
    expect(
      lines.map((line) => line.replace(/^\d+ /, '')).filter((line) => !line.startsWith('claim')),
    ).toEqual([
      'input "Look"',
      'turn.start takes 1',
      'model.start 1',
      'model.end call_1:look',
      'tool.start call_1 look',
      'tool.end call_1 ok',
      'warning context-near-full',
      'model.start 2',
      'model.end "ok"',
      'turn.end stop',
    ])
  })

  it('is an entry that says how much it is, and of what', async () => {
    const table = bench({ settings, script: [read(810)], warnAtPercent: 50 })
    await table.agent.executeTurn('Hi').outcome
    const [entry] = (await table.store.read(KEY)).filter(({ type }) => type === 'warning')
    expect(entry?.data).toEqual({
      code: 'context-near-full',
      message:
        'The conversation fills 82 % of the context of scripted/model: about 816 of 1000 tokens. Compact it with agent.compact(), or let autoCompact do so.',
      tokens: 500,
    })
    expect((await loadSession(table.store, KEY)).window.nearFull).toBe(500)
  })

  it('is not warned of again by another process', async () => {
    const table = bench({ settings, script: [read(810), read(820)] })
    expect(await ask(table, '1')).toHaveLength(1)
    expect(await warnings(table.another().executeTurn('2'))).toEqual([])
  })

  it('is warned of again after a compaction that did not help', async () => {
    const table = bench({ settings, script: [read(810), read(900), read(850)] })
    const told = [await ask(table, '1'), await ask(table, '2')]
    await table.agent.compact({ keep: 1 })
    told.push(await ask(table, '3'))
    expect(told.map((lines) => lines.length)).toEqual([1, 0, 1])
  })
})

describe('a window by tokens', () => {
  const talk = (different: BenchOptions) =>
    bench({
      script: ({ call }) => (call % 2 === 1 ? calls('a') : `Reply ${call / 2} ${'word '.repeat(40)}`),
      tools: [probe('a')],
      ...different,
    })

  it('is what the model is given, and what getMessages shows', async () => {
    const { agent, model, another } = talk({ maxTokens: 200 })
    for (let n = 1; n <= 8; n++) {
      await agent.executeTurn(`Question ${n}`).outcome
      const shown = await agent.getMessages()
      expect(await another().getMessages()).toEqual(shown)
      expect(shown.length).toBeLessThanOrEqual(13)
    }
    const last = promptLines(model, 15)
    expect(last.length).toBeLessThan(12)
    expect(last.slice(-3)).toEqual(['user "Question 8"', 'assistant tool-call:a', 'tool tool-result:a'])
  })

  it('is the lesser of both limits', async () => {
    const { agent } = talk({ maxTokens: 100_000, maxMessages: 4 })
    for (const text of ['1', '2', '3']) await agent.executeTurn(text).outcome
    expect((await agent.getMessages()).map(messageLine)).toHaveLength(4)
    const { agent: other } = talk({ maxTokens: 60, maxMessages: 100 })
    for (const text of ['1', '2', '3']) await other.executeTurn(text).outcome
    expect((await other.getMessages()).map(messageLine)).toHaveLength(2)
  })

  it('can be asked for in part through the message store', async () => {
    const { agent, store } = talk({})
    for (const text of ['1', '2', '3']) await agent.executeTurn(text).outcome
    const { messageStore } = viewsOf(store)
    const lengths: number[] = []
    for (const maxTokens of [0, 50, 80, 100, 150, 1000]) {
      const messages = await messageStore.getRecent('talk', { maxTokens })
      expectLegal(messages)
      expect((await countTokens(messages)).tokens).toBeLessThanOrEqual(maxTokens)
      lengths.push(messages.length)
    }
    expect(lengths).toEqual([0, 1, 4, 4, 7, 12])
    expect(await messageStore.getRecent('talk', { maxTokens: 1000, maxMessages: 4 })).toHaveLength(4)
  })

  it('is kept to by runTurn', async () => {
    const model = new ScriptedModel(() => `Reply ${'word '.repeat(40)}`)
    const stored: Entry[] = []
    for (const message of ['1', '2', '3', '4', '5'])
      for await (const entries of runTurn({ model, message, entries: [...stored], maxTokens: 120 }))
        stored.push(...entries)
    expect(promptLines(model, 4)).toHaveLength(5)
    expect(promptLines(model, 4).at(-1)).toBe('user "5"')
  })

  it('shows what the turn was asked even if there is room for nothing', async () => {
    const { agent, model } = talk({ maxTokens: 1 })
    await agent.executeTurn('What is it?').outcome
    expect(promptLines(model, 1)).toEqual([
      'user "What is it?"',
      'assistant tool-call:a',
      'tool tool-result:a',
    ])
    expect((await agent.getMessages()).map(messageLine)[0]).toBe('user "What is it?"')
  })
})
