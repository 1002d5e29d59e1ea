/** Loading a session: from the newest snapshot or base, page by page, never from one that does not fit. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { memoryStore } from '../store/memory/index.ts'
import { fold } from './fold.ts'
import { recreateContext } from './history.ts'
import { loadSession, saveSession } from './load.ts'
import { newSession, positionOf, SESSION_FORMAT } from './session.ts'

const key = { tenant: 't', actor: 'a', contextId: 'c' }
let store: Store

beforeEach(async () => {
  store = memoryStore()
  const notes = Array.from({ length: 1299 }, (_, n) => ({
    type: 'note',
    turn: 0,
    data: { text: `${n}`, from: 'f' },
  }))
  await store.append({ key, id: 'a', since: 0, claim: { driver: 'd', leaseMs: 1000 }, entries: notes })
})

describe('loading', () => {
  it('gives a new session for a conversation that nobody began', async () => {
    expect(await loadSession(store, { ...key, contextId: 'other' })).toEqual(newSession())
    expect(await loadSession(store, key, 0)).toEqual(newSession())
  })

  it('reads page after page', async () => {
    expect(await loadSession(store, key)).toEqual(fold(await store.read(key, { limit: 2000 })))
    for (const at of [1, 499, 500, 501, 1000, 1300]) expect((await loadSession(store, key, at)).seq).toBe(at)
    expect((await loadSession(store, key, 9999)).seq).toBe(1300)
  })

  it('starts from the newest snapshot that is not too new', async () => {
    for (const seq of [400, 800]) await snapshot(seq, SESSION_FORMAT, { metadata: { marked: seq } })
    expect(await loadSession(store, key)).toHaveProperty('metadata.marked', 800)
    expect(await loadSession(store, key, 800)).toHaveProperty('metadata.marked', 800)
    expect(await loadSession(store, key, 799)).toHaveProperty('metadata.marked', 400)
    expect(await loadSession(store, key, 399)).not.toHaveProperty('metadata.marked')
  })

  it('ignores snapshots of another fold', async () => {
    await snapshot(800, SESSION_FORMAT + 1, { metadata: { marked: true } })
    expect(await loadSession(store, key)).not.toHaveProperty('metadata.marked')
  })

  it('starts from the base where older entries are gone', async () => {
    const session = await loadSession(store, key, 900)
    await store.prune({ key, upTo: 900, position: positionOf(session), session })
    expect((await loadSession(store, key)).totals.messages).toBe(1299)
    expect(await loadSession(store, key, 900)).toEqual(session)
    await expect(loadSession(store, key, 899)).rejects.toMatchObject({
      code: 'pruned',
      details: { at: 899, base: 900 },
    })
  })
})

describe('loading while the conversation is erased and begins anew', () => {
  it.each([
    ['after its snapshot was read', 'loadSnapshot'],
    ['after a page was read', 'read'],
  ] as const)('gives the new one: %s', async (_, call) => {
    // The entries follow exactly the last position of the old session.
    const upTo = call === 'read' ? 1000 : 1300
    if (call === 'loadSnapshot') await snapshot(upTo, SESSION_FORMAT, { metadata: { marked: upTo } })
    else await shorterConversation(upTo)
    let isOver = false
    const meanwhile = {
      base: (of: typeof key) => store.base(of),
      loadSnapshot: (...given: Parameters<Store['loadSnapshot']>) => store.loadSnapshot(...given),
      read: (...given: Parameters<Store['read']>) => store.read(...given),
    }
    const read = meanwhile[call] as (...given: unknown[]) => Promise<unknown>
    const interrupted = async (...given: unknown[]) => {
      const found = await read(...given)
      const isLast = call === 'loadSnapshot' || (given[1] as { from: number }).from === 501
      if (isLast && !isOver) {
        isOver = true
        await store.erase(key)
        await recreateContext(store, key)
      }
      return found
    }
    const session = await loadSession({ ...meanwhile, [call]: interrupted }, key)
    expect(session).toEqual(await loadSession(store, key))
    expect(session).toMatchObject({ seq: upTo + 1, erasedUpTo: upTo, totals: newSession().totals })
    expect(session).not.toHaveProperty('metadata.marked')
  })
})

describe('saving', () => {
  it('writes a snapshot when it spares enough, and says so', async () => {
    const session = await loadSession(store, key)
    expect(await saveSession(store, key, { session, since: 1101 })).toBe(false)
    expect(await store.loadSnapshot(key, { format: SESSION_FORMAT })).toBe(undefined)
    expect(await saveSession(store, key, { session, since: 1100 })).toBe(true)
    expect(await store.loadSnapshot(key, { format: SESSION_FORMAT })).toEqual({
      seq: 1300,
      format: SESSION_FORMAT,
      state: session,
    })
  })
})

async function shorterConversation(entries: number): Promise<void> {
  store = memoryStore()
  const notes = Array.from({ length: entries - 1 }, () => ({
    type: 'note',
    turn: 0,
    data: { text: 'x', from: 'f' },
  }))
  await store.append({ key, id: 'a', since: 0, claim: { driver: 'd', leaseMs: 1000 }, entries: notes })
}

async function snapshot(seq: number, format: number, more: JsonObject): Promise<void> {
  const state = { ...(await loadSession(store, key, seq)), ...more }
  await store.saveSnapshot(key, { seq, format, state })
}
