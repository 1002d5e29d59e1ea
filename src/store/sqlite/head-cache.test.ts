/** The cached rows of appends are used only while they are those in the file (C1). */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Receipt } from '../port.ts'
import { type SqliteStore, sqliteStore } from './index.ts'

const key = { tenant: 'acme', actor: 'ada', contextId: 'c' }
let folder = ''
let stores: SqliteStore[] = []
let serial = 0

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-last-row-'))
})

afterEach(async () => {
  for (const store of stores) await store.close()
  stores = []
  rmSync(folder, { recursive: true })
})

function open(): SqliteStore {
  const store = sqliteStore(join(folder, 'store.db'), { synchronous: 'NORMAL' })
  stores.push(store)
  return store
}

async function claim(store: SqliteStore, of = key): Promise<Receipt> {
  const driver = { driver: `d${serial}`, leaseMs: 60_000, force: true } as const
  return store.append({ key: of, id: `a${serial++}`, since: 0, claim: driver })
}

async function say(store: SqliteStore, { epoch, last: since }: Receipt, to = key): Promise<Receipt> {
  const note = { type: 'note', turn: 0, data: { text: 'well', from: 'test' } }
  return store.append({ key: to, id: `a${serial++}`, since, epoch, entries: [note] })
}

describe('an append after others of the same driver', () => {
  it('goes on where they ended', async () => {
    const store = open()
    let receipt = await claim(store)
    for (let i = 0; i < 5; i++) receipt = await say(store, receipt)
    expect(receipt).toMatchObject({ first: 6, last: 6 })
    expect((await store.head(key))?.seq).toBe(6)
    expect(await store.rebuild(key)).toMatchObject({ repaired: false })
  })

  it('is refused when somebody else has claimed through another file handle', async () => {
    const [ours, theirs] = [open(), open()]
    let receipt = await claim(ours)
    for (let i = 0; i < 3; i++) receipt = await say(ours, receipt)
    const other = await claim(theirs)
    await expect(say(ours, receipt)).rejects.toMatchObject({ code: 'fenced' })
    expect((await say(theirs, other)).last).toBe(6)
  })

  it('is refused when the conversation was erased or claimed through the same one', async () => {
    const store = open()
    let receipt = await claim(store)
    for (let i = 0; i < 3; i++) receipt = await say(store, receipt)
    const next = await claim(store)
    await expect(say(store, receipt)).rejects.toMatchObject({ code: 'fenced' })
    for (let i = 0; i < 3; i++) receipt = await say(store, i === 0 ? next : receipt)
    await store.erase(key)
    await expect(say(store, receipt)).rejects.toMatchObject({ code: 'erased' })
  })

  it('goes on among those of other conversations and their snapshots, until one is claimed elsewhere', async () => {
    const [ours, theirs] = [open(), open()]
    const keys = ['c', 'd', 'e'].map((contextId) => ({ ...key, contextId }))
    let receipts = await Promise.all(keys.map((of) => claim(ours, of)))
    const sayAll = () => Promise.all(receipts.map((receipt, i) => say(ours, receipt, keys[i])))
    for (let i = 0; i < 3; i++) {
      receipts = await sayAll()
      await ours.saveSnapshot(key, { seq: 1, format: 1, state: { i } })
    }
    expect(receipts).toMatchObject([{ last: 4 }, { last: 4 }, { last: 4 }])
    await claim(theirs, keys[1])
    const results = await Promise.allSettled(receipts.map((receipt, i) => say(ours, receipt, keys[i])))
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    for (const of of keys) expect(await ours.rebuild(of)).toMatchObject({ repaired: false })
  })

  it('is not taken in by one that was refused in between', async () => {
    const store = open()
    let receipt = await claim(store)
    for (let i = 0; i < 3; i++) receipt = await say(store, receipt)
    const refs = ['0'.repeat(64)]
    const broken = { type: 'note', turn: 0, data: { text: 'no', from: 'test' }, refs }
    const { epoch, last: since } = receipt
    const append = store.append({ key, id: 'broken', since, epoch, entries: [broken] })
    await expect(append).rejects.toMatchObject({ code: 'invalid-entry' })
    expect((await say(store, receipt)).first).toBe(since + 1)
    expect(await store.rebuild(key)).toMatchObject({ repaired: false })
  })
})
