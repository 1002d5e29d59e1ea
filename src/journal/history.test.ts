/** Forking with the fold: refusals, and the request to the store. test/journal prunes real histories. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { forkContext } from './fork-context.ts'
import { clearContext } from './history.ts'
import { loadSession } from './load.ts'
import { positionOf } from './session.ts'
import { transcript } from './transcript.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }
const principal = { tenant: 't', actor: 'a' }
let store: Store

beforeEach(async () => {
  store = memoryStore()
  const start = { type: 'turn.start', turn: 1, data: { principal } }
  const end = { type: 'turn.end', turn: 1, data: { outcome: 'limit', usage: {}, durationMs: 1 } }
  await store.append({ key, id: 'a', since: 0, claim: { driver: 'd', leaseMs: 1000 }, entries: [start, end] })
})

describe('a fork', () => {
  it('begins after the newest entry, or after the one that is named', async () => {
    expect(await forkContext(store, key, { contextId: 'x' })).toMatchObject({ first: 4, last: 4 })
    expect(await forkContext(store, key, { contextId: 'y', at: 2 })).toMatchObject({ first: 3, last: 3 })
  })

  it('stands where its parent stood: paused in an open turn, idle after it', async () => {
    await forkContext(store, key, { contextId: 'x', at: 2 })
    await forkContext(store, key, { contextId: 'y', at: 3 })
    expect(await store.head({ ...key, contextId: 'x' })).toMatchObject({
      status: 'paused',
      turn: 1,
      epoch: 1,
    })
    expect(await store.head({ ...key, contextId: 'y' })).toMatchObject({
      status: 'idle',
      turn: 1,
      outcome: 'limit',
    })
  })

  it('of nothing is refused', async () => {
    const nobody = { ...key, contextId: 'nobody' }
    await expect(forkContext(store, nobody, { contextId: 'x' })).rejects.toMatchObject({ code: 'not-found' })
    await expect(forkContext(store, key, { contextId: 'x', at: 0 })).rejects.toMatchObject({
      code: 'not-found',
      message: expect.stringContaining(' has no entry 0 to fork after.') as string,
    })
    await expect(forkContext(store, key, { contextId: 'x', at: 4 })).rejects.toMatchObject({
      code: 'not-found',
    })
    expect(await store.head({ ...key, contextId: 'x' })).toBe(undefined)
  })

  it('into a conversation that exists is refused', async () => {
    await expect(forkContext(store, key, { contextId: 'c' })).rejects.toMatchObject({ code: 'exists' })
  })
})

describe('a position', () => {
  it('says of a session what a head row needs', async () => {
    const running = await loadSession(store, key, 2)
    const { at } = running
    expect(positionOf(running)).toEqual({
      at,
      turn: 1,
      epoch: 1,
      claims: 0,
      running: true,
      createdAt: at,
      activeAt: at,
    })
    expect(positionOf(await loadSession(store, key))).toMatchObject({ running: false, outcome: 'limit' })
  })
})

describe('a clear', () => {
  const claim = { driver: 'd', leaseMs: 1000 }
  const begin = (turn: number) => [{ type: 'turn.start', turn, takes: ['m'], data: { principal } }]

  it('forgets what was said and leaves the conversation free, with its entries', async () => {
    const inbox = [{ type: 'input', key: 'm', data: { message: 'Hello' } }] as const
    const end = { type: 'turn.end', turn: 2, data: { outcome: 'stop', usage: {}, durationMs: 1 } }
    await store.append({ key, id: 'b', since: 3, inbox, claim, entries: [...begin(2), end] })
    expect(transcript(await store.read(key))).toEqual([{ role: 'user', content: 'Hello' }])
    const { entries } = await clearContext(store, key, 'a new subject')
    expect(entries.map(({ seq, type }) => `${seq} ${type}`)).toEqual(['8 claim', '9 clear', '10 release'])
    expect(transcript(await store.read(key))).toEqual([])
    expect((await loadSession(store, key)).window).toEqual({ from: 10, messages: 0 })
    expect(await store.head(key)).toMatchObject({ seq: 10, status: 'idle', turn: 2 })
    expect((await store.head(key))?.lease).toBe(undefined)
  })

  it('ends a wait: nothing waits any more, and there is no outcome to go on from', async () => {
    const inbox = [{ type: 'input', key: 'm', data: { message: 'Hello' } }] as const
    const end = { type: 'turn.end', turn: 2, data: { outcome: 'input-required', usage: {}, durationMs: 1 } }
    await store.append({ key, id: 'b', since: 3, inbox, claim, entries: [...begin(2), end] })
    const waiting = async () => (await store.list({ owner: key, status: 'waiting' })).heads.length
    expect(await waiting()).toBe(1)
    await clearContext(store, key)
    expect([await waiting(), (await store.head(key))?.outcome]).toEqual([0, undefined])
    expect(positionOf(await loadSession(store, key)).outcome).toBe(undefined)
  })

  it('waits for an open turn to end, and needs a conversation', async () => {
    const inbox = [{ type: 'input', key: 'm', data: { message: 'Hello' } }] as const
    await store.append({ key, id: 'b', since: 3, inbox, claim, entries: begin(2) })
    await expect(clearContext(store, key)).rejects.toMatchObject({ code: 'in-use', retry: 'later' })
    await expect(clearContext(store, { ...key, contextId: 'none' })).rejects.toMatchObject({
      code: 'not-found',
    })
  })
})
