/** Foreign histories in a journal, under windows, compactions, forks and restarts (R9, R11, R15, R21). */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { fold, loadSession, pruneContext, readWindow, transcript } from '../../src/journal/index.ts'
import type { Entry, EntryData, Message } from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import {
  asking,
  bench,
  calls,
  gate,
  journal,
  KEY,
  messageLine,
  openSqlite,
  probe,
  promptLines,
  STORES,
  sqlitePath,
} from '../turn/kit.ts'
import { illegal } from './legal.ts'

interface ChatMessage {
  readonly role: string
  readonly content: string | null
  readonly tool_calls?: readonly object[]
  readonly tool_call_id?: string
}

const call = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })

/** One exchange: a question, `rounds` rounds of two calls, an answer. */
function exchange(number: number, rounds: number): ChatMessage[] {
  const ids = Array.from({ length: rounds }, (_, round) => [`${number}.${round}.a`, `${number}.${round}.b`])
  return [
    { role: 'user', content: `Question ${number}` },
    ...ids.flatMap((pair): ChatMessage[] => [
      { role: 'assistant', content: null, tool_calls: pair.map(call) },
      ...pair.map((id) => ({ role: 'tool', tool_call_id: id, content: `Seen ${id}` })),
    ]),
    { role: 'assistant', content: `Answer ${number}` },
  ]
}

const SHORT = [...exchange(1, 1), ...exchange(2, 0)]
/** Exchanges of all lengths; 200 messages, each result counted. */
const LONG = Array.from({ length: 20 }, (_, index) => exchange(index + 1, index % 6)).flat()

const imports = async (store: Store): Promise<EntryData['import'][]> =>
  (await store.read(KEY)).flatMap(({ type, data }) =>
    type === 'import' ? [data as EntryData['import']] : [],
  )

const code = (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'done',
    (error: unknown) => (error as { code: string }).code,
  )

describe.each(STORES)('an import, on %s', (_, open) => {
  it('is one append, and the next turn is shown what it says', async () => {
    const { agent, model, store } = bench({ script: ['Reply'], store: open() })
    const receipt = await agent.importMessages([{ role: 'system', content: 'Be brief.' }, ...SHORT])
    expect(receipt).toEqual({
      messages: 6,
      repairs: [],
      format: 'openai',
      system: 'Be brief.',
      repeated: false,
    })
    expect(await journal(store)).toEqual(['1 claim 1', '2 import', '3 import', '4 release imported'])
    await agent.executeTurn('Question 3').outcome
    expect(promptLines(model, 0)).toEqual([
      'user "Question 1"',
      'assistant tool-call:look tool-call:look',
      'tool tool-result:look tool-result:look',
      'assistant "Answer 1"',
      'user "Question 2"',
      'assistant "Answer 2"',
      'user "Question 3"',
    ])
    expect(illegal(await agent.getMessages())).toBeUndefined()
  })

  it('counts every message and every result', async () => {
    const { agent, store } = bench({ store: open() })
    await agent.importMessages(LONG)
    const session = await loadSession(store, KEY)
    expect(session.window.messages).toBe(LONG.length)
    expect(session.totals).toMatchObject({ messages: LONG.length, turns: 0, modelCalls: 0, toolCalls: 0 })
    expect(session.imports).toHaveLength(1)
  })

  it('keeps with its first entry what was repaired', async () => {
    const { agent, store } = bench({ store: open() })
    const { repairs } = await agent.importMessages([{ role: 'assistant', content: 'Hello?' }, ...SHORT])
    expect(repairs.map(({ kind }) => kind)).toEqual(['opening-added'])
    const [first, ...others] = await imports(store)
    expect(first).toMatchObject({ source: 'openai', repaired: 1, repairs })
    expect(others.every((data) => data.repairs === undefined && data.key === first?.key)).toBe(true)
  })

  it('of the same messages is made once, until the conversation is cleared', async () => {
    const { agent, store, another } = bench({ store: open() })
    expect(await agent.importMessages(SHORT)).toMatchObject({ messages: 6, repeated: false })
    const before = await journal(store)
    expect(await agent.importMessages(SHORT)).toMatchObject({ messages: 0, repeated: true })
    expect(await another().importMessages(SHORT)).toMatchObject({ messages: 0, repeated: true })
    expect(await journal(store)).toEqual(before)
    await agent.clear()
    expect(await agent.importMessages(SHORT)).toMatchObject({ messages: 6, repeated: false })
    expect(await agent.getMessages()).toHaveLength(6)
  })

  it('of the same messages by many at once is made once', async () => {
    const { store, another } = bench({ store: open() })
    const settled = await Promise.allSettled(Array.from({ length: 5 }, () => another().importMessages(SHORT)))
    const made = settled.filter(
      ({ status, value }: { status: string; value?: { repeated: boolean } }) =>
        status === 'fulfilled' && !value?.repeated,
    )
    expect(made).toHaveLength(1)
    expect(await imports(store)).toHaveLength(2)
  })

  it('after another one has ids of its own', async () => {
    const { agent } = bench({ store: open() })
    await agent.importMessages(exchange(1, 1))
    await agent.importMessages(exchange(2, 1))
    const messages = await agent.getMessages()
    expect(messages).toHaveLength(8)
    expect(illegal(messages)).toBeUndefined()
  })

  it('is heard by an agent that had looked before', async () => {
    const { agent, another, model } = bench({ script: () => 'Reply', store: open() })
    const other = another()
    await agent.executeTurn('1').outcome
    await other.start()
    await agent.importMessages(exchange(1, 0))
    await other.executeTurn('2').outcome
    expect(promptLines(model, 1)).toEqual([
      ...['user "1"', 'assistant "Reply"', 'user "Question 1"', 'assistant "Answer 1"', 'user "2"'],
    ])
    await agent.executeTurn('3').outcome
    expect(promptLines(model, 2).slice(-2)).toEqual(['assistant "Reply"', 'user "3"'])
  })

  it('comes after what an agent had held back', async () => {
    const { agent, store, another } = bench({ script: () => 'Reply', store: open(), autoSave: false })
    await agent.executeTurn('1').outcome
    await agent.importMessages(exchange(1, 0))
    await agent.executeTurn('2').outcome
    await agent.shutdown()
    const lines = ['user "1"', 'assistant "Reply"', 'user "Question 1"', 'assistant "Answer 1"']
    expect((await another().getMessages()).map(messageLine)).toEqual([
      ...lines,
      'user "2"',
      'assistant "Reply"',
    ])
    expect(illegal(transcript(await store.read(KEY)))).toBeUndefined()
  })

  it('of nothing adds nothing', async () => {
    const { agent, store } = bench({ store: open() })
    expect(await agent.importMessages([])).toMatchObject({ messages: 0, repeated: false })
    expect(await store.head(KEY)).toBeUndefined()
  })

  it('of what cannot be read adds nothing', async () => {
    const { agent, store } = bench({ store: open() })
    expect(await code(agent.importMessages([...SHORT, { role: 'wizard' }]))).toBe('invalid-option')
    expect(await store.head(KEY)).toBeUndefined()
  })
})

describe('an import into a conversation that is busy', () => {
  it('waits for the turn that runs here', async () => {
    const { promise, resolve } = gate()
    const tool = probe('a', () => promise)
    const { agent, store } = bench({ script: [calls('a'), 'Reply'], tools: [tool] })
    const turn = agent.executeTurn('Go')
    while (tool.ran.length === 0) await new Promise((next) => setImmediate(next))
    const importing = agent.importMessages(SHORT)
    resolve()
    expect(await importing).toMatchObject({ messages: 6 })
    expect((await turn.outcome).reason).toBe('stop')
    const types = (await store.read(KEY)).map(({ type }) => type)
    expect(types.indexOf('import')).toBeGreaterThan(types.indexOf('turn.end'))
  })

  it('is refused while the turn waits for an answer, and while somebody steps it by hand', async () => {
    const { agent, another } = bench({
      script: [calls('q'), 'Reply'],
      tools: [asking('q', { kind: 'text', prompt: 'Why?', name: 'why' })],
    })
    const turn = agent.executeTurn('Go', { manual: true })
    await turn.step()
    expect(await code(agent.importMessages(SHORT))).toBe('in-use')
    expect(await code(another().importMessages(SHORT))).toBe('in-use')
    while (!(await turn.step()).done);
    expect((await turn.outcome).reason).toBe('input-required')
    expect(await code(agent.importMessages(SHORT))).toBe('in-use')
    const [request] = await agent.requests()
    await agent.answer({ [request?.requestId ?? '']: 'yes' }).outcome
    expect(await agent.importMessages(SHORT)).toMatchObject({ messages: 6 })
    expect(illegal(await agent.getMessages())).toBeUndefined()
  })

  it('is refused inside of its own tool', async () => {
    const refusals: unknown[] = []
    const tool = probe('a', async () => refusals.push(await code(agent.importMessages(SHORT))))
    const { agent } = bench({ script: [calls('a'), 'Reply'], tools: [tool] })
    await agent.executeTurn('Go').outcome
    expect(refusals).toEqual(['busy'])
  })
})

describe('a window over an import', () => {
  const lengths = Array.from({ length: 60 }, (_, index) => index + 1)

  it('never splits a round, and shows what was asked, however small it is', async () => {
    const { agent, store } = bench()
    await agent.importMessages(LONG)
    const session = await loadSession(store, KEY)
    const whole = transcript(await readWindow(store, KEY, { session, maxMessages: 10_000 }))
    expect(whole.map(said)).toEqual((await agent.getMessages({ maxMessages: 10_000 })).map(said))
    for (const maxMessages of [...lengths, 100, 150, 199, 200]) {
      const messages = transcript(await readWindow(store, KEY, { session, maxMessages }))
      expect(illegal(messages)).toBeUndefined()
      expect(messages.at(-1)).toEqual(whole.at(-1))
      expect(sizeOf(messages)).toBeLessThanOrEqual(maxMessages + 14)
    }
  })

  it('over an exchange without end shows its question and its newest rounds', async () => {
    const { agent, model } = bench({ script: ['Reply'], maxMessages: 10 })
    await agent.importMessages([...exchange(1, 0), ...exchange(2, 100)])
    await agent.executeTurn('And?').outcome
    const prompt = promptLines(model, 0)
    expect(prompt[0]).toBe('user "Question 2"')
    expect(prompt.at(-2)).toBe('assistant "Answer 2"')
    expect(prompt.length).toBeLessThan(20)
  })

  it('that a driver holds while it goes on equals one that is read', async () => {
    const { agent, model, store } = bench({
      script: ({ call: n }) => (n % 2 === 1 ? calls('look') : 'Reply'),
      tools: [probe('look')],
      maxMessages: 10,
    })
    await agent.importMessages(LONG)
    for (const text of ['1', '2', '3', '4', '5', '6']) {
      await agent.executeTurn(text).outcome
      const session = await loadSession(store, KEY)
      const read = transcript(await readWindow(store, KEY, { session, maxMessages: 10 }))
      expect(illegal(read)).toBeUndefined()
      expect((await agent.getMessages()).map(said)).toEqual(
        read.slice(-(await agent.getMessages()).length).map(said),
      )
    }
    for (const index of model.calls.keys()) expect(promptLines(model, index)[0]).toMatch(/^user/)
  })
})

describe('an import that is cut', () => {
  it('is compacted between two exchanges', async () => {
    const { agent, model } = bench({ script: ['Reply'] })
    await agent.importMessages(LONG)
    expect(await agent.compact({ keep: 6 })).toBe(true)
    const kept = await agent.getMessages()
    expect(illegal(kept)).toBeUndefined()
    expect(sizeOf(kept)).toBe(5)
    expect(kept[0]).toEqual({ role: 'user', content: 'Question 20' })
    await agent.executeTurn('And?').outcome
    expect(promptLines(model, 0)).toEqual([
      'user "Question 20"',
      'assistant tool-call:look tool-call:look',
      'tool tool-result:look tool-result:look',
      'assistant "Answer 20"',
      'user "And?"',
    ])
  })

  it('is not compacted inside of an exchange', async () => {
    const { agent } = bench()
    await agent.importMessages([...exchange(1, 0), ...exchange(2, 30)])
    expect(await agent.compact({ keep: 5 })).toBe(true)
    const kept = await agent.getMessages({ maxMessages: 1000 })
    expect(sizeOf(kept)).toBe(exchange(2, 30).length)
    expect(await agent.compact({ keep: 5 })).toBe(false)
  })

  it('is compacted by itself when a turn has made it too long', async () => {
    const { agent, model, store } = bench({ script: () => 'Reply', maxMessages: 12, autoCompact: true })
    await agent.importMessages(LONG)
    for (const text of ['1', '2', '3']) await agent.executeTurn(text).outcome
    expect((await journal(store)).filter((line) => line.includes('compact'))).not.toEqual([])
    expect(illegal(transcript(await store.read(KEY)))).toBeUndefined()
    for (const index of model.calls.keys()) {
      expect(promptLines(model, index)[0]).toMatch(/^user/)
      expect(promptLines(model, index).length).toBeLessThanOrEqual(15)
    }
  })

  it('is forked at any of its entries', async () => {
    const { agent, store } = bench({ script: () => 'Reply', maxMessages: 1000 })
    await agent.importMessages(LONG)
    const last = (await loadSession(store, KEY)).seq
    for (let at = 2; at <= last; at += 3) {
      const fork = await agent.fork(`fork-${at}`, { at })
      const messages = await fork.getMessages({ maxMessages: 1000 })
      expect(illegal(messages)).toBeUndefined()
      await fork.executeTurn('And?').outcome
      const after = await fork.getMessages({ maxMessages: 1000 })
      expect(after.slice(0, messages.length)).toEqual(messages)
      expect(after.slice(messages.length).map(messageLine)).toEqual(['user "And?"', 'assistant "Reply"'])
      expect((await fork.importMessages(LONG)).repeated).toBe(true)
    }
  })

  it('goes with what is pruned before the turns that stay', async () => {
    const { agent, store } = bench({ script: () => 'Reply' })
    await agent.importMessages(LONG)
    await agent.executeTurn('1').outcome
    await agent.executeTurn('2').outcome
    const { deleted } = await pruneContext(store, KEY, { keepTurns: 1 })
    expect(deleted).toBeGreaterThan(30)
    expect((await agent.getMessages()).map(messageLine)).toEqual(['user "2"', 'assistant "Reply"'])
    expect((await agent.importMessages(LONG)).repeated).toBe(true)
  })
})

describe('an import that is kept', () => {
  it('is there after a restart, in a file', async () => {
    const path = sqlitePath()
    const first = openSqlite(path)
    await bench({ store: first, realTime: true }).agent.importMessages(LONG)
    await first.close()
    const { agent, model } = bench({
      store: openSqlite(path),
      script: ['Reply'],
      maxMessages: 12,
      realTime: true,
    })
    expect((await agent.importMessages(LONG)).repeated).toBe(true)
    await agent.executeTurn('And?').outcome
    expect(promptLines(model, 0).slice(-3)).toEqual([
      'tool tool-result:look tool-result:look',
      'assistant "Answer 20"',
      'user "And?"',
    ])
  })

  it('may be of thousands of messages, some of them large', async () => {
    const store = openSqlite()
    const { agent, model } = bench({ store, script: ['Reply'], realTime: true })
    const large = { role: 'user', content: 'x'.repeat(200_000) }
    const history = [large, ...Array.from({ length: 1000 }, (_, index) => exchange(index, 1)).flat()]
    expect(history).toHaveLength(5001)
    const { messages, repairs } = await agent.importMessages(history)
    expect([messages, repairs]).toEqual([4001, []])
    expect((await loadSession(store, KEY)).window.messages).toBe(5001)
    expect((await store.read(KEY, { from: 2, to: 2 }))[0]?.data['messages']).toEqual([large])
    await agent.executeTurn('And?').outcome
    expect(promptLines(model, 0).length).toBeLessThanOrEqual(101)
  })

  it('is refused by the store if it is no list of messages', async () => {
    const append = (data: object) =>
      memoryStore().append({
        key: KEY,
        id: 'x',
        since: 0,
        claim: { driver: 'd', leaseMs: 1000 },
        entries: [{ type: 'import', turn: 0, data: { source: 'openai', key: 'k', ...data } }],
      })
    expect(await code(append({ messages: [{ role: 'user', content: 'Hello.' }] }))).toBe('done')
    for (const messages of [
      undefined,
      'Hello.',
      [{ role: 'user' }],
      [{ role: 'assistant', content: [{ type: 'tool-call' }] }],
    ])
      expect(await code(append({ messages }))).toBe('invalid-entry')
  })

  it('must be understood: a reader that does not know its format declines (R21)', () => {
    const entry: Entry = { seq: 1, turn: 0, at: 1, type: 'import', v: 2, data: {} }
    expect(() => fold([entry])).toThrow(/does not understand/)
    expect(() => transcript([entry])).toThrow(/does not understand/)
  })
})

describe('a journal with imports of format 1', () => {
  const log = readFileSync('test/fixtures/import-v1.jsonl', 'utf8')
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Entry)
  const {
    messages,
    window,
    imports: keys,
  } = JSON.parse(readFileSync('test/fixtures/import-v1.json', 'utf8')) as {
    messages: Message[]
    window: object
    imports: string[]
  }

  it('reads as it did when it was written', () => {
    expect(transcript(log)).toEqual(messages)
    expect(fold(log)).toMatchObject({ window, imports: keys })
  })
})

function sizeOf(messages: readonly Message[]): number {
  return messages.reduce((sum, { role, content }) => sum + (role === 'tool' ? content.length : 1), 0)
}

function said(message: Message): string {
  return JSON.stringify(message)
}
