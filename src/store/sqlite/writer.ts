/** Writes. Everything here runs inside a transaction of `Database.write`. */
import { type ContextKey, type Entry, type Owner } from '../../protocol/index.ts'
import {
  type Encoded,
  type EncodedData,
  encode,
  hashOf,
  inboxDigest,
  isShared,
  readerData,
} from '../encode.ts'
import {
  checkUnused,
  forkEntry,
  forkHead,
  forkReceipt,
  KEPT_SNAPSHOTS,
  recreatedHead,
  recreateEntry,
  TYPES_THAT_OUTLIVE_PRUNE,
  tombstone,
} from '../history.ts'
import type { LeaseJudge } from '../lease.ts'
import type * as Port from '../port.ts'
import { checkParent, decideAppend, epochOf, isOfErased, missingBlob, refuseRenewal } from '../rules.ts'
import { unusedBlobs, useBlob } from './blob-use.ts'
import type { Database } from './database.ts'
import { derive, deriveNext, forgetProgress, type Indexes } from './derived.ts'
import type { HeadCache } from './head-cache.ts'
import { type InboxWrite, inboxFacts, pendingInbox, storeInboxRows } from './inbox.ts'
import { entryAt, lineage } from './reader.ts'
import { rowChecksum } from './row-checksum.ts'
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

export interface WriteContext extends Indexes {
  readonly headCache: HeadCache
  readonly judge: () => LeaseJudge
}

export function append(
  writing: WriteContext,
  request: Port.AppendRequest,
  encoded: EncodedData,
): Port.Receipt {
  const { db } = writing
  const context = writing.headCache.find(request.key)
  const digestOf = (type: string, data: object) => inboxDigest(type, encoded.get(data as never) as Encoded)
  const earlier = context && findAppend(db, context, request)
  const facts = {
    head: context?.head,
    earlier: earlier !== undefined,
    inbox: inboxFacts(db, context, request),
  }
  const decision = decideAppend(request, facts, { ...writing.judge(), digestOf })
  if (decision.kind === 'refused') throw decision.error
  if (decision.kind === 'repeated')
    return repeatedReceipt(db, context as ContextRow, { request, ...(earlier as Stored) })
  const { head, entries } = decision
  const shared = isShared(encoded, request)
  let target = context
  if (entries.length > 0) {
    target ??= insertContext(db, head, { parentId: parentOf(db, request), derivedBy: writing.derivedBy })
    for (const entry of entries) {
      const text = encoded.get(entry.data) ?? encode(entry.type, entry.data)
      // Receipts and derived rows use the data as a reader gets it, not the caller's objects.
      entry.data = readerData(text, shared)
      const isEdge = entry === entries[0] || entry === entries.at(-1)
      writeEntry(writing, target, {
        entry,
        encoded: text,
        append: isEdge ? request.id : null,
        together: entries,
      })
    }
    writing.headCache.keep(advance(writing, target, { head, entries }))
  }
  const first = (context?.head.seq ?? 0) + 1
  const last = first + entries.length - 1
  const pending =
    target === undefined || head.pending === 0 ? [] : pendingInbox(db, { ...target, head }, request.since)
  const at = entries[0]?.at ?? head.at
  return { first, last, at, epoch: head.epoch, entries, inbox: pending, repeated: false }
}

export function renew(writing: WriteContext, request: Port.RenewRequest): void {
  const context = findContext(writing.db, request.key)
  const refusal = refuseRenewal(request, context?.head)
  if (refusal !== undefined) throw refusal
  const { head, derivedSeq } = context as ContextRow
  const lease = head.lease && { ...head.lease, renewedAt: writing.judge().now }
  updateHead(writing.db, context as ContextRow, { head: { ...head, ...(lease && { lease }) }, derivedSeq })
}

export function fork(writing: WriteContext, request: Port.ForkRequest): Port.Receipt {
  const { db } = writing
  const parent = findContext(db, request.parent)
  const parentBase = parent === undefined ? 0 : (lineage(db, parent).base?.mark.upTo ?? 0)
  const facts = { parent: parent?.head, child: findContext(db, request.child)?.head, parentBase }
  const entry = forkEntry(request, facts, writing.judge().now)
  const head = forkHead(request, entry)
  const child = insertContext(db, head, { parentId: (parent as ContextRow).id, derivedBy: writing.derivedBy })
  writeEntry(writing, child, { entry, encoded: encode(entry.type, entry.data), append: null })
  derive(writing, child.id, entry)
  updateHead(db, child, { head, derivedSeq: entry.seq })
  return forkReceipt(entry, head)
}

/** Returns the keys of the erased contexts. Damaged rows are erased, too. */
export function erase(writing: WriteContext, key: ContextKey, at?: number): ContextKey[] {
  const { db } = writing
  const context = suspectContext(db, key)?.row
  if (context === undefined || context.head.status === 'erased') return []
  checkUnused(context.head, at, () => db.get(LIVING_FORK, context.id) !== undefined)
  return eraseTree(writing, context)
}

const LIVING_FORK = `SELECT 1 FROM context WHERE parent = ? AND parent_kind = 'fork' AND status <> 'erased' LIMIT 1`

export function recreate(writing: WriteContext, request: Port.RecreateRequest): Port.Head {
  const { db } = writing
  const context = findContext(db, request.key)
  const parent = context?.parentId === undefined ? undefined : contextById(db, context.parentId)
  const entry = recreateEntry(request, { head: context?.head, parent: parent?.head }, writing.judge().now)
  const { id, head: before, ...row } = context as ContextRow
  if (entry === undefined) return before
  const head = recreatedHead(before, entry)
  const parentId = head.parent === undefined ? undefined : row.parentId
  const next = { id, head, parentId, forkedAt: 0, derivedSeq: entry.seq, derivedBy: writing.derivedBy }
  writeEntry(writing, next, { entry, encoded: encode(entry.type, entry.data), append: null })
  insertBase(db, id, { upTo: request.upTo, seq: entry.seq, kept: 0 })
  derive(writing, id, entry)
  putContext(db, next)
  return head
}

export function saveSnapshot(writing: WriteContext, key: ContextKey, snapshot: Port.Snapshot): void {
  const { db, headCache } = writing
  const context = headCache.find(key)
  if (context === undefined || context.head.status === 'erased' || snapshot.seq > context.head.seq) return
  if (isOfErased(context.head, snapshot.seq)) return
  const { seq, format } = snapshot
  const state = JSON.stringify(snapshot.state)
  const put = 'INSERT OR REPLACE INTO snapshot (context, seq, format, state, crc) VALUES (?, ?, ?, ?, ?)'
  db.run(put, context.id, seq, format, state, rowChecksum([context.id, format, seq, state]))
  db.run(DELETE_OLD_SNAPSHOTS, context.id, context.id)
  // A snapshot changes no head.
  headCache.keep(context)
}

/** A constant offset: SQLite prepares a statement again for each run with a bare parameter in its place. */
const DELETE_OLD_SNAPSHOTS = `DELETE FROM snapshot WHERE context = ? AND seq <= (SELECT seq FROM snapshot WHERE context = ? ORDER BY seq DESC LIMIT 1 OFFSET ${KEPT_SNAPSHOTS})`

/** Keeps existing bytes unless they are damaged: acknowledged bytes are readable. */
export function putBlob(
  db: Database,
  owner: Owner,
  blob: { hash: string; bytes: Uint8Array; at: number },
): number {
  const { tenant, actor } = owner
  const find = 'SELECT id, data FROM blob WHERE tenant = ? AND actor = ? AND hash = ?'
  const [id, data] = db.get(find, tenant, actor, blob.hash) ?? []
  if (typeof id !== 'number') {
    const put = 'INSERT INTO blob (tenant, actor, hash, at, data) VALUES (?, ?, ?, ?, ?)'
    return db.insert(put, tenant, actor, blob.hash, blob.at, blob.bytes)
  }
  const intact = data instanceof Uint8Array && hashOf(data) === blob.hash
  if (intact) db.run('UPDATE blob SET at = ? WHERE id = ?', blob.at, id)
  else db.run('UPDATE blob SET at = ?, data = ? WHERE id = ?', blob.at, blob.bytes, id)
  return id
}

interface Writing extends InboxWrite {
  readonly append: string | null
}

export function writeEntry({ db }: WriteContext, context: ContextRow, writing: Writing): void {
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
  if (entry.key !== undefined || entry.takes !== undefined) storeInboxRows(db, context, writing)
}

/** Advances the head over new entries, and the derived indexes if nothing older is missing; a later lookup catches up. */
export function advance(
  writing: WriteContext,
  context: ContextRow,
  next: { readonly head: Port.Head; readonly entries: readonly Entry[] },
): ContextRow {
  const change = { head: next.head, derivedSeq: deriveNext(writing, context, next) }
  updateHead(writing.db, context, change)
  return { ...context, ...change }
}

interface Stored {
  readonly first: number
  readonly last: number
}

const POSITIONS = 'SELECT seq FROM entry WHERE context = ? AND seq BETWEEN ? AND ?'
const BOUNDS = 'SELECT min(seq), max(seq) FROM entry WHERE context = ? AND seq > ? AND append = ?'

function findAppend(
  db: Database,
  context: ContextRow,
  { id, since }: Port.AppendRequest,
): Stored | undefined {
  if (context.head.seq <= since) return undefined
  const [first, last] = db.get(BOUNDS, context.id, since, id) ?? []
  return typeof first === 'number' ? { first, last: last as number } : undefined
}

function repeatedReceipt(
  db: Database,
  context: ContextRow,
  { request, first, last }: Stored & { readonly request: Port.AppendRequest },
): Port.Receipt {
  const { since, key } = request
  // Below the base, some may be pruned and others kept.
  const kept = new Set(db.all(POSITIONS, context.id, first, context.head.base).map(([seq]) => seq))
  const positions = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const entries = positions
    .filter((seq) => seq > context.head.base || kept.has(seq))
    .map((seq) => entryAt(db, key, { context: context.id, seq }))
  const epoch = epochOf(request, entries, context.head)
  const inbox = pendingInbox(db, context, since)
  return { first, last, at: entries[0]?.at ?? 0, epoch, entries, inbox, repeated: true }
}

function parentOf(db: Database, request: Port.AppendRequest): number | null {
  if (request.parent === undefined) return null
  const found = findContext(db, { ...request.key, contextId: request.parent })
  checkParent(request, found?.head)
  return found?.id ?? null
}

/** Children, and forks named below (`isForkedBelow`): those from `NAME/` up to `NAME0`, because 0 follows / in the order. */
const BELOW = `SELECT id FROM context WHERE parent = ?
  UNION SELECT id FROM context WHERE parent_kind = 'fork' AND tenant = ? AND actor = ?
    AND name > ? AND name < ? AND instr(substr(name, length(?) + 2), '/') = 0`

function eraseTree(writing: WriteContext, context: ContextRow): ContextKey[] {
  const { db } = writing
  const { id, head } = context
  const { tenant, actor, contextId } = head.key
  const below = db
    .all(BELOW, id, tenant, actor, `${contextId}/`, `${contextId}0`, contextId)
    .flatMap(([child]) => {
      // One at a time: a fork may be named below this context and lie below another child.
      const row = suspectById(db, child as number)
      return row === undefined || row.head.status === 'erased' ? [] : eraseTree(writing, row)
    })
  for (const table of ['entry', 'inbox', 'base', 'derived', 'snapshot'])
    db.run(`DELETE FROM ${table} WHERE context = ?`, id)
  forgetProgress(db, id)
  writing.backlogs.forget(id)
  dropBlobs(db, { context: id, above: 0, upTo: Number.MAX_SAFE_INTEGER })
  putContext(db, { ...context, head: tombstone(head, writing.judge().now), derivedSeq: head.seq })
  return [head.key, ...below]
}

/** In SQL. */
export const KEPT_TYPES: string = `('${TYPES_THAT_OUTLIVE_PRUNE.join("', '")}')`

/** Removes the blob references of a range of entries, those that pruning keeps excepted, and blobs without references. */
export function dropBlobs(
  db: Database,
  { context, above, upTo }: { context: number; above: number; upTo: number },
): void {
  const stretch = `context = ? AND seq > ? AND seq <= ? AND NOT EXISTS
    (SELECT 1 FROM entry e WHERE e.context = blob_use.context AND e.seq = blob_use.seq AND e.type IN ${KEPT_TYPES})`
  const blobs = db.all(`SELECT DISTINCT blob FROM blob_use WHERE ${stretch}`, context, above, upTo)
  db.run(`DELETE FROM blob_use WHERE ${stretch}`, context, above, upTo)
  const unused = unusedBlobs(
    db,
    blobs.map(([blob]) => blob as number),
  )
  for (const blob of unused) db.run('DELETE FROM blob WHERE id = ?', blob)
}
