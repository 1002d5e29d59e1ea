/** Converts rows of the file to heads and entries, and back. */
import {
  type ContextKey,
  contextKey,
  type Entry,
  HoldfastError,
  keyText,
  sameKey,
} from '../../protocol/index.ts'
import { type CutValue, checksum, decode, type Encoded } from '../encode.ts'
import { newHead } from '../head.ts'
import type { BaseMark } from '../lineage.ts'
import type { Head, HeadStatus } from '../port.ts'
import type { Cell, Database } from './database.ts'
import { checksumMatches, rowChecksum } from './row-checksum.ts'
import { Damage, isDamage, isSqliteError } from './sqlite-errors.ts'

/** A context's row: its head, and the fields of this adapter. */
export interface ContextRow {
  readonly id: number
  readonly head: Head
  readonly parentId: number | undefined
  readonly forkedAt: number
  readonly derivedSeq: number
  readonly derivedBy: string
}

const COLUMN_NAMES = [
  ...['id', 'tenant', 'actor', 'name', 'seq', 'at', 'turn', 'status', 'outcome', 'epoch', 'driver'],
  ...['renewed_at', 'lease_ms', 'claims', 'wake_at', 'pending', 'base', 'parent', 'parent_kind', 'forked_at'],
  ...['created_at', 'active_at', 'derived_seq', 'derived_by'],
]
const STORED = COLUMN_NAMES.length

export const CONTEXT_COLUMNS: string = `${COLUMN_NAMES.map((name) => `c.${name}`).join(', ')},
  (SELECT p.name FROM context p WHERE p.id = c.parent), c.crc`

const BY_KEY = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.tenant = ? AND c.actor = ? AND c.name = ?`
const BY_ID = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.id = ?`

export function findContext(db: Database, key: ContextKey): ContextRow | undefined {
  const row = db.get(BY_KEY, key.tenant, key.actor, key.contextId)
  if (row === undefined) return refuseHidden(db, key)
  const context = toContextRow(row)
  if (!sameKey(context.head.key, key)) throw new Damage(`The index entry of ${keyText(key)}`, key)
  return context
}

export function contextById(db: Database, id: number): ContextRow | undefined {
  const row = db.get(BY_ID, id)
  return row && toContextRow(row)
}

/** Refuses a damaged head row: acting on a wrong head is worse than not acting. */
export function toContextRow(row: readonly Cell[]): ContextRow {
  const context = parseContextRow(row)
  if (checksumMatches(row)) return context
  throw new Damage(`The head row of ${nameOf(context)}`, { row: context.id })
}

/** A damaged name may be anything, and is not repeated in messages. */
function nameOf({ id, head: { key } }: ContextRow): string {
  try {
    return keyText(contextKey(key))
  } catch {
    return `conversation ${id}`
  }
}

/** The row as it is, damaged or not; for repairing or erasing it. */
export function suspectContext(
  db: Database,
  key: ContextKey,
): { row: ContextRow; intact: boolean } | undefined {
  const cells = db.get(BY_KEY, key.tenant, key.actor, key.contextId)
  if (cells === undefined) return refuseHidden(db, key)
  const row = parseContextRow(cells)
  return { row: { ...row, head: { ...row.head, key } }, intact: checksumMatches(cells) }
}

export function suspectById(db: Database, id: number): ContextRow | undefined {
  const cells = db.get(BY_ID, id)
  return cells && parseContextRow(cells)
}

const BY_NAME =
  'SELECT 1 FROM context INDEXED BY context_by_name WHERE name = ? AND actor = ? AND tenant = ? LIMIT 1'

/** Checks a second index on the same names: damage to one cannot make a conversation seem unknown. */
function refuseHidden(db: Database, key: ContextKey): undefined {
  if (db.get(BY_NAME, key.contextId, key.actor, key.tenant) === undefined) return undefined
  throw new Damage(`The index entry of ${keyText(key)}`, key)
}

/** `forked_at`: own entries come after it; the fork point, or the end of an erased context of this name. */
function parseContextRow(row: readonly Cell[]): ContextRow {
  const [isFork, start] = [row[18] === 'fork', row[19] as number]
  const head: { -readonly [K in keyof Head]: Head[K] } = {
    key: { tenant: row[1] as string, actor: row[2] as string, contextId: row[3] as string },
    seq: row[4] as number,
    at: row[5] as number,
    turn: row[6] as number,
    status: row[7] as HeadStatus,
    epoch: row[9] as number,
    claims: row[13] as number,
    pending: row[15] as number,
    base: row[16] as number,
    createdAt: row[20] as number,
    activeAt: row[21] as number,
  }
  if (row[8] !== null) head.outcome = row[8] as NonNullable<Head['outcome']>
  if (row[10] !== null)
    head.lease = { driver: row[10] as string, renewedAt: row[11] as number, leaseMs: row[12] as number }
  if (row[14] !== null) head.wakeAt = row[14] as number
  if (row[17] !== null) {
    head.parent = {
      contextId: row[STORED] as string,
      kind: row[18] as 'fork' | 'child',
      at: isFork ? start : 0,
    }
  }
  if (!isFork && start > 0) head.erasedUpTo = start
  return {
    id: row[0] as number,
    head,
    parentId: row[17] === null ? undefined : (row[17] as number),
    forkedAt: isFork ? start : 0,
    derivedSeq: row[22] as number,
    derivedBy: row[23] as string,
  }
}

/** Cells in the order of CONTEXT_COLUMNS, up to the checksum, which also covers the parent's name (not stored). */
function cellsOf({ id, head, parentId, forkedAt, derivedSeq, derivedBy }: ContextRow): Cell[] {
  const { key, seq, at, turn, status, outcome = null, epoch, lease, claims, wakeAt = null } = head
  const kind = parentId === undefined ? null : (head.parent?.kind ?? null)
  return [
    id,
    key.tenant,
    key.actor,
    key.contextId,
    seq,
    at,
    turn,
    status,
    outcome,
    epoch,
    lease?.driver ?? null,
    lease?.renewedAt ?? null,
    lease?.leaseMs ?? null,
    claims,
    wakeAt,
    head.pending,
    head.base,
    parentId ?? null,
    kind,
    kind === 'fork' ? forkedAt : (head.erasedUpTo ?? 0),
    head.createdAt,
    head.activeAt,
    derivedSeq,
    derivedBy,
    kind === null ? null : (head.parent?.contextId ?? null),
  ]
}

const INSERT_CONTEXT = `INSERT INTO context (tenant, actor, name, seq, at, turn, status, outcome, epoch, driver, renewed_at, lease_ms,
  claims, wake_at, pending, base, parent, parent_kind, forked_at, created_at, active_at, derived_seq, derived_by, crc)
  VALUES (?, ?, ?, 0, 0, 0, 'idle', NULL, 0, NULL, NULL, NULL, 0, NULL, 0, 0, ?, ?, ?, ?, ?, ?, ?, 0)`

export interface NewContext {
  readonly parentId: number | null
  readonly derivedBy: string
}

/** Inserts the row of a new context; the first `updateHead` adds the head's own columns and the checksum. */
export function insertContext(db: Database, head: Head, { parentId, derivedBy }: NewContext): ContextRow {
  const { tenant, actor, contextId } = head.key
  const parent = parentId === null ? undefined : head.parent
  const forkedAt = parent?.kind === 'fork' ? parent.at : 0
  const parentCells = [parentId, parent?.kind ?? null, forkedAt] as const
  const times = [head.createdAt, head.activeAt] as const
  const id = db.insert(
    INSERT_CONTEXT,
    tenant,
    actor,
    contextId,
    ...parentCells,
    ...times,
    forkedAt,
    derivedBy,
  )
  return {
    id,
    head: { ...newHead(head.key, head.createdAt), ...(parent === undefined ? {} : { parent }) },
    parentId: parentId ?? undefined,
    forkedAt,
    derivedSeq: forkedAt,
    derivedBy,
  }
}

/**
 * Writes only the changed columns of a head: setting a column to its old value still costs the indexes it is in. There
 * are few kinds of change, so the statements are soon all prepared.
 */
export function updateHead(
  db: Database,
  context: ContextRow,
  change: { head: Head; derivedSeq: number },
): void {
  const [before, after] = [cellsOf(context), cellsOf({ ...context, ...change })]
  const values: Cell[] = []
  let changed = 0
  for (let i = 0; i < STORED; i++) {
    if (before[i] === after[i]) continue
    values.push(after[i] as Cell)
    changed |= 1 << i
  }
  values.push(rowChecksum(after), context.id)
  db.run(updateOf(changed), ...values)
}

const UPDATES = new Map<number, string>()

/** The statement that sets these columns, a bit for each, cached: building it costs more than running it. */
function updateOf(changed: number): string {
  const known = UPDATES.get(changed)
  if (known !== undefined) return known
  const sets = COLUMN_NAMES.filter((_, i) => changed & (1 << i)).map((name) => `${name} = ?, `)
  const sql = `UPDATE context SET ${sets.join('')}crc = ? WHERE id = ?`
  UPDATES.set(changed, sql)
  return sql
}

const PUT_CONTEXT = `INSERT OR REPLACE INTO context (${COLUMN_NAMES.join(', ')}, crc)
  VALUES (${Array.from({ length: STORED + 1 }, () => '?').join(', ')})`

export function putContext(db: Database, context: ContextRow): void {
  const cells = cellsOf(context)
  db.run(PUT_CONTEXT, ...cells.slice(0, STORED), rowChecksum(cells))
}

export function insertBase(db: Database, context: number, { upTo, seq, kept }: BaseMark): void {
  const cells = [context, upTo, seq, kept] as const
  db.run(
    'INSERT INTO base (context, up_to, seq, kept, crc) VALUES (?, ?, ?, ?, ?)',
    ...cells,
    rowChecksum(cells),
  )
}

interface ExtraFields {
  key?: string
  takes?: readonly number[]
  refs?: readonly string[]
  optional?: true
  cuts?: readonly CutValue[]
}

export const ENTRY_COLUMNS = 'seq, turn, at, type, v, data, extra, crc, append'
const INSERT_ENTRY =
  'INSERT INTO entry (context, seq, turn, at, type, v, data, extra, crc, append) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

export function insertEntry(
  db: Database,
  entry: Entry,
  row: { context: number; encoded: Encoded; append: string | null },
): void {
  const { json, cuts } = row.encoded
  const extra = extraOf(entry, cuts)
  const crc = checksum(entry, json, bound(row.context, row.append, extra))
  const { seq, turn, at, type, v } = entry
  db.run(INSERT_ENTRY, row.context, seq, turn, at, type, v, json, extra, crc, row.append)
}

/** Source of an entry row: the key being read, the context that holds the row, and that owner's blobs. */
export interface RowSource {
  readonly key: ContextKey
  readonly context: number
  readonly blob: (hash: string) => Uint8Array | undefined
}

/** An entry from a row of ENTRY_COLUMNS. Throws `entry-corrupt` if it is damaged. */
export function toEntry(row: readonly Cell[], { key, context, blob }: RowSource): Entry {
  const [seq, turn, at, type, v, json, extra, crc, append] = row as [
    number,
    number,
    number,
    string,
    number,
    string,
    string | null,
    number,
    string | null,
  ]
  try {
    const { cuts = [], ...rest } = extra === null ? {} : (JSON.parse(extra) as ExtraFields)
    const envelope = { seq, turn, at, type, v, ...rest }
    const expected = checksum(envelope, json, bound(context, append, extra))
    if (expected !== crc || typeof json !== 'string') throw new Error('its checksum does not match')
    return { ...envelope, data: decode(json, cuts, blob) }
  } catch (cause) {
    if (isSqliteError(cause) && !isDamage(cause)) throw cause
    throw damagedEntry(key, seq, cause as Error)
  }
}

export function damagedEntry(key: ContextKey, seq: number, cause: Error): HoldfastError {
  return new HoldfastError('entry-corrupt', {
    message: `Entry ${seq} of ${keyText(key)} is damaged: ${cause.message}. Restore a backup, or read with { damaged: 'skip' } to get the rest.`,
    details: { contextId: key.contextId, seq },
    cause,
  })
}

/** Covered by an entry's checksum beside the entry: the row's context and its append. */
function bound(context: number, append: string | null, extra: string | null): string {
  return `${context} ${append ?? ''}\n${extra ?? ''}`
}

function extraOf({ key, takes, refs, optional }: Entry, cuts: readonly CutValue[]): string | null {
  if (
    key === undefined &&
    takes === undefined &&
    refs === undefined &&
    optional === undefined &&
    cuts.length === 0
  )
    return null
  return JSON.stringify({
    key,
    takes,
    refs,
    optional,
    cuts: cuts.length === 0 ? undefined : cuts,
  } satisfies Record<keyof ExtraFields, unknown>)
}
