/**
 * Reads a damaged file from a private copy, row by row where necessary. Unreadable rows count as missing and never
 * throw. The caller verifies checksums.
 *
 * SQLite makes the copy, log included. If the first page is damaged, the copy is one of bytes with the beginning of a
 * new file: the tables of all our files have the same roots, one set as created and one after a scrub.
 */
import {
  closeSync,
  copyFileSync,
  existsSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import type { StatementSync } from 'node:sqlite'
import { type ContextKey, contextKey } from '../../../protocol/index.ts'
import { removeFile } from '../copy.ts'
import type { Cell } from '../database.ts'
import { backup, DatabaseSync } from '../node-sqlite.ts'
import { CONTEXT_COLUMNS, type ContextRow, ENTRY_COLUMNS, toContextRow } from '../rows.ts'
import { checkSchema, MIGRATIONS } from '../schema.ts'

const ENTRY_RANGE = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq BETWEEN ? AND ? ORDER BY seq`
const ENTRIES_PER_READ = 500
/** Number of ids or positions to try beyond the known ones. */
const MOST_MISSING = 1000
const PAGE_BYTES = 4096
const HEADER_BYTES = 100

type Direction = 'ASC' | 'DESC'
const BOTH_ENDS: readonly Direction[] = ['ASC', 'DESC']

export class DamagedFile {
  readonly #db: DatabaseSync
  readonly #path: string
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync, path: string) {
    this.#db = db
    this.#path = path
  }

  /** Copies the file to `path` and opens the most readable copy; undefined if nothing is readable. Throws if it cannot be copied. */
  static async open(from: string, path: string): Promise<DamagedFile | undefined> {
    const copied = await openCopy(() => copyBySqlite(from, path), path).catch(() => undefined)
    if (copied !== undefined && copied.#hasOwnTables() && copied.#readable() > 0) return copied
    copied?.close()
    let best: { readonly start: FileStart; readonly readable: number } | undefined
    for (const start of FILE_STARTS) {
      const file = await openCopy(() => copyWithStart(from, path, start), path)
      const readable = file.#readable()
      file.close()
      if (readable > (best?.readable ?? 0)) best = { start, readable }
    }
    return best && openCopy(() => copyWithStart(from, path, best.start), path)
  }

  close(): void {
    this.#db.close()
    removeFile(this.#path)
  }

  /** Every context with possible remains, parents before children. */
  contextIds(): number[] {
    return withMissing([
      ...this.#ids('context', 'id'),
      ...this.names().keys(),
      ...this.#ids('entry', 'context'),
    ])
  }

  /** The head row, if intact. */
  context(id: number): ContextRow | undefined {
    const row = this.#get(`SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.id = ?`, id)
    return row && attempt(() => toContextRow(row))
  }

  /** Keys from the index of names, which may be all that is left of a head row. */
  names(): Map<number, ContextKey> {
    const names = new Map<number, ContextKey>()
    for (const direction of BOTH_ENDS) {
      const sql = `SELECT id, tenant, actor, name FROM context INDEXED BY sqlite_autoindex_context_1
        ORDER BY tenant ${direction}, actor ${direction}, name ${direction}`
      for (const [id, tenant, actor, contextId] of this.#each(sql)) {
        const key = attempt(() => contextKey({ tenant, actor, contextId } as ContextKey))
        if (key !== undefined && !names.has(id as number)) names.set(id as number, key)
      }
    }
    return names
  }

  /** Readable rows of ENTRY_COLUMNS in order; `last` is the last position if known. */
  *entries(context: number, last: number | undefined): Generator<Cell[]> {
    const [newest] = this.#get('SELECT max(seq) FROM entry WHERE context = ?', context) ?? []
    const end = last ?? (typeof newest === 'number' ? newest : 0) + MOST_MISSING
    for (let from = 1; from <= end; from += ENTRIES_PER_READ) {
      const to = Math.min(end, from + ENTRIES_PER_READ - 1)
      const range = attempt(() => this.#statement(ENTRY_RANGE).all(context, from, to) as unknown as Cell[][])
      const rows = new Map(range?.map((row) => [row[0], row]))
      // An empty range was pruned; an unreadable one, or one with gaps, is read position by position.
      for (let seq = from; range?.length !== 0 && seq <= to; seq++) {
        const row = rows.get(seq) ?? this.#get(ENTRY_RANGE, context, seq, seq)
        if (row !== undefined) yield row
      }
    }
  }

  *blobs(): Generator<Cell[]> {
    for (const id of withMissing([...this.#ids('blob', 'id')])) {
      const row = this.#get('SELECT id, tenant, actor, hash, at, data FROM blob WHERE id = ?', id)
      if (row !== undefined) yield row
    }
  }

  /** Rows of a table that belong to one context, up to the first unreadable one. */
  rowsOf(columns: string, table: 'inbox' | 'derived', context: number): Iterable<Cell[]> {
    return this.#each(`SELECT ${columns} FROM ${table} WHERE context = ?`, context)
  }

  #hasOwnTables(): boolean {
    return attempt(() => checkSchema(this.#db, this.#path) === undefined) === true
  }

  #readable(): number {
    const [entries = 0] = this.#get('SELECT count(*) FROM entry') ?? []
    return Number(entries) + this.contextIds().length
  }

  /** From both ends up to the first unreadable row. */
  *#ids(table: 'context' | 'blob' | 'entry', column: 'id' | 'context'): Generator<number> {
    for (const direction of BOTH_ENDS) {
      const isUp = direction === 'ASC'
      const sql = `SELECT ${column} FROM ${table} WHERE ${column} ${isUp ? '>' : '<'} ? ORDER BY ${column} ${direction} LIMIT 1`
      let at = isUp ? 0 : Number.MAX_SAFE_INTEGER
      for (;;) {
        const [next] = this.#get(sql, at) ?? []
        if (typeof next !== 'number' || (isUp ? next <= at : next >= at)) break
        yield next
        at = next
      }
    }
  }

  #get(sql: string, ...values: Cell[]): Cell[] | undefined {
    return attempt(() => this.#statement(sql).get(...values) as Cell[] | undefined)
  }

  *#each(sql: string, ...values: Cell[]): Generator<Cell[]> {
    const rows = attempt(() => this.#db.prepare(sql))
    rows?.setReturnArrays(true)
    const found = rows && attempt(() => rows.iterate(...values))
    for (;;) {
      const next = found && attempt(() => found.next())
      if (next === undefined || next.done === true) return
      yield next.value as unknown as Cell[]
    }
  }

  #statement(sql: string): StatementSync {
    const known = this.#statements.get(sql) ?? this.#db.prepare(sql)
    known.setReturnArrays(true)
    this.#statements.set(sql, known)
    return known
  }
}

async function openCopy(copy: () => Promise<void> | void, path: string): Promise<DamagedFile> {
  removeFile(path)
  try {
    await copy()
    return new DamagedFile(new DatabaseSync(path), path)
  } catch (error) {
    removeFile(path)
    throw error
  }
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

/** Ids are consecutive, so those between two found ones may exist as well. */
function withMissing(found: readonly number[]): number[] {
  const ids = [...new Set(found)].filter((id) => Number.isSafeInteger(id) && id > 0).sort((a, b) => a - b)
  return ids.flatMap((id, index) => {
    const before = ids[index - 1] ?? 0
    const missing = id - before <= MOST_MISSING ? id - before - 1 : 0
    return Array.from({ length: missing + 1 }, (_, n) => id - missing + n)
  })
}

async function copyBySqlite(from: string, path: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    await backup(source, path, { rate: 2 ** 30 })
  } finally {
    source.close()
  }
}

interface FileStart {
  readonly bytes: number
  /** SQL to run in the new file before its beginning is taken. */
  readonly after: '' | 'VACUUM'
}

const FILE_STARTS: readonly FileStart[] = [
  { bytes: HEADER_BYTES, after: '' },
  { bytes: PAGE_BYTES, after: '' },
  { bytes: PAGE_BYTES, after: 'VACUUM' },
]

/** Copies the file and its log, and overwrites its beginning with that of a new file of the same size. */
function copyWithStart(from: string, path: string, { bytes, after }: FileStart): void {
  for (const side of ['', '-wal']) if (existsSync(from + side)) copyFileSync(from + side, path + side)
  const pages = Math.ceil(statSync(path).size / PAGE_BYTES)
  truncateSync(path, pages * PAGE_BYTES)
  const start = newFile(`${path}.model`, after).subarray(0, bytes)
  start.fill(existsSync(`${path}-wal`) ? 2 : 1, 18, 20)
  start.writeUInt32BE(pages, 28)
  const file = openSync(path, 'r+')
  writeSync(file, start, 0, start.length, 0)
  closeSync(file)
}

function newFile(path: string, after: string): Buffer {
  const model = new DatabaseSync(path)
  model.exec(`PRAGMA page_size = ${PAGE_BYTES}; BEGIN`)
  for (const { up } of MIGRATIONS) model.exec(up)
  model.exec(`COMMIT; ${after}`)
  model.close()
  const bytes = readFileSync(path)
  rmSync(path)
  return bytes
}
