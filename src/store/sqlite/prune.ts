/**
 * Prunes entries. The base hides them; deleting them follows, a slice per transaction, so that other writers get their
 * turn. A crash in between leaves unreadable entries, which the next prune removes.
 */
import { encode } from '../encode.ts'
import { advanceHead } from '../head.ts'
import { baseEntry } from '../history.ts'
import type * as Port from '../port.ts'
import type { Database } from './database.ts'
import { catchUp } from './derived.ts'
import { basesOf, turnOf, viewOf } from './reader.ts'
import { type ContextRow, contextById, insertBase } from './rows.ts'
import { advance, dropBlobs, KEPT_TYPES, type WriteContext, writeEntry } from './writer.ts'

const SLICE = 5000

export interface Slice {
  readonly context: number
  readonly deleted: number
  readonly base: number
  readonly more: boolean
}

/** Writes the base and deletes the first slice. */
export function prune(writing: WriteContext, request: Port.PruneRequest): Slice {
  const { db } = writing
  // Derived rows outlive their entries, so ours must be complete first.
  const context = catchUp(writing, request.key)
  const needed = context && oldestNeeded(db, context, request.upTo)
  const kept = context === undefined ? 0 : Math.max(0, ...forkPoints(db, context.id))
  const facts = { head: context?.head, forkedAt: context?.forkedAt ?? 0, needed, kept }
  const entry = baseEntry(request, facts, writing.judge().now)
  if (context === undefined) return { context: 0, deleted: 0, base: 0, more: false }
  if (entry !== undefined) {
    writeEntry(writing, context, { entry, encoded: encode(entry.type, entry.data), append: null })
    insertBase(db, context.id, { upTo: request.upTo, seq: entry.seq, kept })
    advance(writing, context, { head: advanceHead(context.head, entry), entries: [entry] })
  }
  return sweep(db, context.id)
}

/** Deletes a slice of the entries below the bases of a context that no fork reads. */
export function sweep(db: Database, id: number): Slice {
  const context = contextById(db, id)
  if (context === undefined || context.head.status === 'erased')
    return { context: id, deleted: 0, base: context?.head.base ?? 0, more: false }
  let deleted = 0
  for (const range of hidden(db, context)) {
    deleted += deleteSome(db, { ...range, context: id, limit: SLICE - deleted })
    if (deleted === SLICE) break
  }
  return { context: id, deleted, base: context.head.base, more: deleted === SLICE }
}

interface PruneRange {
  readonly above: number
  readonly upTo: number
}

/**
 * The ranges to delete. Forks older than a base are below its `kept`, and later ones cannot be made below it; the fork
 * points are checked again in case either ever fails.
 */
function hidden(db: Database, context: ContextRow): PruneRange[] {
  const forks = forkPoints(db, context.id)
  const ranges: PruneRange[] = []
  const marks = basesOf(db, context).toSorted((a, b) => b.upTo - a.upTo)
  for (const { upTo, kept } of marks) {
    const above = Math.max(kept, ...forks.filter((at) => at < upTo))
    const covered = ranges.some((other) => other.above <= above && upTo <= other.upTo)
    if (above < upTo && !covered) ranges.push({ above, upTo })
  }
  return ranges
}

function deleteSome(
  db: Database,
  { context, above, upTo, limit }: PruneRange & { readonly context: number; readonly limit: number },
): number {
  const range = `FROM entry WHERE context = ? AND seq > ? AND seq <= ? AND type NOT IN ${KEPT_TYPES}`
  const beyond = db.get(`SELECT seq ${range} ORDER BY seq LIMIT 1 OFFSET ?`, context, above, upTo, limit)
  const last = beyond === undefined ? upTo : (beyond[0] as number) - 1
  dropBlobs(db, { context, above, upTo: last })
  return db.run(`DELETE ${range}`, context, above, last)
}

function oldestNeeded(db: Database, context: ContextRow, upTo: number): number | undefined {
  const inbox = 'SELECT min(seq) FROM inbox WHERE context = ? AND (taken = 0 OR taken > ?)'
  const [waiting] = db.get(inbox, context.id, upTo) ?? []
  const { status, turn } = context.head
  const open =
    status === 'running' || status === 'paused' ? turnOf(db, viewOf(db, context), turn)?.from : undefined
  const positions = [waiting, open].filter((seq) => typeof seq === 'number')
  return positions.length === 0 ? undefined : Math.min(...positions)
}

function forkPoints(db: Database, context: number): number[] {
  const sql = `SELECT DISTINCT forked_at FROM context WHERE parent = ? AND parent_kind = 'fork' AND status <> 'erased'`
  return db.all(sql, context).map(([at]) => at as number)
}
