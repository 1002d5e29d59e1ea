/**
 * Caches the context row of the last append. A driver appends to one conversation repeatedly, and finding, reading and
 * checking its row is most of an append's reads. The row is valid until the next write: by this process, which counts
 * its writes, or by others, which SQLite reports as `data_version`.
 */
import { type ContextKey, sameKey } from '../../protocol/index.ts'
import type { Cell, Database } from './database.ts'
import { type ContextRow, findContext } from './rows.ts'

export class HeadCache {
  readonly #db: Database
  #last: CachedRow | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Call inside of a write transaction, which keeps the row valid. */
  find(key: ContextKey): ContextRow | undefined {
    const last = this.#last
    if (last !== undefined && sameKey(last.row.head.key, key) && this.#isNow(last)) return last.row
    return findContext(this.#db, key)
  }

  /** Caches the row just written. `data_version` is read for repeated appends to one conversation only. */
  keep(row: ContextRow): void {
    const { writes, undone } = this.#db
    const last = this.#last
    const isSame = last !== undefined && sameKey(last.row.head.key, row.head.key)
    this.#last = { row, writes, undone, others: isSame ? (last.others ?? this.#others()) : undefined }
  }

  #isNow(last: CachedRow): boolean {
    if (last.writes !== this.#db.writes || last.undone !== this.#db.undone) return false
    if (last.others === undefined) return false
    const others = this.#others()
    if (others === last.others) return true
    this.#last = undefined
    return false
  }

  #others(): Cell | undefined {
    return this.#db.get('PRAGMA data_version')?.[0]
  }
}

interface CachedRow {
  readonly row: ContextRow
  readonly writes: number
  readonly undone: number
  /** SQLite's `data_version`; undefined if not read. */
  readonly others: Cell | undefined
}
