/** The live window, case by case. `test/journal/live-window.test.ts` has the property. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Entry, JsonObject, Message } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { fold } from './fold.ts'
import { LiveWindow } from './live-window.ts'
import { newSession, type Session } from './session.ts'
import { transcript } from './transcript.ts'
import { readWindow } from './window.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }

describe('a held window', () => {
  let store: Store
  let session: Session
  let held: LiveWindow
  let maxMessages: number
  let serial = 0

  beforeEach(() => {
    store = memoryStore()
    session = newSession()
    maxMessages = 0
  })

  it('is read as any other', async () => {
    await begin('Count.')
    for (const n of [1, 2, 3]) await drive('note', said(`${n}`))
    await hold(2)
    expect(await shown()).toEqual(['Count.', '2', '3'])
    expect(held.held.map(({ seq }) => seq)).toEqual([1, 3, 5, 6])
  })

  it('is the same over entries in memory', async () => {
    await begin('Count.')
    for (const n of [1, 2, 3]) await drive('note', said(`${n}`))
    await hold(2)
    const over = await LiveWindow.over(await store.read(key), key, { session, maxMessages })
    expect(over.held).toEqual(held.held)
    expect(await over.messages(session)).toEqual(await held.messages(session))
  })

  it('says what is added, and moves in the steps of a fresh one', async () => {
    await hold(8)
    await begin('Count.')
    const lengths: number[] = []
    for (let n = 1; n <= 12; n++) {
      await drive('note', said(`${n}`))
      expect(await shown()).toEqual(await fresh())
      lengths.push(held.held.length)
    }
    expect(lengths).toEqual([4, 5, 6, 7, 8, 9, 10, 9, 10, 9, 10, 9])
  })

  it('is made into messages once for as long as nothing is added', async () => {
    await begin('Count.')
    await hold(8)
    const messages = await held.messages(session)
    expect(await held.messages(session)).toBe(messages)
    await drive('warning', { code: 'w', message: 'm' })
    expect(await held.messages(session)).not.toBe(messages)
    expect(await held.messages(session)).toEqual(messages)
  })

  it('puts what it hears of too early or too late into its place', async () => {
    await begin('Count.')
    await hold(8)
    const [note] = await append('note', said('1'))
    const input = await post('Hurry.')
    const [take] = await append('take', { as: 'message' }, [input.key ?? ''])
    held.add([input])
    for (const entry of [note, take]) feed(entry as Entry)
    expect(held.held.map(({ seq }) => seq)).toEqual([1, 3, 4, 5, 6])
    expect(await shown()).toEqual(['Count.', '1', 'Hurry.'])
  })

  it('begins anew after a clear', async () => {
    await begin('Count.')
    await hold(8)
    await drive('note', said('1'))
    await drive('clear', {})
    expect(await shown()).toEqual([])
    expect(held.held).toEqual([])
    await drive('note', said('2'))
    expect(await shown()).toEqual(['2'])
  })

  it('begins with the summary after a compaction', async () => {
    await begin('Count.')
    await hold(8)
    for (const n of [1, 2, 3]) await drive('note', said(`${n}`))
    await drive('compact', { upTo: 5, kept: 1, summary: 'Counted to two.' })
    expect(await shown()).toEqual(['Counted to two.', '3'])
    expect(held.held.map(({ seq }) => seq)).toEqual([6, 7])
    for (let n = 4; n <= 14; n++) await drive('note', said(`${n}`))
    expect(await shown()).toEqual(await fresh())
    expect((await shown())[0]).toBe('Counted to two.')
  })

  it('does not begin inside a round', async () => {
    await begin('Look.')
    await hold(1)
    await drive('model.end', ask('a', 'b'))
    expect(await shown()).toEqual(['Look.', 'a b?'])
    await drive('tool.end', found('a'))
    await drive('note', said('Hm.'))
    expect(await shown()).toEqual(['Look.', 'a b?', 'a!', 'Hm.'])
    await drive('tool.end', found('b'))
    expect(await shown()).toEqual(['Look.', 'a b?', 'a b!', 'Hm.'])
    await drive('note', said('Well.'))
    expect(await shown()).toEqual(['Look.', 'Well.'])
  })

  it('takes entries back that were held before they had their place', async () => {
    await begin('Count.')
    await hold(8)
    const before = await shown()
    const unsaved: Entry = { seq: 4, turn: 1, at: 1, type: 'note', v: 1, data: said('1') }
    held.add([unsaved])
    expect(await shown()).toEqual([...before, '1'])
    held.remove(new Set([unsaved]))
    expect(await shown()).toEqual(before)
    await drive('note', said('2'))
    expect(await shown()).toEqual([...before, '2'])
  })

  it('lets go of an input that waits while it moves on, and says it when it gets it again', async () => {
    await begin('Count.')
    await hold(1)
    const input = await post('Later.')
    feed(input)
    for (const n of [1, 2, 3]) await drive('note', said(`${n}`))
    expect(await shown()).toEqual(['Count.', '3'])
    expect(held.held).not.toContainEqual(input)
    held.add([input])
    await drive('take', { as: 'message' }, [input.key ?? ''])
    expect(await shown()).toEqual(await fresh())
    expect(await shown()).toEqual(['Count.', 'Later.'])
  })

  it('says an input that was posted before a clear and is taken after it', async () => {
    await begin('Count.')
    await hold(8)
    const input = await post('Later.')
    feed(input)
    await drive('clear', {})
    expect(await shown()).toEqual([])
    held.add([input])
    await drive('take', { as: 'message' }, [input.key ?? ''])
    expect(await shown()).toEqual(await fresh())
    expect(await shown()).toEqual(['Later.'])
  })

  it('lets go of an input that was taken, once it has moved on', async () => {
    await begin('Count.')
    await hold(1)
    const input = await post('Not this.')
    feed(input)
    await drive('note', said('1'))
    await drive('take', { as: 'nothing' }, [input.key ?? ''])
    await drive('note', said('2'))
    expect(await shown()).toEqual(['Count.', '2'])
    expect(held.held.map(({ seq }) => seq)).toEqual([1, 3, 7])
  })

  it('lets go of a round that its turn left unfinished', async () => {
    await begin('Look.')
    await hold(1)
    await drive('model.end', ask('a'))
    await drive('note', said('Stop.'))
    expect(await shown()).toEqual(['Look.', 'a?', 'Stop.'])
    await drive('turn.end', { outcome: 'stop', durationMs: 1 })
    expect(await shown()).toEqual(await fresh())
    expect(await shown()).toEqual(['Look.', 'Stop.'])
  })

  it('lets go of a round that was given up for another', async () => {
    await begin('Look.')
    await hold(2)
    await drive('model.end', ask('a'))
    for (const n of [1, 2]) await drive('note', said(`${n}`))
    await drive('model.end', ask('b'))
    expect(await shown()).toEqual(await fresh())
    expect(await shown()).toEqual(['Look.', '2', 'b?'])
  })

  it('goes back further when a compaction leaves more than it shows', async () => {
    await begin('0')
    await hold(8)
    for (let n = 1; n <= 10; n++) await drive('note', said(`${n}`))
    expect(await shown()).toEqual(['0', '4', '5', '6', '7', '8', '9', '10'])
    await drive('compact', { upTo: 3, kept: 10 })
    expect(await shown()).toEqual(await fresh())
    expect(await shown()).toEqual(['3', '4', '5', '6', '7', '8', '9', '10'])
  })

  async function hold(limit: number): Promise<void> {
    maxMessages = limit
    held = await LiveWindow.read(store, key, { session, maxMessages })
  }

  async function append(type: string, data: JsonObject, takes?: string[]): Promise<readonly Entry[]> {
    serial += 1
    const head = await store.head(key)
    const owner =
      head?.lease === undefined ? { claim: { driver: 'd', leaseMs: 1000 } } : { epoch: head.epoch }
    const entry = { type, turn: 1, data, ...(takes === undefined ? {} : { takes }) }
    const { entries } = await store.append({
      key,
      id: `${serial}`,
      since: head?.seq ?? 0,
      ...owner,
      entries: [entry],
    })
    return entries
  }

  async function drive(type: string, data: JsonObject, takes?: string[]): Promise<void> {
    for (const entry of await append(type, data, takes)) feed(entry)
  }

  function feed(entry: Entry): void {
    session = fold([entry], session)
    if (maxMessages > 0) held.add([entry])
  }

  async function post(message: string): Promise<Entry> {
    serial += 1
    const inbox = [{ type: 'input', key: `key-${serial}`, data: { message } }] as const
    const since = (await store.head(key))?.seq ?? 0
    await store.append({ key, id: `${serial}`, since, inbox })
    const [entry] = await store.read(key, { from: since + 1 })
    return entry as Entry
  }

  async function begin(message: string): Promise<void> {
    const input = await post(message)
    feed(input)
    await drive('turn.start', { principal: { tenant: 't', actor: 'a' } }, [input.key ?? ''])
  }

  async function shown(): Promise<string[]> {
    return (await held.messages(session)).map(brief)
  }

  async function fresh(): Promise<string[]> {
    return transcript(await readWindow(store, key, { session, maxMessages })).map(brief)
  }
})

/** A message as a short text: questions end with ?, results with !. */
function brief(message: Message): string {
  if (message.role === 'tool') return `${message.content.map(({ callId }) => callId).join(' ')}!`
  if (typeof message.content === 'string') return message.content
  return `${message.content.flatMap((part) => ('callId' in part ? [part.callId] : [])).join(' ')}?`
}

function said(text: string): JsonObject {
  return { text, from: 'f' }
}

function ask(...calls: readonly string[]): JsonObject {
  return {
    content: calls.map((callId) => ({ type: 'tool-call', callId, tool: 'look', args: {} })),
    finish: 'tools',
  }
}

function found(callId: string): JsonObject {
  return { callId, status: 'ok', output: callId }
}
