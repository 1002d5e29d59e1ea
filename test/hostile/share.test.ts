/** One file and several stores on it; and a file that goes away, or becomes another, under a running store. */
import { copyFileSync, existsSync, mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { bench, calls, probe } from '../turn/kit.ts'
import { codeOf, errorOf, SQLITE_MODULE, workplace } from './kit.ts'
import { keyOf, newId, post, turn } from './talk.ts'

const place = workplace()
const key = keyOf('c')
const open: SqliteStore[] = []

afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

function use(path: string, options: Parameters<typeof sqliteStore>[1] = {}): SqliteStore {
  const store = sqliteStore(path, { synchronous: 'NORMAL', pollMs: 10, ...options })
  open.push(store)
  return store
}

/** Longer than the time between two looks at the files. */
const aWhile = () => sleep(80)

describe('two stores on one file in one process', () => {
  it('see each other’s appends, watch them, and share order', async () => {
    const path = place.path()
    const [a, b] = [use(path), use(path)]
    const seen: number[] = []
    const watching = (async () => {
      for await (const { seq } of b.watch(key)) {
        seen.push(seq)
        if (seq === 20) return
      }
    })()
    await Promise.all(Array.from({ length: 20 }, (_, i) => post(i % 2 === 0 ? a : b, key, `m${i}`)))
    await watching
    expect(seen).toEqual(Array.from({ length: 20 }, (_, i) => i + 1))
    expect(await a.read(key)).toEqual(await b.read(key))
  })

  it('fence each other like two processes', async () => {
    const path = place.path()
    const [a, b] = [use(path, { liveness: () => 'unknown' }), use(path, { liveness: () => 'unknown' })]
    const claim = (store: SqliteStore, driver: string) =>
      store.append({ key, id: newId(), since: 0, claim: { driver, leaseMs: 60_000 } })
    await claim(a, 'a')
    expect(await codeOf(() => claim(b, 'b'))).toBe('owned')
  })

  it('do not lose the lock of one when the other is closed', async () => {
    const path = place.path()
    const [a, b] = [use(path), use(path)]
    await post(a, key, 'first')
    await b.close()
    const child = place.start(
      `
      import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
      const store = sqliteStore(args[0])
      const key = { tenant: 'acme', actor: 'ada', contextId: 'c' }
      await store.append({ key, id: 'other', since: 0, inbox: [{ type: 'input', key: 'other', data: {} }] })
      await store.close()
      say('closed')`,
      { args: [path] },
    )
    expect(await child.next()).toBe('closed')
    expect(existsSync(`${path}-wal`)).toBe(true)
    await post(a, key, 'third')
    expect(await a.read(key)).toHaveLength(3)
    await a.close()
    expect(await checkSqlite(path)).toMatchObject({ ok: true, entries: 3 })
  })

  it('by two names, one of them a symbolic link, are on the same file', async () => {
    const path = place.path()
    const a = use(path)
    const link = join(dirname(path), 'link.db')
    symlinkSync(path, link)
    const b = use(link)
    await post(a, key, 'by one name')
    await aWhile()
    await post(b, key, 'by the other')
    expect(await a.read(key)).toHaveLength(2)
  })
})

describe('a file under a running store', () => {
  const gone: Record<string, (path: string) => void> = {
    'was deleted': (path) => rmSync(path),
    'was deleted with its log': (path) => {
      for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true })
    },
    'was moved away': (path) => renameSync(path, `${path}.old`),
    'was replaced by another': (path) => {
      writeFileSync(`${path}.new`, 'something else')
      renameSync(`${path}.new`, path)
    },
    'was replaced by a copy of itself': (path) => {
      copyFileSync(path, `${path}.new`)
      renameSync(`${path}.new`, path)
    },
    'became a folder': (path) => {
      rmSync(path)
      mkdirSync(path)
    },
    'lost its log to somebody who tidies up': (path) => rmSync(`${path}-wal`),
    'lost its shared memory to somebody who tidies up': (path) => rmSync(`${path}-shm`),
    'went away with its folder': (path) => rmSync(dirname(path), { recursive: true }),
  }

  for (const [what, happen] of Object.entries(gone)) {
    it(`that ${what} takes no more appends: they would be written to nowhere`, async () => {
      const path = place.path()
      const store = use(path)
      await turn(store, key, { number: 1, notes: ['before'] })
      happen(path)
      await aWhile()
      const runs = [
        () => post(store, key, 'after'),
        () => store.append({ key, id: newId(), since: 0, claim: { driver: 'd', leaseMs: 1000 } }),
        () => store.erase(key),
      ]
      for (const run of runs) {
        const error = await errorOf(run)
        expect(error.code).toBe('store-failed')
        expect(error.message).toContain(path)
        expect(error.message).toContain('removed or replaced')
      }
      expect(await store.read(key)).toHaveLength(5)
      await store.close()
    })
  }

  for (const [what, happen] of Object.entries(gone)) {
    it(`that ${what} acknowledges not even the next append with FULL`, async () => {
      const path = place.path()
      const store = use(path, { synchronous: 'FULL' })
      await turn(store, key, { number: 1, notes: ['before'] })
      for (let n = 0; n < 5; n++) await post(store, key, `before ${n}`)
      happen(path)
      for (let n = 0; n < 3; n++) {
        const error = await errorOf(() => post(store, key, `after ${n}`))
        expect(error.code).toBe('store-failed')
        expect(error.message).toContain('removed or replaced')
      }
      await store.close()
    })
  }

  it('that a tool deletes tells nothing of its turn from there on', async () => {
    const path = place.path()
    const store = use(path, { synchronous: 'FULL' })
    const remove = probe('remove', () => {
      for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true })
      return 'removed'
    })
    const script = ['Hi', calls('remove'), 'Done']
    const { agent } = bench({ store, tools: [remove], script, realTime: true })
    await agent.executeTurn('Hello').outcome
    const told: string[] = []
    for await (const { type } of agent.executeTurn('Remove it')) told.push(type)
    expect(told.at(-1)).toBe('tool.start')
    expect(remove.ran).toHaveLength(1)
    await store.close()
  })

  it('that was deleted can be opened anew; the old store still does not write to it', async () => {
    const path = place.path()
    const store = use(path)
    await post(store, key, 'old')
    for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true })
    const fresh = use(path)
    await post(fresh, key, 'new')
    await aWhile()
    expect(await codeOf(() => post(store, key, 'lost'))).toBe('store-failed')
    await store.close()
    await aWhile()
    await post(fresh, key, 'more')
    expect(await fresh.read(key)).toMatchObject([{ data: { message: 'new' } }, { data: { message: 'more' } }])
    await fresh.close()
    expect(await checkSqlite(path)).toMatchObject({ ok: true, entries: 2 })
  })

  it('that lost its log alone gets back what was in it when the store is closed', async () => {
    const path = place.path()
    const store = use(path)
    await turn(store, key, { number: 1, notes: ['only in the log'] })
    rmSync(`${path}-wal`)
    await store.close()
    expect(await use(path).read(key)).toHaveLength(5)
  })

  it('that lost its shared memory keeps the commits of a process that opened it since', async () => {
    const path = place.path()
    const store = use(path, { synchronous: 'FULL' })
    for (let n = 0; n < 3; n++) await post(store, key, `before ${n}`)
    rmSync(`${path}-shm`)
    const child = place.start(
      `
      import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
      const store = sqliteStore(args[0])
      const key = { tenant: 'acme', actor: 'ada', contextId: 'other' }
      for (const id of ['1', '2', '3'])
        await store.append({ key, id, since: 0, inbox: [{ type: 'input', key: id, data: {} }] })
      say('acknowledged')
      process.stdin.once('data', () => process.exit())`,
      { args: [path] },
    )
    expect(await child.next()).toBe('acknowledged')
    const second = use(path)
    for (const one of [store, second]) {
      expect(await codeOf(() => post(one, key, 'refused'))).toBe('store-failed')
      expect(await codeOf(() => one.scrub())).toBe('store-failed')
    }
    child.process.stdin?.write('end')
    await child.exited
    for (const one of [store, second]) await one.close()
    const again = use(path)
    expect(await again.read(key)).toHaveLength(3)
    expect(await again.read(keyOf('other'))).toHaveLength(3)
    await post(again, key, 'after')
    await again.close()
    expect(await checkSqlite(path)).toMatchObject({ ok: true, entries: 7 })
  })

  it('that was overwritten in place is reported as damaged, and nobody crashes', async () => {
    const path = place.path()
    const store = use(path)
    await turn(store, key, { number: 1, notes: ['before'] })
    await store.close()
    const again = use(path)
    writeFileSync(path, Buffer.alloc(100_000, 'x'))
    for (const side of ['-wal', '-shm']) rmSync(path + side, { force: true })
    const code = await codeOf(() => again.read(key))
    expect(['store-corrupt', 'entry-corrupt', 'store-failed']).toContain(code)
    await again.close()
  })
})

describe('a watcher of a file that goes away', () => {
  it('is told, or waits, but does not take the process with it', async () => {
    const path = place.path()
    const store = use(path)
    await post(store, key, 'first')
    const seen: number[] = []
    const watching = (async () => {
      for await (const { seq } of store.watch(key)) seen.push(seq)
    })()
    await expect.poll(() => seen).toEqual([1])
    for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true })
    await aWhile()
    await store.close()
    await watching
    expect(seen).toEqual([1])
  })
})
