/** The SQLite store against the contract of the Store port, and processes that race to create the file. */
import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ContextKey, HoldfastError } from '../../protocol/index.ts'
import { Child } from '../../testing/store-contract/child.ts'
import {
  type StoreHarness,
  type StoreWorker,
  storeContract,
  whySkipped,
} from '../../testing/store-contract/index.ts'
import { keyOf } from '../../testing/store-contract/talk.ts'
import type { Store } from '../index.ts'
import { type SqliteStore, sqliteStore } from './index.ts'
import { checkSqlite } from './repair/index.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-sqlite-'))
/** Created once and copied: creating a file costs a dozen syncs. */
const EMPTY = join(folder, 'empty.db')
const MEETING = 5
let files = 0

beforeAll(() => sqliteStore(EMPTY).close())

afterAll(() => rmSync(folder, { recursive: true }))

function newPath(): string {
  files += 1
  return join(folder, `${files}.db`)
}

/** With the default settings, so synchronous FULL. */
const harness: StoreHarness = {
  async open(options) {
    const path = newPath()
    copyFileSync(EMPTY, path)
    return sqliteStore(path, options)
  },
  reopen: async (store, options) => sqliteStore(pathOf(store), options),
  worker: (store) => workerOn(pathOf(store)),
  damage: {
    async entry(store, key, seq) {
      alter(store, key, `UPDATE entry SET data = '{"text":"forged"}' WHERE seq = ${seq} AND context = ?`)
    },
    async head(store, key) {
      alter(store, key, 'UPDATE context SET seq = seq - 1, pending = 7 WHERE id = ?')
    },
  },
  async verify(store) {
    const db = new DatabaseSync(pathOf(store))
    const found = db.prepare('PRAGMA integrity_check').all()
    db.close()
    expect(found).toEqual([{ integrity_check: 'ok' }])
  },
}

describe('the SQLite store', () => {
  test.each(storeContract)('$subject: $name', async (item) => {
    expect(whySkipped(item, harness)).toBeUndefined()
    await expect(item.run(harness)).resolves.toBeUndefined()
  })
})

test('processes may meet at a path where there is no file yet', async () => {
  const path = newPath()
  const children = Array.from({ length: MEETING }, (_, i) => {
    const job = { do: 'share', name: `p${i}`, keys: [keyOf('shared')], rounds: 1 } as const
    return new Child(workerOn(path), job)
  })
  try {
    await Promise.all(children.map((child) => child.rest()))
    for (const child of children) await child.gone()
  } finally {
    for (const child of children) await child.kill()
  }
  const store = sqliteStore(path)
  expect((await store.head(keyOf('shared')))?.epoch).toBe(MEETING)
  await store.close()
})

test('an append that fails after it has written leaves nothing behind, and takes nothing else with it (R5)', async () => {
  const store = sqliteStore(newPath())
  const post = (name: string, key: string) =>
    store.append({
      key: keyOf(name),
      id: key,
      since: 0,
      inbox: [{ type: 'input', key, data: { message: key } }],
    })
  const claim = { driver: 'driver', leaseMs: 1000 }
  const note = { type: 'note', turn: 0, data: { text: 'a', from: 'b' }, refs: ['0'.repeat(64)] }
  // The head row, the inbox and the claim are written before the missing blob is detected.
  const fail = (name: string) =>
    store.append({
      key: keyOf(name),
      id: 'fails',
      since: 0,
      inbox: [{ type: 'input', key: 'lost', data: { message: 'lost' } }],
      claim,
      entries: [note],
    })
  await expect(fail('alone')).rejects.toMatchObject({ code: 'invalid-entry' })
  const appends = [
    post('a', 'a-1'),
    fail('b'),
    post('a', 'a-2'),
    fail('a'),
    post('c', 'c-1'),
    post('b', 'b-1'),
  ]
  const settled = await Promise.allSettled(appends)
  expect(
    settled.map((it) => (it.status === 'fulfilled' ? it.value.last : (it.reason as HoldfastError).code)),
  ).toEqual([1, 'invalid-entry', 2, 'moved', 1, 1])
  expect(await store.head(keyOf('alone'))).toBeUndefined()
  for (const [name, keys] of Object.entries({ a: ['a-1', 'a-2'], b: ['b-1'], c: ['c-1'] })) {
    expect((await store.read(keyOf(name))).map(({ key }) => key)).toEqual(keys)
    expect(await store.head(keyOf(name))).toMatchObject({ seq: keys.length, pending: keys.length, epoch: 0 })
  }
  await store.close()
  expect((await checkSqlite(store.path)).problems).toEqual([])
})

function workerOn(path: string): StoreWorker {
  const module = new URL('../../../test/store/open-sqlite.ts', import.meta.url).href
  return { module, argument: JSON.stringify([path, {}]) }
}

function pathOf(store: Store): string {
  return (store as SqliteStore).path
}

function alter(store: Store, { tenant, actor, contextId }: ContextKey, sql: string): void {
  const db = new DatabaseSync(pathOf(store))
  const find = 'SELECT id FROM context WHERE tenant = ? AND actor = ? AND name = ?'
  const id = db.prepare(find).get(tenant, actor, contextId)?.['id']
  const { changes } = db.prepare(sql).run(id ?? null)
  db.close()
  expect(changes).toBe(1)
}
