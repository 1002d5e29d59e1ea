/** No room left, by our own limit and by the system's: nothing acknowledged is lost, nothing lost is acknowledged. */
import { execFileSync } from 'node:child_process'
import { statSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import type { AppendRequest } from '../../src/store/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { codeOf, errorOf, SQLITE_MODULE, workplace } from './kit.ts'
import { keyOf, newId, post, turn } from './talk.ts'

const place = workplace()
const key = keyOf('c')
const KIB = 1024

function input(size: number, contextId = 'c', since = 0): AppendRequest {
  const id = newId()
  const data = { message: `${id} ${'m'.repeat(size)}` }
  return { key: keyOf(contextId), id, since, inbox: [{ type: 'input', key: id, data }] }
}

/** Appends until there is no room; returns what was acknowledged. */
async function fillUp(store: SqliteStore, size: number): Promise<string[]> {
  const done: string[] = []
  for (;;) {
    const request = input(size, 'c', done.length)
    const code = await codeOf(() => store.append(request))
    if (code === 'store-full') return done
    if (code !== 'ok') throw new Error(`full, but says ${code}`)
    done.push(request.id)
  }
}

const idsOf = async (store: SqliteStore, contextId = 'c') =>
  (await store.read(keyOf(contextId), { limit: 10_000 })).map((entry) => entry.key)

describe('a file that may not grow beyond maxBytes', () => {
  for (const size of [300, 5000, 30_000, 100_000]) {
    it(`says store-full with entries of ${size} bytes; what was acknowledged is there and can be read`, async () => {
      const path = place.path()
      const store = sqliteStore(path, { synchronous: 'NORMAL', maxBytes: 350 * KIB })
      const done = await fillUp(store, size)
      expect(done.length).toBeGreaterThan(1)
      const error = await errorOf(() => store.append(input(size)))
      expect(error).toMatchObject({ code: 'store-full', retry: 'later' })
      expect(error.message).toContain(path)
      expect(await idsOf(store)).toEqual(done)
      await store.close()
      expect(statSync(path).size).toBeLessThanOrEqual(350 * KIB)
      expect(await checkSqlite(path)).toMatchObject({ ok: true, entries: done.length })
    })
  }

  it('takes appends again once something was erased, without being reopened', async () => {
    const store = sqliteStore(place.path(), { synchronous: 'NORMAL', maxBytes: 400 * KIB })
    await store.append(input(150_000, 'large'))
    const done = await fillUp(store, 5000)
    await store.erase(keyOf('large'))
    await store.append(input(5000))
    expect(await idsOf(store)).toHaveLength(done.length + 1)
    await store.close()
  })

  it('takes them when opened with more room; the request that failed is appended once', async () => {
    const path = place.path()
    const small = sqliteStore(path, { synchronous: 'NORMAL', maxBytes: 300 * KIB })
    const done = await fillUp(small, 5000)
    const request = input(5000)
    expect(await codeOf(() => small.append(request))).toBe('store-full')
    const large = sqliteStore(path, { synchronous: 'NORMAL' })
    expect(await large.append(request)).toMatchObject({ repeated: false })
    expect(await large.append(request)).toMatchObject({ repeated: true })
    expect(await idsOf(large)).toEqual([...done, request.id])
    expect(await small.append(request)).toMatchObject({ repeated: true })
    await small.close()
    await large.close()
  })

  it('still lets a driver read, and ends nothing that runs', async () => {
    const store = sqliteStore(place.path(), { synchronous: 'NORMAL', maxBytes: 300 * KIB })
    await turn(store, key, { number: 1, notes: ['one'] })
    const { epoch } = await store.append({
      key,
      id: newId(),
      since: 0,
      claim: { driver: 'd', leaseMs: 60_000 },
    })
    await fillUp(store, 2000)
    expect(await store.read(key, { turn: 1 })).toHaveLength(5)
    expect(await store.list({ owner: key })).toMatchObject({ heads: [{ epoch }] })
    expect(await codeOf(() => store.renew({ key, epoch, since: 0 }))).toBe('ok')
    await store.close()
  })
})

describe('appends that share a transaction', () => {
  it('report honestly when there is no room for all, and each is there exactly if it was acknowledged', async () => {
    for (const [count, size] of [
      [50, 20_000],
      [200, 3000],
      [20, 100_000],
    ] as const) {
      const store = sqliteStore(place.path(), { synchronous: 'NORMAL', maxBytes: 500 * KIB })
      await post(store, key, 'before')
      const requests = Array.from({ length: count }, (_, i) => input(size, `c${i % 3}`))
      const codes = await Promise.all(requests.map((request) => codeOf(() => store.append(request))))
      expect(codes).toContain('store-full')
      const there = (await Promise.all([0, 1, 2].map((i) => idsOf(store, `c${i}`)))).flat()
      const acknowledged = requests.filter((_, i) => codes[i] === 'ok').map(({ id }) => id)
      expect(new Set(there)).toEqual(new Set(acknowledged))
      expect(there).toHaveLength(acknowledged.length)
      expect(await store.read(key)).toHaveLength(1)
      await store.close()
    }
  })

  it('one that is refused takes no other with it, and a retry of all appends each once', async () => {
    const store = sqliteStore(place.path(), { synchronous: 'NORMAL' })
    const requests = Array.from({ length: 20 }, (_, i): AppendRequest => {
      if (i % 5 > 0) return input(100)
      const note = { type: 'note', turn: 0, data: { text: 'x', from: 't' } }
      return { key, id: newId(), since: 0, epoch: 99, entries: [note] }
    })
    const all = () => Promise.all(requests.map((request) => codeOf(() => store.append(request))))
    const first = await all()
    expect(first.filter((code) => code === 'fenced')).toHaveLength(4)
    expect(first.filter((code) => code === 'ok')).toHaveLength(16)
    expect(await all()).toEqual(first)
    expect(await idsOf(store)).toHaveLength(16)
    await store.close()
  })
})

const WRITER = `
  import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
  const [path, size, ...rest] = args
  const store = sqliteStore(path, { synchronous: 'FULL' })
  const key = { tenant: 'acme', actor: 'ada', contextId: 'c' }
  let done = 0
  const append = (i, length) => {
    const data = { message: 'm'.repeat(length) }
    return store.append({ key, id: 'i' + i, since: done, inbox: [{ type: 'input', key: 'i' + i, data }] })
  }
  let code
  while (code === undefined && done < 5000) {
    try { await append(done, Number(size)); done += 1 } catch (error) { code = error.code; say({ message: error.message }) }
  }
  const read = (await store.read(key, { limit: 10000 })).length
  say({ done, code, read })
  await new Promise((resolve) => process.stdin.once('data', resolve))
  process.stdin.destroy()
  try { await append('later', Number(size)); say('ok') } catch (error) { say(error.code) }
  await store.close()
  say('closed')
`

describe.skipIf(process.platform !== 'linux')('a file that the system does not let grow', () => {
  // The log is what grows first; with a small limit it meets it before it is ever folded into the file.
  for (const [blocks, size] of [
    [200, 2000],
    [1000, 300],
    [5000, 40_000],
  ] as const) {
    it(`beyond ${blocks} KiB says store-full, keeps what it acknowledged, and goes on when there is room`, async () => {
      const path = place.path()
      const child = place.start(WRITER, {
        args: [path, String(size)],
        shell: `ulimit -S -f ${blocks}; trap "" XFSZ`,
      })
      expect(await child.next()).toMatchObject({ message: expect.stringContaining(path) })
      const said = (await child.next()) as { done: number; code: string; read: number }
      expect(said).toMatchObject({ code: 'store-full' })
      expect(said.read).toBe(said.done)
      execFileSync('bash', ['-c', `prlimit --fsize=unlimited --pid ${child.process.pid}`])
      child.process.stdin?.write('there is room now\n')
      expect(await child.next()).toBe('ok')
      expect(await child.next()).toBe('closed')
      expect(await child.exited).toBe(0)
      const store = sqliteStore(path)
      const acknowledged = Array.from({ length: said.done }, (_, i) => `i${i}`)
      expect(await idsOf(store)).toEqual([...acknowledged, 'ilater'])
      await store.append(input(size))
      await store.close()
      expect((await checkSqlite(path)).problems).toEqual([])
    })
  }
})
