/** Rows that are wrong, gone or somewhere else, table by table: what is said, what stays readable, what repairs it. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSession } from '../../src/journal/index.ts'
import type { ContextKey } from '../../src/protocol/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { codeOf, errorOf, workplace } from './kit.ts'
import { fill, LONG } from './library.ts'
import { keyOf, newId, OWNER, post, turn } from './talk.ts'

const place = workplace()
const plain = keyOf('plain')
const pruned = keyOf('pruned')
const waiting = keyOf('waiting')
let folder = ''
let path = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'))
  path = join(folder, 'whole.db')
  await use((store) => fill(store))
})

beforeEach(() => {
  path = place.path()
  copyFileSync(join(folder, 'whole.db'), path)
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

describe('a reference to a blob', () => {
  const [one, two] = [keyOf('one'), keyOf('two')]
  const big = 'x'.repeat(100_000)

  beforeEach(async () => {
    await use(async (store) => {
      for (const key of [one, two]) await post(store, key, big)
    })
  })

  it.each([
    ['is gone', 'DELETE FROM blob_use'],
    ['leads to another blob', 'UPDATE blob_use SET blob = 99'],
    ['belongs to another entry', 'UPDATE blob_use SET seq = 9'],
  ])('that %s is reported, and a rebuild repairs it', async (_, change) => {
    damage(`${change} WHERE context = ${idOf('one')}`)
    expect(await problems()).toContainEqual(expect.objectContaining({ kind: 'blob', key: one, seq: 1 }))
    await use(async (store) => {
      await store.rebuild(one)
      await store.erase(two)
      expect((await store.read(one))[0]?.data['message']).toBe(big)
    })
    expect(await problems()).toEqual([])
  })

  it('of no conversation is reported', async () => {
    damage(`UPDATE blob_use SET context = 9999 WHERE context = ${idOf('one')}`)
    const stray = { kind: 'blob', message: expect.stringContaining('no conversation') as string }
    expect(await problems()).toContainEqual(expect.objectContaining(stray))
  })

  it.each(['the table', 'its index'])('that only %s has keeps the bytes', async (only) => {
    const remove = `DELETE FROM blob_use WHERE context = ${idOf('one')}`
    const add = `INSERT INTO blob_use SELECT ${idOf('one')}, 1, blob FROM blob_use WHERE context = ${idOf('two')}`
    if (only === 'the table') damage(remove)
    withBrokenIndex('blob_use_by_blob', () => damage(only === 'the table' ? add : remove))
    await use(async (store) => {
      await store.erase(two)
      expect((await store.read(one))[0]?.data['message']).toBe(big)
    })
  })
})

describe('an entry', () => {
  const changes: Record<string, string> = {
    'its text': `data = replace(data, 'note', 'NOTE')`,
    'its time': 'at = at + 1',
    'its turn': 'turn = turn + 1',
    'its type': `type = 'warning'`,
    'its version': 'v = 2',
    'its checksum': 'crc = crc + 1',
    'its marks': `extra = '{"optional":true}'`,
    'the append that it came with': `append = 'another'`,
    'a number beyond all numbers': 'at = 9223372036854775807',
  }

  for (const [what, change] of Object.entries(changes)) {
    it(`of which ${what} was changed is reported by position, and the others can be read`, async () => {
      damage(`UPDATE entry SET ${change} WHERE seq = 5 AND context = ${idOf('plain')}`)
      await use(async (store) => {
        const error = await errorOf(() => store.read(plain))
        expect(error).toMatchObject({ code: 'entry-corrupt', details: { contextId: 'plain', seq: 5 } })
        expect(await store.read(plain, { to: 4 })).toHaveLength(4)
        expect(await store.read(plain, { from: 6, limit: 3 })).toHaveLength(3)
        expect(await positions(store, plain, 'skip')).not.toContain(5)
        expect((await errorOf(() => store.read(plain, { order: 'newest' }))).details).toMatchObject({
          seq: 5,
        })
      })
      expect(await problems()).toContainEqual(expect.objectContaining({ kind: 'entry', key: plain, seq: 5 }))
    })
  }

  it('that belongs to another conversation is not taken for this one', async () => {
    const [from, to] = [idOf('plain'), idOf('waiting')]
    damage(`DELETE FROM entry WHERE context = ${to} AND seq = 2`)
    damage(`UPDATE entry SET context = ${to} WHERE context = ${from} AND seq = 2`)
    await use(async (store) => {
      for (const key of [plain, waiting])
        expect((await errorOf(() => store.read(key))).details).toMatchObject({
          contextId: key.contextId,
          seq: 2,
        })
    })
  })

  for (const [where, seq] of [
    ['first', 1],
    ['middle', 20],
    ['last', 48],
  ] as const) {
    it(`that is gone, the ${where} one, is reported and never skipped in silence`, async () => {
      damage(`DELETE FROM entry WHERE seq = ${seq} AND context = ${idOf('plain')}`)
      await use(async (store) => {
        const runs = [
          () => store.read(plain),
          () => store.read(plain, { order: 'newest' }),
          () => store.read(plain, { from: seq, to: seq }),
          () => drain(store, plain),
        ]
        for (const run of runs)
          expect(await errorOf(run)).toMatchObject({ code: 'entry-corrupt', details: { seq } })
        await store.dropSnapshots(plain)
        expect((await errorOf(() => loadSession(store, plain))).code).toBe('entry-corrupt')
        expect(await positions(store, plain, 'skip')).toHaveLength(47)
        expect((await errorOf(() => store.rebuild(plain))).details).toMatchObject({ seq })
      })
    })
  }

  it('that is gone from the part that a fork shares is missing in the fork, too', async () => {
    damage(`DELETE FROM entry WHERE seq = 3 AND context = ${idOf('pruned')}`)
    await use(async (store) => {
      expect((await errorOf(() => store.read(keyOf('older-fork')))).details).toMatchObject({ seq: 3 })
      expect(await store.read(pruned)).not.toHaveLength(0)
    })
  })

  it('below a base is nobody’s loss', async () => {
    damage(`DELETE FROM entry WHERE context = ${idOf('pruned')} AND seq < 17 AND type <> 'base'`)
    await use(async (store) => {
      expect(await codeOf(() => store.read(pruned))).toBe('ok')
      expect(await codeOf(() => loadSession(store, pruned))).toBe('ok')
    })
  })

  it('that is there twice in spirit, because the head was set back, is not overwritten', async () => {
    damage(`UPDATE context SET seq = 40 WHERE name = 'plain'`)
    await use(async (store) => {
      expect((await errorOf(() => post(store, plain, 'more'))).code).toBe('store-corrupt')
      expect(await store.rebuild(plain)).toMatchObject({ repaired: true, head: { seq: 48 } })
      expect(await post(store, plain, 'more')).toMatchObject({ first: 49 })
    })
  })
})

describe('a head row', () => {
  const changes = [
    'seq = seq - 1',
    'seq = seq + 1000',
    `status = 'running'`,
    `status = 'erased'`,
    'epoch = epoch + 1',
    `driver = 'somebody'`,
    'pending = 3',
    'base = 5',
    'turn = 99',
    'at = 0',
    'active_at = 0',
    'wake_at = 1',
    'parent = 3',
    'derived_seq = 1',
    `derived_by = 'x'`,
    'crc = 0',
  ]

  for (const change of changes) {
    it(`with ${change} is refused by everything that rests on it, and rebuilt from the entries`, async () => {
      const before = await use((store) => Promise.all([store.head(plain), store.read(plain)]))
      const others = (await use((store) => namesOf(store, 100))).filter((name) => name !== 'plain')
      damage(`UPDATE context SET ${change} WHERE name = 'plain'`)
      await use(async (store) => {
        for (const run of [() => store.head(plain), () => store.read(plain), () => post(store, plain, 'x')]) {
          const error = await errorOf(run)
          expect(error.code).toBe('store-corrupt')
          expect(error.message).toContain('rebuild()')
          expect(error.message).toContain('plain')
        }
        expect(await namesOf(store, 100)).toEqual(others)
        expect(await namesOf(store, 1)).toEqual(others)
        expect(await codeOf(() => store.due())).toBe('ok')
        expect(await codeOf(() => store.read(waiting))).toBe('ok')
        expect(await store.rebuild(plain)).toMatchObject({ repaired: true })
        expect([await store.head(plain), await store.read(plain)]).toEqual(before)
        expect(await codeOf(() => store.list({ owner: OWNER }))).toBe('ok')
      })
    })
  }

  it('of a fork is rebuilt with its parent, of a pruned conversation with its base', async () => {
    const names = ['fork', 'older-fork', 'pruned', 'plain/child', 'waiting', 'blobs']
    const keys = names.map(keyOf)
    const read = (store: SqliteStore) =>
      Promise.all(keys.flatMap((key) => [store.head(key), store.read(key), store.inbox(key)]))
    const before = await use(read)
    damage(`UPDATE context SET seq = 1, base = 0, forked_at = 1, pending = 9 WHERE status <> 'erased'`)
    await use(async (store) => {
      for (const key of [pruned, plain, ...keys]) await store.rebuild(key)
      expect(await read(store)).toEqual(before)
    })
    expect(await problems()).toEqual([])
  })

  it('whose name changed does not make the conversation look as if it never was', async () => {
    withBrokenIndex('context_by_name', () => damage(`UPDATE context SET name = 'qlain' WHERE name = 'plain'`))
    await use(async (store) => {
      for (const run of [() => store.head(plain), () => post(store, plain, 'x'), () => store.read(plain)])
        expect((await errorOf(run)).code).toBe('store-corrupt')
    })
  })

  it('that is damaged can still be erased', async () => {
    damage(`UPDATE context SET crc = 0 WHERE name IN ('plain', 'plain/child')`)
    await use(async (store) => {
      expect(await store.erase(plain)).toBe(2)
      expect(await store.head(plain)).toMatchObject({ status: 'erased' })
      expect(await store.read(plain)).toEqual([])
    })
  })
})

describe('the inbox', () => {
  const changes = [
    `UPDATE inbox SET taken = 7 WHERE seq = 2`,
    `UPDATE inbox SET seq = 3 WHERE seq = 2`,
    `UPDATE inbox SET key = 'other' WHERE seq = 2`,
    `UPDATE inbox SET digest = 'x' WHERE seq = 2`,
    `DELETE FROM inbox WHERE seq = 2`,
  ]
  for (const change of changes) {
    it(`after ${change} is refused, and rebuilt`, async () => {
      const before = await use((store) => store.inbox(waiting))
      damage(`${change} AND context = ${idOf('waiting')}`)
      await use(async (store) => {
        expect((await errorOf(() => store.inbox(waiting))).code).toBe('store-corrupt')
        expect(await store.read(waiting)).toEqual(before)
        await store.rebuild(waiting)
        expect(await store.inbox(waiting)).toEqual(before)
        const [first] = before
        const again = { type: 'input', key: first?.key ?? '', data: first?.data ?? {} } as const
        const receipt = await store.append({ key: waiting, id: newId(), since: 3, inbox: [again] })
        expect(receipt).toMatchObject({ first: 4, last: 3 })
      })
    })
  }
})

describe('a base', () => {
  for (const change of [
    'UPDATE base SET up_to = up_to + 3',
    'UPDATE base SET seq = seq - 1',
    'DELETE FROM base',
  ]) {
    it(`after ${change} hides nothing in silence, and is rebuilt`, async () => {
      const before = await use((store) => loadSession(store, pruned))
      damage(change)
      await use(async (store) => {
        for (const run of [
          () => store.read(pruned),
          () => store.base(pruned),
          () => loadSession(store, pruned),
        ])
          expect((await errorOf(run)).code).toBe('store-corrupt')
        await store.rebuild(pruned)
        expect(await loadSession(store, pruned)).toEqual(before)
      })
    })
  }
})

describe('a derived index', () => {
  for (const change of [
    `UPDATE derived SET value = '{"first":1,"last":2}' WHERE key = '000000000002'`,
    `UPDATE derived SET seq = seq + 1 WHERE key = '000000000002'`,
    `UPDATE derived SET key = '000000000099' WHERE key = '000000000002'`,
    `DELETE FROM derived WHERE key = '000000000002'`,
    `DELETE FROM derived WHERE key = '000000000002' AND idx = 'outcome'`,
  ]) {
    it(`after ${change} gives no wrong turn, and is rebuilt`, async () => {
      const before = await use((store) => store.read(plain, { turn: 2 }))
      damage(change)
      await use(async (store) => {
        expect((await errorOf(() => store.read(plain, { turn: 2 }))).code).toBe('store-corrupt')
        expect(await codeOf(() => store.read(plain, { turn: 3 }))).toBe('ok')
        await store.rebuild(plain)
        expect(await store.read(plain, { turn: 2 })).toEqual(before)
      })
    })
  }
})

describe('a snapshot', () => {
  for (const change of [
    `state = replace(state, '"turn":6', '"turn":7')`,
    `state = '{}'`,
    `state = 'no json'`,
    'seq = seq - 1',
    `context = ${1 + 1}`,
    'crc = 0',
  ]) {
    it(`with ${change} is passed over, and the session is the same`, async () => {
      const before = await use((store) =>
        Promise.all([loadSession(store, plain), loadSession(store, pruned)]),
      )
      damage(`UPDATE snapshot SET ${change}`)
      await use(async (store) => {
        expect(await store.loadSnapshot(plain, { format: before[0].seq })).toBeUndefined()
        expect(await Promise.all([loadSession(store, plain), loadSession(store, pruned)])).toEqual(before)
      })
    })
  }
})

describe('a blob', () => {
  const bytes = Buffer.from(LONG)

  it('that changed is never handed out; its entry is damaged, the others are not', async () => {
    damage(`UPDATE blob SET data = zeroblob(length(data)) WHERE id = 1`)
    await use(async (store) => {
      const error = await errorOf(() => store.read(keyOf('blobs')))
      expect(error).toMatchObject({ code: 'entry-corrupt', details: { seq: 5 } })
      expect(await positions(store, keyOf('blobs'), 'skip')).toEqual([1, 2, 3, 4, 6, 7])
    })
    expect((await problems()).map(({ kind }) => kind)).toEqual(expect.arrayContaining(['blob', 'entry']))
  })

  it('that is gone makes its entry damaged', async () => {
    damage('DELETE FROM blob')
    await use(async (store) => {
      expect((await errorOf(() => store.read(keyOf('blobs')))).details).toMatchObject({ seq: 5 })
    })
  })

  it('that changed is whole again when the same bytes are put', async () => {
    const hash = await use((store) => store.putBlob(OWNER, bytes))
    damage('UPDATE blob SET data = zeroblob(10)')
    await use(async (store) => {
      expect((await errorOf(() => store.getBlob(OWNER, hash))).code).toBe('store-corrupt')
      await turn(store, keyOf('new'), { number: 1, notes: [LONG] })
      expect(await store.read(keyOf('new'))).toHaveLength(5)
      expect(Buffer.from((await store.getBlob(OWNER, hash)) ?? []).equals(bytes)).toBe(true)
    })
  })
})

async function use<T>(run: (store: SqliteStore) => Promise<T>): Promise<T> {
  const store = sqliteStore(path, { synchronous: 'NORMAL', liveness: () => 'unknown' })
  try {
    return await run(store)
  } finally {
    await store.close()
  }
}

async function problems() {
  return (await checkSqlite(path)).problems
}

function damage(sql: string): void {
  const db = new DatabaseSync(path)
  expect(db.prepare(sql).run().changes).toBeGreaterThan(0)
  db.close()
}

/** Changes rows while one index is out of sight, so that it keeps what it had. */
function withBrokenIndex(index: string, run: () => void): void {
  const edit = (sql: string) => {
    const db = new DatabaseSync(path)
    db.enableDefensive?.(false)
    db.exec(`PRAGMA writable_schema = ON; ${sql}`)
    db.close()
  }
  const { sql: text, tbl_name: table } = schemaOf(index)
  edit(
    `UPDATE sqlite_schema SET type = 'table', sql = 'CREATE TABLE hidden (x)', name = 'hidden', tbl_name = 'hidden' WHERE name = '${index}'`,
  )
  run()
  edit(
    `UPDATE sqlite_schema SET type = 'index', sql = '${text}', name = '${index}', tbl_name = '${table}' WHERE name = 'hidden'`,
  )
}

function schemaOf(index: string): { sql: string; tbl_name: string } {
  const db = new DatabaseSync(path)
  const found = db.prepare('SELECT sql, tbl_name FROM sqlite_schema WHERE name = ?').get(index)
  db.close()
  return found as { sql: string; tbl_name: string }
}

function idOf(name: string): number {
  const db = new DatabaseSync(path)
  const { id } = db.prepare('SELECT id FROM context WHERE name = ?').get(name) as { id: number }
  db.close()
  return id
}

async function positions(store: SqliteStore, key: ContextKey, damaged: 'skip' | 'throw'): Promise<number[]> {
  return (await store.read(key, { damaged })).map(({ seq }) => seq)
}

async function drain(store: SqliteStore, key: ContextKey): Promise<void> {
  const { seq = 0 } = (await store.head(key)) ?? {}
  for await (const entry of store.watch(key)) if (entry.seq === seq) return
}

/** All that a list shows, page by page. */
async function namesOf(store: SqliteStore, limit: number): Promise<string[]> {
  const names: string[] = []
  for (let cursor: string | undefined; ; ) {
    const page = await store.list({ owner: OWNER, limit, ...(cursor === undefined ? {} : { cursor }) })
    names.push(...page.heads.map(({ key }) => key.contextId))
    cursor = page.next
    if (cursor === undefined) return names
  }
}
