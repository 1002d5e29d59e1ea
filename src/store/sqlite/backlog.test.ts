/** Buffered rows of derived indexes: invisible to readers, stored later in the file. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { JsonObject, NewEntry } from '../../protocol/index.ts'
import type { Derivation } from '../derive.ts'
import { newHead } from '../head.ts'
import { Backlogs } from './backlog.ts'
import type { Database } from './database.ts'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './index.ts'
import { checkSqlite } from './repair/index.ts'

const key = { tenant: 'acme', actor: 'ada', contextId: 'c' }
let folder = ''
let stores: SqliteStore[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-backlog-'))
})

afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
  rmSync(folder, { recursive: true })
})

/** Indexes every note under its text. */
const notes: Derivation = {
  index: 'note',
  rows: ({ type, data }) => (type === 'note' ? [{ key: data['text'] as string, value: data }] : []),
}

function open(options: SqliteStoreOptions = {}): SqliteStore {
  const path = join(folder, 'store.db')
  const store = sqliteStore(path, { synchronous: 'NORMAL', derivations: [notes], ...options })
  stores.push(store)
  return store
}

/** One append that claims the conversation and adds notes. */
async function say(store: SqliteStore, ...texts: string[]): Promise<readonly JsonObject[]> {
  const since = (await store.head(key))?.seq ?? 0
  const entries = texts.map((text): NewEntry => ({ type: 'note', turn: 0, data: { text, from: 'test' } }))
  const claim = { driver: `d${since}`, leaseMs: 60_000, force: true } as const
  const receipt = await store.append({ key, id: `say-${since}`, since, claim, entries })
  return receipt.entries.map(({ data }) => data)
}

async function said(store: SqliteStore): Promise<string[]> {
  return (await store.lookup(key, { index: 'note' })).map((row) => row.key)
}

function stored(): string[] {
  const db = new DatabaseSync(join(folder, 'store.db'), { readOnly: true })
  try {
    const rows = db.prepare(`SELECT key FROM derived WHERE idx = 'note' ORDER BY key`).all()
    return rows.map((row) => String(row['key']))
  } finally {
    db.close()
  }
}

const words = (count: number, from = 10): string[] => Array.from({ length: count }, (_, i) => `w${from + i}`)

describe('rows that are held back', () => {
  it('are found all the same, and stored when there are two dozen', async () => {
    const store = open()
    for (const word of words(23)) await say(store, word)
    expect(stored()).toEqual([])
    expect(await said(store)).toEqual(words(23))
    await say(store, 'w33')
    expect(stored()).toEqual(words(24))
    await say(store, 'w34')
    expect(stored()).toEqual(words(24))
    expect(await said(store)).toEqual(words(25))
    expect((await checkSqlite(store.path)).problems).toEqual([])
  })

  it('are stored at the latest a hundred entries on', async () => {
    const store = open()
    await say(store, 'w10')
    const inbox = (i: number) => [{ type: 'cancel', key: `k${i}`, data: { turn: 1 } }] as const
    for (let i = 0; i < 97; i++) await store.append({ key, id: `i${i}`, since: 0, inbox: inbox(i) })
    expect(stored()).toEqual([])
    await store.append({ key, id: 'last', since: 0, inbox: inbox(97) })
    expect(stored()).toEqual(['w10'])
  })

  it('are not missed by another process, whether it reads, writes or may only look', async () => {
    const [a, b] = [open(), open()]
    await say(a, 'w10')
    expect(await said(open({ readOnly: true }))).toEqual(words(1))
    expect(await said(b)).toEqual(words(1))
    await say(a, 'w11')
    await say(b, 'w12')
    await say(a, 'w13')
    for (const store of [a, b, open({ readOnly: true })]) expect(await said(store)).toEqual(words(4))
    for (let i = 14; i < 40; i++) await say(i % 2 ? a : b, `w${i}`)
    for (const store of [a, b]) expect(await said(store)).toEqual(words(30))
    expect(stored().length).toBeGreaterThan(12)
    expect((await checkSqlite(a.path)).problems).toEqual([])
  })

  it('go on where a process ended, without a lookup in between', async () => {
    for (const word of words(24)) {
      const store = open()
      await say(store, word)
      await store.close()
    }
    expect(stored()).toEqual(words(24))
  })

  it('are seen by a fork as far as it goes', async () => {
    const store = open()
    await say(store, 'w10')
    const at = (await store.head(key))?.seq ?? 0
    await say(store, 'w11')
    const child = { ...key, contextId: 'fork' }
    const position = { turn: 0, epoch: 1, claims: 1, at: 1, createdAt: 1, activeAt: 1, running: false }
    await store.fork({ parent: key, child, at, position })
    const rows = await store.lookup(child, { index: 'note' })
    expect(rows.map((row) => row.key)).toEqual(['w10'])
  })

  it('are nobody else’s to change', async () => {
    const store = open()
    const [, data] = await say(store, 'w10')
    Object.assign(data ?? {}, { from: 'somebody else' })
    const [row] = await store.lookup(key, { index: 'note' })
    expect(row?.value).toEqual({ text: 'w10', from: 'test' })
    Object.assign(row?.value ?? {}, { from: 'somebody else' })
    expect((await store.lookup(key, { index: 'note' }))[0]?.value).toEqual({ text: 'w10', from: 'test' })
  })

  it('go with what is erased', async () => {
    const store = open()
    await say(store, 'w10')
    await store.erase(key)
    expect(await said(store)).toEqual([])
  })

  it('are once there after the appends of a batch had to be done again', async () => {
    const store = open()
    await say(store, 'w10')
    const lost = { type: 'note', turn: 0, data: { text: 'x', from: 'test' }, refs: ['0'.repeat(64)] }
    const start: NewEntry = { type: 'note', turn: 0, data: { text: 'y', from: 'test' } }
    const refused = store.append({
      key: { ...key, contextId: 'other' },
      id: 'other',
      since: 0,
      claim: { driver: 'd', leaseMs: 1000 },
      entries: [start, lost],
    })
    await Promise.all([say(store, 'w11'), expect(refused).rejects.toMatchObject({ code: 'invalid-entry' })])
    expect(await said(store)).toEqual(words(2))
    for (const word of words(22, 12)) await say(store, word)
    expect(stored()).toEqual(words(24))
  })
})

it('what is undone in the file is not held any more', () => {
  const db = { undone: 0 }
  const backlogs = new Backlogs(db as Database)
  const head = { ...newHead(key, 1), seq: 7 }
  const context = { id: 1, head, parentId: undefined, forkedAt: 0, derivedSeq: 5, derivedBy: 'note' }
  backlogs.hold(context, [[1, 'note', 'a', 6, '{}']])
  expect(backlogs.of(context)).toHaveLength(1)
  expect(backlogs.of({ ...context, head: { ...head, seq: 8 } })).toBeUndefined()
  expect(backlogs.of({ ...context, derivedSeq: 4 })).toBeUndefined()
  db.undone += 1
  expect(backlogs.of(context)).toBeUndefined()
})
