/** Compactions with a summary: requested, automatic, and failing. */
import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { Agent } from '../../src/agent/agent.ts'
import { loadSession } from '../../src/journal/index.ts'
import { countTokens } from '../../src/model/index.ts'
import { type EntryData, HoldfastError, type Usage } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { ScriptedModel, type ScriptedStep } from '../../src/testing/scripted-model.ts'
import {
  type BenchOptions,
  bench,
  calls,
  entryLines,
  expectLegal,
  gate,
  journal,
  KEY,
  messageLine,
  probe,
  promptLines,
  STORES,
  until,
} from './kit.ts'

const OPENING = 'Summary of the conversation so far:\n\n'

/** Turns of a message, a call with its result, and a reply; summaries are numbered. */
function talk(different: BenchOptions & { readonly summary?: (n: number) => ScriptedStep } = {}) {
  const {
    summary = (n) => ({ text: `Summary ${n}`, usage: { inputTokens: 70, outputTokens: 7 } }),
    ...config
  } = different
  let [replies, summaries] = [0, 0]
  return bench({
    tools: [probe('look')],
    script: ({ tools }) => {
      if (tools.length === 0) return summary(++summaries)
      replies += 1
      return replies % 2 === 1 ? calls('look') : `Reply ${replies / 2}`
    },
    ...config,
  })
}

async function compactions(store: Store): Promise<EntryData['compact'][]> {
  const entries = (await store.read(KEY)).filter(({ type }) => type === 'compact')
  return entries.map(({ data }) => data as EntryData['compact'])
}

async function say(agent: Agent, ...texts: readonly string[]): Promise<void> {
  for (const text of texts) await agent.executeTurn(text).outcome
}

/** Without positions and irrelevant entries. */
const brief = (lines: readonly string[]) =>
  lines.map((text) => text.replace(/^\d+ /, '')).filter((text) => !/^(claim|tool|input|phase)/.test(text))

describe.each(STORES)('a summary that was asked for, on %s', (_, open) => {
  it('takes the place of what is cut, and is told in one entry', async () => {
    const { agent, model, store } = talk({ store: open() })
    await say(agent, '1', '2', '3')
    const before = await agent.getMessages()
    const used = (await loadSession(store, KEY)).totals.usage
    expect(await agent.compact({ strategy: 'summary', keep: 5 })).toBe(true)
    const shown = await agent.getMessages()
    expect(shown.map(messageLine)).toEqual([
      `user ${JSON.stringify(`${OPENING}Summary 1`)}`,
      'user "3"',
      'assistant call_3:look',
      'tool call_3:ok',
      'assistant "Reply 3"',
    ])
    const [first, ...more] = await compactions(store)
    const usage: Usage = { inputTokens: 70, outputTokens: 7, cachedTokens: 0, costUsd: 0 }
    expect(more).toEqual([])
    expect(first).toMatchObject({
      kept: 4,
      summary: `${OPENING}Summary 1`,
      receipt: {
        strategy: 'summary',
        dropped: 8,
        kept: 4,
        tokensBefore: (await countTokens(before)).tokens,
        tokensAfter: (await countTokens(shown)).tokens,
        exact: true,
        model: 'scripted/model',
        summaryHash: createHash('sha256').update(`${OPENING}Summary 1`).digest('hex'),
        usage,
      },
    })
    const after = (await loadSession(store, KEY)).totals.usage
    expect(after.inputTokens - used.inputTokens).toBe(70)
    expect(model.calls).toHaveLength(7)
  })

  it('is asked of the model without tools, calls and results, of what is cut and nothing else', async () => {
    const { agent, model } = talk({ store: open() })
    await say(agent, '1', '2')
    await agent.compact({ strategy: 'summary', keep: 4, instructions: 'Name the cats.' })
    const asked = model.calls[4]
    expect(asked?.tools).toEqual([])
    const lines = promptLines(model, 4)
    expect(lines[0]).toMatch(/^system "You write summaries/)
    expect(lines.slice(1, -1)).toEqual([
      'user "The conversation begins here."',
      'user "1"',
      String.raw`assistant "[calls look with {}]"`,
      String.raw`user "[look: ok {\"n\":0}]"`,
      'assistant "Reply 1"',
    ])
    expect(lines.at(-1)).toMatch(/^user "Summarise the conversation above.*Name the cats\."$/)
  })

  it('of a summary knows what that one said', async () => {
    const { agent, model, store } = talk({ store: open() })
    await say(agent, '1', '2')
    await agent.compact({ strategy: 'summary', keep: 4 })
    await say(agent, '3')
    await agent.compact({ strategy: 'summary', keep: 4 })
    expect(promptLines(model, 7).slice(2, -1)).toEqual([
      `user ${JSON.stringify(`${OPENING}Summary 1`)}`,
      'user "2"',
      'assistant "[calls look with {}]"',
      String.raw`user "[look: ok {\"n\":0}]"`,
      'assistant "Reply 2"',
    ])
    expect((await agent.getMessages()).map(messageLine).slice(0, 2)).toEqual([
      `user ${JSON.stringify(`${OPENING}Summary 2`)}`,
      'user "3"',
    ])
    expect((await compactions(store)).map(({ kept, receipt }) => [kept, receipt?.['dropped']])).toEqual([
      [4, 4],
      [4, 4],
    ])
  })

  it.each<[string, ScriptedStep, RegExp]>([
    ['fails', { error: { status: 400, message: 'no' } }, /no/],
    ['says nothing', { text: '  ' }, /is empty/],
    ['is cut off', { text: 'The', finish: 'length' }, /maxOutputTokens/],
    ['is stopped by a filter', { text: 'The', finish: 'content-filter' }, /was stopped by a content filter/],
  ])('that %s leaves everything as it is, and says so', async (_what, summary, why) => {
    const { agent, store } = talk({ store: open(), summary: () => summary })
    await say(agent, '1', '2')
    const before = await agent.getMessages()
    expect(await agent.compact({ strategy: 'summary', keep: 4 })).toBe(false)
    expect(await agent.getMessages()).toEqual(before)
    expect(await compactions(store)).toEqual([])
    const [warning] = (await store.read(KEY)).filter(({ type }) => type === 'warning')
    expect(warning?.data).toMatchObject({ code: 'compaction-failed', message: expect.stringMatching(why) })
    expect(await agent.input('3')).toBe('Reply 3')
  })

  it('is not paid for while somebody else drives', async () => {
    const held = gate()
    const slow = probe('slow', () => held.promise)
    const { agent, another, model, store } = talk({ store: open() })
    await say(agent, '1', '2')
    const other = another({ model: new ScriptedModel([calls('slow'), 'Done']), tools: [slow] })
    const turn = other.executeTurn('3')
    await until('the other one drives', () => slow.ran.length === 1)
    const asked = model.calls.length
    await expect(agent.compact({ strategy: 'summary', keep: 4 })).rejects.toMatchObject({ code: 'owned' })
    expect(model.calls.length).toBe(asked)
    held.resolve()
    await turn.outcome
    expect(await agent.compact({ strategy: 'summary', keep: 4 })).toBe(true)
    expect(await compactions(store)).toHaveLength(1)
  })

  it('does not cut what others have said meanwhile', async () => {
    const held = gate<string>()
    const { agent, another, store, model } = talk({ store: open(), summary: () => () => held.promise })
    await say(agent, '1', '2')
    const done = agent.compact({ strategy: 'summary', keep: 4 })
    await until('the summary is asked for', () => model.calls.length === 5)
    await say(another(), '3')
    held.resolve('Meanwhile')
    expect(await done).toBe(true)
    const shown = await agent.getMessages()
    expectLegal(shown)
    expect(shown.map(messageLine).filter((text) => text.startsWith('user'))).toEqual([
      `user ${JSON.stringify(`${OPENING}Meanwhile`)}`,
      'user "2"',
      'user "3"',
    ])
    expect((await loadSession(store, KEY)).window.messages).toBe(8)
  })

  it('of what was cleared meanwhile comes to nothing', async () => {
    const held = gate<string>()
    const { agent, another, store, model } = talk({ store: open(), summary: () => () => held.promise })
    await say(agent, '1', '2')
    const done = agent.compact({ strategy: 'summary', keep: 4 })
    await until('the summary is asked for', () => model.calls.length === 5)
    await another().clear()
    held.resolve('Too late')
    expect(await done).toBe(false)
    expect(await agent.getMessages()).toEqual([])
    expect(await compactions(store)).toEqual([])
  })
})

describe('a summary', () => {
  it('is tried again, then asked of the next model, and all that is counted', async () => {
    const failing = new ScriptedModel(() => ({ error: { status: 503 }, after: 'par' }), { name: 'a/a' })
    const writing = new ScriptedModel([
      'Reply',
      'Reply',
      { text: 'Short', usage: { inputTokens: 9, outputTokens: 1 } },
    ])
    const { agent, store, clock } = bench({ model: [failing, writing], settings: { retries: 1 } })
    const turns = say(agent, '1', '2')
    await until('two turns', () => {
      clock.advance(5000)
      return agent.state.turnCount === 2 && agent.state.status === 'ready'
    })
    await turns
    const asked = failing.calls.length
    const done = agent.compact({ strategy: 'summary', keep: 2 })
    await until('it is done', async () => {
      clock.advance(5000)
      return (await compactions(store)).length === 1
    })
    expect(await done).toBe(true)
    expect(failing.calls.length - asked).toBe(2)
    const [data] = await compactions(store)
    expect(data?.receipt).toMatchObject({ model: 'scripted/model' })
    const { inputTokens } = (data?.receipt?.['usage'] ?? {}) as Partial<Usage>
    expect(inputTokens).toBeGreaterThan(9)
  })

  it('can be of another model', async () => {
    const writer = new ScriptedModel(['By another'], { name: 'small/model' })
    const { agent, store } = talk()
    await say(agent, '1', '2')
    expect(await agent.compact({ strategy: 'summary', keep: 4, model: writer })).toBe(true)
    expect((await compactions(store))[0]).toMatchObject({
      summary: `${OPENING}By another`,
      receipt: { model: 'small/model' },
    })
  })

  it('quotes no key', async () => {
    const { agent, store } = talk({
      settings: { apiKey: 'sk-secret-1234567890' },
      summary: () => ({ error: { status: 401, message: 'bad key sk-secret-1234567890' } }),
    })
    await say(agent, '1', '2')
    await agent.compact({ strategy: 'summary', keep: 4 })
    const [warning] = (await store.read(KEY)).filter(({ type }) => type === 'warning')
    expect(JSON.stringify(warning?.data)).not.toContain('sk-secret')
  })

  it('does not cut into a turn that waits', async () => {
    const { agent, store } = bench({
      tools: [probe('look', undefined, { approve: 'always' })],
      script: ['Hello', calls('look')],
    })
    await say(agent, 'Hi', 'Look')
    const model = new ScriptedModel(['They said hello.'])
    expect(await agent.compact({ strategy: 'summary', keep: 0, model })).toBe(true)
    expect((await agent.getMessages()).map(messageLine)).toEqual([
      `user ${JSON.stringify(`${OPENING}They said hello.`)}`,
      'user "Look"',
      'assistant call_1:look',
    ])
    expect((await compactions(store))[0]?.kept).toBe(2)
    expect(await agent.requests()).toHaveLength(1)
  })

  it('is of no use for a single turn', async () => {
    const { agent, model } = talk()
    await say(agent, '1')
    expect(await agent.compact({ strategy: 'summary', keep: 1 })).toBe(false)
    expect(model.calls).toHaveLength(2)
  })
})

describe('an agent that compacts by itself', () => {
  it('writes the summary before the next model call, inside of the turn', async () => {
    const { agent, model } = talk({ autoCompact: { strategy: 'summary', overMessages: 8, keep: 4 } })
    await say(agent, '1', '2')
    const turn = agent.executeTurn('3')
    expect(brief(await entryLines(turn))).toEqual([
      'turn.start takes 21',
      'compact 12 kept 5',
      'model.start 1',
      'model.end call_3:look',
      'model.start 2',
      'model.end "Reply 3"',
      'turn.end stop',
    ])
    expect(promptLines(model, 5)).toEqual([
      `user ${JSON.stringify(`${OPENING}Summary 1`)}`,
      'user "2"',
      'assistant tool-call:look',
      'tool tool-result:look',
      'assistant "Reply 2"',
      'user "3"',
    ])
    const { usage } = await turn.outcome
    expect(usage.inputTokens).toBeGreaterThan(70)
  })

  it('does so by how full the context is', async () => {
    const read = (inputTokens: number) => ({ text: 'ok', usage: { inputTokens, outputTokens: 1 } })
    const { agent, store, model } = bench({
      settings: { contextTokens: 1000 },
      autoCompact: { strategy: 'summary', atPercent: 70 },
      script: [read(300), read(600), read(750), 'Short', read(200)],
    })
    await say(agent, '1', '2', '3')
    expect(agent.contextPercent).toBe(76)
    await say(agent, '4')
    expect(model.calls).toHaveLength(5)
    expect((await compactions(store)).map(({ kept }) => kept)).toEqual([3])
    expect(agent.contextPercent).toBe(21)
  })

  it('does so once a turn, even if that did not help', async () => {
    let summaries = 0
    let looks = 0
    const usage = { inputTokens: 900, outputTokens: 1 }
    const { agent, store } = bench({
      settings: { contextTokens: 1000 },
      autoCompact: { strategy: 'summary', atPercent: 70 },
      tools: [probe('look')],
      script: ({ tools }) => {
        if (tools.length === 0) return `Summary ${++summaries}`
        if (summaries === 1 && looks < 2) return { calls: [{ tool: 'look', args: { n: ++looks } }], usage }
        return { text: 'ok', usage: summaries === 0 && looks === 0 ? { ...usage, inputTokens: 300 } : usage }
      },
    })
    await say(agent, '1', '2', '3')
    expect(await compactions(store)).toEqual([])
    await agent.executeTurn('word '.repeat(500)).outcome
    expect([summaries, looks]).toEqual([1, 2])
    expect((await compactions(store)).map(({ kept }) => kept)).toEqual([3])
  })

  it('by percent needs to know how much the model takes', () => {
    const make = () =>
      new Agent({ contextId: 'c', model: new ScriptedModel([]), autoCompact: { atPercent: 70 } })
    expect(make).toThrow(HoldfastError)
    expect(make).toThrow(/contextTokens/)
  })

  it('goes on without a summary if none can be had, and tries once a turn', async () => {
    let asked = 0
    const { agent } = talk({
      autoCompact: { strategy: 'summary', overMessages: 4, keep: 2 },
      summary: () => {
        asked += 1
        return { error: { status: 400, message: 'no' } }
      },
    })
    await say(agent, '1')
    expect(brief(await entryLines(agent.executeTurn('2')))).toEqual([
      'turn.start takes 11',
      'warning compaction-failed',
      'model.start 1',
      'model.end call_2:look',
      'model.start 2',
      'model.end "Reply 2"',
      'turn.end stop',
    ])
    expect(asked).toBe(1)
    await say(agent, '3')
    expect(asked).toBe(2)
    expect(await agent.getMessages()).toHaveLength(12)
  })

  it('stops when the turn is cancelled', async () => {
    const { agent, model, store } = talk({
      autoCompact: { strategy: 'summary', overMessages: 4, keep: 2 },
      summary: () => ({ stall: true }),
    })
    await say(agent, '1')
    const turn = agent.executeTurn('2')
    await until('the summary is asked for', () => model.calls.length === 3)
    await turn.cancel()
    expect((await turn.outcome).reason).toBe('cancelled')
    expect(await compactions(store)).toEqual([])
    expect((await journal(store)).filter((text) => text.includes('warning'))).toEqual([])
  })

  it('asks again after a crash, and cuts once', async () => {
    const leaseMs = 30_000
    const config: BenchOptions = { autoCompact: { strategy: 'summary', overMessages: 4, keep: 2 }, leaseMs }
    const { agent, another, model, store, clock } = talk({
      ...config,
      summary: (n) => (n === 1 ? { stall: true } : `Summary ${n}`),
    })
    await say(agent, '1')
    void agent.executeTurn('2')
    await until('the summary is asked for', () => model.calls.length === 3)
    // The process is gone, and its lease is not renewed.
    const other = another()
    Object.assign(store, { renew: () => Promise.reject(new HoldfastError('fenced', { message: 'gone' })) })
    clock.advance(leaseMs + 1)
    await other.start()
    await other.turn?.outcome
    expect((await compactions(store)).map(({ summary }) => summary)).toEqual([`${OPENING}Summary 2`])
    const shown = await other.getMessages()
    expectLegal(shown)
    expect(shown.map(messageLine).at(-1)).toBe('assistant "Reply 2"')
  })

  it('slides at the end of a turn, and tells what it did', async () => {
    const { agent, store } = talk({ autoCompact: { overMessages: 8, keep: 4 } })
    await say(agent, '1', '2')
    const before = await agent.getMessages()
    const lines = brief(await entryLines(agent.executeTurn('3')))
    expect(lines.slice(-2)).toEqual(['compact 22 kept 4', 'turn.end stop'])
    const [data] = await compactions(store)
    expect(data).not.toHaveProperty('summary')
    const { tokens } = await countTokens(await agent.getMessages())
    expect(data?.receipt).toMatchObject({
      strategy: 'sliding',
      dropped: 8,
      kept: 4,
      exact: true,
      tokensAfter: tokens,
    })
    expect(data?.receipt?.['tokensBefore']).toBeGreaterThan((await countTokens(before)).tokens)
  })

  it.each<[unknown, RegExp]>([
    ['summary', /must be true, false or an object/],
    [{ strategy: 'forget' }, /'sliding' or 'summary'/],
    [{ at: 3 }, /no "at".*atPercent/],
    [{ keep: 0 }, /autoCompact.keep must be a number from 1 on/],
    [{ keep: 100 }, /must be less than 100/],
    [{ instructions: 3 }, /must be a text/],
  ])('refuses %j', (autoCompact, why) => {
    const config = { contextId: 'c', model: new ScriptedModel([]), autoCompact } as never
    expect(() => new Agent(config)).toThrow(why)
  })
})
