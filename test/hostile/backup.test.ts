/** Copies of a file that is in use: of one moment, whole, and never in the place of something else. */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite, salvageSqlite } from '../../src/store/sqlite/repair/index.ts'
import { errorOf, SQLITE_MODULE, workplace } from './kit.ts'
import { fill, survey } from './library.ts'
import { keyOf, OWNER, post } from './talk.ts'

const place = workplace()

/** Posts to ten conversations in turn until told to stop, and remembers what was acknowledged. */
function keepWriting(store: SqliteStore) {
  const acknowledged = new Map<string, number>()
  let going = true
  const done = (async () => {
    for (let i = 0; going; i++) {
      const key = keyOf(`busy-${i % 10}`)
      const since = acknowledged.get(key.contextId) ?? 0
      const inbox = [{ type: 'input', key: `k${i}`, data: { message: 'm'.repeat(500) } }] as const
      const { last } = await store.append({ key, id: `a${i}`, since, inbox })
      acknowledged.set(key.contextId, last)
    }
  })()
  const stop = () => {
    going = false
    return done
  }
  return { acknowledged, stop }
}

/** What is wrong with a copy: gaps, damage, or something missing that was acknowledged before. */
async function flaws(path: string, acknowledged: ReadonlyMap<string, number>): Promise<string[]> {
  const found = (await checkSqlite(path)).problems.map(({ message }) => message)
  const copy = sqliteStore(path, { readOnly: true })
  for (const [contextId, last] of acknowledged) {
    const { seq = 0 } = (await copy.head(keyOf(contextId))) ?? {}
    if (seq < last) found.push(`${contextId} ends at ${seq}, not at ${last}`)
    const { length } = await copy.read(keyOf(contextId), { limit: 10_000 })
    if (length !== seq) found.push(`${contextId} has ${length} entries, not ${seq}`)
  }
  await copy.close()
  return found
}

it('a store with a relative path copies its own file, whatever the folder of the process is now', async () => {
  const [folder, other, before] = [place.folder(), place.folder(), process.cwd()]
  const stores: SqliteStore[] = []
  try {
    for (const [where, text] of [
      [folder, 'mine'],
      [other, 'another'],
    ] as const) {
      process.chdir(where)
      const store = sqliteStore('store.db')
      await post(store, keyOf('c'), text)
      stores.push(store)
    }
    await stores[0]?.backup(join(folder, 'copy.db'))
  } finally {
    process.chdir(before)
    for (const store of stores) await store.close()
  }
  const copy = sqliteStore(join(folder, 'copy.db'), { readOnly: true })
  expect(await copy.read(keyOf('c'))).toMatchObject([{ data: { message: 'mine' } }])
  await copy.close()
})

describe('a backup', () => {
  it('holds everything, and is a store like any other', async () => {
    const store = sqliteStore(place.path(), { synchronous: 'NORMAL', liveness: () => 'unknown' })
    const { blob } = await fill(store)
    const path = place.path('copy.db')
    await store.backup(path)
    const copy = sqliteStore(path, { liveness: () => 'unknown' })
    expect(await survey(copy, blob)).toEqual(await survey(store, blob))
    await post(copy, keyOf('plain'), 'only in the copy')
    expect((await store.head(keyOf('plain')))?.seq).toBe(48)
    await copy.close()
    await store.close()
  })

  it('while its own process keeps writing is of one moment', async () => {
    const store = sqliteStore(place.path(), { synchronous: 'NORMAL' })
    await store.putBlob(OWNER, Buffer.alloc(3_000_000, 'x'))
    const writing = keepWriting(store)
    for (let i = 0; i < 3; i++) {
      await sleep(50)
      const before = new Map(writing.acknowledged)
      const path = place.path(`copy-${i}.db`)
      await store.backup(path)
      expect(await flaws(path, before)).toEqual([])
    }
    await writing.stop()
    await store.close()
  })

  it('while another process keeps writing is of one moment, and comes to an end', async () => {
    const path = place.path()
    const store = sqliteStore(path, { synchronous: 'NORMAL' })
    await store.putBlob(OWNER, Buffer.alloc(5_000_000, 'x'))
    const child = place.start(
      `
      import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
      const store = sqliteStore(args[0], { synchronous: 'NORMAL' })
      const key = { tenant: 'acme', actor: 'ada', contextId: 'busy' }
      for (let i = 0; ; i++) {
        const inbox = [{ type: 'late-result', key: 'k' + i, data: { text: 'm'.repeat(300) } }]
        const { last } = await store.append({ key: { ...key, contextId: 'busy-' + (i % 50) }, id: 'a' + i, since: 0, inbox })
        if (i % 20 === 0) say({ contextId: 'busy-' + (i % 50), last })
      }`,
      { args: [path] },
    )
    for (let i = 0; i < 3; i++) {
      const { contextId, last } = (await child.next()) as { contextId: string; last: number }
      const copy = place.path('copy.db')
      await store.backup(copy)
      expect(await flaws(copy, new Map([[contextId, last]]))).toEqual([])
    }
    await child.kill()
    await store.close()
  })

  it('is none of a store that was closed, or of another file that was put at its path', async () => {
    const [path, target] = [place.path(), place.path('copy.db')]
    const store = sqliteStore(path)
    await post(store, keyOf('c'), 'mine')
    for (const side of ['', '-wal', '-shm']) renameSync(`${path}${side}`, `${path}.old${side}`)
    const other = sqliteStore(path)
    await post(other, keyOf('c'), 'of another')
    await expect(store.backup(target)).rejects.toMatchObject({ code: 'store-failed' })
    await other.close()
    await expect(other.backup(target)).rejects.toMatchObject({ code: 'store-closed' })
    expect(existsSync(target)).toBe(false)
    await store.close()
  })

  it('never takes the place of another file', async () => {
    const store = sqliteStore(place.path())
    await post(store, keyOf('c'), 'x')
    const path = place.path('copy.db')
    writeFileSync(path, 'mine')
    const error = await errorOf(() => store.backup(path))
    expect(error).toMatchObject({ code: 'exists', message: expect.stringContaining(path) })
    expect((await errorOf(() => store.backup(store.path))).code).toBe('exists')
    expect((await errorOf(() => store.backup(join(path, 'x.db')))).code).toBe('store-failed')
    expect((await errorOf(() => store.backup(join(dirname(path), 'no', 'x.db')))).code).toBe('store-failed')
    expect(readFileSync(path, 'utf8')).toBe('mine')
    expect(await store.read(keyOf('c'))).toHaveLength(1)
    expect(readdirSync(dirname(path))).toEqual(['copy.db'])
    await store.close()
  })

  it('leaves a file alone that is called as its own might be', async () => {
    const store = sqliteStore(place.path())
    await post(store, keyOf('c'), 'x')
    const target = place.path('copy.db')
    const names = ['.partial', '.partial-journal', '.partial-wal', '.damaged'].map((end) => target + end)
    for (const name of names) writeFileSync(name, 'mine')
    await store.backup(target)
    await store.close()
    await salvageSqlite(target, join(dirname(target), 'copy'))
    expect(names.map((name) => readFileSync(name, 'utf8'))).toEqual(names.map(() => 'mine'))
    const made = readdirSync(dirname(target)).filter((name) => !/db-(wal|shm)$/.test(name))
    expect(made).toHaveLength(names.length + 2)
  })

  it('to one target wins once, however many are made at the same time', async () => {
    const store = sqliteStore(place.path())
    await store.putBlob(OWNER, Buffer.alloc(3_000_000, 'x'))
    await post(store, keyOf('c'), 'x')
    const target = place.path('copy.db')
    const results = await Promise.allSettled([1, 2, 3].map(() => store.backup(target)))
    expect(results.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
    const refused = results.filter(({ status }) => status === 'rejected')
    expect(refused).toMatchObject([{ reason: { code: 'exists' } }, { reason: { code: 'exists' } }])
    expect(readdirSync(dirname(target))).toEqual(['copy.db'])
    expect(await flaws(target, new Map([['c', 1]]))).toEqual([])
    await store.close()
  })

  it('that is interrupted leaves only a file of its own name, and the next one is not misled by it', async () => {
    const path = place.path()
    const store = sqliteStore(path, { synchronous: 'NORMAL' })
    await store.putBlob(OWNER, Buffer.alloc(60_000_000, 'x'))
    await post(store, keyOf('c'), 'x')
    const copy = place.path('copy.db')
    const child = place.start(
      `
      import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
      const store = sqliteStore(args[0])
      say('going')
      await store.backup(args[1])
      say('done')`,
      { args: [path, copy] },
    )
    expect(await child.next()).toBe('going')
    const partial = () => readdirSync(dirname(copy)).some((name) => name.startsWith('copy.db.partial-'))
    while (!partial() && !existsSync(copy)) await sleep(1)
    await child.kill()
    expect(existsSync(copy)).toBe(false)
    const left = readdirSync(dirname(copy))
    expect(left.every((name) => name.startsWith(`${basename(copy)}.partial`))).toBe(true)
    await store.backup(copy)
    expect(readdirSync(dirname(copy)).toSorted()).toEqual([...left, 'copy.db'].toSorted())
    expect(await flaws(copy, new Map([['c', 1]]))).toEqual([])
    await store.close()
  })
})
