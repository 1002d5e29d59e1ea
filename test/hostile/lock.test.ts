/** Other processes that hold the file: waiting costs time, never the event loop, and ends when it was said to end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../../src/protocol/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { PATIENCE_MS } from '../patience.ts'
import { type Child, codeOf, errorOf, SQLITE_MODULE, workplace } from './kit.ts'
import { keyOf, post, turn } from './talk.ts'

const place = workplace()
const key = keyOf('c')

/** Takes the write lock, and lets go when told to. */
const HOLDER = `
  import { DatabaseSync } from 'node:sqlite'
  const [path, how] = args
  const db = new DatabaseSync(path)
  db.exec(how)
  say('held')
  await new Promise((resolve) => process.stdin.once('data', resolve))
  db.exec('COMMIT')
  say('free')
  process.exit()
`

interface Holder extends Child {
  readonly letGo: () => void
}

async function hold(path: string, how = 'BEGIN IMMEDIATE'): Promise<Holder> {
  const child = place.start(HOLDER, { args: [path, how] })
  expect(await child.next()).toBe('held')
  return Object.assign(child, { letGo: () => void child.process.stdin?.write('go\n') })
}

async function timed<T>(run: () => Promise<T>): Promise<{ took: number; result: T }> {
  const start = performance.now()
  const result = await run()
  return { result, took: performance.now() - start }
}

async function opened(busyMs: number): Promise<SqliteStore> {
  const store = sqliteStore(place.path(), { synchronous: 'NORMAL', busyMs })
  await post(store, key, 'first')
  return store
}

describe('a lock that is held for longer than busyMs', () => {
  it('ends in store-busy, and not before busyMs', async () => {
    const store = await opened(250)
    await hold(store.path)
    const { took, result } = await timed(() => errorOf(() => post(store, key, 'second')))
    expect(result).toMatchObject({ code: 'store-busy', retry: 'later' })
    expect(result.message).toContain(store.path)
    expect(took).toBeGreaterThan(240)
    await store.close()
  })

  it('gives each append its own time to wait', async () => {
    const store = await opened(250)
    await hold(store.path)
    const waits = [0, 150].map(async (delay) => {
      await sleep(delay)
      return timed(() => codeOf(() => post(store, key, `after ${delay}`)))
    })
    for (const { took, result } of await Promise.all(waits)) {
      expect(result).toBe('store-busy')
      expect(took).toBeGreaterThan(240)
    }
    await store.close()
  })

  it('is not in the way of closing', async () => {
    const store = await opened(200)
    await hold(store.path)
    const writing = codeOf(() => post(store, key, 'second'))
    await store.close()
    expect(await writing).toBe('store-busy')
    expect(await codeOf(() => store.head(key))).toBe('store-closed')
  })
})

// Each waits for as long as a test may take, so what has to happen first does, or the append ends in store-busy.
describe('a lock that is released in time', () => {
  it('stops nothing else, and lets the append through with all that gathered meanwhile', async () => {
    const store = await opened(PATIENCE_MS)
    const holder = await hold(store.path)
    const posts = Array.from({ length: 50 }, (_, i) => post(store, key, `waiting ${i}`))
    for (let ticks = 0; ticks < 40; ticks++) await sleep(5)
    holder.letGo()
    await Promise.all(posts)
    expect(await store.read(key)).toHaveLength(51)
    await store.close()
  })

  it('keeps nobody from reading', async () => {
    const store = await opened(PATIENCE_MS)
    const holder = await hold(store.path)
    const writing = codeOf(() => post(store, key, 'second'))
    expect(await store.read(key)).toHaveLength(1)
    expect(await store.head(key)).toMatchObject({ seq: 1 })
    holder.letGo()
    expect(await writing).toBe('ok')
    await store.close()
  })

  it('by the death of its holder is free', async () => {
    const store = await opened(PATIENCE_MS)
    const holder = await hold(store.path)
    const writing = codeOf(() => post(store, key, 'second'))
    await holder.kill()
    expect(await writing).toBe('ok')
    await store.close()
  })
})

describe('opening while another process holds the lock', () => {
  it('of a store that exists needs no lock', async () => {
    const store = await opened(100)
    await hold(store.path)
    const other = sqliteStore(store.path, { busyMs: 100 })
    expect(await other.read(key)).toHaveLength(1)
    await other.close()
    await store.close()
  })

  it('of a new store ends in store-busy after busyMs', async () => {
    const path = place.path()
    await hold(path, 'BEGIN EXCLUSIVE')
    expect((await errorOf(() => sqliteStore(path, { busyMs: 200 }))).code).toBe('store-busy')
  })
})

describe('processes that write at the same time', () => {
  it('all get their turn, and nothing is lost or doubled', async () => {
    const path = place.path()
    const store = sqliteStore(path, { synchronous: 'NORMAL', busyMs: PATIENCE_MS })
    const writer = `
      import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
      const [path, name] = args
      const store = sqliteStore(path, { synchronous: 'NORMAL', busyMs: ${PATIENCE_MS} })
      const key = { tenant: 'acme', actor: 'ada', contextId: 'c' }
      for (let i = 0; i < 60; i++) {
        const inbox = [{ type: 'input', key: name + i, data: { message: name } }]
        await store.append({ key, id: name + i, since: i, inbox })
      }
      await store.close()
      say('done')
    `
    const children = ['a', 'b', 'c'].map((name) => place.start(writer, { args: [path, name] }))
    for (let i = 0; i < 60; i++) await post(store, key, `own ${i}`)
    for (const child of children) expect(await child.next()).toBe('done')
    const entries = await store.read(key)
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 240 }, (_, i) => i + 1))
    expect(new Set(entries.map((entry) => entry.key)).size).toBe(240)
    await turn(store, key, { number: 1 })
    await store.close()
  })
})

describe('an error of the store', () => {
  it('can be told from others without its class', async () => {
    const store = await opened(50)
    await hold(store.path)
    const error = await errorOf(() => post(store, key, 'x'))
    expect(HoldfastError.is(error, 'store-busy')).toBe(true)
    expect(error.toJSON()).toMatchObject({ code: 'store-busy', details: { path: store.path } })
    await store.close()
  })
})
