/**
 * Recomputes everything but entries and blobs from the entries: head row, bases, inbox, derived indexes and references
 * to blobs. Entries below a base are gone; their intact rows are kept.
 */
import type { ContextKey, Entry, EntryData } from '../../protocol/index.ts'
import { encode } from '../encode.ts'
import { headFrom, sameHead } from '../history.ts'
import type { Head } from '../port.ts'
import { rebuildUses } from './blob-use.ts'
import type { Database } from './database.ts'
import { derive, forgetProgress } from './derived.ts'
import { deleteInboxRows, storeInboxRows } from './inbox.ts'
import { entryAt, ownEntries, unlessDamaged, unreadable } from './reader.ts'
import { checksumMatches } from './row-checksum.ts'
import { type ContextRow, contextById, findContext, insertBase, putContext, suspectContext } from './rows.ts'
import { Damage } from './sqlite-errors.ts'
import type { WriteContext } from './writer.ts'

export function rebuild(
  writing: WriteContext,
  key: ContextKey,
): { repaired: boolean; head: Head | undefined } {
  const suspect = suspectContext(writing.db, key)
  if (suspect === undefined) return { repaired: false, head: undefined }
  const { row, intact } = suspect
  if (row.head.status === 'erased' && (intact || !hasEntries(writing.db, row.id))) {
    if (!intact) putContext(writing.db, row)
    return { repaired: !intact, head: row.head }
  }
  const context = intact ? row : restoreParent(writing.db, row)
  const base = rebuildBases(writing.db, context)
  const above = base === undefined ? context.forkedAt : (base.data as EntryData['base']).upTo
  deleteInboxRows(writing.db, context.id, above)
  dropDerived(writing.db, context.id, above)
  const head = headFrom(context.head, base, refiled(writing, context, above))
  // Recomputing must not turn a lost tail into the truth.
  if (head === undefined || (intact && head.seq < row.head.seq))
    throw unreadable(key, (head?.seq ?? above) + 1)
  rebuildUses(writing.db, context.id, key)
  const right = intact && sameHead(head, row.head)
  const kept = right ? row.head : head
  putContext(writing.db, { ...context, head: kept, derivedSeq: kept.seq, derivedBy: writing.derivedBy })
  return { repaired: !right, head: kept }
}

function hasEntries(db: Database, context: number): boolean {
  return db.get('SELECT 1 FROM entry WHERE context = ? LIMIT 1', context) !== undefined
}

/** Entries in order, each stored again in the inbox and the derived indexes. */
function* refiled(writing: WriteContext, context: ContextRow, above: number): Generator<Entry> {
  for (const entry of ownEntries(writing.db, context, above)) {
    storeInboxRows(writing.db, context, { entry, encoded: encode(entry.type, entry.data) })
    derive(writing, context.id, entry)
    yield entry
  }
}

/** Returns the newest base entry. */
function rebuildBases(db: Database, { id, head }: ContextRow): Entry | undefined {
  db.run('DELETE FROM base WHERE context = ?', id)
  let newest: Entry | undefined
  for (const [seq] of db.all(`SELECT seq FROM entry WHERE context = ? AND type = 'base' ORDER BY seq`, id)) {
    newest = entryAt(db, head.key, { context: id, seq: seq as number })
    const { upTo, kept } = newest.data as EntryData['base']
    insertBase(db, id, { upTo, kept, seq: newest.seq })
  }
  return newest
}

function dropDerived(db: Database, context: number, above: number): void {
  forgetProgress(db, context)
  db.run('DELETE FROM derived WHERE context = ? AND seq > ?', context, above)
  for (const row of db.all('SELECT idx, key, seq, value, crc FROM derived WHERE context = ?', context)) {
    const [idx, key, seq] = row as [string, string, number]
    if (!checksumMatches(row, context))
      db.run(
        'DELETE FROM derived WHERE context = ? AND idx = ? AND key = ? AND seq = ?',
        context,
        idx,
        key,
        seq,
      )
  }
}

/** Links a context with a damaged row to its parent again: a fork by its fork entry, a child by the row. */
export function restoreParent(db: Database, row: ContextRow): ContextRow {
  const { parent, ...head } = row.head
  const orphan = { ...row, head, parentId: undefined, forkedAt: 0 }
  const [first, type] =
    db.get('SELECT seq, type FROM entry WHERE context = ? ORDER BY seq LIMIT 1', row.id) ?? []
  if (type === 'fork') {
    const fork = entryAt(db, head.key, { context: row.id, seq: first as number })
    const { parent: contextId, at } = fork.data as EntryData['fork']
    const origin = findContext(db, { ...head.key, contextId })
    if (origin === undefined) throw new Damage(`The parent of ${head.key.contextId}`, head.key)
    const link = { contextId, kind: 'fork', at } as const
    return { ...orphan, head: { ...head, parent: link }, parentId: origin.id, forkedAt: at }
  }
  const known =
    row.parentId === undefined ? undefined : unlessDamaged(() => contextById(db, row.parentId as number))
  if (parent?.kind !== 'child' || known === undefined) return orphan
  const link = { contextId: known.head.key.contextId, kind: 'child', at: 0 } as const
  return { ...orphan, head: { ...head, parent: link }, parentId: known.id }
}
