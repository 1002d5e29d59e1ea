/**
 * Rows of derived indexes that are not stored yet. To store the two rows of a turn with the turn changes three pages, a
 * seventh of all that it changes, so they are held in memory and stored by the dozen. Nothing is lost with them: the
 * context row says how far the stored rows go, and whoever needs the others derives them from the entries.
 */
import type { Database } from './database.ts'
import type { ContextRow } from './rows.ts'

/** A derived row as it will be stored: its value is text, because the value itself may be somebody's to change. */
export type HeldRow = readonly [context: number, index: string, key: string, seq: number, json: string]

/** From how many rows, or from how many entries, on they are stored. */
export const LONGEST_BACKLOG = { rows: 24, entries: 100 }
const MOST_HELD = 10_000
const IDLE_MS = 60_000

interface Backlog {
  /** The rows are those of the entries after `from`, up to `upTo`. */
  readonly from: number
  readonly upTo: number
  /** The oldest first. */
  readonly rows: readonly HeldRow[]
  readonly heldAt: number
}

export class Backlogs {
  readonly #db: Database
  /** Whoever was held last is last. */
  readonly #held = new Map<number, Backlog>()
  #undone = 0

  constructor(db: Database) {
    this.#db = db
  }

  /** The rows of a conversation that are not stored, the oldest first; undefined if they are not known here. */
  of({ id, head, derivedSeq }: ContextRow): readonly HeldRow[] | undefined {
    if (derivedSeq === head.seq) return []
    // What was derived from an append that did not become durable was never true.
    if (this.#undone !== this.#db.undone) this.#held.clear()
    this.#undone = this.#db.undone
    const backlog = this.#held.get(id)
    return backlog?.from === derivedSeq && backlog.upTo === head.seq ? backlog.rows : undefined
  }

  /** Keeps the rows of a conversation that is as given; false if there is no room, and they must be stored. */
  hold({ id, head, derivedSeq }: ContextRow, rows: readonly HeldRow[]): boolean {
    const now = performance.now()
    this.#held.delete(id)
    if (this.#held.size >= MOST_HELD && !this.#dropIdle(now)) return false
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
