/**
 * One round that two turns wait for, inspected, forked and pruned after each of its entries: R9, R11 and R15 for a turn
 * that ends with its calls open.
 */
import { describe, expect, it } from 'vitest'
import {
  forkContext,
  loadSession,
  pruneContext,
  readWindow,
  type Session,
  transcript,
} from '../../src/journal/index.ts'
import {
  type ContextKey,
  type JsonObject,
  LOCAL_OWNER,
  type Message,
  type NewEntry,
  type NewInboxEntry,
  NO_USAGE,
} from '../../src/protocol/index.ts'
import type { Store } from '../../src/store/index.ts'
import { conversationKey, converse } from './conversation.ts'
import { STORES, storeFixture } from './property.ts'

type Line = NewEntry | NewInboxEntry | 'claim'

const text = [{ type: 'text', text: 'done' }]
const calls = ['a', 'b'].map((callId) => ({ type: 'tool-call', callId, tool: 'look', args: {} }))
/** The journal, an entry a line: position 1 is the first. */
const LINES: readonly Line[] = [
  post('input', 'one', { message: 'one' }),
  'claim',
  { turn: 1, type: 'turn.start', data: { principal: { ...LOCAL_OWNER } }, takes: ['one'] },
  { turn: 1, type: 'model.start', data: { model: 'test/model', iteration: 1 } },
  { turn: 1, type: 'model.end', data: { content: calls, finish: 'tools' } },
  { turn: 1, type: 'tool.start', data: started('a') },
  {
    turn: 1,
    type: 'request.start',
    data: { requestId: 'r', kind: 'approval', prompt: 'May I?', callId: 'b' },
  },
  { turn: 1, type: 'turn.end', data: ended('input-required') },
  post('input', 'two', { message: 'two' }),
  post('answer', 'yes', { requestId: 'r', value: true }),
  'claim',
  { turn: 2, type: 'turn.start', data: { principal: { ...LOCAL_OWNER } }, takes: ['two'] },
  { turn: 2, type: 'turn.end', data: ended('auth-required') },
  'claim',
  { turn: 3, type: 'turn.start', data: { principal: { ...LOCAL_OWNER } } },
  { turn: 3, type: 'request.end', data: { requestId: 'r', how: 'answered', value: true }, takes: ['yes'] },
  { turn: 3, type: 'tool.end', data: { callId: 'a', status: 'ok', output: 1 } },
  { turn: 3, type: 'tool.start', data: started('b') },
  { turn: 3, type: 'tool.end', data: { callId: 'b', status: 'ok', output: 2 } },
  { turn: 3, type: 'model.start', data: { model: 'test/model', iteration: 1 } },
  { turn: 3, type: 'model.end', data: { content: text, finish: 'stop' } },
  { turn: 3, type: 'turn.end', data: ended('stop') },
]

/** From position `from` on: the messages, the open calls and requests, and the messages of a fork there. */
const STATES: readonly State[] = [
  { from: 1, said: [], fork: [], open: 'nothing' },
  { from: 3, said: ['one'], fork: ['one'], open: 'in turn' },
  { from: 5, said: ['one', 'a b?'], fork: ['one', 'a b?', 'a:not-run b:not-run'], open: 'in turn' },
  { from: 8, said: ['one', 'a b?'], fork: ['one', 'a b?', 'a:not-run b:not-run'], open: 'parked' },
  {
    from: 12,
    said: ['one', 'a b?', 'two'],
    fork: ['one', 'a b?', 'a:not-run b:not-run', 'two'],
    open: 'in turn',
  },
  {
    from: 13,
    said: ['one', 'a b?', 'two'],
    fork: ['one', 'a b?', 'a:not-run b:not-run', 'two'],
    open: 'parked',
  },
  {
    from: 15,
    said: ['one', 'a b?', 'two'],
    fork: ['one', 'a b?', 'a:not-run b:not-run', 'two'],
    open: 'in turn',
  },
  {
    from: 17,
    said: ['one', 'a b?', 'a:ok', 'two'],
    fork: ['one', 'a b?', 'a:ok b:not-run', 'two'],
    open: 'in turn',
  },
  {
    from: 19,
    said: ['one', 'a b?', 'a:ok b:ok', 'two'],
    fork: ['one', 'a b?', 'a:ok b:ok', 'two'],
    open: 'in turn',
  },
  {
    from: 21,
    said: ['one', 'a b?', 'a:ok b:ok', 'two', 'done'],
    fork: ['one', 'a b?', 'a:ok b:ok', 'two', 'done'],
    open: 'in turn',
  },
  {
    from: 22,
    said: ['one', 'a b?', 'a:ok b:ok', 'two', 'done'],
    fork: ['one', 'a b?', 'a:ok b:ok', 'two', 'done'],
    open: 'nothing',
  },
]

interface State {
  readonly from: number
  readonly said: readonly string[]
  readonly fork: readonly string[]
  readonly open: 'nothing' | 'in turn' | 'parked'
}

describe.each(STORES)('a round that turns wait for in the %s store', (name) => {
  const { store } = storeFixture(name)
  const positions = LINES.map((_, index) => ({ at: index + 1, ...stateAt(index + 1) }))

  it.each(positions)('reads as it should after entry $at', async ({ at, said, open }) => {
    const key = await written(at)
    expect(shown(transcript(await store.read(key)))).toEqual(said)
    expect(whereOpen(await loadSession(store, key))).toBe(open)
  })

  it.each(positions)('is whole in the smallest window after entry $at', async ({ at, said }) => {
    const key = await written(at)
    const session = await loadSession(store, key)
    const window = shown(transcript(await readWindow(store, key, { session, maxMessages: 1 })))
    expect(window).toEqual(at < 21 ? said : ['done'])
  })

  it.each(positions)('is not run in a fork after entry $at', async ({ at, fork, open }) => {
    const parent = await written(at)
    const key = { ...parent, contextId: `${parent.contextId}-fork` }
    await forkContext(store, parent, { contextId: key.contextId })
    expect(shown(transcript(await store.read(key)))).toEqual(fork)
    const session = await loadSession(store, key)
    expect(whereOpen(session)).toBe(open === 'parked' ? 'nothing' : open)
    expect(session.open ?? { calls: [], requests: [] }).toMatchObject({ calls: [], requests: [] })
  })

  it.each(positions)(
    'is left whole when all older turns are pruned after entry $at',
    async ({ at, said }) => {
      const key = await written(at)
      const before = await loadSession(store, key)
      const base = at < 12 ? 0 : 4
      expect(await pruneContext(store, key, { keepTurns: 1 })).toEqual({ deleted: base, base })
      expect(shown(transcript(await store.read(key)))).toEqual(at < 12 ? said : said.slice(1))
      const { seq: _, at: __, ...after } = await loadSession(store, key)
      expect(before).toMatchObject(after)
    },
  )

  it('is pruned when the turn that settled it is old', async () => {
    const key = await written(LINES.length)
    await converse(store, key, { from: 4, to: 4 })
    expect(await pruneContext(store, key, { keepTurns: 1 })).toEqual({ deleted: 22, base: 22 })
  })

  let serial = 0

  /** A conversation of its own with the first `count` lines. */
  async function written(count: number): Promise<ContextKey> {
    serial += 1
    const key = conversationKey(`wait-${name}-${serial}`)
    for (const [since, line] of LINES.slice(0, count).entries()) await write(store, { key, since, line })
    return key
  }
})

async function write(store: Store, step: { key: ContextKey; since: number; line: Line }): Promise<void> {
  const { key, since, line } = step
  const { epoch = 0 } = (await store.head(key)) ?? {}
  const request = { key, id: `append-${since}`, since }
  if (line === 'claim')
    await store.append({ ...request, claim: { driver: `driver-${since}`, leaseMs: 1000 } })
  else if ('key' in line) await store.append({ ...request, inbox: [line] })
  else await store.append({ ...request, epoch, entries: [line] })
}

function stateAt(at: number): State {
  const state = STATES.findLast(({ from }) => from <= at)
  if (state === undefined) throw new Error(`nothing is known of position ${at}`)
  return state
}

function whereOpen({ open, parked }: Session): State['open'] {
  if (open !== undefined) return parked === undefined ? 'in turn' : 'nothing'
  return parked === undefined ? 'nothing' : 'parked'
}

/** Messages as short texts: questions end with ?, results have their status. */
function shown(messages: readonly Message[]): string[] {
  return messages.map((message) => {
    if (message.role === 'tool')
      return message.content.map(({ callId, status }) => `${callId}:${status}`).join(' ')
    if (typeof message.content === 'string') return message.content
    const asked = message.content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
    return asked.length > 0 ? `${asked.join(' ')}?` : 'done'
  })
}

function post(type: NewInboxEntry['type'], key: string, data: JsonObject): NewInboxEntry {
  return { type, key, data }
}

function started(callId: string): JsonObject {
  return { callId, tool: 'look', args: {}, idempotencyKey: callId, replay: 'never' }
}

function ended(outcome: string): JsonObject {
  return { outcome, usage: { ...NO_USAGE }, durationMs: 1 }
}
