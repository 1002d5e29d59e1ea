/** A file with a conversation that has begun anew: checked, damaged, repaired and salvaged like any other (R6, R15). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, expect, it } from 'vitest'
import { forkContext, recreateContext } from '../../src/journal/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite, salvageSqlite } from '../../src/store/sqlite/repair/index.ts'
import { conversationKey, converse } from '../journal/conversation.ts'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-recreate-'))
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('is repaired and salvaged from its entries, where its head row is damaged', async () => {
  const [path, copy] = [join(folder, 'a.db'), join(folder, 'copy.db')]
  const [key, fork] = [conversationKey('talk'), conversationKey('fork')]
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  await converse(store, key, { from: 1, to: 2 })
  await store.erase(key)
  const { erasedUpTo } = await recreateContext(store, key)
  await converse(store, key, { from: 1, to: 1 })
  await forkContext(store, key, { contextId: 'fork' })
  const heads = [await store.head(key), await store.head(fork)]
  await store.close()
  expect(heads[0]?.erasedUpTo).toBe(erasedUpTo)
  expect((await checkSqlite(path)).problems).toEqual([])

  const db = new DatabaseSync(path)
  db.exec(`UPDATE context SET forked_at = 0, epoch = 1 WHERE name = 'talk'`)
  db.close()
  expect((await checkSqlite(path)).ok).toBe(false)
  await salvageSqlite(path, copy)
  const salvaged = sqliteStore(copy)
  expect([await salvaged.head(key), await salvaged.head(fork)]).toEqual(heads)
  await salvaged.close()

  const repaired = sqliteStore(path)
  expect(await repaired.rebuild(key)).toEqual({ repaired: true, head: heads[0] })
  await repaired.close()
  expect((await checkSqlite(path)).problems).toEqual([])
})
