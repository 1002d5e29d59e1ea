/** Stores that may only be read, by choice or because the system says so. */
import { chmodSync, chownSync, copyFileSync, existsSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { loadSession } from '../../src/journal/index.ts'
import type { Derivation } from '../../src/store/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { codeOf, errorOf, hashOfFile, SQLITE_MODULE, workplace } from './kit.ts'
import { fill, survey } from './library.ts'
import { keyOf, newId, OWNER, post, turn } from './talk.ts'

const place = workplace()
const open: SqliteStore[] = []

afterEach(async () => {
  for (const store of open.splice(0)) await store.close()
})

function use(path: string, options: Parameters<typeof sqliteStore>[1] = {}): SqliteStore {
  const store = sqliteStore(path, { synchronous: 'NORMAL', liveness: () => 'unknown', ...options })
  open.push(store)
  return store
}

async function filled(): Promise<{ path: string; blob: string; answers: Map<string, string> }> {
  const path = place.path()
  const store = sqliteStore(path, { synchronous: 'NORMAL', liveness: () => 'unknown' })
  const { blob } = await fill(store)
  const answers = await survey(store, blob)
  await store.close()
  return { path, blob, answers }
}

describe('a store opened with readOnly', () => {
  it('answers everything, refuses every write, and changes nothing', async () => {
    const { path, blob, answers } = await filled()
    const before = hashOfFile(path)
    const store = use(path, { readOnly: true })
    expect(await survey(store, blob)).toEqual(answers)
    const key = keyOf('plain')
    const position = { at: 0, turn: 0, epoch: 0, claims: 0, running: false, createdAt: 0, activeAt: 0 }
    const writes = [
      () => post(store, key, 'x'),
      () => store.append({ key, id: newId(), since: 0, claim: { driver: 'd', leaseMs: 1000 } }),
      () => store.putBlob(OWNER, Buffer.from('x')),
      () => store.saveSnapshot(key, { seq: 1, format: 1, state: {} }),
      () => store.dropSnapshots(key),
      () => store.fork({ parent: key, child: keyOf('new'), at: 1, position }),
      () => store.prune({ key, upTo: 3, position, session: {} }),
      () => store.erase(key),
      () => store.rebuild(key),
      () => store.scrub(),
    ]
    for (const write of writes) {
      const error = await errorOf(write)
      expect(error.code).toBe('store-read-only')
      expect(error.message).toContain(path)
    }
    await store.close()
    expect(hashOfFile(path)).toBe(before)
  })

  it('sees what another process is writing, and watches it', async () => {
    const path = place.path()
    const writer = use(path)
    const key = keyOf('c')
    await post(writer, key, 'first')
    const reader = use(path, { readOnly: true, pollMs: 10 })
    expect(await reader.read(key)).toHaveLength(1)
    const seen: number[] = []
    const watching = (async () => {
      for await (const { seq } of reader.watch(key)) {
        seen.push(seq)
        if (seq === 5) return
      }
    })()
    for (let i = 2; i <= 5; i++) await post(writer, key, `m${i}`)
    await watching
    expect(seen).toEqual([1, 2, 3, 4, 5])
  })

  it('can be copied by a backup', async () => {
    const { path } = await filled()
    const copy = place.path('copy.db')
    await use(path, { readOnly: true }).backup(copy)
    expect(await checkSqlite(copy)).toMatchObject({ ok: true })
  })

  it('finds turns and rows of indexes that the writer does not keep', async () => {
    const words: Derivation = {
      index: 'word',
      rows: ({ type, data }) =>
        type === 'note' ? [{ key: data['text'] as string, value: { from: 'note' } }] : [],
    }
    const path = place.path()
    const writer = use(path)
    const key = keyOf('c')
    for (let number = 1; number <= 3; number++)
      await turn(writer, key, { number, notes: [`word-${number}`, 'same'] })
    const before = hashOfFile(path)
    const reader = use(path, { readOnly: true, derivations: [words] })
    expect(await reader.lookup(key, { index: 'word', prefix: 'word' })).toMatchObject([
      { key: 'word-1' },
      { key: 'word-2' },
      { key: 'word-3' },
    ])
    const newest = await reader.lookup(key, { index: 'word', key: 'same' })
    expect(newest).toMatchObject([{ seq: 17 }])
    expect(await reader.lookup(key, { index: 'word', order: 'last', limit: 1 })).toMatchObject([
      { key: 'word-3' },
    ])
    expect(await reader.read(key, { turn: 2 })).toEqual(await writer.read(key, { turn: 2 }))
    expect(hashOfFile(path)).toBe(before)
  })

  it('finds them when the index lags behind what was written since', async () => {
    const none: Derivation = { index: 'other', rows: () => [] }
    const path = place.path()
    const key = keyOf('c')
    await turn(use(path), key, { number: 1 })
    await turn(use(path, { derivations: [none] }), key, { number: 2 })
    const reader = use(path, { readOnly: true })
    expect(await reader.read(key, { turn: 2 })).toHaveLength(4)
    expect(await reader.lookup(key, { index: 'turn' })).toHaveLength(2)
    expect(await loadSession(reader, key)).toMatchObject({ turn: 2 })
  })
})

const READER = `
  import { sqliteStore } from ${JSON.stringify(SQLITE_MODULE)}
  const [path, how] = args
  const key = { tenant: 'acme', actor: 'ada', contextId: 'plain' }
  try {
    const store = sqliteStore(path, how === 'read' ? { readOnly: true } : {})
    const read = (await store.read(key)).length
    if (how === 'read') say({ read })
    else {
      const inbox = [{ type: 'input', key: 'k', data: { message: 'm' } }]
      await store.append({ key, id: 'a', since: 0, inbox })
      say({ read, wrote: true })
    }
    await store.close()
  } catch (error) {
    say({ code: error.code, message: error.message })
  }
`

describe.runIf(process.getuid?.() === 0)('for somebody without the right to write', () => {
  const as = async (path: string, how: 'read' | 'write') => {
    const child = place.start(READER, { args: [path, how], uid: 65534 })
    return (await child.next()) as { read?: number; code?: string; message?: string }
  }

  it('a file in a folder of others is refused with what to do, and can be read', async () => {
    const { path } = await filled()
    chmodSync(path, 0o644)
    chmodSync(dirname(path), 0o755)
    const refusal = await as(path, 'write')
    expect(refusal).toMatchObject({
      code: 'store-read-only',
      message: expect.stringContaining('readOnly: true'),
    })
    expect(await as(path, 'read')).toEqual({ read: 48 })
    expect(readdirSync(dirname(path))).toEqual(['store.db'])
  })

  it('a file in a folder of its own is refused at once, not at the first append', async () => {
    const { path } = await filled()
    chmodSync(path, 0o444)
    chmodSync(dirname(path), 0o777)
    expect(await as(path, 'write')).toMatchObject({
      code: 'store-read-only',
      message: expect.stringContaining(path),
    })
    expect(await as(path, 'read')).toEqual({ read: 48 })
  })

  it('a file of its own in a folder of others is refused, too: the log needs the folder', async () => {
    const { path } = await filled()
    chownSync(path, 65534, 65534)
    chmodSync(dirname(path), 0o755)
    expect(await as(path, 'write')).toMatchObject({ code: 'store-read-only' })
    expect(await as(path, 'read')).toEqual({ read: 48 })
  })

  it('a new file in a folder of others is refused by the name of the path', async () => {
    const path = place.path()
    chmodSync(dirname(path), 0o755)
    const refusal = await as(path, 'write')
    expect(refusal.code).toMatch(/^store-(failed|read-only)$/)
    expect(refusal.message).toContain(path)
    expect(existsSync(path)).toBe(false)
  })

  it('a file that is in use by its owner can be read with what is only in the log', async () => {
    const { path } = await filled()
    chmodSync(dirname(path), 0o755)
    const writer = use(path)
    await post(writer, keyOf('plain'), 'in the log')
    for (const side of ['', '-wal', '-shm']) chmodSync(path + side, 0o644)
    const answer = await as(path, 'read')
    expect(answer).toEqual({ read: 49 })
  })

  it('a file whose log was left behind by a crash is read whole or refused, never without the log', async () => {
    const { path } = await filled()
    const copy = place.path()
    const writer = use(path)
    await post(writer, keyOf('plain'), 'in the log')
    for (const side of ['', '-wal']) copyFileSync(path + side, copy + side)
    for (const side of ['', '-wal']) chmodSync(copy + side, 0o644)
    chmodSync(dirname(copy), 0o755)
    const answer = await as(copy, 'read')
    expect(answer.read ?? answer.code).toBe(answer.read === undefined ? 'store-read-only' : 49)
    expect(answer.message ?? copy).toContain(copy)
  })

  it('a file that may not even be read says so', async () => {
    const { path } = await filled()
    chmodSync(path, 0o600)
    chmodSync(dirname(path), 0o755)
    for (const how of ['read', 'write'] as const) {
      const refusal = await as(path, how)
      expect(refusal.code).toMatch(/^store-(failed|read-only)$/)
      expect(refusal.message).toContain(path)
    }
  })
})

describe('a read-only store on a path with odd characters', () => {
  for (const name of ['with space.db', 'per%20cent.db', 'what?.db', 'hash#.db', 'ünïcode 🦀.db', "quote'.db"])
    it(`such as ${name} reads that file and no other`, async () => {
      const path = place.path(name)
      const store = use(path)
      await post(store, keyOf('c'), 'x')
      await store.close()
      expect(await use(path, { readOnly: true }).read(keyOf('c'))).toHaveLength(1)
      expect(await codeOf(() => use(path).head(keyOf('c')))).toBe('ok')
      expect(readdirSync(dirname(path)).every((file) => file.startsWith(name))).toBe(true)
    })
})
