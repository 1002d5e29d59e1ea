/** Erased means erased: the words are in no row, in no log and in no unused corner of the file. */
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { forkContext, loadSession, pruneContext, saveSession } from '../../src/journal/index.ts'
import type { Derivation } from '../../src/store/index.ts'
import { type SqliteStore, sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { errorOf, hasText, workplace } from './kit.ts'
import { keyOf, newId, OWNER, post, turn } from './talk.ts'

const place = workplace()
const SECRET = 'Xylophon-Rendezvous'
const words: Derivation = {
  index: 'word',
  rows: ({ type, data }) =>
    type === 'note'
      ? [{ key: (data['text'] as string).slice(0, 50), value: { text: data['text'] ?? '' } }]
      : [],
}

function open(path: string): SqliteStore {
  return sqliteStore(path, { synchronous: 'NORMAL', derivations: [words], liveness: () => 'unknown' })
}

/** The secret in entries, inbox keys, append ids, drivers, blobs, snapshots, derived rows, bases, forks and children. */
async function confide(store: SqliteStore, contextId: string): Promise<void> {
  const key = keyOf(contextId)
  const secret = (i: number) => `${SECRET} ${contextId} ${i} ${'and more '.repeat((i * 37) % 60)}`
  for (let number = 1; number <= 5; number++) {
    await turn(store, key, { number, notes: [secret(number), secret(number * 7), secret(number * 13)] })
    const inbox = [{ type: 'input', key: `${SECRET}-${number}`, data: { message: secret(number) } }] as const
    await store.append({ key, id: `${SECRET}-${newId()}`, since: 0, inbox })
  }
  await store.append({ key, id: newId(), since: 0, claim: { driver: SECRET, leaseMs: 1000 } })
  await turnWithBlob(store, key.contextId, `${SECRET} `.repeat(6000))
  await forkContext(store, key, { contextId: `${contextId}-fork` })
  const child = [{ type: 'input', key: SECRET, data: { message: SECRET } }] as const
  await store.append({
    key: keyOf(`${contextId}/child`),
    id: newId(),
    since: 0,
    inbox: child,
    parent: contextId,
  })
  await saveSession(store, key, {
    session: { ...(await loadSession(store, key)), note: SECRET } as never,
    since: -999,
  })
  await pruneContext(store, key, { keepTurns: 1 })
}

async function turnWithBlob(store: SqliteStore, contextId: string, text: string): Promise<void> {
  const hash = await store.putBlob(OWNER, Buffer.from(`${text} by hand`))
  const { epoch = 0, seq = 0 } = (await store.head(keyOf(contextId))) ?? {}
  const note = { type: 'note', turn: 0, refs: [hash], data: { text, from: 'test' } }
  await store.append({ key: keyOf(contextId), id: newId(), since: seq, epoch, entries: [note] })
}

async function chatter(store: SqliteStore, contextId: string, count: number): Promise<void> {
  for (let i = 0; i < count; i++)
    await post(store, keyOf(contextId), `harmless ${i} ${'word '.repeat((i * 31) % 90)}`)
}

describe('after an erase', () => {
  it('nothing of it is left in the file or its log, and everything else is', async () => {
    const path = place.path()
    const store = open(path)
    await chatter(store, 'a', 30)
    await confide(store, 'secret')
    await chatter(store, 'b', 30)
    expect(hasText(path, SECRET)).toBe(true)
    expect(await store.erase(keyOf('secret'))).toBe(3)
    expect(hasText(path, SECRET)).toBe(false)
    expect(hasText(path, 'harmless')).toBe(true)
    expect(await store.read(keyOf('a'))).toHaveLength(30)
    await store.close()
    expect(hasText(path, SECRET)).toBe(false)
    expect(await checkSqlite(path)).toMatchObject({ ok: true })
  })

  it('nothing is left where SQLite moved rows from page to page before', async () => {
    const random = randomFrom(20)
    const path = place.path()
    const store = open(path)
    for (let i = 0; i < 700; i++) {
      const who = Math.floor(random() * 12)
      const text = who % 2 === 1 ? SECRET : 'harmless'
      const data = { message: `${text} ${i} `.repeat(1 + Math.floor(random() ** 3 * 250)) }
      const inbox = [{ type: 'input', key: `${text}-${i}`, data }] as const
      await store.append({ key: keyOf(`c${who}`), id: newId(), since: 0, inbox })
    }
    for (let who = 1; who < 12; who += 2) await store.erase(keyOf(`c${who}`))
    expect(hasText(path, SECRET)).toBe(false)
    await store.close()
  })

  it('a large file needs a scrub; the log is emptied in any case', async () => {
    const path = place.path()
    const store = open(path)
    await store.putBlob(OWNER, Buffer.alloc(9_000_000, 'filler '))
    await post(store, keyOf('unmoved'), 'Glockenspiel '.repeat(3000))
    await confide(store, 'secret')
    await chatter(store, 'a', 50)
    expect(hasText(path, 'Glockenspiel')).toBe(true)
    await store.erase(keyOf('unmoved'))
    // Its pages are overwritten without a scrub, which is for copies that SQLite left when it moved rows.
    expect(hasText(path, 'Glockenspiel')).toBe(false)
    await store.erase(keyOf('secret'))
    expect(hasText(`${path}-wal`, SECRET)).toBe(false)
    await store.scrub()
    expect(hasText(path, SECRET)).toBe(false)
    expect(await store.read(keyOf('a'))).toHaveLength(50)
    await store.close()
  })

  it('a tombstone with the name stays, and refuses every writer', async () => {
    const store = open(place.path())
    await confide(store, 'secret')
    await store.erase(keyOf('secret'))
    for (const name of ['secret', 'secret-fork', 'secret/child']) {
      expect(await store.head(keyOf(name))).toMatchObject({ status: 'erased' })
      expect((await errorOf(() => post(store, keyOf(name), 'back'))).code).toBe('erased')
    }
    await store.close()
  })
})

describe('an erase while another process is reading', () => {
  const READER = `
    import { DatabaseSync } from 'node:sqlite'
    const db = new DatabaseSync(args[0], { readOnly: true })
    db.exec('BEGIN')
    db.prepare('SELECT count(*) FROM entry').get()
    say('reading')
    await new Promise((resolve) => process.stdin.once('data', resolve))
    db.exec('COMMIT')
    db.close()
    say('done')
    process.exit()
  `

  it('waits until the log can be emptied', async () => {
    const path = place.path()
    const store = open(path)
    await confide(store, 'secret')
    const child = place.start(READER, { args: [path] })
    expect(await child.next()).toBe('reading')
    const erasing = store.erase(keyOf('secret'))
    await sleep(100)
    child.process.stdin?.write('go\n')
    expect(await erasing).toBe(3)
    expect(hasText(path, SECRET)).toBe(false)
    await store.close()
  })

  it('says so if that takes too long; it is erased for readers, and repeating it finishes the work', async () => {
    const path = place.path()
    const store = sqliteStore(path, { synchronous: 'NORMAL', derivations: [words], busyMs: 200 })
    await confide(store, 'secret')
    const child = place.start(READER, { args: [path] })
    expect(await child.next()).toBe('reading')
    const error = await errorOf(() => store.erase(keyOf('secret')))
    expect(error).toMatchObject({ code: 'store-busy', message: expect.stringContaining('is erased') })
    expect(await store.read(keyOf('secret'))).toEqual([])
    child.process.stdin?.write('go\n')
    expect(await child.next()).toBe('done')
    expect(await store.erase(keyOf('secret'))).toBe(0)
    expect(hasText(path, SECRET)).toBe(false)
    await store.close()
  })
})

function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
