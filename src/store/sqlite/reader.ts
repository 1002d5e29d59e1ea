/** Reading: ranges across a line of forks, pending inbox, derived rows, snapshots, listings. */
import {
  type ContextKey,
  type Entry,
  HoldfastError,
  type JsonObject,
  type Owner,
} from '../../protocol/index.ts'
import { turnKey, turnRange } from '../derive.ts'
import { isDue, type LeaseJudge } from '../lease.ts'
import { clip, type Lineage, type Link, lineageOf, type Segment } from '../lineage.ts'
import type * as Port from '../port.ts'
import { boundsOf, fromCursor, limitOf, toCursor } from '../query.ts'
import type { Database } from './database.ts'
import {
  type Cell,
  CONTEXT_COLUMNS,
  type ContextRow,
  contextById,
  ENTRY_COLUMNS,
  findContext,
  toContextRow,
  toEntry,
} from './rows.ts'
import { isDamage } from './trouble.ts'

const OLDEST = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ?`
const NEWEST = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ?`
const ONE = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq = ?`

export function readEntries(db: Database, key: ContextKey, range: Port.ReadRange): Entry[] {
  const { from, to, limit, newest } = boundsOf(range)
  const context = findContext(db, key)
  if (context === undefined || context.head.status === 'erased') return []
  const line = lineage(db, context)
  const turn = range.turn === undefined ? { from, to } : turnOf(db, line, range.turn)
  if (turn === undefined) return []
  const found: Entry[] = []
  const part = { from: Math.max(from, turn.from), to: Math.min(to, turn.to, context.head.seq), newest }
  for (const segment of clip(line, part)) {
    if (found.length >= limit) break
    const read = { segment, newest, limit: limit - found.length }
    found.push(...(range.damaged === 'skip' ? readIntact(db, key, read) : readSegment(db, key, read)))
  }
  return found
}

export function entryAt(
  db: Database,
  key: ContextKey,
  at: { context: number; seq: number },
): Entry | undefined {
  const row = db.get(ONE, at.context, at.seq)
  return row && toEntry(row, key, blobReader(db, key))
}

/** Own entries of one context above a position, read as they are needed. */
export function* ownEntries(db: Database, { id, head }: ContextRow, above: number): Generator<Entry> {
  const blob = blobReader(db, head.key)
  for (let from = above + 1; ; ) {
    const rows = db.all(OLDEST, id, from, Number.MAX_SAFE_INTEGER, 1000)
    for (const row of rows) yield toEntry(row, head.key, blob)
    if (rows.length === 0) return
    from = (rows.at(-1)?.[0] as number) + 1
  }
}

export function lineage(db: Database, context: ContextRow): Lineage<number> {
  const links: Link<number>[] = []
  for (let at: ContextRow | undefined = context; at !== undefined; ) {
    const bases = db.all('SELECT up_to, seq FROM base WHERE context = ?', at.id)
    links.push({
      id: at.id,
      forkedAt: at.forkedAt,
      bases: bases.map(([upTo, seq]) => ({ upTo: upTo as number, seq: seq as number })),
    })
    at = at.forkedAt > 0 && at.parentId !== undefined ? contextById(db, at.parentId) : undefined
  }
  return lineageOf(links)
}

export function blobReader(db: Database, owner: Owner): (hash: string) => Uint8Array | undefined {
  return (hash) =>
    db.get(
      'SELECT data FROM blob WHERE tenant = ? AND actor = ? AND hash = ?',
      owner.tenant,
      owner.actor,
      hash,
    )?.[0] as Uint8Array | undefined
}

export function pendingInbox(db: Database, context: ContextRow | undefined, since: number): Entry[] {
  if (context === undefined || context.head.pending === 0) return []
  const sql = 'SELECT seq FROM inbox WHERE context = ? AND taken = 0 AND seq > ? ORDER BY seq'
  return db
    .all(sql, context.id, since)
    .map(([seq]) => entryAt(db, context.head.key, { context: context.id, seq: seq as number }))
    .filter((entry) => entry !== undefined)
}

const ROWS_BY_KEY =
  'SELECT key, seq, value FROM derived WHERE context = ? AND idx = ? AND key = ? AND seq <= ? ORDER BY seq DESC LIMIT 1'
const ROWS_FIRST = `SELECT key, max(seq), value FROM derived WHERE context = ? AND idx = ? AND key > ? AND key >= ? AND key < ? AND seq <= ?
  GROUP BY key ORDER BY key LIMIT ?`
const ROWS_LAST = ROWS_FIRST.replace('ORDER BY key', 'ORDER BY key DESC')

export function lookupRows(db: Database, line: Lineage<number>, query: Port.LookupQuery): Port.IndexRow[] {
  const limit = limitOf(query.limit, 1000)
  const last = query.order === 'last'
  const newest = new Map<string, Port.IndexRow>()
  for (const { id, to } of line.segments) {
    const { key, prefix = '', after = '' } = query
    const rows =
      key === undefined
        ? db.all(
            last ? ROWS_LAST : ROWS_FIRST,
            id,
            query.index,
            after,
            prefix,
            `${prefix}\u{10ffff}`,
            to,
            limit,
          )
        : db.all(ROWS_BY_KEY, id, query.index, key, to)
    for (const row of rows) if (!newest.has(row[0] as string)) newest.set(row[0] as string, toIndexRow(row))
  }
  const rows = [...newest.values()].sort((a, b) => (a.key < b.key ? -1 : 1))
  return (last ? rows.reverse() : rows).slice(0, limit)
}

export function turnOf(
  db: Database,
  line: Lineage<number>,
  turn: number,
): { from: number; to: number } | undefined {
  const row = (index: string) => lookupRows(db, line, { index, key: turnKey(turn) })[0]
  return turnRange(row('turn'), row('outcome'))
}

const SNAPSHOT = `SELECT seq, state FROM snapshot WHERE context = ? AND format = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT 1`

export function readSnapshot(
  db: Database,
  key: ContextKey,
  { format, atMost }: Port.SnapshotQuery,
): Port.Snapshot | undefined {
  const context = findContext(db, key)
  for (const { id, from, to } of context === undefined ? [] : lineage(db, context).segments) {
    const row = db.get(SNAPSHOT, id, format, from, Math.min(to, atMost ?? to))
    if (row !== undefined)
      return { seq: row[0] as number, format, state: JSON.parse(row[1] as string) as JsonObject }
  }
  return undefined
}

export function listContexts(db: Database, query: Port.ListQuery): Port.ListPage {
  const limit = limitOf(query.limit, 50)
  const cursor = fromCursor(query.cursor)
  const parent =
    query.parent === undefined ? undefined : findContext(db, { ...query.owner, contextId: query.parent })
  if (query.parent !== undefined && parent === undefined) return { heads: [] }
  const wheres: [string, Cell[]][] = [
    ['c.tenant = ? AND c.actor = ?', [query.owner.tenant, query.owner.actor]],
    query.status === undefined ? [`c.status <> 'erased'`, []] : [literalStatus(query.status), []],
    parent === undefined ? [`c.parent_kind IS NOT 'child'`, []] : ['c.parent = ?', [parent.id]],
  ]
  if (query.prefix !== undefined)
    wheres.push(['c.name >= ? AND c.name < ?', [query.prefix, `${query.prefix}\u{10ffff}`]])
  if (query.activeSince !== undefined) wheres.push(['c.active_at >= ?', [query.activeSince]])
  if (cursor !== undefined) wheres.push(['(c.active_at, c.id) < (?, ?)', [cursor.activeAt, cursor.id]])
  const where = wheres.map(([sql]) => sql).join(' AND ')
  const sql = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE ${where} ORDER BY c.active_at DESC, c.id DESC LIMIT ?`
  const rows = db.all(sql, ...wheres.flatMap(([, values]) => values), limit + 1).map(toContextRow)
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const heads = rows.slice(0, limit).map(({ head }) => head)
  return last === undefined
    ? { heads }
    : { heads, next: toCursor({ activeAt: last.head.activeAt, id: last.id }) }
}

const OPEN = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.status = 'running' OR c.pending > 0 ORDER BY c.active_at`
const WAKING = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.wake_at <= ? ORDER BY c.wake_at`

export function dueContexts(db: Database, judge: LeaseJudge, limit: number): Port.Head[] {
  const due = new Map<number, Port.Head>()
  for (const rows of [db.iterate(WAKING, judge.now), db.iterate(OPEN)]) {
    for (const row of rows) {
      const { id, head } = toContextRow(row)
      if (due.size < limit && isDue(head, judge)) due.set(id, head)
    }
  }
  return [...due.values()].sort((a, b) => a.activeAt - b.activeAt)
}

interface SegmentRead {
  readonly segment: Segment<number>
  readonly newest: boolean
  readonly limit: number
}

function readSegment(db: Database, key: ContextKey, { segment, newest, limit }: SegmentRead): Entry[] {
  const blob = blobReader(db, key)
  return db
    .all(newest ? NEWEST : OLDEST, segment.id, segment.from, segment.to, limit)
    .map((row) => toEntry(row, key, blob))
}

/** One by one, so that a damaged row or page costs only itself. */
function readIntact(db: Database, key: ContextKey, { segment, newest, limit }: SegmentRead): Entry[] {
  const found: Entry[] = []
  for (let i = 0; i <= segment.to - segment.from && found.length < limit; i++) {
    const entry = readIfIntact(db, key, {
      context: segment.id,
      seq: newest ? segment.to - i : segment.from + i,
    })
    if (entry !== undefined) found.push(entry)
  }
  return found
}

function readIfIntact(
  db: Database,
  key: ContextKey,
  at: { context: number; seq: number },
): Entry | undefined {
  try {
    return entryAt(db, key, at)
  } catch (error) {
    if (HoldfastError.is(error, 'entry-corrupt') || isDamage(error)) return undefined
    throw error
  }
}

/** The planner uses the partial index on status only for a literal. */
function literalStatus(status: Port.HeadStatus): string {
  if (!['idle', 'running', 'waiting', 'paused'].includes(status)) return '0'
  return status === 'idle' ? `c.status = 'idle'` : `c.status = '${status}' AND c.status <> 'idle'`
}

function toIndexRow([key, seq, value]: Cell[]): Port.IndexRow {
  return { key: key as string, seq: seq as number, value: JSON.parse(value as string) as JsonObject }
}
