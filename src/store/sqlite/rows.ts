/** Rows of the file to heads and entries, and back. */
import { type ContextKey, type Entry, HoldfastError } from '../../protocol/index.ts'
import { type Cut, checksum, decode, type Encoded } from '../encode.ts'
import type { Head, HeadStatus } from '../port.ts'
import type { Database } from './database.ts'

export type Cell = null | number | string | Uint8Array

/** A context's row: its head, and what only this adapter needs to know. */
export interface ContextRow {
  readonly id: number
  readonly head: Head
  readonly parentId: number | undefined
  readonly forkedAt: number
  readonly derivedSeq: number
  readonly derivedBy: string
}

export const CONTEXT_COLUMNS = `c.id, c.tenant, c.actor, c.name, c.seq, c.at, c.turn, c.status, c.outcome, c.epoch, c.driver,
  c.renewed_at, c.lease_ms, c.claims, c.wake_at, c.pending, c.base, c.parent, c.parent_kind, c.forked_at, c.created_at,
  c.active_at, c.derived_seq, c.derived_by, (SELECT p.name FROM context p WHERE p.id = c.parent)`

const BY_KEY = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.tenant = ? AND c.actor = ? AND c.name = ?`
const BY_ID = `SELECT ${CONTEXT_COLUMNS} FROM context c WHERE c.id = ?`

export function findContext(db: Database, key: ContextKey): ContextRow | undefined {
  const row = db.get(BY_KEY, key.tenant, key.actor, key.contextId)
  return row && toContextRow(row)
}

export function contextById(db: Database, id: number): ContextRow | undefined {
  const row = db.get(BY_ID, id)
  return row && toContextRow(row)
}

export function toContextRow(row: readonly Cell[]): ContextRow {
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
    head.parent = { contextId: row[24] as string, kind: row[18] as 'fork' | 'child', at: row[19] as number }
  }
  return {
    id: row[0] as number,
    head,
    parentId: row[17] === null ? undefined : (row[17] as number),
    forkedAt: row[18] === 'fork' ? (row[19] as number) : 0,
    derivedSeq: row[22] as number,
    derivedBy: row[23] as string,
  }
}

const INSERT_CONTEXT = `INSERT INTO context (tenant, actor, name, seq, at, turn, status, outcome, epoch, driver, renewed_at, lease_ms,
  claims, wake_at, pending, base, parent, parent_kind, forked_at, created_at, active_at, derived_seq, derived_by)
  VALUES (?, ?, ?, 0, 0, 0, 'idle', NULL, 0, NULL, NULL, NULL, 0, NULL, 0, 0, ?, ?, ?, ?, ?, ?, ?)`

export interface Birth {
  readonly parentId: number | null
  readonly derivedBy: string
}

/** Makes the row of a new context; the head's own columns follow with the first `updateHead`. */
export function insertContext(db: Database, head: Head, { parentId, derivedBy }: Birth): ContextRow {
  const { tenant, actor, contextId } = head.key
  const kind = parentId === null ? null : (head.parent?.kind ?? null)
  const forkedAt = kind === 'fork' ? (head.parent?.at ?? 0) : 0
  db.run(
    INSERT_CONTEXT,
    tenant,
    actor,
    contextId,
    parentId,
    kind,
    forkedAt,
    head.createdAt,
    head.activeAt,
    forkedAt,
    derivedBy,
  )
  return findContext(db, head.key) as ContextRow
}

const ADVANCE = 'UPDATE context SET seq = ?, at = ?, claims = ?, renewed_at = ?, derived_seq = ? WHERE id = ?'
const MOVE = `UPDATE context SET seq = ?, at = ?, claims = ?, renewed_at = ?, derived_seq = ?, turn = ?, status = ?, outcome = ?, epoch = ?,
  driver = ?, lease_ms = ?, wake_at = ?, pending = ?, base = ?, active_at = ?, created_at = ? WHERE id = ?`

/** Writes a head. Most appends only advance it, and then no index of the table is touched. */
export function updateHead(
  db: Database,
  { id, head: old }: ContextRow,
  change: { head: Head; derivedSeq: number },
): void {
  const { head, derivedSeq } = change
  const renewedAt = head.lease?.renewedAt ?? null
  if (onlyAdvanced(old, head)) {
    db.run(ADVANCE, head.seq, head.at, head.claims, renewedAt, derivedSeq, id)
    return
  }
  const {
    turn,
    status,
    outcome = null,
    epoch,
    lease,
    wakeAt = null,
    pending,
    base,
    activeAt,
    createdAt,
  } = head
  const [driver, leaseMs] = [lease?.driver ?? null, lease?.leaseMs ?? null]
  const hot = [head.seq, head.at, head.claims, renewedAt, derivedSeq] as const
  db.run(
    MOVE,
    ...hot,
    turn,
    status,
    outcome,
    epoch,
    driver,
    leaseMs,
    wakeAt,
    pending,
    base,
    activeAt,
    createdAt,
    id,
  )
}

function onlyAdvanced(a: Head, b: Head): boolean {
  return (
    a.status === b.status &&
    a.pending === b.pending &&
    a.epoch === b.epoch &&
    a.lease?.driver === b.lease?.driver &&
    a.turn === b.turn &&
    a.wakeAt === b.wakeAt &&
    a.activeAt === b.activeAt &&
    a.outcome === b.outcome &&
    a.base === b.base &&
    a.seq > 0
  )
}

interface Extra {
  key?: string
  takes?: readonly number[]
  refs?: readonly string[]
  optional?: true
  cuts?: readonly Cut[]
}

export const ENTRY_COLUMNS = 'seq, turn, at, type, v, data, extra, crc'
const INSERT_ENTRY =
  'INSERT INTO entry (context, seq, turn, at, type, v, data, extra, crc, append) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

export function insertEntry(
  db: Database,
  entry: Entry,
  row: { context: number; encoded: Encoded; append: string | null },
): void {
  const { json, cuts } = row.encoded
  const extra = extraOf(entry, cuts)
  const crc = checksum(entry, json, extra ?? '')
  const { seq, turn, at, type, v } = entry
  db.run(INSERT_ENTRY, row.context, seq, turn, at, type, v, json, extra, crc, row.append)
}

/** An entry from a row of ENTRY_COLUMNS. Throws `entry-corrupt` if it is not what was written. */
export function toEntry(
  row: readonly Cell[],
  key: ContextKey,
  blob: (hash: string) => Uint8Array | undefined,
): Entry {
  const [seq, turn, at, type, v, json, extra, crc] = row as [
    number,
    number,
    number,
    string,
    number,
    string,
    string | null,
    number,
  ]
  try {
    const { cuts = [], ...rest } = extra === null ? {} : (JSON.parse(extra) as Extra)
    const envelope = { seq, turn, at, type, v, ...rest }
    if (checksum(envelope, json, extra ?? '') !== crc) throw new Error('its checksum does not match')
    return { ...envelope, data: decode(json, cuts, blob) }
  } catch (cause) {
    throw new HoldfastError('entry-corrupt', {
      message: `Entry ${seq} of ${key.contextId} is damaged: ${(cause as Error).message}. Restore a backup, or read with { damaged: 'skip' } to get the rest.`,
      details: { contextId: key.contextId, seq },
      cause,
    })
  }
}

function extraOf({ key, takes, refs, optional }: Entry, cuts: readonly Cut[]): string | null {
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
  } satisfies Record<keyof Extra, unknown>)
}
