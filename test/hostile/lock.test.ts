/** Other processes that hold the file: waiting costs time, never the event loop, and ends when it was said to end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../../src/protocol/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { type Child, codeOf, errorOf, workplace } from './kit.ts'
import { keyOf, post, turn } from './talk.ts'

const place = workplace()
const key = keyOf('c')

/** Takes the write lock, and lets go after a while or when told to. */
const HOLDER = `
  import { DatabaseSync } from 'node:sqlite'
  const [path, ms, how] = args
  const db = new DatabaseSync(path)
  db.exec(how)
  say('held')
  await new Promise((resolve) => { setTimeout(resolve, Number(ms)); process.stdin.once('data', resolve) })
  db.exec('COMMIT')
  say('free')
  process.exit()
`

async function hold(path: string, ms: number, how = 'BEGIN IMMEDIATE'): Promise<Child> {
  const child = place.start(HOLDER, { args: [path, String(ms), how] })
  expect(await child.next()).toBe('held')
  return child
}

/** The longest time that a timer had to wait for its turn. */
async function longestStall<T>(run: () => Promise<T>): Promise<{ stall: number; took: number; result: T }> {
  let stall = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    stall = Math.max(stall, now - last)
    last = now
  }, 5)
  const start = performance.now()
  try {
    const result = await run()
    return { stall, took: performance.now() - start, result }
  } finally {
    clearInterval(timer)
  }
}

async function opened(busyMs: number): Promise<SqliteStore> {
  const store = sqliteStore(place.path(), { synchronous: 'NORMAL', busyMs })
  await post(store, key, 'first')
  return store
}

describe('a lock that is held for longer than busyMs', () => {
  it('ends in store-busy after about busyMs, without stopping anything else', async () => {
    const store = await opened(600)
    await hold(store.path, 5000)
    const { stall, took, result } = await longestStall(() => errorOf(() => post(store, key, 'second')))
    expect(result).toMatchObject({ code: 'store-busy', retry: 'later' })
    expect(result.message).toContain(store.path)
    expect(took).toBeGreaterThan(590)
    expect(took).toBeLessThan(3000)
    expect(stall).toBeLessThan(250)
    await store.close()
  })

  it('keeps nobody from reading', async () => {
    const store = await opened(300)
    await hold(store.path, 5000)
    const writing = codeOf(() => post(store, key, 'second'))
    const { took } = await longestStall(() => store.read(key))
    expect(took).toBeLessThan(250)
    expect(await store.head(key)).toMatchObject({ seq: 1 })
    expect(await writing).toBe('store-busy')
    await store.close()
  })

  it('gives each append its own time to wait', async () => {
    const store = await opened(500)
    const holder = await hold(store.path, 5000)
    const start = performance.now()
    const waits = [0, 300].map(async (delay) => {
      await sleep(delay)
      const code = await codeOf(() => post(store, key, `after ${delay}`))
      return { code, at: performance.now() - start }
    })
    const first = await waits[0]
    expect(first).toMatchObject({ code: 'store-busy' })
    holder.process.stdin?.write('go\n')
    expect(await waits[1]).toMatchObject({ code: 'ok' })
    await store.close()
  })

  it('is not in the way of closing', async () => {
    const store = await opened(200)
    await hold(store.path, 5000)
    const writing = codeOf(() => post(store, key, 'second'))
    await store.close()
    expect(await writing).toBe('store-busy')
    expect(await codeOf(() => store.head(key))).toBe('store-closed')
  })
})

describe('a lock that is released in time', () => {
  it('lets the append through, and all that gathered meanwhile in one go', async () => {
    const store = await opened(5000)
    await hold(store.path, 300)
    const posts = Array.from({ length: 50 }, (_, i) => post(store, key, `waiting ${i}`))
    const { stall, took } = await longestStall(() => Promise.all(posts))
    expect(took).toBeGreaterThan(200)
    expect(took).toBeLessThan(4000)
    expect(stall).toBeLessThan(250)
    expect(await store.read(key)).toHaveLength(51)
    await store.close()
  })

  it('by the death of its holder is free at once', async () => {
    const store = await opened(5000)
    const holder = await hold(store.path, 60_000)
    const writing = post(store, key, 'second')
    await holder.kill()
    const start = performance.now()
    await writing
    expect(performance.now() - start).toBeLessThan(500)
    await store.close()
  })
})

describe('opening while another process holds the lock', () => {
  it('of a store that exists needs no lock', async () => {
    const store = await opened(100)
    await hold(store.path, 5000)
    const other = sqliteStore(store.path, { busyMs: 100 })
    expect(await other.read(key)).toHaveLength(1)
    await other.close()
    await store.close()
  })

  it('of a new store waits no longer than busyMs', async () => {
    const path = place.path()
    await hold(path, 5000, 'BEGIN EXCLUSIVE')
    const start = performance.now()
    expect((await errorOf(() => sqliteStore(path, { busyMs: 200 }))).code).toBe('store-busy')
    expect(performance.now() - start).toBeLessThan(1000)
  })
})

describe('processes that write at the same time', () => {
  it('all get their turn, and nothing is lost or doubled', async () => {
    const path = place.path()
    const store = sqliteStore(path, { synchronous: 'NORMAL' })
    const writer = `
      import { sqliteStore } from ${JSON.stringify(`${process.cwd()}/src/store/sqlite/index.ts`)}
      const [path, name] = args
      const store = sqliteStore(path, { synchronous: 'NORMAL' })
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
    await hold(store.path, 5000)
    const error = await errorOf(() => post(store, key, 'x'))
    expect(HoldfastError.is(error, 'store-busy')).toBe(true)
    expect(error.toJSON()).toMatchObject({ code: 'store-busy', details: { path: store.path } })
    await store.close()
  })
})
