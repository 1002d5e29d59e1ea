/**
 * Caches the context row that the last append has written. A driver appends to one conversation again and again, and
 * finding, reading and checking its row is most of what an append reads. The row is valid until something else is written:
 * by this process, which counts its writes, or by others, which SQLite reports as `data_version`.
 */
import { type ContextKey, sameKey } from '../../protocol/index.ts'
import type { Cell, Database } from './database.ts'
import { type ContextRow, findContext } from './rows.ts'

export class HeadCache {
  readonly #db: Database
  #last: Kept | undefined

  constructor(db: Database) {
    this.#db = db
  }

  /** Inside of a transaction that writes: what is true now stays true. */
  find(key: ContextKey): ContextRow | undefined {
    const last = this.#last
    if (last !== undefined && sameKey(last.row.head.key, key) && this.#isNow(last)) return last.row
    return findContext(this.#db, key)
  }

  /** The row as it was written just now. Where many conversations take turns, none is asked for again. */
  keep(row: ContextRow): void {
    const { writes, undone } = this.#db
    const last = this.#last
    const isSame = last !== undefined && sameKey(last.row.head.key, row.head.key)
    this.#last = { row, writes, undone, others: isSame ? (last.others ?? this.#others()) : undefined }
  }

  #isNow(last: Kept): boolean {
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

interface Kept {
  readonly row: ContextRow
  readonly writes: number
  readonly undone: number
  /** SQLite's count of what others have written; undefined if it was not looked at. */
  readonly others: Cell | undefined
}
