/**
 * Derived indexes in the file. The progress of each index is kept in two places: the context row has it for one set of
 * indexes, at no cost beyond the head that an append writes anyway; `derived_upto` has it for the indexes of other
 * processes' sets, and is written only when one set takes the row over from another.
 *
 * Rows of the newest entries are buffered (`Backlogs`), and count as not stored.
 *
 * Only a process that knows a derivation can catch up on it. An index that the pruning process does not know loses the
 * rows of pruned entries that it had not been derived from yet.
 */
import type { ContextKey, Entry, JsonObject } from '../../protocol/index.ts'
import { checkedRows, type Derivation } from '../derive.ts'
import { type Backlogs, type BufferedRow, LONGEST_BACKLOG } from './backlog.ts'
import type { Database } from './database.ts'
import { type FreshRow, lineage, ownEntries, unlessDamaged } from './reader.ts'
import { checksumMatches, rowChecksum } from './row-checksum.ts'
import { type ContextRow, contextById, findContext, putContext } from './rows.ts'

export interface Indexes {
  readonly db: Database
  readonly derivations: readonly Derivation[]
  /** Those of `derivations` that read entries of a type. */
  readonly derivationsOf: (type: string) => readonly Derivation[]
  /** The names of all derivations, as stored in the context row. */
  readonly derivedBy: string
  readonly backlogs: Backlogs
}

/** Names a set of derivations, independent of their order. */
export function setName(derivations: readonly Derivation[]): string {
  return derivations
    .map(({ index }) => index)
    .sort()
    .join(' ')
}

/** Derives entries of processes with other indexes, along the whole line of forks; returns the updated row. */
export function catchUp(indexes: Indexes, key: ContextKey): ContextRow | undefined {
  const context = findContext(indexes.db, key)
  for (const link of context === undefined ? [] : lagging(indexes, context)) {
    for (const step of missing(indexes, link))
      for (const row of rowsOf(step, link.id)) storeRow(indexes.db, row)
    takeOver(indexes, link)
  }
  return findContext(indexes.db, key)
}

/** The contexts of a line of forks with unstored derived rows. */
function lagging(indexes: Indexes, context: ContextRow): ContextRow[] {
  return lineage(indexes.db, context)
    .ancestry.map(({ id }) => contextById(indexes.db, id) as ContextRow)
    .filter(
      (link) => !isCurrent(indexes, link) && progress(indexes, link).some(([, upTo]) => upTo < link.head.seq),
    )
}

/** True if entries must be read to know all rows of a line of forks. */
export function isBehind(indexes: Indexes, context: ContextRow): boolean {
  return lagging(indexes, context).some((link) => bufferedRows(indexes, link) === undefined)
}

/** The rows that `catchUp` would store, newest first. */
export function freshRows(indexes: Indexes, context: ContextRow): FreshRow[] {
  return lagging(indexes, context).flatMap((link) => {
    const rows = bufferedRows(indexes, link) ?? missingRows(indexes, link)
    return rows.toReversed().map(([id, index, key, seq, json]) => {
      return { context: id, index, row: { key, seq, value: JSON.parse(json) as JsonObject } }
    })
  })
}

/** Derives and stores at once; requires that no older rows are missing. */
export function derive(indexes: Indexes, context: number, entry: Entry): void {
  for (const row of derivedRows(indexes, context, entry)) storeRow(indexes.db, row)
}

/**
 * Derives new entries of a context, if its older ones are derived or few. Returns the position of its stored rows.
 * Buffers rows until there are enough of them.
 */
export function deriveNext(
  indexes: Indexes,
  context: ContextRow,
  { head, entries }: { readonly head: ContextRow['head']; readonly entries: readonly Entry[] },
): number {
  const { derivedSeq } = context
  const older = bufferedRows(indexes, context) ?? recentRows(indexes, context)
  if (older === undefined) return derivedSeq
  let rows = older
  for (const entry of entries) {
    const fresh = derivedRows(indexes, context.id, entry)
    if (fresh.length > 0) rows = rows.concat(fresh)
  }
  const few = rows.length < LONGEST_BACKLOG.rows && head.seq - derivedSeq < LONGEST_BACKLOG.entries
  if (few && rows.length > 0 && indexes.backlogs.hold({ ...context, head }, rows)) return derivedSeq
  for (const row of rows) storeRow(indexes.db, row)
  indexes.backlogs.forget(context.id)
  return head.seq
}

/** Forgets the progress of all sets of indexes: it is wrong once rows above the base are dropped. */
export function forgetProgress(db: Database, context: number): void {
  db.run('DELETE FROM derived_upto WHERE context = ?', context)
}

interface Step {
  readonly entry: Entry
  readonly derivation: Derivation
}

/** True if the row itself has our indexes complete. */
function isCurrent({ derivedBy }: Indexes, context: ContextRow): boolean {
  return context.derivedBy === derivedBy && context.derivedSeq === context.head.seq
}

/** Our unstored rows, if buffered. */
function bufferedRows(indexes: Indexes, context: ContextRow): readonly BufferedRow[] | undefined {
  return context.derivedBy === indexes.derivedBy ? indexes.backlogs.of(context) : undefined
}

/** Our unstored rows, derived again from the entries: for a process that takes over from one that buffered them. */
function recentRows(indexes: Indexes, context: ContextRow): readonly BufferedRow[] | undefined {
  const recent = context.head.seq - context.derivedSeq < LONGEST_BACKLOG.entries
  if (context.derivedBy !== indexes.derivedBy || !recent) return undefined
  return unlessDamaged(() => missingRows(indexes, context))
}

function missingRows(indexes: Indexes, context: ContextRow): readonly BufferedRow[] {
  return [...missing(indexes, context)].flatMap((step) => rowsOf(step, context.id))
}

function derivedRows({ derivationsOf }: Indexes, context: number, entry: Entry): readonly BufferedRow[] {
  let rows = NO_ROWS
  for (const derivation of derivationsOf(entry.type)) {
    const found = rowsOf({ entry, derivation }, context)
    rows = rows.length === 0 ? found : rows.concat(found)
  }
  return rows
}

const NO_ROWS: readonly BufferedRow[] = []

function rowsOf({ entry, derivation }: Step, context: number): readonly BufferedRow[] {
  const rows = checkedRows(derivation, entry)
  if (rows.length === 0) return NO_ROWS
  return rows.map(({ key, value }) => [context, derivation.index, key, entry.seq, JSON.stringify(value)])
}

const PUT = 'INSERT OR REPLACE INTO derived (context, idx, key, seq, value, crc) VALUES (?, ?, ?, ?, ?, ?)'

function storeRow(db: Database, row: BufferedRow): void {
  db.run(PUT, ...row, rowChecksum(row))
}

/** Each entry with each of our indexes that lacks it, in the order of the entries. */
function* missing(indexes: Indexes, link: ContextRow): Generator<Step> {
  const upTos = progress(indexes, link)
  for (const entry of ownEntries(indexes.db, link, Math.min(...upTos.map(([, upTo]) => upTo)))) {
    // During an append the file has more entries than the head.
    if (entry.seq > link.head.seq) return
    for (const [derivation, upTo] of upTos) if (upTo < entry.seq) yield { entry, derivation }
  }
}

/** The position up to which the rows of each of our indexes are stored. */
function progress({ db, derivations }: Indexes, link: ContextRow): [Derivation, number][] {
  const current = new Set(link.derivedBy.split(' '))
  const start = Math.max(link.head.base, link.forkedAt)
  return derivations.map((derivation) => {
    const known = current.has(derivation.index)
      ? link.derivedSeq
      : storedProgress(db, link.id, derivation.index)
    return [derivation, Math.max(start, known)]
  })
}

/** A damaged row counts as missing: deriving again only costs time. */
function storedProgress(db: Database, context: number, index: string): number {
  const row = db.get('SELECT seq, crc FROM derived_upto WHERE context = ? AND idx = ?', context, index)
  return row !== undefined && checksumMatches(row, context, index) ? (row[0] as number) : 0
}

/** Makes the row track our set, now complete; keeps its progress of other indexes for their processes. */
function takeOver({ db, derivations, derivedBy }: Indexes, link: ContextRow): void {
  const ours = new Set(derivations.map(({ index }) => index))
  const put = 'INSERT OR REPLACE INTO derived_upto (context, idx, seq, crc) VALUES (?, ?, ?, ?)'
  for (const index of link.derivedBy.split(' ')) {
    if (index === '' || ours.has(index)) continue
    const cells = [link.id, index, link.derivedSeq] as const
    db.run(put, ...cells, rowChecksum(cells))
  }
  putContext(db, { ...link, derivedSeq: link.head.seq, derivedBy })
}
