/** Writing: everything here runs inside a transaction of `Database.write`. */
import { type ContextKey, type Entry, type JsonObject, type Owner } from '../../protocol/index.ts'
import type { Derivation } from '../derive.ts'
import { decode, type Encoded, type EncodedData, encode, hashOf, inboxDigest } from '../encode.ts'
import { advanceHead, newHead } from '../head.ts'
import { baseEntry, forkEntry, forkHead } from '../history.ts'
import type { LeaseJudge } from '../lease.ts'
import type * as Port from '../port.ts'
import { decideAppend, epochOf, missingBlob, orphan, refuseRenewal } from '../rules.ts'
import type { Database } from './database.ts'
import { type Filing, fileEntry, inboxFacts, pendingInbox } from './inbox.ts'
import { entryAt, type FreshRow, lineage, ownEntries, turnOf, viewOf } from './reader.ts'
import {
  type ContextRow,
  contextById,
  findContext,
  insertBase,
  insertContext,
  insertEntry,
  putContext,
  suspectById,
  suspectContext,
  updateHead,
} from './rows.ts'
import { seal } from './seal.ts'

/** What every writing function needs. */
export interface Desk {
  readonly db: Database
  readonly judge: () => LeaseJudge
  readonly derivations: readonly Derivation[]
  /** Names the set of derivations; another set's progress says nothing about ours. */
  readonly derivedBy: string
}

const KEPT_SNAPSHOTS = 4

export function append(desk: Desk, request: Port.AppendRequest, encoded: EncodedData): Port.Receipt {
  const { db } = desk
  const context = findContext(db, request.key)
  const digest = (type: string, data: object) => inboxDigest(type, encoded.get(data as never) as Encoded)
  const facts = {
    head: context?.head,
    earlier: hasAppend(db, context, request),
    inbox: inboxFacts(db, context, request),
  }
  const decision = decideAppend(request, facts, { ...desk.judge(), digestOf: digest })
  if (decision.kind === 'refused') throw decision.error
  if (decision.kind === 'repeated') return repeatedReceipt(db, context as ContextRow, request)
  const { head } = decision
  const texts = decision.entries.map(({ type, data }) => encoded.get(data) ?? encode(type, data))
  // Receipts and derived rows are made from what a reader will get, not from what the caller still holds.
  const entries = decision.entries.map((entry, i) => ({ ...entry, data: decoded(texts[i] as Encoded) }))
  let target = context
  if (entries.length > 0) {
    target ??= insertContext(db, head, { parentId: parentOf(db, head), derivedBy: desk.derivedBy })
    for (const [i, entry] of entries.entries()) {
      const appendId = i === 0 || i === entries.length - 1 ? request.id : null
      writeEntry(desk, target, {
        entry,
        encoded: texts[i] as Encoded,
        append: appendId,
        ...takenTogether(entries, entry),
      })
    }
    advance(desk, target, { head, entries })
  }
  const first = (context?.head.seq ?? 0) + 1
  const inbox = target === undefined ? [] : pendingInbox(db, { ...target, head }, request.since)
  const at = entries[0]?.at ?? head.at
  return { first, last: first + entries.length - 1, at, epoch: head.epoch, entries, inbox, repeated: false }
}

/** Who of these takes this one, and what it takes that is not one of these. */
function takenTogether(entries: readonly Entry[], entry: Entry): Pick<Filing, 'taken' | 'takes'> {
  const taken = entries.find(({ takes }) => takes?.includes(entry.seq))?.seq ?? 0
  const takes = entry.takes?.filter((seq) => seq < (entries[0] as Entry).seq) ?? []
  return { taken, takes }
}

function decoded({ json, cuts, blobs }: Encoded): JsonObject {
  return decode(json, cuts, (hash) => blobs.get(hash))
}

export function renew(desk: Desk, request: Port.RenewRequest): void {
  const context = findContext(desk.db, request.key)
  const refusal = refuseRenewal(request, context?.head)
  if (refusal !== undefined) throw refusal
  const { head, derivedSeq } = context as ContextRow
  const lease = head.lease && { ...head.lease, renewedAt: desk.judge().now }
  updateHead(desk.db, context as ContextRow, { head: { ...head, ...(lease && { lease }) }, derivedSeq })
}

export function fork(desk: Desk, request: Port.ForkRequest): Port.Receipt {
  const { db } = desk
  const parent = findContext(db, request.parent)
  const parentBase = parent === undefined ? 0 : (lineage(db, parent).base?.mark.upTo ?? 0)
  const facts = { parent: parent?.head, child: findContext(db, request.child)?.head, parentBase }
  const entry = forkEntry(request, facts, desk.judge().now)
  const head = forkHead(request, entry)
  const child = insertContext(db, head, { parentId: (parent as ContextRow).id, derivedBy: desk.derivedBy })
  writeEntry(desk, child, { entry, encoded: encode(entry.type, entry.data), append: null })
  derive(desk, child.id, entry)
  updateHead(db, child, { head, derivedSeq: entry.seq })
  return {
    first: entry.seq,
    last: entry.seq,
    at: entry.at,
    epoch: head.epoch,
    entries: [entry],
    inbox: [],
    repeated: false,
  }
}

export function prune(desk: Desk, request: Port.PruneRequest): Port.PruneReceipt {
  const { db } = desk
  // Rows of the derived indexes outlive the entries that they came from, so they must all be there first.
  const context = catchUp(desk, request.key)
  const needed = context && oldestNeeded(db, context, request.upTo)
  const kept = context === undefined ? 0 : forkPoint(db, context.id)
  const facts = { head: context?.head, forkedAt: context?.forkedAt ?? 0, needed, kept }
  const entry = baseEntry(request, facts, desk.judge().now)
  if (context === undefined || entry === undefined) return { deleted: 0, base: context?.head.base ?? 0 }
  writeEntry(desk, context, { entry, encoded: encode(entry.type, entry.data), append: null })
  insertBase(db, context.id, { upTo: request.upTo, seq: entry.seq, kept })
  advance(desk, context, { head: advanceHead(context.head, entry), entries: [entry] })
  const gone = { context: context.id, above: kept, upTo: request.upTo }
  dropBlobs(db, gone)
  const sql = `DELETE FROM entry WHERE context = ? AND seq > ? AND seq <= ? AND type <> 'base'`
  return { deleted: db.run(sql, gone.context, gone.above, gone.upTo), base: request.upTo }
}

/** Returns the keys of what is gone. Damage is no reason to keep a conversation, so no row has to be intact. */
export function erase(desk: Desk, key: ContextKey): ContextKey[] {
  const context = suspectContext(desk.db, key)?.row
  return context === undefined || context.head.status === 'erased' ? [] : eraseTree(desk, context)
}

/** Derives what was appended by processes that keep other indexes, along the whole line; returns the row as it is then. */
export function catchUp(desk: Desk, key: ContextKey): ContextRow | undefined {
  const context = findContext(desk.db, key)
  for (const link of context === undefined ? [] : lagging(desk, context)) {
    for (const entry of ownEntries(desk.db, link, derivedUpTo(desk, link))) derive(desk, link.id, entry)
    putContext(desk.db, { ...link, derivedSeq: link.head.seq, derivedBy: desk.derivedBy })
  }
  return findContext(desk.db, key)
}

function isCaughtUp({ derivedBy }: Desk, context: ContextRow): boolean {
  return context.derivedBy === derivedBy && context.derivedSeq === context.head.seq
}

/** The contexts of a line whose derived rows are not all stored. */
export function lagging(desk: Desk, context: ContextRow): ContextRow[] {
  return lineage(desk.db, context)
    .segments.map(({ id }) => contextById(desk.db, id) as ContextRow)
    .filter((link) => !isCaughtUp(desk, link))
}

/** What `catchUp` would store, for a reader that may not write. */
export function freshRows(desk: Desk, context: ContextRow): FreshRow[] {
  return lagging(desk, context).flatMap((link) =>
    [...ownEntries(desk.db, link, derivedUpTo(desk, link))]
      .reverse()
      .flatMap((entry) =>
        desk.derivations.flatMap(({ index, rows }) =>
          rows(entry).map((row) => ({ context: link.id, index, row: { ...row, seq: entry.seq } })),
        ),
      ),
  )
}

export function saveSnapshot({ db }: Desk, key: ContextKey, snapshot: Port.Snapshot): void {
  const context = findContext(db, key)
  if (context === undefined || context.head.status === 'erased' || snapshot.seq > context.head.seq) return
  const { seq, format } = snapshot
  const state = JSON.stringify(snapshot.state)
  const put = 'INSERT OR REPLACE INTO snapshot (context, seq, format, state, crc) VALUES (?, ?, ?, ?, ?)'
  db.run(put, context.id, seq, format, state, seal([context.id, format, seq, state]))
  const old =
    'DELETE FROM snapshot WHERE context = ? AND seq NOT IN (SELECT seq FROM snapshot WHERE context = ? ORDER BY seq DESC LIMIT ?)'
  db.run(old, context.id, context.id, KEPT_SNAPSHOTS)
}

/** Bytes that are there already are kept, unless they are damaged: what is acknowledged can be read. */
export function putBlob(
  db: Database,
  owner: Owner,
  blob: { hash: string; bytes: Uint8Array; at: number },
): number {
  const { tenant, actor } = owner
  const find = 'SELECT id, data FROM blob WHERE tenant = ? AND actor = ? AND hash = ?'
  const [id, data] = db.get(find, tenant, actor, blob.hash) ?? []
  if (typeof id !== 'number') {
    const put = 'INSERT INTO blob (tenant, actor, hash, at, data) VALUES (?, ?, ?, ?, ?) RETURNING id'
    return db.get(put, tenant, actor, blob.hash, blob.at, blob.bytes)?.[0] as number
  }
  const intact = data instanceof Uint8Array && hashOf(data) === blob.hash
  if (intact) db.run('UPDATE blob SET at = ? WHERE id = ?', blob.at, id)
  else db.run('UPDATE blob SET at = ?, data = ? WHERE id = ?', blob.at, blob.bytes, id)
  return id
}

interface Writing extends Filing {
  readonly append: string | null
}

function writeEntry({ db }: Desk, context: ContextRow, writing: Writing): void {
  const { entry, encoded } = writing
  const { id } = context
  const { key } = context.head
  for (const [hash, bytes] of encoded.blobs)
    useBlob(db, { id, seq: entry.seq, blob: putBlob(db, key, { hash, bytes, at: entry.at }) })
  for (const hash of entry.refs ?? []) {
    const blob = db.get(
      'SELECT id FROM blob WHERE tenant = ? AND actor = ? AND hash = ?',
      key.tenant,
      key.actor,
      hash,
    )
    if (blob === undefined) throw missingBlob(hash, key)
    useBlob(db, { id, seq: entry.seq, blob: blob[0] as number })
  }
  insertEntry(db, entry, { context: id, encoded, append: writing.append })
  fileEntry(db, context, writing)
}

function useBlob(db: Database, { id, seq, blob }: { id: number; seq: number; blob: number }): void {
  db.run('INSERT OR IGNORE INTO blob_use (context, seq, blob) VALUES (?, ?, ?)', id, seq, blob)
}

/** New entries are derived at once if nothing older is missing; otherwise a later lookup catches up. */
function advance(
  desk: Desk,
  context: ContextRow,
  { head, entries }: { head: Port.Head; entries: readonly Entry[] },
): void {
  const upToDate = isCaughtUp(desk, context)
  if (upToDate) for (const entry of entries) derive(desk, context.id, entry)
  updateHead(desk.db, context, { head, derivedSeq: upToDate ? head.seq : context.derivedSeq })
}

export function derive({ db, derivations }: Desk, context: number, entry: Entry): void {
  for (const { index, rows } of derivations) {
    for (const { key, value } of rows(entry)) {
      const put =
        'INSERT OR REPLACE INTO derived (context, idx, key, seq, value, crc) VALUES (?, ?, ?, ?, ?, ?)'
      const cells = [context, index, key, entry.seq, JSON.stringify(value)] as const
      db.run(put, ...cells, seal(cells))
    }
  }
}

/** Up to where the stored rows of the derived indexes are known to be whole. */
function derivedUpTo({ derivedBy }: Desk, context: ContextRow): number {
  if (context.derivedBy === derivedBy) return context.derivedSeq
  return Math.max(context.head.base, context.forkedAt)
}

function hasAppend(
  db: Database,
  context: ContextRow | undefined,
  { id, since }: Port.AppendRequest,
): boolean {
  if (context === undefined || context.head.seq <= since) return false
  return (
    db.get('SELECT 1 FROM entry WHERE context = ? AND seq > ? AND append = ?', context.id, since, id) !==
    undefined
  )
}

function repeatedReceipt(db: Database, context: ContextRow, request: Port.AppendRequest): Port.Receipt {
  const { id, since, key } = request
  const bounds = 'SELECT min(seq), max(seq) FROM entry WHERE context = ? AND seq > ? AND append = ?'
  const [first, last] = db.get(bounds, context.id, since, id) as [number, number]
  const positions = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const entries = positions.map((seq) => entryAt(db, key, { context: context.id, seq }))
  const epoch = epochOf(request, entries, context.head)
  const inbox = pendingInbox(db, context, since)
  return { first, last, at: entries[0]?.at ?? 0, epoch, entries, inbox, repeated: true }
}

function parentOf(db: Database, { key, parent }: Port.Head): number | null {
  if (parent === undefined) return null
  const found = findContext(db, { ...key, contextId: parent.contextId })
  if (found === undefined || found.head.status === 'erased') throw orphan(key, parent.contextId)
  return found.id
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

function forkPoint(db: Database, context: number): number {
  const sql = `SELECT max(forked_at) FROM context WHERE parent = ? AND parent_kind = 'fork' AND status <> 'erased'`
  return (db.get(sql, context)?.[0] as number | null) ?? 0
}

function eraseTree(desk: Desk, context: ContextRow): ContextKey[] {
  const { db } = desk
  const { id, head } = context
  const below = db
    .all('SELECT id FROM context WHERE parent = ?', id)
    .map(([child]) => suspectById(db, child as number))
    .filter((child) => child !== undefined && child.head.status !== 'erased')
    .flatMap((child) => (child === undefined ? [] : eraseTree(desk, child)))
  for (const table of ['entry', 'inbox', 'base', 'derived', 'snapshot'])
    db.run(`DELETE FROM ${table} WHERE context = ?`, id)
  dropBlobs(db, { context: id, above: 0, upTo: Number.MAX_SAFE_INTEGER })
  putContext(db, { ...context, head: tombstone(head, desk.judge().now), derivedSeq: head.seq })
  return [head.key, ...below]
}

function tombstone(head: Port.Head, now: number): Port.Head {
  const { key, seq, turn, epoch, createdAt, parent } = head
  const last = { seq, turn, epoch, createdAt, base: seq, at: Math.max(now, head.at), activeAt: now }
  return { ...newHead(key, now), ...last, status: 'erased', ...(parent && { parent }) }
}

/** Forgets that a stretch of entries, its bases aside, used blobs, and deletes the blobs that nothing else uses. */
function dropBlobs(
  db: Database,
  { context, above, upTo }: { context: number; above: number; upTo: number },
): void {
  const stretch =
    'context = ? AND seq > ? AND seq <= ? AND NOT EXISTS (SELECT 1 FROM base b WHERE b.context = blob_use.context AND b.seq = blob_use.seq)'
  const blobs = db.all(`SELECT DISTINCT blob FROM blob_use WHERE ${stretch}`, context, above, upTo)
  db.run(`DELETE FROM blob_use WHERE ${stretch}`, context, above, upTo)
  for (const [blob] of blobs)
    db.run(
      'DELETE FROM blob WHERE id = ? AND NOT EXISTS (SELECT 1 FROM blob_use WHERE blob_use.blob = blob.id)',
      blob as number,
    )
}
