/** When writes are committed: together with many writers, at once with a lone one; and the writer's result. */
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, symlinkSync, unlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it, vi } from 'vitest'
import { type SqliteStore, sqliteStore } from './index.ts'

let folder = ''
let store: SqliteStore

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-database-'))
  store = sqliteStore(join(folder, 'store.db'), { synchronous: 'NORMAL' })
})

afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

let posts = 0

async function post(contextId: string): Promise<void> {
  posts += 1
  const inbox = [{ type: 'cancel', key: `key-${posts}`, data: { turn: 1 } }] as const
  await store.append({ key: { tenant: 'a', actor: 'a', contextId }, id: `post-${posts}`, since: 0, inbox })
}

/** A new conversation for every ten posts: reporting an inbox takes longer the more is pending. */
async function postMany(name: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await post(`${name}-${Math.floor(i / 10)}`)
}

/** Number of transactions in the log, which was empty when the store was opened. */
function commits(): number {
  const log = readFileSync(join(folder, 'store.db-wal'))
  const [pageSize, salt] = [log.readUInt32BE(8), log.readUInt32BE(16)]
  let count = 0
  for (let at = 32; at + 24 + pageSize <= log.length; at += 24 + pageSize)
    if (log.readUInt32BE(at + 8) === salt && log.readUInt32BE(at + 4) > 0) count += 1
  return count
}

it('a hundred appends of one moment share one transaction', async () => {
  await post('first')
  const before = commits()
  await Promise.all(Array.from({ length: 100 }, (_, i) => post(`talk-${i}`)))
  expect(commits() - before).toBe(1)
})

it('so do most of a hundred that come one by one with the events of one round of the event loop', async () => {
  await postMany('alone', 20)
  const before = commits()
  const posted = Array.from(
    { length: 100 },
    (_, i) => new Promise<void>((resolve) => setImmediate(() => resolve(post(`talk-${i}`)))),
  )
  await Promise.all(posted)
  // The first of them may still fall into the lone writer's millisecond.
  expect(commits() - before).toBeLessThan(50)
})

it('two writers out of step soon share their transactions', async () => {
  const before = commits()
  const late = async (): Promise<void> => {
    for (let breath = 0; breath < 2; breath++) await Promise.resolve()
    await postMany('b', 200)
  }
  await Promise.all([postMany('a', 200), late()])
  expect(commits() - before).toBeLessThan(300)
})

it('a writer that is alone does not wait for the event loop each time', async () => {
  let rounds = 0
  const count = (): void => {
    rounds += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  await postMany('alone', 500)
  clearImmediate(next)
  expect(rounds).toBeLessThan(450)
})

it('timers and other events get their turn while one writer appends without a pause', async () => {
  let rounds = 0
  let fired = 0
  const count = (): void => {
    rounds += 1
    next = setImmediate(count)
  }
  let next = setImmediate(count)
  const timer = setInterval(() => {
    fired += 1
  }, 5)
  await postMany('busy', 3000)
  clearImmediate(next)
  clearInterval(timer)
  // A yield after every millisecond of appends, each of which takes more than a hundredth of that.
  expect(rounds).toBeGreaterThan(30)
  expect(fired).toBeGreaterThan(3)
})

it('a receipt holds copies of its own, for every entry one', async () => {
  const key = { tenant: 'a', actor: 'a', contextId: 'twice' }
  const data = { text: 'as given', from: 'test', list: [1] }
  const entry = (given: typeof data) => ({ type: 'note', turn: 0, data: given })
  const other = { ...data, list: [2] }
  const claim = { driver: 'd', leaseMs: 1000 }
  const appended = store.append({ key, id: '1', since: 0, claim, entries: [data, data, other].map(entry) })
  const expected = [data, data, other].map((given) => structuredClone(given))
  data.list.push(3)
  other.list.push(3)
  const copies = (await appended).entries.slice(1).map((written) => written.data)
  expect(copies).toEqual(expected)
  Object.assign(copies[0] ?? {}, { text: 'changed' })
  expect(copies.slice(1)).toEqual(expected.slice(1))
  const read = await store.read(key, { from: 2 })
  expect(read.map((written) => written.data)).toEqual(expected)
})

it('a commit after which the folder cannot be looked at may be stored, and is repeated once it can', async () => {
  const deep = join(folder, 'deep')
  mkdirSync(deep)
  const moved = sqliteStore(join(deep, 'store.db'))
  // The looks before a commit are not due.
  const now = performance.now()
  const time = vi.spyOn(performance, 'now').mockReturnValue(now)
  const postTo = (id: string, since: number) => {
    const inbox = [{ type: 'input', key: id, data: { message: id } }] as const
    return moved.append({ key: { tenant: 'a', actor: 'a', contextId: 'c' }, id, since, inbox })
  }
  await postTo('first', 0)
  renameSync(deep, `${deep}-moved`)
  symlinkSync(deep, deep)
  await expect(postTo('second', 1)).rejects.toMatchObject({ code: 'ambiguous', retry: 'later' })
  time.mockReturnValue(now + 1000)
  await expect(postTo('third', 1)).rejects.toMatchObject({ code: 'store-failed' })
  time.mockRestore()
  unlinkSync(deep)
  renameSync(`${deep}-moved`, deep)
  expect(await postTo('second', 1)).toMatchObject({ first: 2, repeated: true })
  expect(await postTo('third', 1)).toMatchObject({ first: 3, repeated: false })
  await moved.close()
})

it('a store whose folder cannot be looked at can be closed', async () => {
  const deep = join(folder, 'deep')
  mkdirSync(deep)
  const moved = sqliteStore(join(deep, 'store.db'))
  renameSync(deep, `${deep}-moved`)
  symlinkSync(deep, deep)
  await moved.close()
  await expect(moved.scan()).rejects.toMatchObject({ code: 'store-closed' })
})
