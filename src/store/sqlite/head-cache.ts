/**
 * Caches the context rows of the last appends. Drivers append to their conversations repeatedly, and finding, reading and
 * checking a row is most of an append's reads.
 *
 * C1: cached rows are those of the file as of the last append. Any other write empties the cache: one of this process,
 * which counts its writes, one that was rolled back, or one of another process, which SQLite reports as `data_version`.
 * A transaction excludes other writers, so that is read once in each.
 */
import type { ContextKey } from '../../protocol/index.ts'
import type { Cell, Database } from './database.ts'
import { type ContextRow, findContext } from './rows.ts'

const MOST_ROWS = 1000

export class HeadCache {
  readonly #db: Database
  /** In the order of their first appends: moving a row to the end each time would rehash the map every few appends. */
  readonly #rows = new Map<string, ContextRow>()
  #writes = 0
  #undone = 0
  #transaction = 0
  #others: Cell | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Call inside of a write transaction, which keeps the row valid. */
  find(key: ContextKey): ContextRow | undefined {
    if (!this.#isValid()) this.#rows.clear()
    return this.#rows.get(nameOf(key)) ?? findContext(this.#db, key)
  }

  /** Caches the row that an append has written; requires that it wrote no other, and found this one here. */
  keep(row: ContextRow): void {
    this.#rows.set(nameOf(row.head.key), row)
    if (this.#rows.size > MOST_ROWS) this.#rows.delete(this.#rows.keys().next().value ?? '')
    this.#writes = this.#db.writes
  }

  #isValid(): boolean {
    const { writes, undone } = this.#db
    const isOurs = writes === this.#writes && undone === this.#undone
    this.#writes = writes
    this.#undone = undone
    return this.#isUnchangedByOthers() && isOurs
  }

  #isUnchangedByOthers(): boolean {
    if (this.#transaction === this.#db.transaction) return true
    this.#transaction = this.#db.transaction
    const before = this.#others
    this.#others = this.#db.get('PRAGMA data_version')?.[0]
    return this.#others === before
  }
}

/** Unique: the parts of a key have no line breaks. */
function nameOf({ tenant, actor, contextId }: ContextKey): string {
  return `${contextId}\n${actor}\n${tenant}`
}
