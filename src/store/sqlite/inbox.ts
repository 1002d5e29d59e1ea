/** The inbox table: posted keys, the positions of their entries, and the entries that took them. */
import { type ContextKey, type Entry, keyText } from '../../protocol/index.ts'
import { type Encoded, inboxDigest } from '../encode.ts'
import type * as Port from '../port.ts'
import type { InboxFact } from '../rules.ts'
import type { Database } from './database.ts'
import { entryAt } from './reader.ts'
import { checksumMatches, rowChecksum } from './row-checksum.ts'
import type { ContextRow } from './rows.ts'
import { Damage } from './sqlite-errors.ts'

const COLUMNS = 'key, seq, taken, digest, crc'
/** The planner would prefer the primary key, and read every entry that was ever posted. */
const UNTAKEN = 'FROM inbox INDEXED BY inbox_pending WHERE context = ? AND taken = 0'
const PENDING = `SELECT ${COLUMNS} ${UNTAKEN} AND seq > ? ORDER BY seq`
const PENDING_COUNT = `SELECT count(*), count(*) FILTER (WHERE seq > ?) ${UNTAKEN}`
const BY_KEY = `SELECT ${COLUMNS} FROM inbox WHERE context = ? AND key = ?`
const BY_SEQ = `SELECT ${COLUMNS} ${UNTAKEN} AND seq = ?`
const PUT = 'INSERT INTO inbox (context, key, seq, taken, digest, crc) VALUES (?, ?, ?, ?, ?, ?)'

export function pendingInbox(db: Database, context: ContextRow | undefined, since: number): Entry[] {
  if (context === undefined || context.head.pending === 0) return []
  const { id, head } = context
  const rows = db.all(PENDING, id, since)
  // Counts in the index alone, which may be intact where the path from it to a row is not.
  const [all, after] = db.get(PENDING_COUNT, since, id) ?? []
  const whole = all === head.pending && after === rows.length
  if (!whole || !rows.every((row) => checksumMatches(row, id))) throw damagedInbox(head.key)
  return rows.map(([, seq]) => entryAt(db, head.key, { context: id, seq: seq as number }))
}

export function inboxFacts(
  db: Database,
  context: ContextRow | undefined,
  request: Port.AppendRequest,
): Map<string, InboxFact> {
  const facts = new Map<string, InboxFact>()
  if (context === undefined) return facts
  for (const key of keysOf(request)) {
    const row = db.get(BY_KEY, context.id, key)
    if (row === undefined) continue
    if (!checksumMatches(row, context.id)) throw damagedInbox(request.key)
    facts.set(key, { seq: row[1] as number, taken: row[2] as number, digest: row[3] as string })
  }
  return facts
}

function keysOf({ inbox = [], entries = [] }: Port.AppendRequest): Iterable<string> {
  if (inbox.length === 0 && entries.every(({ takes }) => takes === undefined)) return []
  return new Set([...inbox.map(({ key }) => key), ...entries.flatMap(({ takes }) => takes ?? [])])
}

/** Stores an inbox entry, and marks the entries that `entry` takes. */
export function storeInboxRows(db: Database, context: ContextRow, write: InboxWrite): void {
  const { entry, encoded, together = [] } = write
  const { id } = context
  if (entry.key !== undefined) {
    const taken = together.find(({ takes }) => takes?.includes(entry.seq))?.seq ?? 0
    const cells = [id, entry.key, entry.seq, taken, inboxDigest(entry.type, encoded)] as const
    db.run(PUT, ...cells, rowChecksum(cells))
  }
  for (const seq of entry.takes ?? []) {
    if (seq >= (together[0]?.seq ?? entry.seq)) continue
    const [key, at, , digest] = db.get(BY_SEQ, id, seq) ?? []
    if (key === undefined || at !== seq || digest === undefined) throw damagedInbox(context.head.key)
    const crc = rowChecksum([id, key, seq, entry.seq, digest])
    db.run('UPDATE inbox SET taken = ?, crc = ? WHERE context = ? AND key = ?', entry.seq, crc, id, key)
  }
}

export interface InboxWrite {
  readonly entry: Entry
  readonly encoded: Encoded
  /** All entries of its append: an inbox entry that one of them takes is stored as taken, and never becomes pending. */
  readonly together?: readonly Entry[]
}

/** Deletes all rows above a position, to be stored again, and damaged ones below. */
export function deleteInboxRows(db: Database, context: number, above: number): void {
  db.run('DELETE FROM inbox WHERE context = ? AND seq > ?', context, above)
  for (const row of db.all(`SELECT ${COLUMNS} FROM inbox WHERE context = ?`, context))
    if (!checksumMatches(row, context))
      db.run('DELETE FROM inbox WHERE context = ? AND key = ?', context, row[0] ?? null)
}

function damagedInbox(key: ContextKey): Damage {
  return new Damage(`The inbox of ${keyText(key)}`, key)
}
