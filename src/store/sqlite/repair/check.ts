/**
 * Checks a whole file and reports its problems as data. SQLite checks its own structure and indexes; then every row is
 * compared with its checksum, every head with its entries. Reads only.
 */
import { setImmediate as breathe } from 'node:timers/promises'
import { type ContextKey, HoldfastError } from '../../../protocol/index.ts'
import { STANDARD_DERIVATIONS } from '../../derive.ts'
import { hashOf } from '../../encode.ts'
import { headFrom, sameHead } from '../../history.ts'
import { wrongUses } from '../blob-use.ts'
import { Database } from '../database.ts'
import { pendingInbox } from '../inbox.ts'
import { inspectLog } from '../log.ts'
import { entryAt, ownEntries, readEntries, type View, viewOf } from '../reader.ts'
import { checksumMatches } from '../row-checksum.ts'
import { type ContextRow, contextById } from '../rows.ts'

export interface StoreCheck {
  readonly ok: boolean
  readonly conversations: number
  readonly entries: number
  readonly problems: readonly Problem[]
}

export interface Problem {
  /** `snapshot` and `index` are derived: losing them loses nothing. */
  readonly kind: 'file' | 'log' | 'head' | 'entry' | 'inbox' | 'index' | 'snapshot' | 'blob'
  readonly key?: ContextKey
  readonly seq?: number
  readonly message: string
}

/**
 * Checks the file at a path, also while it is in use. The first part blocks for about 1 ms per MB; run it in a separate
 * process if that matters. Rejects only if there is no file of ours at the path.
 */
export async function checkSqlite(path: string): Promise<StoreCheck> {
  const problems: Problem[] = []
  const { lost } = inspectLog(`${path}-wal`)
  if (lost > 1) problems.push({ kind: 'log', message: `${lost} commits in ${path}-wal cannot be read.` })
  let db: Database
  try {
    db = new Database(path, { synchronous: 'NORMAL', readOnly: true, busyMs: 10_000, maxBytes: undefined })
  } catch (error) {
    if (!HoldfastError.is(error, 'store-corrupt')) throw error
    problems.push({ kind: 'file', message: error.message })
    return { ok: false, conversations: 0, entries: 0, problems }
  }
  try {
    const counted = await new Check(db, problems).run()
    return { ok: problems.length === 0, ...counted, problems }
  } finally {
    await db.close()
  }
}

/** Entries below the base that pruning keeps and readers may ask for. */
const KEPT = `SELECT seq FROM entry WHERE context = ? AND seq <= ? AND type = 'artifact'`

const STRAY_USE = `SELECT 1 FROM blob_use WHERE context NOT IN (SELECT id FROM context WHERE status <> 'erased') LIMIT 1`

class Check {
  readonly #db: Database
  readonly #problems: Problem[]

  constructor(db: Database, problems: Problem[]) {
    this.#db = db
    this.#problems = problems
  }

  async run(): Promise<{ conversations: number; entries: number }> {
    await this.#try('file', undefined, () => {
      for (const [line] of this.#db.all('PRAGMA integrity_check(100)'))
        if (line !== 'ok') this.#problems.push({ kind: 'file', message: String(line) })
    })
    await this.#blobs()
    let entries = 0
    const ids = (await this.#try('file', undefined, () => this.#db.all('SELECT id FROM context'))) ?? []
    for (const [id] of ids) {
      entries += await this.#context(id as number)
      await breathe()
    }
    return { conversations: ids.length, entries }
  }

  /** Returns the number of its own intact entries. */
  async #context(id: number): Promise<number> {
    const context = await this.#try('head', undefined, () => contextById(this.#db, id))
    if (context === undefined || context.head.status === 'erased') return 0
    const { key } = context.head
    await this.#try('inbox', key, () => pendingInbox(this.#db, context, 0))
    await this.#rows('inbox', 'key, seq, taken, digest', context)
    await this.#rows('derived', 'idx, key, seq, value', context)
    await this.#rows('derived_upto', 'idx, seq', context)
    await this.#rows('snapshot', 'format, seq, state', context)
    await this.#try('blob', key, () => {
      for (const seq of wrongUses(this.#db, id, key))
        this.#problems.push({
          kind: 'blob',
          key,
          seq,
          message: `The blobs of entry ${seq} are not marked as used.`,
        })
    })
    const view = await this.#try('head', key, () => viewOf(this.#db, context))
    if (view === undefined) return 0
    const { intact, damaged } = await this.#entries(view)
    for (const [seq] of this.#db.all(KEPT, id, context.head.base))
      await this.#try('entry', key, () => entryAt(this.#db, key, { context: id, seq: seq as number }))
    if (damaged === 0) await this.#try('head', key, () => this.#computed(view))
    return intact
  }

  async #entries({ context, line }: View): Promise<{ intact: number; damaged: number }> {
    const { key, seq: last } = context.head
    let [intact, damaged] = [0, 0]
    for (const { id, from, to } of line.segments) {
      for (let seq = from; seq <= Math.min(to, last); seq++) {
        const read = () => entryAt(this.#db, key, { context: id, seq })
        // Entries of the parent are reported with the parent.
        if (id !== context.id) break
        if ((await this.#try('entry', key, read)) === undefined) damaged += 1
        else intact += 1
      }
      const missing = id !== context.id && this.#count(id, from, to) < to - from + 1
      if (missing)
        await this.#try('entry', key, () => readEntries(this.#db, { context, line, fresh: [] }, { from, to }))
    }
    return { intact, damaged }
  }

  #count(id: number, from: number, to: number): number {
    const sql = 'SELECT count(*) FROM entry WHERE context = ? AND seq BETWEEN ? AND ?'
    return Number(this.#db.get(sql, id, from, to)?.[0])
  }

  /** Recomputes head row and standard indexes, and compares them. */
  #computed({ context, line }: View): void {
    const { key } = context.head
    const own = line.base?.id === context.id ? line.base.mark : undefined
    const base = own && entryAt(this.#db, key, { context: context.id, seq: own.seq })
    const entries = [...ownEntries(this.#db, context, own?.upTo ?? context.forkedAt)]
    const head = headFrom(context.head, base, entries)
    if (head === undefined || !sameHead(head, context.head))
      this.#problems.push({ kind: 'head', key, message: 'The head row differs from its entries.' })
    const sql = 'SELECT 1 FROM derived WHERE context = ? AND idx = ? AND key = ? AND seq = ?'
    for (const { index, rows } of STANDARD_DERIVATIONS)
      for (const entry of entries.filter(({ seq }) => seq <= context.derivedSeq))
        for (const row of rows(entry))
          if (this.#db.get(sql, context.id, index, row.key, entry.seq) === undefined)
            this.#problems.push({ kind: 'index', key, message: `${index} ${row.key} is missing.` })
  }

  async #rows(
    table: 'inbox' | 'derived' | 'derived_upto' | 'snapshot',
    columns: string,
    { id, head }: ContextRow,
  ): Promise<void> {
    const kind = table === 'derived' || table === 'derived_upto' ? 'index' : table
    await this.#try(kind, head.key, () => {
      for (const row of this.#db.all(`SELECT ${columns}, crc FROM ${table} WHERE context = ?`, id))
        if (!checksumMatches(row, id))
          this.#problems.push({ kind, key: head.key, message: `A row of ${table} is damaged.` })
    })
  }

  async #blobs(): Promise<void> {
    await this.#try('blob', undefined, () => {
      if (this.#db.get(STRAY_USE) !== undefined)
        this.#problems.push({ kind: 'blob', message: 'A blob is marked as used by no conversation.' })
    })
    const ids = (await this.#try('file', undefined, () => this.#db.all('SELECT id FROM blob'))) ?? []
    for (const [id] of ids) {
      await this.#try('blob', undefined, () => {
        const [hash, data] = this.#db.get('SELECT hash, data FROM blob WHERE id = ?', id as number) ?? []
        const intact = data instanceof Uint8Array && hashOf(data) === hash
        if (!intact) this.#problems.push({ kind: 'blob', message: `Blob ${String(hash)} is damaged.` })
      })
    }
  }

  async #try<T>(kind: Problem['kind'], key: ContextKey | undefined, read: () => T): Promise<T | undefined> {
    try {
      return await this.#db.read(read)
    } catch (error) {
      if (!HoldfastError.is(error)) throw error
      this.#problems.push(problemOf(kind, key, error))
      return undefined
    }
  }
}

function problemOf(kind: Problem['kind'], key: ContextKey | undefined, error: HoldfastError): Problem {
  const seq = error.details['seq']
  const where = { ...(key && { key }), ...(typeof seq === 'number' ? { seq } : {}) }
  return { kind: HoldfastError.is(error, 'entry-corrupt') ? 'entry' : kind, ...where, message: error.message }
}
