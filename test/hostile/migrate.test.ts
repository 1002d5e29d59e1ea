/** From one file format to the next: step by step, all or nothing, once. */
import { copyFileSync, statSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import { describe, expect, it } from 'vitest'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { checkSqlite } from '../../src/store/sqlite/repair/index.ts'
import { inspectFile, MIGRATIONS, type Migration, migrate } from '../../src/store/sqlite/schema.ts'
import { codeOf, errorOf, hashOfFile, SCHEMA_MODULE, workplace } from './kit.ts'
import { fill, survey } from './library.ts'
import { keyOf, post } from './talk.ts'

const place = workplace()

const second: Migration = {
  up: `ALTER TABLE entry ADD COLUMN note TEXT; UPDATE entry SET note = 'step 2 ' || seq; CREATE TABLE extra (id INTEGER)`,
}
const third: Migration = {
  up: `INSERT INTO extra SELECT count(*) FROM entry; UPDATE entry SET note = note || ', step 3'`,
}
const LIST: readonly Migration[] = [...MIGRATIONS, second, third]
const ONE = MIGRATIONS.length

async function filled(): Promise<{ path: string; blob: string; answers: Map<string, string> }> {
  const path = place.path()
  const store = sqliteStore(path, { synchronous: 'NORMAL', liveness: () => 'unknown' })
  const { blob } = await fill(store)
  const answers = await survey(store, blob)
  await store.close()
  return { path, blob, answers }
}

function upgrade(path: string, list: readonly Migration[]): void {
  const db = new DatabaseSync(path)
  try {
    migrate(db, path, list)
  } finally {
    db.close()
  }
}

function dump(path: string): unknown {
  const db = new DatabaseSync(path)
  const { version } = inspectFile(db, path, 99)
  const rows = db.prepare('SELECT context, seq, data, note FROM entry ORDER BY context, seq').all()
  const extra = db.prepare('SELECT id FROM extra').all()
  db.close()
  return { version, rows, extra }
}

/** What the program of the first version would still read, if the version number allowed it. */
async function surveyAsFirst(path: string, blob: string): Promise<Map<string, string>> {
  const db = new DatabaseSync(path)
  db.exec(`PRAGMA user_version = ${ONE}; ALTER TABLE entry DROP COLUMN note`)
  db.close()
  const store = sqliteStore(path, { liveness: () => 'unknown' })
  const answers = await survey(store, blob)
  await store.close()
  return answers
}

describe('a file of an older version', () => {
  it('is brought up step by step or at once, with the same result and all its data', async () => {
    const { path, blob, answers } = await filled()
    const copy = place.path()
    copyFileSync(path, copy)
    for (let length = ONE + 1; length <= LIST.length; length++) upgrade(path, LIST.slice(0, length))
    upgrade(copy, LIST)
    expect(dump(path)).toMatchObject({ version: LIST.length })
    expect(dump(copy)).toEqual(dump(path))
    expect(await surveyAsFirst(copy, blob)).toEqual(answers)
  })

  it('is left whole by a step that fails, at whatever point, and is still usable', async () => {
    const { path, blob, answers } = await filled()
    const broken: Migration[] = [
      { up: 'no sql at all' },
      { up: 'CREATE TABLE half (x); INSERT INTO nowhere VALUES (1)' },
      { up: `UPDATE entry SET data = 'gone'; DELETE FROM context; SELECT no_such_function()` },
      { up: 'CREATE TABLE entry (x)' },
    ]
    for (const step of broken)
      for (const list of [
        [...MIGRATIONS, step],
        [...LIST, step],
      ]) {
        const before = hashOfFile(path)
        expect(() => upgrade(path, list)).toThrow(/./)
        expect(hashOfFile(path)).toBe(before)
      }
    const store = sqliteStore(path, { liveness: () => 'unknown' })
    expect(await survey(store, blob)).toEqual(answers)
    await store.close()
    expect(await checkSqlite(path)).toMatchObject({ ok: true })
  })

  it('is not taken for older than it is when its version number is damaged', async () => {
    const { path } = await filled()
    const db = new DatabaseSync(path)
    db.exec('PRAGMA user_version = 0')
    db.close()
    const before = hashOfFile(path)
    expect((await errorOf(() => sqliteStore(path))).code).toBe('store-corrupt')
    expect(hashOfFile(path)).toBe(before)
  })

  it('is left alone by a program that only knows fewer versions', async () => {
    const { path } = await filled()
    upgrade(path, LIST)
    expect(await codeOf(() => sqliteStore(path))).toBe('store-newer')
    expect(await codeOf(() => sqliteStore(path, { readOnly: true }))).toBe('store-newer')
  })
})

const STEP = `
  import { DatabaseSync } from 'node:sqlite'
  import { MIGRATIONS, migrate } from ${JSON.stringify(SCHEMA_MODULE)}
  const [path, ...steps] = args
  const db = new DatabaseSync(path, { timeout: 5000 })
  say('open')
  if (steps[0] === 'wait') await new Promise((resolve) => process.stdin.once('data', resolve))
  migrate(db, path, [...MIGRATIONS, ...steps.slice(1).map((up) => ({ up }))])
  db.close()
  say('done')
  process.exit()
`

describe('a process that migrates', () => {
  it('and is killed in the middle leaves the old file, whole and usable', async () => {
    const { path, blob, answers } = await filled()
    const slow = `CREATE TABLE filler AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 20000000)
      SELECT i, hex(randomblob(50)) AS text FROM n`
    const child = place.start(STEP, { args: [path, 'go', second.up, slow] })
    expect(await child.next()).toBe('open')
    await expect.poll(() => isGrowing(path)).toBe(true)
    await child.kill()
    const store = sqliteStore(path, { liveness: () => 'unknown' })
    expect(await survey(store, blob)).toEqual(answers)
    await post(store, keyOf('plain'), 'still usable')
    await store.close()
    expect(await checkSqlite(path)).toMatchObject({ ok: true })
  })

  it('at the same time as another does it once', async () => {
    const { path } = await filled()
    const children = [1, 2, 3].map(() => place.start(STEP, { args: [path, 'wait', second.up, third.up] }))
    for (const child of children) expect(await child.next()).toBe('open')
    for (const child of children) child.process.stdin?.write('go\n')
    for (const child of children) expect(await child.next()).toBe('done')
    const { rows, extra } = dump(path) as { rows: { note: string; seq: number }[]; extra: unknown[] }
    expect(extra).toHaveLength(1)
    expect(rows.every(({ note, seq }) => note === `step 2 ${seq}, step 3`)).toBe(true)
  })

  it('from nothing, several at once, makes one store', async () => {
    const path = place.path()
    const children = [1, 2, 3].map(() => place.start(STEP, { args: [path, 'wait'] }))
    for (const child of children) expect(await child.next()).toBe('open')
    for (const child of children) child.process.stdin?.write('go\n')
    for (const child of children) expect(await child.next()).toBe('done')
    expect(await checkSqlite(path)).toMatchObject({ ok: true, conversations: 0 })
  })
})

function isGrowing(path: string): boolean {
  const log = statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0
  return log > 1_000_000 || (statSync(`${path}-journal`, { throwIfNoEntry: false })?.size ?? 0) > 1_000_000
}
