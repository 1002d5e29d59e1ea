/** The SQLite adapter beyond the contract: derived indexes of several processes, repeated posts, due, pruning in slices. */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { forkContext, loadSession, positionOf } from '../../journal/index.ts'
import type { JsonObject, NewEntry } from '../../protocol/index.ts'
import type { Derivation } from '../derive.ts'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from './index.ts'
import { checkSqlite } from './repair/index.ts'

const key = { tenant: 'acme', actor: 'ada', contextId: 'c' }
let folder = ''
let stores: SqliteStore[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-derived-'))
})

afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
  rmSync(folder, { recursive: true })
})

function open(options: SqliteStoreOptions = {}): SqliteStore {
  const store = sqliteStore(join(folder, 'store.db'), { synchronous: 'NORMAL', ...options })
  stores.push(store)
  return store
}

/** An index of all notes that counts its calls. */
function counting(index: string): { derivation: Derivation; calls: () => number } {
  let calls = 0
  const rows = ({ type, seq }: { type: string; seq: number }) => {
    calls += 1
    return type === 'note' ? [{ key: String(seq).padStart(8, '0'), value: {} }] : []
  }
  return { derivation: { index, rows }, calls: () => calls }
}

const claim = { driver: 'd', leaseMs: 60_000 }
const note = (text: string): NewEntry => ({ type: 'note', turn: 0, data: { text, from: 'test' } })

/** Claims, and appends `count` notes. Returns the epoch. */
async function fill(store: SqliteStore, count: number): Promise<number> {
  const { epoch } = await store.append({ key, id: 'claim', since: 0, claim })
  for (let i = 0; i < count; i += 1000) {
    const entries = Array.from({ length: Math.min(1000, count - i) }, (_, n) => note(`${i + n}`))
    await store.append({ key, id: `fill-${i}`, since: (await seqOf(store)) ?? 0, epoch, entries })
  }
  return epoch
}

async function seqOf(store: SqliteStore): Promise<number> {
  return (await store.head(key))?.seq ?? 0
}

function sql(text: string): unknown[] {
  const db = new DatabaseSync(join(folder, 'store.db'))
  try {
    return db.prepare(text).all()
  } finally {
    db.close()
  }
}

describe('two stores with different indexes on one file', () => {
  it('derive only what is new when they look up in turn', async () => {
    const [one, two] = [counting('one'), counting('two')]
    const [a, b] = [open({ derivations: [one.derivation] }), open({ derivations: [two.derivation] })]
    const epoch = await fill(a, 20_000)
    const find = (store: SqliteStore, index: string) => store.lookup(key, { index, order: 'last', limit: 1 })
    await find(a, 'one')
    await find(b, 'two')
    const before = one.calls() + two.calls()
    for (let round = 0; round < 10; round++) {
      const { last } = await a.append({
        key,
        id: `r${round}`,
        since: await seqOf(a),
        epoch,
        entries: [note('x')],
      })
      for (const [store, index] of [
        [a, 'one'],
        [b, 'two'],
        [a, 'one'],
        [b, 'two'],
      ] as const)
        expect(await find(store, index)).toMatchObject([{ seq: last }])
    }
    expect(one.calls() + two.calls() - before).toBeLessThanOrEqual(20)
    expect(await a.lookup(key, { index: 'one', limit: 100_000 })).toHaveLength(20_010)
    expect(await b.lookup(key, { index: 'two', limit: 100_000 })).toHaveLength(20_010)
    expect((await checkSqlite(a.path)).problems).toEqual([])
  })

  it('lose nothing when a rebuild or damage has made the progress of one of them wrong', async () => {
    const [one, two] = [counting('one'), counting('two')]
    const [a, b] = [open({ derivations: [one.derivation] }), open({ derivations: [two.derivation] })]
    await fill(a, 10)
    await b.lookup(key, { index: 'two' })
    await b.rebuild(key)
    expect(await a.lookup(key, { index: 'one' })).toHaveLength(10)
    await b.append({
      key,
      id: 'more',
      since: 0,
      inbox: [{ type: 'input', key: 'k', data: { message: 'm' } }],
    })
    await b.lookup(key, { index: 'two' })
    expect(sql('SELECT idx FROM derived_upto')).toContainEqual({ idx: 'one' })
    sql(`UPDATE derived_upto SET seq = seq + 100 WHERE idx = 'one'`)
    expect((await checkSqlite(a.path)).problems).toMatchObject([{ kind: 'index' }])
    expect(await a.lookup(key, { index: 'one' })).toHaveLength(10)
    await a.erase(key)
    expect(sql('SELECT idx FROM derived_upto')).toEqual([])
  })
})

describe('what a derivation may say', () => {
  for (const [what, bad] of Object.entries({ 'a NUL': 'a\0b', 'half a pair': 'a\ud800b' })) {
    it(`a key with ${what} is refused, and nothing of the append is written`, async () => {
      const rows = () => [{ key: bad, value: {} }]
      const store = open({ derivations: [{ index: 'word', rows }] })
      await expect(fill(store, 1)).rejects.toMatchObject({
        code: 'invalid-entry',
        message: expect.stringMatching(/"word".*"a\\u/),
      })
      expect(await store.head(key)).toBeUndefined()
      await fill(open(), 1)
      await expect(store.lookup(key, { index: 'word' })).rejects.toMatchObject({ code: 'invalid-entry' })
      const reader = open({ derivations: [{ index: 'word', rows }], readOnly: true })
      await expect(reader.lookup(key, { index: 'word' })).rejects.toMatchObject({ code: 'invalid-entry' })
    })
  }

  it('an index must have a plain name', () => {
    for (const index of ['', 'Word', 'a b', '1a', 'a\0', 'ä', undefined as never])
      expect(() => open({ derivations: [{ index, rows: () => [] }] })).toThrow(
        expect.objectContaining({ code: 'invalid-option' }),
      )
    open({ derivations: [{ index: 'my.word-2', rows: () => [] }] })
  })
})

describe('a post', () => {
  const posted = (...keys: string[]) =>
    keys.map((name) => ({ type: 'input', key: name, data: { message: name } }) as const)

  it('is recognised when it is repeated, whatever of it was there before', async () => {
    const store = open()
    await fill(store, 10)
    const request = { key, id: 'post', since: 0, inbox: posted('a', 'b', 'c') }
    const first = await store.append(request)
    await store.append({ key, id: 'other', since: 0, inbox: posted('d') })
    const again = await store.append(request)
    expect(again).toEqual({ ...first, inbox: again.inbox, repeated: true })
    expect(again.inbox).toHaveLength(4)
    const overlap = { key, id: 'overlap', since: 0, inbox: posted('b', 'e', 'd', 'f') }
    const { first: from, last: to } = await store.append(overlap)
    expect(await store.append(overlap)).toMatchObject({ first: from, last: to, repeated: true })
    expect(await store.append({ ...overlap, id: 'new' })).toMatchObject({ entries: [], repeated: false })
  })
})

describe('due', () => {
  it('asks once for each driver', async () => {
    const asked: string[] = []
    const liveness = (driver: string) => {
      asked.push(driver)
      return 'dead' as const
    }
    const store = open({ liveness })
    for (let i = 0; i < 20; i++) {
      const inbox = [{ type: 'input', key: 'k', data: { message: 'm' } }] as const
      const context = { ...key, contextId: `c${i}` }
      await store.append({ key: context, id: 'a', since: 0, inbox, claim: { ...claim, driver: `d${i % 2}` } })
    }
    asked.length = 0
    expect(await store.due()).toHaveLength(20)
    expect(asked.sort()).toEqual(['d0', 'd1'])
  })
})

describe('a long prune', () => {
  const COUNT = 12_000

  async function request(store: SqliteStore, upTo: number) {
    const session = await loadSession(store, key, upTo)
    return { key, upTo, position: positionOf(session), session: session as unknown as JsonObject }
  }

  it('deletes in slices, and others get their turn in between', async () => {
    const store = open()
    await fill(store, COUNT)
    const pruning = store.prune(await request(store, COUNT))
    let left = COUNT
    for (let i = 0; i < 50 && left === COUNT; i++) {
      await new Promise((resolve) => setImmediate(resolve))
      left = Number((sql('SELECT count(*) n FROM entry WHERE seq <= 12000') as { n: number }[])[0]?.n)
    }
    expect(left).toBe(COUNT - 5000)
    expect(await store.read(key, { from: 1, limit: 5 })).toMatchObject([{ seq: COUNT + 1 }, { type: 'base' }])
    expect(await pruning).toEqual({ deleted: COUNT, base: COUNT })
    expect(sql('SELECT seq FROM entry WHERE seq <= 12000')).toEqual([])
  })

  it('that is cut short leaves a file without fault, and the next one removes the rest', async () => {
    const store = open()
    await fill(store, COUNT)
    const upTo = await request(store, COUNT - 1000)
    const closing = open()
    const pruning = closing.prune(upTo)
    await new Promise((resolve) => setImmediate(resolve))
    await closing.close()
    const { deleted } = await pruning
    expect(deleted).toBeLessThan(COUNT - 1000)
    expect((await checkSqlite(store.path)).problems).toEqual([])
    // A fork above the base protects nothing below it.
    await forkContext(store, key, { contextId: 'fork' })
    expect(await store.rebuild(key)).toMatchObject({ repaired: false })
    const higher = await request(store, COUNT - 500)
    expect(await store.prune(higher)).toEqual({ deleted: COUNT - 1000 - deleted, base: COUNT - 500 })
    expect(sql(`SELECT seq FROM entry WHERE seq <= ${COUNT - 1000}`)).toEqual([])
    expect(await store.prune(higher)).toEqual({ deleted: 0, base: COUNT - 500 })
    const fork = { ...key, contextId: 'fork' }
    expect((await store.read(fork, { limit: 1 }))[0]?.seq).toBe(COUNT - 999)
    expect((await checkSqlite(store.path)).problems).toEqual([])
  })
})
