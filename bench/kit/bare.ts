/**
 * The baseline of the store: one plain table, prepared statements, the same entries as JSON in the same four commits a
 * turn; no fence, no idempotency, no head row, no checks.
 */
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { CLAIM, scriptOf, type Talk } from './turn.ts'

export class BareLog {
  readonly #db: DatabaseSync
  readonly #begin: StatementSync
  readonly #insert: StatementSync
  readonly #commit: StatementSync

  constructor(path: string, synchronous: 'FULL' | 'NORMAL') {
    this.#db = new DatabaseSync(path)
    this.#db.exec(`PRAGMA journal_mode = WAL; PRAGMA synchronous = ${synchronous}`)
    this.#db.exec(
      'CREATE TABLE log (context TEXT NOT NULL, seq INTEGER NOT NULL, data TEXT NOT NULL, PRIMARY KEY (context, seq))',
    )
    this.#begin = this.#db.prepare('BEGIN IMMEDIATE')
    this.#insert = this.#db.prepare('INSERT INTO log (context, seq, data) VALUES (?, ?, ?)')
    this.#commit = this.#db.prepare('COMMIT')
  }

  playTurn(talk: Talk): void {
    const turn = talk.turn + 1
    const { input, commits } = scriptOf(turn)
    const claim = { type: 'claim', turn: 0, data: { epoch: turn, ...CLAIM, attempt: 1 } }
    for (const [index, entries] of commits.entries())
      this.write(talk, index === 0 ? [input, claim, ...entries] : entries)
    talk.turn = turn
  }

  /** One commit. */
  write(talk: Talk, entries: readonly object[]): void {
    this.#begin.run()
    for (const entry of entries) this.#insert.run(talk.key.contextId, ++talk.seq, JSON.stringify(entry))
    this.#commit.run()
  }

  close(): void {
    this.#db.close()
  }
}
