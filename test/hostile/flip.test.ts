/**
 * Bits that flip anywhere in the file: whatever is read afterwards is what was written, or is reported as damaged.
 * The one thing that may happen silently is that a listing or a derived index lacks a row.
 */
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Entry, HoldfastError } from '../../src/protocol/index.ts'
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from '../../src/store/sqlite/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { codeOf } from './kit.ts'
import { fill, KEYS, survey } from './library.ts'

const PAGE = 4096
const options: SqliteStoreOptions = { clock: new ManualClock(), liveness: () => 'unknown', busyMs: 100 }
/** How many flips; `HOLDFAST_FLIPS` for a longer night. */
const FLIPS = Number(process.env['HOLDFAST_FLIPS'] ?? 80)
/** Where a row may go missing without a word; what is there must still be right. */
const LOOSE = /^(list|due|blob)$|(turns|outcome)$/

let folder = ''
let whole: Buffer
let log: Buffer
let stub: Buffer
let blob = ''
let wanted: Map<string, string>
let entries: Map<string, Map<number, string>>

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'))
  const store = sqliteStore(join(folder, 'whole.db'), options)
  ;({ blob } = await fill(store, 12))
  wanted = await survey(store, blob)
  entries = new Map()
  for (const key of KEYS) entries.set(key.contextId, byPosition(await store.read(key)))
  await store.close()
  whole = readFileSync(store.path)
  const other = sqliteStore(join(folder, 'crashed.db'), options)
  await fill(other, 4)
  copyFileSync(other.path, join(folder, 'stub.db'))
  copyFileSync(`${other.path}-wal`, join(folder, 'stub.db-wal'))
  await other.close()
  stub = readFileSync(join(folder, 'stub.db'))
  log = readFileSync(join(folder, 'stub.db-wal'))
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

describe('one flipped bit', () => {
  const parts: Record<string, () => (random: () => number) => number> = {
    'in the header': () => (random) => Math.floor(random() * 100),
    'in the description of the tables': () => (random) => 100 + Math.floor(random() * (PAGE - 100)),
    'in a tree': () => {
      const pages = pagesWhere((kind) => [2, 5, 10, 13].includes(kind))
      return (random) => pick(pages, random) * PAGE + Math.floor(random() * PAGE)
    },
    'in a tree, where pages and rows are described': () => {
      const pages = pagesWhere((kind) => [2, 5, 10, 13].includes(kind))
      return (random) => pick(pages, random) * PAGE + Math.floor(random() * 80)
    },
    'in a long text': () => {
      const pages = pagesWhere((kind) => ![2, 5, 10, 13].includes(kind))
      return (random) => pick(pages, random) * PAGE + Math.floor(random() * PAGE)
    },
  }

  for (const [where, place] of Object.entries(parts)) {
    it(`${where} makes nothing wrong`, { timeout: 600_000 }, async () => {
      const random = randomFrom(where.length)
      const positionOf = place()
      for (let i = 0; i < FLIPS / 5; i++) {
        const at = positionOf(random)
        expect(await lies(flipped(whole, at, Math.floor(random() * 8)), `byte ${at}`)).toEqual([])
      }
    })
  }

  it('in the log makes the log refused, or costs nothing, or costs its last commit', async () => {
    const random = randomFrom(7)
    const path = join(folder, 'log.db')
    const all = await countOf(path, log)
    for (let i = 0; i < FLIPS / 8; i++) {
      const at = Math.floor(random() * log.length)
      writeFileSync(path, stub)
      writeFileSync(`${path}-wal`, flipped(log, at, i % 8))
      const code = await codeOf(() => sqliteStore(path, options).close())
      expect(['ok', 'store-corrupt']).toContain(code)
      const count = code === 'ok' ? await countOf(path, flipped(log, at, i % 8)) : all
      expect(count).toBeGreaterThanOrEqual(all - 8)
    }
  })
})

describe('a page that is gone', () => {
  it('overwritten with zeros or noise makes nothing wrong', { timeout: 600_000 }, async () => {
    const random = randomFrom(3)
    for (let i = 0; i < FLIPS / 8; i++) {
      const page = Math.floor((random() * whole.length) / PAGE)
      const bytes = Buffer.from(whole)
      const noise =
        i % 2 === 0 ? Buffer.alloc(PAGE) : Buffer.from(Array.from({ length: PAGE }, () => random() * 256))
      noise.copy(bytes, page * PAGE)
      expect(await lies(bytes, `page ${page + 1}`)).toEqual([])
    }
  })

  it('in part, by a sector, makes nothing wrong', { timeout: 600_000 }, async () => {
    const random = randomFrom(5)
    for (let i = 0; i < FLIPS / 8; i++) {
      const sector = Math.floor((random() * whole.length) / 512)
      const bytes = Buffer.from(whole)
      bytes.fill(0, sector * 512, sector * 512 + 512)
      expect(await lies(bytes, `sector ${sector}`)).toEqual([])
    }
  })
})

/** Everything that is neither what was written nor reported as damaged. */
async function lies(bytes: Buffer, what: string): Promise<string[]> {
  const path = join(folder, 'flipped.db')
  for (const side of ['', '-wal', '-shm']) rmSync(path + side, { force: true })
  writeFileSync(path, bytes)
  let store: SqliteStore
  try {
    store = sqliteStore(path, options)
  } catch (error) {
    const refused = /^store-(corrupt|foreign|newer)$/.test((error as HoldfastError).code)
    return refused && readFileSync(path).equals(bytes) ? [] : [`${what}: opening`]
  }
  const found = [...(await wrongAnswers(store)), ...(await wrongEntries(store))]
  await store.close()
  return found.map((line) => `${what}: ${line}`)
}

async function wrongAnswers(store: SqliteStore): Promise<string[]> {
  const answers = [...(await survey(store, blob))].filter(([question, answer]) => {
    const right = wanted.get(question) ?? ''
    if (answer === right || /^! (store|entry)-corrupt$/.test(answer)) return false
    return !(LOOSE.test(question) && isPart(answer, right))
  })
  return answers.map(([question, answer]) => `${question}: ${answer}`)
}

async function wrongEntries(store: SqliteStore): Promise<string[]> {
  const wrong: string[] = []
  for (const key of KEYS) {
    const read = () => store.read(key, { damaged: 'skip' })
    if ((await codeOf(read)) !== 'ok') continue
    for (const [seq, text] of byPosition(await read()))
      if (entries.get(key.contextId)?.get(seq) !== text) wrong.push(`${key.contextId} ${seq}`)
  }
  return wrong
}

/** Is every row of the answer one of the right ones? */
function isPart(answer: string, right: string): boolean {
  if (answer === '') return true
  const rows = (text: string) => {
    const value = JSON.parse(text) as { heads?: unknown[] } | unknown[]
    return (Array.isArray(value) ? value : (value.heads ?? [])).map((row) => JSON.stringify(row))
  }
  const known = new Set(rows(right))
  return rows(answer).every((row) => known.has(row))
}

async function countOf(path: string, bytes: Buffer): Promise<number> {
  writeFileSync(path, stub)
  writeFileSync(`${path}-wal`, bytes)
  rmSync(`${path}-shm`, { force: true })
  const store = sqliteStore(path, options)
  let count = 0
  for (const key of KEYS) count += (await store.read(key)).length
  await store.close()
  return count
}

function byPosition(list: readonly Entry[]): Map<number, string> {
  return new Map(list.map((entry) => [entry.seq, JSON.stringify(entry)]))
}

function pagesWhere(test: (kind: number) => boolean): number[] {
  const pages = Array.from({ length: whole.length / PAGE }, (_, i) => i).slice(1)
  return pages.filter((page) => test(whole[page * PAGE] as number))
}

function pick<T>(list: readonly T[], random: () => number): T {
  return list[Math.floor(random() * list.length)] as T
}

function flipped(bytes: Buffer, at: number, bit: number): Buffer {
  const copy = Buffer.from(bytes)
  copy[at] = (copy[at] as number) ^ (1 << bit)
  return copy
}

function randomFrom(seed: number): () => number {
  let state = seed * 7919
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}
