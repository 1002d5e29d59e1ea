/**
 * Buffers derived rows before they are stored. Storing the two rows of a turn with the turn changes three pages, a
 * seventh of its writes, so they are stored by the dozen. Losing the buffer loses nothing: the context row has the
 * position of the stored rows, and readers derive the others from the entries.
 */
import type { Database } from './database.ts'
import type { ContextRow } from './rows.ts'

/** A derived row as stored. Its value is text, because the value object may be changed by its owner. */
export type BufferedRow = readonly [context: number, index: string, key: string, seq: number, json: string]

/** Rows, or entries, from which on a backlog is stored. */
export const LONGEST_BACKLOG = { rows: 24, entries: 100 }
const MOST_BACKLOGS = 10_000
const IDLE_MS = 60_000

interface Backlog {
  /** The rows belong to the entries after `from`, up to `upTo`. */
  readonly from: number
  readonly upTo: number
  /** Oldest first. */
  readonly rows: readonly BufferedRow[]
  readonly heldAt: number
}

export class Backlogs {
  readonly #db: Database
  /** In the order of the last `hold`. */
  readonly #held = new Map<number, Backlog>()
  #undone = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** The unstored rows of a conversation, oldest first; undefined if this process does not have them. */
  of({ id, head, derivedSeq }: ContextRow): readonly BufferedRow[] | undefined {
    if (derivedSeq === head.seq) return []
    // Rows derived from an append that was rolled back are invalid.
    if (this.#undone !== this.#db.undone) this.#held.clear()
    this.#undone = this.#db.undone
    const backlog = this.#held.get(id)
    return backlog?.from === derivedSeq && backlog.upTo === head.seq ? backlog.rows : undefined
  }

  /** Buffers the rows of a conversation; false if there is no room, and they must be stored. */
  hold({ id, head, derivedSeq }: ContextRow, rows: readonly BufferedRow[]): boolean {
    const now = performance.now()
    this.#held.delete(id)
    if (this.#held.size >= MOST_BACKLOGS && !this.#dropIdle(now)) return false
    this.#held.set(id, { from: derivedSeq, upTo: head.seq, rows, heldAt: now })
    return true
  }

  forget(id: number): void {
    this.#held.delete(id)
  }

  #dropIdle(now: number): boolean {
    const [oldest] = this.#held
    return oldest !== undefined && now - oldest[1].heldAt > IDLE_MS && this.#held.delete(oldest[0])
  }
}
