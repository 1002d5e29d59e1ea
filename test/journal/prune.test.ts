/** R15: pruning deletes the oldest part and changes nothing else: neither the session, nor forks, nor needed entries. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  fold,
  forkContext,
  loadSession,
  positionOf,
  pruneContext,
  readWindow,
  transcript,
} from '../../src/journal/index.ts'
import {
  type ContextKey,
  type Entry,
  type EntryOf,
  LOCAL_OWNER,
  type NewEntry,
  NO_USAGE,
} from '../../src/protocol/index.ts'
import { conversationKey, converse, plainTurn } from './conversation.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'
import { FUTURE } from './reference-state.ts'

describe.each(STORES)('pruning in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'keeps the newest turns whole, and all that is needed still',
    PATIENCE,
    forAll(
      { fixture, share: 0.05, extra: fc.integer({ min: 1, max: 4 }) },
      async (author, moves, keepTurns) => {
        await author.write(moves)
        for (const branch of author.branches) {
          author.branch = branch
          const { key, log } = branch
          const { turn, window } = fold(log)
          const recent = log.filter((entry) => entry.turn > turn - keepTurns)
          const wanted = new Set([
            ...recent.flatMap(({ seq, takes = [] }) => [seq, ...takes]),
            window.summary,
          ])
          const inbox = await fixture.store.inbox(key)
          const before = await fixture.store.read(key)
          await pruneContext(fixture.store, key, { keepTurns })
          await author.catchUp()
          const after = await fixture.store.read(key)
          expect(after.filter(({ seq }) => wanted.has(seq))).toEqual(
            before.filter(({ seq }) => wanted.has(seq)),
          )
          expect(await fixture.store.inbox(key)).toEqual(inbox)
          expect(JSON.stringify(await loadSession(fixture.store, key))).toBe(JSON.stringify(fold(log)))
        }
      },
    ),
  )

  it(
    'never cuts between a question and its answer, be it open, parked or given',
    PATIENCE,
    forAll(
      { fixture, share: 0.05, extra: fc.integer({ min: 1, max: 2 }) },
      async (author, moves, keepTurns) => {
        await author.write(moves)
        for (const branch of author.branches) {
          author.branch = branch
          const { key, reference, log } = branch
          const before = await fixture.store.read(key)
          await pruneContext(fixture.store, key, { keepTurns })
          await author.catchUp()
          const after = await fixture.store.read(key)
          const gone = before.filter(({ seq }) => seq < (after[0]?.seq ?? 0))
          const open = [...reference.calls.map(({ callId }) => callId), ...reference.requests]
          const needed = [...open, ...after.flatMap(answeredBy)]
          expect(gone.flatMap(askedBy).filter((id) => needed.includes(id))).toEqual([])
          const summaries = fold(log).window.summary === undefined ? 0 : 1
          const said = transcript(before).slice(summaries)
          const left = transcript(after).slice(summaries)
          expect(left).toEqual(said.slice(said.length - left.length))
        }
      },
    ),
  )

  it('deletes the old turns', async () => {
    const key = await conversation('old', 40)
    expect(await pruneContext(fixture.store, key, { keepTurns: 10 })).toEqual({ deleted: 363, base: 363 })
    expect((await fixture.store.read(key))[0]).toMatchObject({ seq: 364, type: 'input' })
    expect(await pruneContext(fixture.store, key, { keepTurns: 10 })).toEqual({ deleted: 0, base: 363 })
    expect(await pruneContext(fixture.store, key, { keepTurns: 100 })).toEqual({ deleted: 0, base: 363 })
  })

  it.each([0, -1, 1.5, Number.NaN])('refuses to keep %d turns', async (keepTurns) => {
    const key = await conversation('none', 10)
    await expect(pruneContext(fixture.store, key, { keepTurns })).rejects.toMatchObject({
      code: 'invalid-option',
    })
  })

  it('leaves a conversation without entries alone', async () => {
    expect(await pruneContext(fixture.store, conversationKey('nobody'), { keepTurns: 1 })).toEqual({
      deleted: 0,
      base: 0,
    })
    expect(await fixture.store.head(conversationKey('nobody'))).toBe(undefined)
  })

  it('leaves the summary that prompts begin with', async () => {
    const key = await conversation('summary', 10)
    const { seq } = await loadSession(fixture.store, key)
    const compact = { type: 'compact', turn: 0, data: { upTo: seq, kept: 0, summary: 'Ten turns.' } }
    const release = { type: 'release', turn: 0, data: { reason: 'done' } }
    const claim = { driver: 'd', leaseMs: 1000 }
    await fixture.store.append({ key, id: 'compact', since: seq, claim, entries: [compact, release] })
    await converse(fixture.store, key, { from: 11, to: 60 })
    expect(await pruneContext(fixture.store, key, { keepTurns: 1 })).toMatchObject({ base: seq + 1 })
    const window = await readWindow(fixture.store, key, {
      session: await loadSession(fixture.store, key),
      maxMessages: 5,
    })
    expect(transcript(window)[0]).toEqual({ role: 'user', content: 'Ten turns.', by: 'program' })
  })

  it('does not cut through a round because the next input was posted during it', async () => {
    const key = conversationKey(`posted-${name}`)
    const [start, thinking, reply, ...rest] = plainTurn(1) as [NewEntry, NewEntry, NewEntry, ...NewEntry[]]
    const inputs = [1, 2].map(
      (n) => ({ type: 'input', key: `input-${n}`, data: { message: `${n}` } }) as const,
    )
    const claim = { driver: 'd', leaseMs: 1000 }
    const first = { key, id: 'a', since: 0, inbox: inputs.slice(0, 1), claim }
    const { epoch } = await fixture.store.append({ ...first, entries: [start, thinking, reply] })
    await fixture.store.append({ key, id: 'b', since: 5, inbox: inputs.slice(1) })
    await fixture.store.append({ key, id: 'c', since: 6, epoch, entries: rest })
    await fixture.store.append({ key, id: 'd', since: 14, claim, entries: plainTurn(2) })
    expect(await pruneContext(fixture.store, key, { keepTurns: 1 })).toEqual({ deleted: 4, base: 4 })
    expect((await fixture.store.read(key))[0]).toMatchObject({ seq: 5, type: 'model.end' })
  })

  it('leaves a request as long as a turn waits for its answer', async () => {
    const key = await conversation('request', 10)
    const { seq } = await loadSession(fixture.store, key)
    const entry = (turn: number, type: string, data: NewEntry['data']): NewEntry => ({ type, turn, data })
    const start = { principal: { ...LOCAL_OWNER } }
    const wait = { outcome: 'input-required', usage: { ...NO_USAGE }, durationMs: 1 }
    const request = { requestId: 'r', kind: 'question', prompt: 'Which?' }
    await fixture.store.append({
      key,
      id: 'ask',
      since: seq,
      claim: { driver: 'd', leaseMs: 1000 },
      entries: [
        entry(11, 'turn.start', start),
        entry(11, 'request.start', request),
        entry(11, 'turn.end', wait),
      ],
    })
    await fixture.store.append({
      key,
      id: 'wait',
      since: seq + 4,
      claim: { driver: 'd', leaseMs: 1000 },
      entries: [12, 13].flatMap((turn) => [entry(turn, 'turn.start', start), entry(turn, 'turn.end', wait)]),
    })
    expect(await pruneContext(fixture.store, key, { keepTurns: 1 })).toMatchObject({ base: seq + 2 })
    expect((await fixture.store.read(key))[0]).toMatchObject({ type: 'request.start', data: request })
    for (const turn of [14, 15]) await converse(fixture.store, key, { from: turn, to: turn })
    expect(await pruneContext(fixture.store, key, { keepTurns: 1 })).toMatchObject({ base: seq + 23 })
  })

  it("leaves the parent's part of a fork alone", async () => {
    const parent = await conversation('parent', 20)
    const child = { ...parent, contextId: `${parent.contextId}-fork` }
    await forkContext(fixture.store, parent, { contextId: child.contextId, at: 100 })
    expect(await pruneContext(fixture.store, child, { keepTurns: 1 })).toEqual({ deleted: 0, base: 0 })
    expect(await fixture.store.read(child, { limit: 200 })).toHaveLength(101)
  })

  it('leaves a fork all of its past, and so its prompt', async () => {
    const parent = await conversation('whole', 20)
    const fork = { ...parent, contextId: `${parent.contextId}-fork` }
    await forkContext(fixture.store, parent, { contextId: fork.contextId })
    const before = await fixture.store.read(fork)
    expect(await pruneContext(fixture.store, parent, { keepTurns: 2 })).toMatchObject({ deleted: 0 })
    expect(await fixture.store.read(fork)).toEqual(before)
  })

  it('leaves a base readable for a fork when more is pruned later, also a large one', async () => {
    const key = conversationKey(`large-${name}`)
    const [start, thinking, reply, ...rest] = plainTurn(1) as [NewEntry, NewEntry, NewEntry, ...NewEntry[]]
    const args = { text: 'x'.repeat(100_000) }
    const calls = [1, 2].map((n) => ({ type: 'tool-call', callId: `call-1-${n}`, tool: 'look', args }))
    const large = { ...reply, data: { ...reply.data, content: calls } }
    const input = { type: 'input', key: 'input-1', data: { message: 'Look.' } } as const
    await fixture.store.append({
      key,
      id: 'a',
      since: 0,
      inbox: [input],
      claim: { driver: 'd', leaseMs: 1 },
      entries: [start, thinking, large, ...rest],
    })
    await prune(key, 5)
    await forkContext(fixture.store, key, { contextId: `${key.contextId}-fork`, at: 7 })
    const fork = { ...key, contextId: `${key.contextId}-fork` }
    const before = await loadSession(fixture.store, fork)
    await converse(fixture.store, key, { from: 2, to: 12 })
    await prune(key, 14)
    expect(await loadSession(fixture.store, fork)).toEqual(before)
    expect(before.open?.calls[0]).toBe(undefined)
  })

  it('leaves a driver its lease, also when the head is rebuilt', async () => {
    const key = await conversation('lease', 10)
    const { seq } = await loadSession(fixture.store, key)
    const { epoch } = await fixture.store.append({
      key,
      id: 'claim',
      since: seq,
      claim: { driver: 'd', leaseMs: 1000 },
    })
    await prune(key, seq + 1)
    expect((await fixture.store.rebuild(key)).repaired).toBe(false)
    const warning = { type: 'warning', turn: 0, data: { code: 'still', message: 'here' } }
    await fixture.store.append({ key, id: 'still', since: seq + 2, epoch, entries: [warning] })
    expect((await fixture.store.head(key))?.lease).toMatchObject({ driver: 'd', leaseMs: 1000 })
  })

  async function conversation(what: string, turns: number): Promise<ContextKey> {
    const key = conversationKey(`${what}-${name}`)
    if ((await fixture.store.head(key)) === undefined)
      await converse(fixture.store, key, { from: 1, to: turns })
    return key
  }

  async function prune(key: ContextKey, upTo: number): Promise<void> {
    const session = await loadSession(fixture.store, key, upTo)
    await fixture.store.prune({ key, upTo, position: positionOf(session), session })
  }
})

/** Ids of the calls and requests that an entry opens. */
function askedBy(entry: Entry): string[] {
  if (entry.type === 'request.start') return [entry.data['requestId'] as string]
  if (entry.type !== 'model.end' || entry.v === FUTURE) return []
  const { content } = (entry as EntryOf<'model.end'>).data
  return content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
}

/** Ids of the calls and requests that an entry is about. */
function answeredBy({ type, data }: Entry): string[] {
  if (type === 'request.end') return [data['requestId'] as string]
  return type === 'tool.start' || type === 'tool.end' ? [data['callId'] as string] : []
}
