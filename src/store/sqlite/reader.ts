/** Reads ranges across a line of forks, the pending inbox, derived rows, snapshots and listings. */
import {
  type ContextKey,
  type Entry,
  HoldfastError,
  type JsonObject,
  keyText,
  type Owner,
} from '../../protocol/index.ts'
import { turnKey, turnRange } from '../derive.ts'
import { hashOf } from '../encode.ts'
import { isDue, type LeaseJudge } from '../lease.ts'
import {
  type BaseMark,
  type ForkLink,
  type Lineage,
  lineageOf,
  type ReadPart,
  segmentsIn,
} from '../lineage.ts'
import type * as Port from '../port.ts'
import { boundsOf, byCodePoint, fromCursor, limitOf, toCursor } from '../query.ts'
import type { Cell, Database } from './database.ts'
import { checksumMatches } from './row-checksum.ts'
import {
  CONTEXT_COLUMNS,
  type ContextRow,
  contextById,
  damagedEntry,
  ENTRY_COLUMNS,
  findContext,
  toContextRow,
  toEntry,
} from './rows.ts'
import { Damage, isDamage } from './sqlite-errors.ts'

// A bare parameter as the limit makes SQLite prepare the statement again for each run: hence `+ 0`.
const OLDEST = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq BETWEEN ? AND ? ORDER BY seq LIMIT ? + 0`
const NEWEST = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC LIMIT ? + 0`
const KEPT_OLDEST = OLDEST.replace('ORDER', `AND type = 'artifact' ORDER`)
const KEPT_NEWEST = NEWEST.replace('ORDER', `AND type = 'artifact' ORDER`)
const ONE = `SELECT ${ENTRY_COLUMNS} FROM entry WHERE context = ? AND seq = ?`

/** A conversation to read: its head, its lineage, and unstored derived rows. */
export interface View {
  readonly context: ContextRow
  readonly line: Lineage<number>
  readonly fresh: readonly FreshRow[]
}

/** A derived row that is not stored yet. */
export interface FreshRow {
  readonly context: number
  readonly index: string
  readonly row: Port.IndexRow
}

export function viewOf(db: Database, context: ContextRow, fresh: readonly FreshRow[] = []): View {
  return { context, line: lineage(db, context), fresh }
}

export function readEntries(db: Database, view: View, range: Port.ReadRange): Entry[] {
  const { from, to, limit, newest } = boundsOf(range)
  const { key, status, seq } = view.context.head
  if (status === 'erased') return []
  const turn = range.turn === undefined ? { from, to } : turnOf(db, view, range.turn)
  if (turn === undefined) return []
  const found: Entry[] = []
  const first = Math.ceil(Math.max(from, turn.from))
  const part = { from: first, to: Math.floor(Math.min(to, turn.to, seq)), newest, kept: range.kept }
  for (const segment of segmentsIn(view.line, part)) {
    if (found.length >= limit) break
    const read = { segment, newest, limit: limit - found.length }
    const entries = range.damaged === 'skip' ? readIntact(db, key, read) : readSegment(db, key, read)
    for (const entry of entries) found.push(entry)
  }
  return found
}

/** An entry that must exist. Throws `entry-corrupt` if it is missing or damaged. */
export function entryAt(db: Database, key: ContextKey, at: { context: number; seq: number }): Entry {
  try {
    const row = db.get(ONE, at.context, at.seq)
    if (row === undefined) throw new Damage(`Entry ${at.seq}`, {})
    return toEntry(row, { key, context: at.context, blob: blobReader(db, key) })
  } catch (error) {
    throw isDamage(error) ? unreadable(key, at.seq, error) : error
  }
}

/** Own entries of one context above a position, in order and without a gap, read lazily. */
export function* ownEntries(db: Database, { id, head }: ContextRow, above: number): Generator<Entry> {
  const source = { key: head.key, context: id, blob: blobReader(db, head.key) }
  for (let next = above + 1; ; ) {
    const rows = db.all(OLDEST, id, next, Number.MAX_SAFE_INTEGER, 1000)
    for (const row of rows) {
      if (row[0] !== next) throw unreadable(head.key, next)
      yield toEntry(row, source)
      next += 1
    }
    if (rows.length === 0) return
  }
}

export function lineage(db: Database, context: ContextRow): Lineage<number> {
  if (context.head.status === 'erased') return { segments: [], ancestry: [] }
  const links: ForkLink<number>[] = []
  for (let at = context; ; ) {
    links.push({ id: at.id, forkedAt: at.forkedAt, bases: basesOf(db, at) })
    if (at.forkedAt === 0 || at.parentId === undefined) return lineageOf(links)
    const parent = contextById(db, at.parentId)
    if (parent === undefined) throw new Damage(`The parent of ${keyText(at.head.key)}`, at.head.key)
    at = parent
  }
}

/** Returns bytes only if they match their hash. */
export function blobReader(db: Database, owner: Owner): (hash: string) => Uint8Array | undefined {
  const sql = 'SELECT data FROM blob WHERE tenant = ? AND actor = ? AND hash = ?'
  return (hash) => {
    const data = db.get(sql, owner.tenant, owner.actor, hash)?.[0]
    if (data === undefined) return undefined
    if (data instanceof Uint8Array && hashOf(data) === hash) return data
    throw new Damage(`Blob ${hash} of ${owner.tenant} ${owner.actor}`, { ...owner, hash })
  }
}

const ROWS_BY_KEY =
  'SELECT key, seq, value, crc FROM derived WHERE context = ? AND idx = ? AND key = ? AND seq <= ? ORDER BY seq DESC LIMIT 1'
/** One lower bound: of two, SQLite would search by the first, and read every row up to the second. */
const ROWS_FIRST = `SELECT key, max(seq), value, crc FROM derived
  WHERE context = ? AND idx = ? AND key >= ? AND key < ? AND key <> ? AND seq <= ? GROUP BY key ORDER BY key LIMIT ? + 0`
const ROWS_LAST = ROWS_FIRST.replace('ORDER BY key', 'ORDER BY key DESC')

export function lookupRows(
  db: Database,
  { context, line, fresh }: View,
  query: Port.LookupQuery,
): Port.IndexRow[] {
  const limit = limitOf(query.limit, 1000)
  const last = query.order === 'last'
  const newest = new Map<string, Port.IndexRow>()
  const add = (row: Port.IndexRow) => newest.has(row.key) || newest.set(row.key, row)
  const { index, key, prefix = '', after = '' } = query
  const from = byCodePoint(after, prefix) > 0 ? after : prefix
  for (const { id, to } of line.ancestry) {
    for (const { row } of fresh.filter((it) => it.context === id && it.index === index && it.row.seq <= to))
      if (key === undefined ? byCodePoint(row.key, after) > 0 && row.key.startsWith(prefix) : row.key === key)
        add(row)
    const rows =
      key === undefined
        ? db.all(last ? ROWS_LAST : ROWS_FIRST, id, index, from, `${prefix}\u{10ffff}`, after, to, limit)
        : db.all(ROWS_BY_KEY, id, index, key, to)
    for (const row of rows) {
      if (!checksumMatches(row, id, index)) throw damagedIndex(index, context.head.key)
      add({ key: row[0] as string, seq: row[1] as number, value: JSON.parse(row[2] as string) as JsonObject })
    }
  }
  const rows = [...newest.values()].sort((a, b) => byCodePoint(a.key, b.key))
  return (last ? rows.reverse() : rows).slice(0, limit)
}

export function turnOf(db: Database, view: View, turn: number): { from: number; to: number } | undefined {
  const { status, turn: newest } = view.context.head
  const open = turn === newest && (status === 'running' || status === 'paused')
  const row = (index: string) => lookupRows(db, view, { index, key: turnKey(turn) })[0]
  const [start, end] = [row('turn'), row('outcome')]
  if (turn > 0 && turn <= newest) {
    if (start === undefined) refuseHiddenTurn(db, view, { turn, type: 'turn.start' })
    else if (end === undefined && !open) refuseHiddenTurn(db, view, { turn, type: 'turn.end' })
    // Where its end was pruned, too, only the row has it.
    const pruned = start !== undefined && (start.value['first'] as number) < oldestOf(view)
    if (pruned && end === undefined && !open) throw damagedIndex('outcome', view.context.head.key)
  }
  return turnRange(start, end)
}

function oldestOf({ line }: View): number {
  return line.segments.reduce((oldest, { from }) => Math.min(oldest, from), Number.MAX_SAFE_INTEGER)
}

/** Refuses a missing row of an existing entry, which would make a turn too long, or seem unknown. */
function refuseHiddenTurn(db: Database, view: View, { turn, type }: { turn: number; type: string }): void {
  const sql =
    'SELECT 1 FROM entry WHERE context = ? AND seq BETWEEN ? AND ? AND type = ? AND turn = ? LIMIT 1'
  for (const { id, from, to } of view.line.segments)
    if (db.get(sql, id, from, to, type, turn) !== undefined)
      throw damagedIndex(type === 'turn.start' ? 'turn' : 'outcome', view.context.head.key)
}

const SNAPSHOTS = `SELECT seq, state, crc FROM snapshot WHERE context = ? AND format = ? AND seq BETWEEN ? AND ? ORDER BY seq DESC`

/** Skips damaged snapshots: they are derived, and an older one or none suffices. */
export function readSnapshot(
  db: Database,
  key: ContextKey,
  { format, atMost }: Port.SnapshotQuery,
): Port.Snapshot | undefined {
  const context = findContext(db, key)
  for (const { id, from, to } of context === undefined ? [] : lineage(db, context).segments) {
    const found = unlessDamaged(() => {
      for (const row of db.iterate(SNAPSHOTS, id, format, from, Math.min(to, atMost ?? to)))
        if (checksumMatches(row, id, format)) return row
      return undefined
    })
    if (found !== undefined)
      return { seq: found[0] as number, format, state: JSON.parse(found[1] as string) as JsonObject }
  }
  return undefined
}

const IS_NO_SUB_CONVERSATION = `c.parent_kind IS NOT 'child' AND NOT (c.parent_kind IS 'fork' AND instr(c.name, '/') > 0)`

export function listContexts(db: Database, query: Port.ListQuery): Port.ListPage {
  const limit = limitOf(query.limit, 50)
  const cursor = fromCursor(query.cursor)
  const parent =
    query.parent === undefined ? undefined : findContext(db, { ...query.owner, contextId: query.parent })
  if (query.parent !== undefined && parent === undefined) return { heads: [] }
  const wheres: [string, Cell[]][] = [
    ['c.tenant = ? AND c.actor = ?', [query.owner.tenant, query.owner.actor]],
    query.status === undefined ? [`c.status <> 'erased'`, []] : [literalStatus(query.status), []],
    parent === undefined ? [IS_NO_SUB_CONVERSATION, []] : ['c.parent = ?', [parent.id]],
  ]
  if (query.prefix !== undefined) {
    const bounds = [query.prefix, `${query.prefix}\u{10ffff}`]
    // Few matches are found by name and sorted; of many, the most recent are found by scanning by activity.
    const name = hasManyNames(db, query.owner, bounds) ? '+c.name' : 'c.name'
    wheres.push([`${name} >= ? AND ${name} < ?`, bounds])
  }
  if (query.activeSince !== undefined) wheres.push(['c.active_at >= ?', [query.activeSince]])
  if (cursor !== undefined) wheres.push(['(c.active_at, c.id) < (?, ?)', [cursor.activeAt, cursor.id]])
  const where = wheres.map(([sql]) => sql).join(' AND ')
  const sql = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE ${where} ORDER BY c.active_at DESC, c.id DESC LIMIT ? + 0`
  const values = wheres.flatMap(([, cells]) => cells)
  const rows = intactRows((count) => db.all(sql, ...values, count), limit + 1)
  const last = rows.length > limit ? rows[limit - 1] : undefined
  const heads = rows.slice(0, limit).map(({ head }) => head)
  return last === undefined
    ? { heads }
    : { heads, next: toCursor({ activeAt: last.head.activeAt, id: last.id }) }
}

/**
 * The first intact rows: one damaged conversation must not hide the others, and reading it reports the damage. Damaged
 * rows are replaced by later ones, because a page must not end at an untrusted row.
 */
function intactRows(read: (count: number) => Cell[][], limit: number): ContextRow[] {
  for (let count = limit; ; ) {
    const rows = read(count)
    const intact = rows.flatMap((row) => unlessDamaged(() => toContextRow(row)) ?? [])
    if (intact.length >= limit || rows.length < count) return intact.slice(0, limit)
    count = limit + rows.length - intact.length
  }
}

function hasManyNames(db: Database, { tenant, actor }: Owner, bounds: readonly Cell[]): boolean {
  const sql = `SELECT 1 FROM context WHERE tenant = ? AND actor = ? AND name >= ? AND name < ? LIMIT 1 OFFSET ${MANY_NAMES}`
  return db.get(sql, tenant, actor, ...bounds) !== undefined
}

const MANY_NAMES = 1000
const RUNNING = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.status = 'running' AND c.status <> 'idle' ORDER BY c.active_at`
const PENDING = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.pending > 0 ORDER BY c.active_at`
const WAKING = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.wake_at <= ? ORDER BY c.active_at`

export function dueContexts(db: Database, judge: LeaseJudge, limit: number): Port.Head[] {
  const memoisedJudge = { ...judge, liveness: memoised(judge.liveness) }
  const due = new Map<number, Port.Head>()
  for (const rows of [db.iterate(WAKING, judge.now), db.iterate(RUNNING), db.iterate(PENDING)]) {
    let found = 0
    for (const row of rows) {
      if (found >= limit) break
      // One damaged conversation must not keep a host from the others; reading it reports the damage.
      const context = unlessDamaged(() => toContextRow(row))
      if (context === undefined || !isDue(context.head, memoisedJudge)) continue
      due.set(context.id, context.head)
      found += 1
    }
  }
  return [...due.values()].sort((a, b) => a.activeAt - b.activeAt).slice(0, limit)
}

const FIRST: ContextKey = { tenant: '', actor: '', contextId: '' }
const SCAN = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE (c.name, c.actor, c.tenant) > (?, ?, ?) ORDER BY c.name, c.actor, c.tenant LIMIT ? + 0`

export function scanContexts(db: Database, { after = FIRST, limit }: Port.ScanQuery): Port.Head[] {
  const { contextId, actor, tenant } = after
  const rows = intactRows((count) => db.all(SCAN, contextId, actor, tenant, count), limitOf(limit, 100))
  return rows.map(({ head }) => head)
}

/** Memoised: a system call for a process is slow, and one driver has many conversations. */
function memoised(liveness: LeaseJudge['liveness']): LeaseJudge['liveness'] {
  const answers = new Map<string, ReturnType<LeaseJudge['liveness']>>()
  return (driver) => {
    const answer = answers.get(driver) ?? liveness(driver)
    answers.set(driver, answer)
    return answer
  }
}

interface SegmentRead {
  readonly segment: ReadPart<number>
  readonly newest: boolean
  readonly limit: number
}

function readSegment(db: Database, key: ContextKey, { segment, newest, limit }: SegmentRead): Entry[] {
  const { id, from, to, isPruned } = segment
  const source = { key, context: id, blob: blobReader(db, key) }
  if (isPruned)
    return db.all(newest ? KEPT_NEWEST : KEPT_OLDEST, id, from, to, limit).map((row) => toEntry(row, source))
  const positions = (i: number) => (newest ? to - i : from + i)
  const count = Math.min(limit, to - from + 1)
  const rows = unlessDamaged(() => db.all(newest ? NEWEST : OLDEST, id, from, to, limit))
  // If the range is unreadable, find the first unreadable position by itself.
  if (rows === undefined)
    return Array.from({ length: count }, (_, i) => entryAt(db, key, { context: id, seq: positions(i) }))
  const entries = rows.map((row, i) => {
    if (row[0] !== positions(i)) throw unreadable(key, positions(i))
    return toEntry(row, source)
  })
  if (entries.length < count) throw unreadable(key, positions(entries.length))
  return entries
}

/** Reads one by one, so that a damaged row or page costs only itself. */
function readIntact(db: Database, key: ContextKey, { segment, newest, limit }: SegmentRead): Entry[] {
  const found: Entry[] = []
  for (let i = 0; i <= segment.to - segment.from && found.length < limit; i++) {
    const seq = newest ? segment.to - i : segment.from + i
    const entry = unlessDamaged(() => entryAt(db, key, { context: segment.id, seq }))
    if (entry !== undefined && (!segment.isPruned || entry.type === 'artifact')) found.push(entry)
  }
  return found
}

export function basesOf(db: Database, { id, head }: ContextRow): BaseMark[] {
  const rows = db.all('SELECT up_to, seq, kept, crc FROM base WHERE context = ?', id)
  const marks = rows.map((row) => {
    const [upTo, seq, kept] = row as [number, number, number]
    return { upTo, seq, kept }
  })
  const newest = marks.reduce((most, { upTo }) => Math.max(most, upTo), 0)
  const whole = head.status === 'erased' || newest === head.base
  if (whole && rows.every((row) => checksumMatches(row, id))) return marks
  throw new Damage(`A base of ${keyText(head.key)}`, head.key)
}

export function unlessDamaged<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (HoldfastError.is(error, 'entry-corrupt') || isDamage(error)) return undefined
    throw error
  }
}

export function unreadable(key: ContextKey, seq: number, cause?: unknown): HoldfastError {
  const why =
    cause === undefined || cause instanceof Damage ? 'it is not where it should be' : 'SQLite cannot read it'
  return damagedEntry(key, seq, new Error(why, { cause }))
}

function damagedIndex(index: string, key: ContextKey): Damage {
  return new Damage(`The derived index "${index}" of ${keyText(key)}`, key)
}

/** The planner uses the partial index on status only for a literal. */
function literalStatus(status: Port.HeadStatus): string {
  if (!['idle', 'running', 'waiting', 'paused'].includes(status)) return '0'
  return status === 'idle' ? `c.status = 'idle'` : `c.status = '${status}' AND c.status <> 'idle'`
}
