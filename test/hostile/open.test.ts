/** Paths that lead to no file of ours: each refused by name, and left exactly as it was. */
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { codeOf, codesOf, errorOf, hashOfFile, workplace } from './kit.ts'
import { fill, KEYS } from './library.ts'
import { keyOf, post, turn } from './talk.ts'

const place = workplace()

/** Opens in both ways and returns the codes, or what changed at the path meanwhile. */
async function refusal(path: string): Promise<string[]> {
  const look = () =>
    new Map(readdirSync(dirname(path)).map((name) => [name, hashOrKind(join(dirname(path), name))]))
  const before = look()
  const codes = await codesOf([() => sqliteStore(path), () => sqliteStore(path, { readOnly: true })])
  expect((await errorOf(() => sqliteStore(path))).message).toContain(path)
  const after = look()
  return [...codes, ...[...before.keys()].filter((name) => after.get(name) !== before.get(name))]
}

function hashOrKind(path: string): string {
  return statSync(path).isFile() ? hashOfFile(path) : 'not a file'
}

describe('a path that is no file', () => {
  it('because it is a folder', async () => {
    const path = place.path('folder')
    mkdirSync(path)
    expect(await refusal(path)).toEqual(['store-failed'])
  })

  it('because its folder is missing', async () => {
    const path = join(place.folder(), 'missing', 'store.db')
    const error = await errorOf(() => sqliteStore(path))
    expect(error).toMatchObject({
      code: 'store-failed',
      message: expect.stringContaining('folder does not exist'),
    })
    expect(existsSync(dirname(path))).toBe(false)
  })

  it('because its folder is a file', async () => {
    const path = place.path('file')
    writeFileSync(path, 'x')
    expect((await errorOf(() => sqliteStore(join(path, 'store.db')))).code).toBe('store-failed')
  })

  it('because symbolic links go in circles', async () => {
    const folder = place.folder()
    symlinkSync(join(folder, 'b'), join(folder, 'a'))
    symlinkSync(join(folder, 'a'), join(folder, 'b'))
    const error = await errorOf(() => sqliteStore(join(folder, 'a')))
    expect(error).toMatchObject({ code: 'store-failed', message: expect.stringContaining('ELOOP') })
  })

  it('because it is a device', async () => {
    expect((await errorOf(() => sqliteStore('/dev/null'))).code).toBe('store-failed')
  })

  it('because it does not exist and may only be read', async () => {
    const path = place.path()
    const error = await errorOf(() => sqliteStore(path, { readOnly: true }))
    expect(error).toMatchObject({ code: 'not-found', message: expect.stringContaining(path) })
    expect(existsSync(path)).toBe(false)
  })

  for (const path of [
    '',
    ' ',
    ':memory:',
    'file::memory:',
    'file:/tmp/x.db?mode=memory',
    'a\0b',
    5,
    undefined,
  ])
    it(`because it is ${JSON.stringify(path)}`, async () => {
      expect((await errorOf(() => sqliteStore(path as string))).code).toBe('invalid-option')
    })
})

describe('an option that makes no sense', () => {
  for (const options of [
    { busyMs: Number.NaN },
    { busyMs: -1 },
    { maxBytes: 0 },
    { maxBytes: Number.NaN },
    { pollMs: 0 },
    { synchronous: 'OFF; DROP TABLE entry' },
  ])
    it(`${JSON.stringify(options)} is refused before the file is made`, async () => {
      const path = place.path()
      expect((await errorOf(() => sqliteStore(path, options as object))).code).toBe('invalid-option')
      expect(existsSync(path)).toBe(false)
    })
})

describe("somebody else's file", () => {
  const foreign = (path: string, ...sql: string[]) => {
    const db = new DatabaseSync(path)
    for (const line of sql) db.exec(line)
    db.close()
  }

  it('with tables of its own is left alone', async () => {
    const path = place.path()
    foreign(path, 'CREATE TABLE note (id INTEGER, text TEXT)', `INSERT INTO note VALUES (1, 'mine')`)
    expect(await refusal(path)).toEqual(['store-foreign'])
    expect(readdirSync(dirname(path))).toEqual(['store.db'])
  })

  it('with a write-ahead log that was never folded in is left alone, log and all', async () => {
    const [path, copy] = [place.path(), place.path()]
    const db = new DatabaseSync(path)
    db.exec('PRAGMA journal_mode = WAL; CREATE TABLE note (id INTEGER)')
    db.exec('PRAGMA wal_checkpoint(TRUNCATE); INSERT INTO note VALUES (1)')
    for (const side of ['', '-wal']) copyFileSync(path + side, copy + side)
    db.close()
    expect(await refusal(copy)).toEqual(['store-foreign'])
    expect(readdirSync(dirname(copy)).sort()).toEqual(['store.db', 'store.db-wal'])
  })

  it('with tables of the same names, or with another mark, is left alone', async () => {
    for (const sql of ['CREATE TABLE entry (x)', 'PRAGMA application_id = 7; CREATE TABLE context (id)']) {
      const path = place.path()
      foreign(path, sql)
      expect(await refusal(path)).toEqual(['store-foreign'])
    }
  })

  it('that is no database at all is left alone', async () => {
    for (const text of ['x', 'SQLite format 3\0', 'hello world\n'.repeat(2000), '\0'.repeat(8192)]) {
      const path = place.path()
      writeFileSync(path, text)
      expect(await refusal(path)).toEqual(['store-corrupt'])
    }
  })
})

describe('a file of a newer version', () => {
  it('is left alone, with the versions in the message', async () => {
    const path = place.path()
    const store = sqliteStore(path)
    await post(store, keyOf('c'), 'x')
    await store.close()
    const db = new DatabaseSync(path)
    db.exec('PRAGMA user_version = 999')
    db.close()
    expect(await refusal(path)).toEqual(['store-newer'])
    expect((await errorOf(() => sqliteStore(path))).details).toMatchObject({ version: 999 })
  })
})

describe('an empty file', () => {
  it('becomes a new store, as a file does that is not there yet', async () => {
    const path = place.path()
    writeFileSync(path, '')
    const store = sqliteStore(path)
    await post(store, keyOf('c'), 'x')
    expect(await store.read(keyOf('c'))).toHaveLength(1)
    await store.close()
  })

  it('is no store to read from', async () => {
    const path = place.path()
    writeFileSync(path, '')
    expect((await errorOf(() => sqliteStore(path, { readOnly: true }))).code).toBe('not-found')
  })

  it('with a log beside it is a store that was cut off: SQLite would delete the log', async () => {
    const path = await crashed()
    truncateSync(path, 0)
    expect(await refusal(path)).toEqual(['store-corrupt'])
    expect(readFileSync(`${path}-wal`).length).toBeGreaterThan(0)
  })

  it('that is gone leaves a log that may hold all entries: SQLite would delete it', async () => {
    const path = await crashed()
    const log = readFileSync(`${path}-wal`)
    renameSync(path, `${path}.old`)
    for (const readOnly of [false, true])
      expect(await errorOf(() => sqliteStore(path, { readOnly }))).toMatchObject({
        code: 'store-corrupt',
        message: expect.stringContaining(`does not exist, but its log ${path}-wal does`),
      })
    expect(readFileSync(`${path}-wal`)).toEqual(log)
    renameSync(`${path}.old`, path)
    const store = sqliteStore(path)
    expect(await store.read(keyOf('c'))).toHaveLength(30)
    await store.close()
  })
})

describe('a file that was cut off', () => {
  let folder = ''
  let whole: Buffer

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'))
    const store = sqliteStore(join(folder, 'store.db'), { synchronous: 'NORMAL' })
    await fill(store)
    await store.close()
    whole = readFileSync(store.path)
  })

  afterAll(() => {
    rmSync(folder, { recursive: true })
  })

  const lengths: Record<string, (size: number) => number> = {
    'one byte': () => 1,
    '99 bytes': () => 99,
    '100 bytes': () => 100,
    'half a page': () => 2048,
    'one page': () => 4096,
    'a page and a byte': () => 4097,
    'ten pages': () => 40_960,
    half: (size) => size / 2,
    'one page less': (size) => size - 4096,
    'one byte less': (size) => size - 1,
  }

  for (const [what, lengthOf] of Object.entries(lengths)) {
    it(`to ${what} is refused and stays as it is`, async () => {
      const path = place.path()
      writeFileSync(path, whole.subarray(0, lengthOf(whole.length)))
      expect(await refusal(path)).toEqual(['store-corrupt'])
    })
  }

  it('and filled up with zeros gives what is left, and names what is not', async () => {
    const path = place.path()
    writeFileSync(path, whole)
    truncateSync(path, Math.floor(whole.length / 8192) * 4096)
    truncateSync(path, whole.length)
    const codes = await readCodes(path)
    expect(codes).toContain('ok')
    expect(codes.every((code) => ['ok', 'store-corrupt', 'entry-corrupt'].includes(code))).toBe(true)
  })
})

describe('a write-ahead log', () => {
  it('that a crash left behind is taken in', async () => {
    const path = await crashed()
    const store = sqliteStore(path)
    expect(await store.read(keyOf('c'))).toHaveLength(30)
    await store.close()
  })

  for (const [what, at] of [
    ['its header', 5],
    ['its salt', 17],
    ['its first frame', 100],
    ['the mark of a frame', 32 + 9],
    ['its middle', -1],
  ] as const) {
    it(`that is damaged in ${what} is refused: commits behind it would vanish without a word`, async () => {
      const path = await crashed()
      const log = readFileSync(`${path}-wal`)
      const position = at === -1 ? Math.floor(log.length / 2) : at
      log[position] = (log[position] as number) ^ 4
      writeFileSync(`${path}-wal`, log)
      expect(await refusal(path)).toEqual(['store-corrupt'])
    })
  }

  for (const [what, length] of [
    ['header', 32],
    ['first sector', 512],
  ] as const)
    it(`whose ${what} is zeros is refused with either setting: SQLite would begin it anew`, async () => {
      const path = await crashed()
      const log = readFileSync(`${path}-wal`)
      writeFileSync(`${path}-wal`, log.fill(0, 0, length))
      expect(await refusal(path)).toEqual(['store-corrupt'])
      expect(await codeOf(() => sqliteStore(path, { synchronous: 'NORMAL' }))).toBe('store-corrupt')
      expect(readFileSync(`${path}-wal`).equals(log)).toBe(true)
      expect(await checkSqlite(path)).toMatchObject({ ok: false, problems: [{ kind: 'file' }] })
    })

  it('of zeros alone has no commits, and the file opens without it', async () => {
    const path = await crashed()
    const store = sqliteStore(path)
    await store.close()
    writeFileSync(`${path}-wal`, Buffer.alloc(100_000))
    const again = sqliteStore(path)
    expect(await again.read(keyOf('c'))).toHaveLength(30)
    await again.close()
  })

  it('whose last commit was cut short is what a power cut leaves, and is taken without it', async () => {
    const path = await crashed()
    const log = readFileSync(`${path}-wal`)
    writeFileSync(`${path}-wal`, log.subarray(0, log.length - 100))
    const store = sqliteStore(path)
    expect(await store.read(keyOf('c'))).toHaveLength(27)
    await store.close()
  })

  it('is looked at while another process writes to it, and is found sound', async () => {
    const path = place.path()
    const store = sqliteStore(path)
    const writing = (async () => {
      for (let i = 0; i < 200; i++) await post(store, keyOf(`c${i % 7}`), `m${i}`)
    })()
    for (let i = 0; i < 40; i++) {
      const other = sqliteStore(path, { readOnly: i % 2 === 0 })
      await other.close()
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
    await writing
    expect(await store.head(keyOf('c0'))).toMatchObject({ seq: 29 })
    await store.close()
  })
})

/** A store whose process died: 30 entries, all of them in the log. */
async function crashed(): Promise<string> {
  const [path, copy] = [place.path(), place.path()]
  const store = sqliteStore(path)
  for (let number = 1; number <= 6; number++) await turn(store, keyOf('c'), { number, notes: ['a note'] })
  for (const side of ['', '-wal']) copyFileSync(path + side, copy + side)
  await store.close()
  return copy
}

async function readCodes(path: string): Promise<string[]> {
  const store = sqliteStore(path)
  const codes: string[] = []
  for (const key of KEYS) codes.push(await codeOf(() => store.read(key)))
  await store.close()
  return codes
}
