/**
 * A damaged file, read from a private copy, row by row where it must be: what cannot be read counts as missing, and
 * nothing here throws because of it. Where the first page is lost it is taken from a new file, because the tables of
 * all our files begin at the same places. Whether a row is what was written is for the caller to see.
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
import { type ContextKey, contextKey } from '../../protocol/index.ts'
import { removeFile } from './copy.ts'
import type { Cell } from './database.ts'
import { backup, DatabaseSync } from './node-sqlite.ts'
import { CONTEXT_COLUMNS, type ContextRow, ENTRY_COLUMNS, toContextRow } from './rows.ts'
import { checkSchema, MIGRATIONS } from './schema.ts'

const RUN = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq BETWEEN ? AND ? ORDER BY seq`
const ONE = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq = ?`
const PAGE = 500
/** How far to look beyond what is known to be there. */
const FAR = 1000
const PAGE_BYTES = 4096

export class Wreck {
  readonly #db: DatabaseSync
  readonly #path: string
  readonly #statements = new Map<string, StatementSync>()

  constructor(db: DatabaseSync, path: string) {
    this.#db = db
    this.#path = path
  }

  /** Copies the file to `path` and opens the copy; undefined if nothing of ours can be found in it. */
  static async open(from: string, path: string): Promise<Wreck | undefined> {
    const amounts = new Map<Copy, number>()
    for (const copy of [copyPages, copyBytes, withNewHeader, withNewPage, withRewrittenPage]) {
      const wreck = await openCopy(copy, from, path)
      if (wreck?.knowsItsTables() && copy !== withNewPage && copy !== withRewrittenPage) return wreck
      amounts.set(copy, wreck?.amount() ?? 0)
      wreck?.close()
    }
    const [best, most] = [...amounts].reduce((a, b) => (b[1] > a[1] ? b : a))
    return most === 0 ? undefined : openCopy(best, from, path)
  }

  /** Is the description of the tables its own, and whole? */
  knowsItsTables(): boolean {
    return attempt(() => checkSchema(this.#db, this.#path) === undefined) === true && this.amount() > 0
  }

  /** How much can be seen. A first page that does not fit the file shows next to nothing. */
  amount(): number {
    const entries = this.get('SELECT count(*) FROM entry')?.[0] ?? 0
    return Number(entries) + this.contextIds().length
  }

  close(): void {
    this.#db.close()
    removeFile(this.#path)
  }

  /** Every context that anything may be left of, parents before children. */
  contextIds(): number[] {
    return withGaps([...this.#numbers('context'), ...this.names().keys(), ...this.#contextsOfEntries()])
  }

  /** The head row, if it is what was written. */
  context(id: number): ContextRow | undefined {
    const row = this.get(`SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.id = ?`, id)
    return row && attempt(() => toContextRow(row))
  }

  /** Names by the index that is kept of them: all that is left where a head row is gone. */
  names(): Map<number, ContextKey> {
    const names = new Map<number, ContextKey>()
    for (const way of ['', ' DESC']) {
      const sql = `SELECT id, tenant, actor, name FROM context INDEXED BY sqlite_autoindex_context_1
        ORDER BY tenant${way}, actor${way}, name${way}`
      for (const [id, tenant, actor, contextId] of this.#each(sql)) {
        const key = attempt(() => contextKey({ tenant, actor, contextId } as ContextKey))
        if (key !== undefined && !names.has(id as number)) names.set(id as number, key)
      }
    }
    return names
  }

  /** Rows of ENTRY_COLUMNS in order, as far as they can be read; `last` is the last position if that is known. */
  *entries(context: number, last: number | undefined): Generator<Cell[]> {
    const [newest] = this.get('SELECT max(seq) FROM entry WHERE context = ?', context) ?? []
    const end = last ?? (typeof newest === 'number' ? newest : 0) + FAR
    for (let from = 1; from <= end; from += PAGE) {
      const to = Math.min(end, from + PAGE - 1)
      const run = this.#all(RUN, context, from, to)
      const rows = new Map(run?.map((row) => [row[0], row]))
      // An empty run was pruned; one that is broken or has holes is worth a closer look.
      for (let seq = from; run?.length !== 0 && seq <= to; seq++) {
        const row = rows.get(seq) ?? this.get(ONE, context, seq)
        if (row !== undefined) yield row
      }
    }
  }

  *blobs(): Generator<Cell[]> {
    for (const id of withGaps([...this.#numbers('blob')])) {
      const row = this.get('SELECT id, tenant, actor, hash, at, data FROM blob WHERE id = ?', id)
      if (row !== undefined) yield row
    }
  }

  /** Rows of a table that belong to one context, as many as come before the first that cannot be read. */
  rowsOf(columns: string, table: 'inbox' | 'derived', context: number): Iterable<Cell[]> {
    return this.#each(`SELECT ${columns} FROM ${table} WHERE context = ?`, context)
  }

  get(sql: string, ...values: Cell[]): Cell[] | undefined {
    return attempt(() => this.#statement(sql).get(...values) as Cell[] | undefined)
  }

  #all(sql: string, ...values: Cell[]): Cell[][] | undefined {
    return attempt(() => this.#statement(sql).all(...values) as unknown as Cell[][])
  }

  *#numbers(table: 'context' | 'blob'): Generator<number> {
    for (const way of ['', ' DESC'])
      for (const [id] of this.#each(`SELECT id FROM ${table} ORDER BY id${way}`)) yield id as number
  }

  *#contextsOfEntries(): Generator<number> {
    for (const [start, compare, way] of [
      [0, '>', ''],
      [Number.MAX_SAFE_INTEGER, '<', ' DESC'],
    ] as const) {
      const sql = `SELECT context FROM entry WHERE context ${compare} ? ORDER BY context${way} LIMIT 1`
      for (let at: Cell | undefined = start; typeof at === 'number'; ) {
        const next: Cell | undefined = this.get(sql, at)?.[0]
        if (typeof next !== 'number' || (way === '' ? next <= at : next >= at)) break
        yield next
        at = next
      }
    }
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

type Copy = (from: string, path: string) => Promise<void>

async function openCopy(copy: Copy, from: string, path: string): Promise<Wreck | undefined> {
  removeFile(path)
  try {
    await copy(from, path)
    return new Wreck(new DatabaseSync(path), path)
  } catch {
    removeFile(path)
    return undefined
  }
}

function attempt<T>(run: () => T): T | undefined {
  try {
    return run()
  } catch {
    return undefined
  }
}

/** Numbers are given in order, so what is missing between two of them may be there as well. */
function withGaps(found: readonly number[]): number[] {
  const ids = [...new Set(found)].filter((id) => Number.isSafeInteger(id) && id > 0).sort((a, b) => a - b)
  return ids.flatMap((id, i) => {
    const after = i === 0 ? 0 : (ids[i - 1] as number)
    const gap = id - after <= FAR ? id - after - 1 : 0
    return [...Array.from({ length: gap }, (_, n) => after + 1 + n), id]
  })
}

/** Through SQLite, which takes along what is in the log and disturbs nobody. */
async function copyPages(from: string, path: string): Promise<void> {
  const source = new DatabaseSync(from, { readOnly: true })
  try {
    await backup(source, path, { rate: 2 ** 30 })
  } finally {
    source.close()
  }
}

async function copyBytes(from: string, path: string): Promise<void> {
  for (const side of ['', '-wal']) if (existsSync(from + side)) copyFileSync(from + side, path + side)
}

async function withNewHeader(from: string, path: string): Promise<void> {
  await copyBytes(from, path)
  transplant(path, newFile(path, ''), 100)
}

async function withNewPage(from: string, path: string): Promise<void> {
  await copyBytes(from, path)
  transplant(path, newFile(path, ''), PAGE_BYTES)
}

async function withRewrittenPage(from: string, path: string): Promise<void> {
  await copyBytes(from, path)
  transplant(path, newFile(path, 'VACUUM'), PAGE_BYTES)
}

/** Gives a file the beginning of another, with its own size in it. */
function transplant(path: string, model: Buffer, length: number): void {
  const pages = Math.ceil(statSync(path).size / PAGE_BYTES)
  truncateSync(path, pages * PAGE_BYTES)
  const start = Buffer.from(model.subarray(0, length))
  start.fill(existsSync(`${path}-wal`) ? 2 : 1, 18, 20)
  start.writeUInt32BE(pages, 28)
  const file = openSync(path, 'r+')
  writeSync(file, start, 0, start.length, 0)
  closeSync(file)
}

function newFile(path: string, then: string): Buffer {
  const model = new DatabaseSync(`${path}.model`)
  model.exec(`PRAGMA page_size = ${PAGE_BYTES}; BEGIN`)
  for (const { up } of MIGRATIONS) model.exec(up)
  model.exec(`COMMIT; ${then}`)
  model.close()
  const bytes = readFileSync(`${path}.model`)
  rmSync(`${path}.model`)
  return bytes
}
