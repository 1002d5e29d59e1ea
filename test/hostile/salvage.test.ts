/** What can be got out of a damaged file, and that nothing is made up and nothing is touched on the way. */
import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { loadSession } from '../../src/journal/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import {
  checkSqlite,
  type SalvagedConversation,
  type SalvageReport,
  salvageSqlite,
} from '../../src/store/sqlite/repair/index.ts'
import { codeOf, errorOf, hashOfFile, linesOf, REPAIR_MODULE, workplace } from './kit.ts'
import { fill, survey } from './library.ts'
import { keyOf, post, turn } from './talk.ts'

const place = workplace()
const PAGE = 4096
let folder = ''
let blob = ''
let answers: Map<string, string>
let from = ''
let to = ''

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'))
  const store = sqliteStore(join(folder, 'whole.db'), { synchronous: 'NORMAL', liveness: () => 'unknown' })
  ;({ blob } = await fill(store, 12))
  answers = await survey(store, blob)
  await store.close()
})

beforeEach(() => {
  from = place.path('damaged.db')
  to = place.path('salvaged.db')
  copyFileSync(join(folder, 'whole.db'), from)
})

afterAll(() => {
  rmSync(folder, { recursive: true })
})

/** Salvages, and checks what holds for every salvage. */
async function salvage(): Promise<SalvageReport> {
  const before = [hashOfFile(from), hashOfFile(`${from}-wal`)]
  const report = await salvageSqlite(from, to)
  expect([hashOfFile(from), hashOfFile(`${from}-wal`)]).toEqual(before)
  expect(leftovers(to)).toEqual(report.rest === undefined ? [] : [`${basename(to)}.rest.jsonl`])
  expect(await checkSqlite(to)).toMatchObject({ ok: true })
  const rest = report.rest === undefined ? [] : (linesOf(report.rest) as { contextId: string; seq: number }[])
  const store = sqliteStore(to, { readOnly: true })
  for (const { key, intact, kept, lost } of report.conversations) {
    if (key === undefined) continue
    const right = JSON.parse(answers.get(`${key.contextId} read`) ?? '[]') as { seq: number }[]
    const read = await store.read(key)
    expect(read).toEqual(right.slice(0, read.length))
    const beside = rest.filter(({ contextId }) => contextId === key.contextId)
    expect(kept + beside.length).toBe(intact)
    const alike = right.filter(({ seq }) => beside.some((line) => line.seq === seq))
    expect(beside.filter(({ seq }) => right.some((entry) => entry.seq === seq))).toMatchObject(alike)
    for (const range of lost) expect(range.to).toBeGreaterThanOrEqual(range.from)
  }
  await store.close()
  return report
}

const of = ({ conversations }: SalvageReport, name: string): SalvagedConversation | undefined =>
  conversations.find(({ key }) => key?.contextId === name)

describe('a file that is whole', () => {
  it('is copied whole: heads, inbox, bases, forks, children, blobs, tombstones, derived rows', async () => {
    const report = await salvage()
    expect(report.rest).toBeUndefined()
    expect(report.conversations).toHaveLength(8)
    expect(report.conversations.every(({ lost, intact, kept }) => lost.length === 0 && intact === kept)).toBe(
      true,
    )
    expect(of(report, 'erased')).toMatchObject({ erased: true })
    const store = sqliteStore(to, { liveness: () => 'unknown' })
    expect(await survey(store, blob)).toEqual(answers)
    await turn(store, keyOf('plain'), { number: 13 })
    await post(store, keyOf('fork'), 'goes on')
    expect(await store.erase(keyOf('pruned'))).toBe(3)
    await store.close()
  })

  it('and in use is copied as it stands', async () => {
    const store = sqliteStore(from)
    await post(store, keyOf('plain'), 'in the log only')
    const report = await salvageSqlite(from, to)
    expect(of(report, 'plain')).toMatchObject({ kept: 97, lost: [] })
    await post(store, keyOf('plain'), 'and on')
    await store.close()
  })
})

describe('a conversation that lost an entry', () => {
  it('in the middle lives on up to the gap; what follows is written beside it', async () => {
    sql(
      `DELETE FROM entry WHERE context = (SELECT id FROM context WHERE name = 'plain') AND seq IN (41, 42, 60)`,
    )
    const report = await salvage()
    expect(of(report, 'plain')).toMatchObject({
      intact: 93,
      kept: 40,
      lost: [
        { from: 41, to: 42 },
        { from: 60, to: 60 },
      ],
      endUnknown: false,
    })
    const rest = linesOf(report.rest ?? '') as { contextId: string; seq: number; type: string }[]
    expect(rest).toHaveLength(53)
    expect(rest[0]).toMatchObject({ contextId: 'plain', seq: 43 })
    const store = sqliteStore(to)
    expect(await store.head(keyOf('plain'))).toMatchObject({ seq: 40, turn: 5, status: 'idle' })
    expect(await loadSession(store, keyOf('plain'))).toMatchObject({ seq: 40, turn: 5 })
    expect(await post(store, keyOf('plain'), 'on')).toMatchObject({ first: 41 })
    await store.close()
  })

  it('whose input it was: what took it is gone, so it is waiting again', async () => {
    sql(`DELETE FROM entry WHERE context = (SELECT id FROM context WHERE name = 'plain') AND seq = 43`)
    const report = await salvage()
    expect(of(report, 'plain')).toMatchObject({ kept: 42 })
    const store = sqliteStore(to)
    expect(await store.inbox(keyOf('plain'))).toMatchObject([{ seq: 41, key: 'input-6' }])
    await store.close()
  })

  it('that a fork shares takes the fork with it, into the file beside', async () => {
    sql(`DELETE FROM entry WHERE context = (SELECT id FROM context WHERE name = 'pruned') AND seq = 5`)
    const report = await salvage()
    expect(of(report, 'pruned')).toMatchObject({ lost: [] })
    expect(of(report, 'older-fork')).toMatchObject({ intact: 1, kept: 0 })
    expect(linesOf(report.rest ?? '')).toMatchObject([{ contextId: 'older-fork', type: 'fork' }])
  })

  it('which was its base cannot be folded, and is written beside', async () => {
    sql(`DELETE FROM entry WHERE type = 'base'`)
    const report = await salvage()
    expect(of(report, 'pruned')).toMatchObject({ kept: 0 })
    expect(of(report, 'plain')).toMatchObject({ kept: 96 })
  })
})

describe('a conversation that lost its head row', () => {
  it('gets it back from its entries, and its name from the index', async () => {
    sql(
      `UPDATE context SET crc = 0, seq = 3, status = 'x', base = 99 WHERE name IN ('plain', 'pruned', 'older-fork')`,
    )
    const report = await salvage()
    expect(of(report, 'plain')).toMatchObject({ kept: 96, lost: [], endUnknown: true })
    expect(of(report, 'older-fork')).toMatchObject({ kept: 1, lost: [], endUnknown: true })
    const store = sqliteStore(to, { liveness: () => 'unknown' })
    for (const name of ['plain', 'pruned', 'older-fork'])
      expect(JSON.stringify(await store.read(keyOf(name)))).toBe(answers.get(`${name} read`))
    await store.close()
  })
})

describe('blobs', () => {
  it('that are damaged cost the entries that they belong to', async () => {
    sql(`UPDATE blob SET data = zeroblob(70000) WHERE id = 2`)
    const report = await salvage()
    expect(of(report, 'blobs')).toMatchObject({ intact: 6, kept: 5, lost: [{ from: 6, to: 6 }] })
  })
})

describe('a file whose beginning is gone', () => {
  const losses: Record<string, (bytes: Buffer) => void> = {
    'the header': (bytes) => bytes.fill(0, 0, 100),
    'the first page': (bytes) => bytes.fill(0x55, 0, PAGE),
    'the name of the format': (bytes) => bytes.write('something else!!'),
  }
  for (const [what, lose] of Object.entries(losses)) {
    it(`because ${what} was overwritten is recognised by what follows`, async () => {
      const bytes = readFileSync(from)
      lose(bytes)
      writeFileSync(from, bytes)
      expect((await errorOf(() => sqliteStore(from))).code).toMatch(/^store-/)
      const report = await salvage()
      const store = sqliteStore(to, { liveness: () => 'unknown' })
      expect(await survey(store, blob)).toEqual(answers)
      await store.close()
      expect(report.rest).toBeUndefined()
    })
  }

  it('and that was never rewritten by a scrub is recognised as well', async () => {
    const path = place.path()
    const store = sqliteStore(path)
    for (let number = 1; number <= 5; number++)
      await turn(store, keyOf('fresh'), { number, notes: ['a note'] })
    await store.close()
    const bytes = readFileSync(path)
    bytes.fill(0, 0, PAGE)
    writeFileSync(path, bytes)
    expect((await salvageSqlite(path, to)).conversations).toMatchObject([{ kept: 25, lost: [] }])
  })
})

describe('a file that was cut off', () => {
  for (const part of [0.95, 0.7, 0.4])
    it(`at ${part * 100} % gives what is left`, async () => {
      const pages = Math.floor((readFileSync(from).length / PAGE) * part)
      truncateSync(from, pages * PAGE - 100)
      const report = await salvage()
      expect(report.conversations.some(({ kept }) => kept > 0)).toBe(true)
    })
})

describe('pages that are gone', () => {
  it('cost what was on them, and nothing is made up', { timeout: 120_000 }, async () => {
    const whole = readFileSync(from)
    for (let i = 0; i < 12; i++) {
      const bytes = Buffer.from(whole)
      for (const page of [(i * 7 + 1) % 23, 2 + ((i * 5) % 19)])
        bytes.fill(i % 2 ? 0 : 0xa5, page * PAGE, (page + 1) * PAGE)
      writeFileSync(from, bytes)
      to = place.path('salvaged.db')
      expect(['ok', 'store-corrupt']).toContain(await codeOf(salvage))
    }
  })
})

describe('a salvage', () => {
  it('never replaces a file', async () => {
    for (const name of [to, `${to}.rest.jsonl`]) {
      writeFileSync(name, 'mine')
      expect(await errorOf(() => salvageSqlite(from, to))).toMatchObject({ code: 'exists' })
      expect(readFileSync(name, 'utf8')).toBe('mine')
      rmSync(name)
    }
  })

  it('of what holds no conversation says so and leaves nothing behind', async () => {
    writeFileSync(from, 'x'.repeat(100_000))
    expect((await errorOf(() => salvageSqlite(from, to))).code).toBe('store-corrupt')
    expect((await errorOf(() => salvageSqlite(`${from}.missing`, to))).code).toBe('not-found')
    expect(existsSync(to)).toBe(false)
    expect(leftovers(to)).toEqual([])
  })

  it('that cannot copy the file says so, and not that nothing was found in it', async () => {
    const nowhere = join(dirname(to), 'no', 'x.db')
    for (const [source, target] of [
      [from, nowhere],
      [dirname(from), to],
    ] as const)
      expect(await errorOf(() => salvageSqlite(source, target))).toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining(`${source} could not be copied beside ${target} (E`),
      })
    expect((await errorOf(() => salvageSqlite(from, undefined as never))).code).toBe('invalid-option')
    expect(leftovers(to)).toEqual([])
  })

  it.skipIf(process.platform !== 'linux')(
    'without room for its copies says so and leaves nothing',
    async () => {
      const child = place.start(SALVAGE, { args: [from, to], shell: 'ulimit -S -f 20; trap "" XFSZ' })
      expect(await child.next()).toMatchObject({
        code: 'store-failed',
        message: expect.stringContaining('the disk has room for two copies'),
      })
      expect(await child.exited).toBe(0)
      expect(leftovers(to)).toEqual([])
    },
  )
})

const SALVAGE = `
  import { salvageSqlite } from ${JSON.stringify(REPAIR_MODULE)}
  await salvageSqlite(args[0], args[1]).catch(({ code, message }) => say({ code, message }))
`

describe('a check', () => {
  it('finds nothing in a whole file, also while it is in use', async () => {
    const store = sqliteStore(from)
    await post(store, keyOf('plain'), 'more')
    expect(await checkSqlite(from)).toMatchObject({ ok: true, conversations: 8, problems: [] })
    await store.close()
  })

  it('reports a file that cannot be opened as a problem, and throws only if it is not ours', async () => {
    const bytes = readFileSync(from)
    writeFileSync(from, bytes.subarray(0, 5000))
    expect(await checkSqlite(from)).toMatchObject({ ok: false, problems: [{ kind: 'file' }] })
    const foreign = place.path()
    new DatabaseSync(foreign).exec('CREATE TABLE x (y)')
    expect((await errorOf(() => checkSqlite(foreign))).code).toBe('store-foreign')
    expect((await errorOf(() => checkSqlite(`${foreign}.missing`))).code).toBe('not-found')
  })

  it('names every damaged entry, and what only an index has lost', async () => {
    sql(
      `UPDATE entry SET at = 1 WHERE seq IN (3, 9) AND context = (SELECT id FROM context WHERE name = 'plain')`,
    )
    sql(`DELETE FROM derived WHERE key = '000000000013'`)
    sql('UPDATE snapshot SET crc = 0')
    const { problems } = await checkSqlite(from)
    expect(problems.filter(({ kind }) => kind === 'entry').map(({ seq }) => seq)).toEqual([3, 9])
    expect(problems.map(({ kind }) => kind)).toEqual(expect.arrayContaining(['index', 'snapshot']))
  })
})

/** Files beside the target whose names begin with its own. */
function leftovers(target: string): string[] {
  return readdirSync(dirname(target)).filter((name) => name.startsWith(`${basename(target)}.`))
}

function sql(text: string): void {
  const db = new DatabaseSync(from)
  expect(db.prepare(text).run().changes).toBeGreaterThan(0)
  db.close()
}
