/** Writing: everything here runs inside a transaction of `Database.write`. */
import { type ContextKey, type Entry, HoldfastError, type Owner } from '../../protocol/index.ts'
import type { Derivation } from '../derive.ts'
import { digestOf, type Encoded, type EncodedData, encode } from '../encode.ts'
import { advanceHead } from '../head.ts'
import { baseEntry, forkEntry, forkHead, headFrom, sameHead } from '../history.ts'
import type { LeaseJudge } from '../lease.ts'
import type * as Port from '../port.ts'
import { decideAppend, type InboxFact, orphan, refuseRenewal } from '../rules.ts'
import type { Database } from './database.ts'
import { entryAt, lineage, ownEntries, pendingInbox, turnOf } from './reader.ts'
import { type ContextRow, contextById, findContext, insertContext, insertEntry, updateHead } from './rows.ts'

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
  const digest = (type: string, data: object) => digestOf(type, (encoded.get(data as never) as Encoded).json)
  const facts = {
    head: context?.head,
    earlier: hasAppend(db, context, request),
    inbox: inboxFacts(db, context, request),
  }
  const decision = decideAppend(request, facts, { ...desk.judge(), digestOf: digest })
  if (decision.kind === 'refused') throw decision.error
  if (decision.kind === 'repeated') return repeatedReceipt(db, context as ContextRow, request)
  const { entries, head } = decision
  let target = context
  if (entries.length > 0) {
    target ??= insertContext(db, head, { parentId: parentOf(db, head), derivedBy: desk.derivedBy })
    for (const entry of entries) {
      const text = encoded.get(entry.data) ?? encode(entry.type, entry.data)
      const edge = entry === entries[0] || entry === entries.at(-1)
      writeEntry(desk, target, { entry, encoded: text, append: edge ? request.id : null })
    }
    advance(desk, target, { head, entries })
  }
  const first = (context?.head.seq ?? 0) + 1
  const inbox = target === undefined ? [] : pendingInbox(db, { ...target, head }, request.since)
  const at = entries[0]?.at ?? head.at
  return { first, last: first + entries.length - 1, at, epoch: head.epoch, entries, inbox, repeated: false }
}

export function renew(desk: Desk, request: Port.RenewRequest): void {
  const context = findContext(desk.db, request.key)
  const refusal = refuseRenewal(request, context?.head)
  if (refusal !== undefined) throw refusal
  desk.db.run('UPDATE context SET renewed_at = ? WHERE id = ?', desk.judge().now, (context as ContextRow).id)
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
  const context = catchUp(desk, findContext(db, request.key))
  const needed = context && oldestNeeded(db, context, request.upTo)
  const entry = baseEntry(
    request,
    { head: context?.head, forkedAt: context?.forkedAt ?? 0, needed },
    desk.judge().now,
  )
  if (context === undefined || entry === undefined) return { deleted: 0, base: context?.head.base ?? 0 }
  writeEntry(desk, context, { entry, encoded: encode(entry.type, entry.data), append: null })
  db.run('INSERT INTO base (context, up_to, seq) VALUES (?, ?, ?)', context.id, request.upTo, entry.seq)
  advance(desk, context, { head: advanceHead(context.head, entry), entries: [entry] })
  const gone = { context: context.id, above: forkPoint(db, context.id), upTo: request.upTo }
  dropBlobs(db, gone)
  const sql = `DELETE FROM entry WHERE context = ? AND seq > ? AND seq <= ? AND type <> 'base'`
  return { deleted: db.run(sql, gone.context, gone.above, gone.upTo), base: request.upTo }
}

/** Returns the keys of what is gone. */
export function erase(desk: Desk, key: ContextKey): ContextKey[] {
  const context = findContext(desk.db, key)
  return context === undefined || context.head.status === 'erased' ? [] : eraseTree(desk, context)
}

export function rebuild(desk: Desk, key: ContextKey): { repaired: boolean; head: Port.Head | undefined } {
  const { db } = desk
  const context = findContext(db, key)
  if (context === undefined || context.head.status === 'erased')
    return { repaired: false, head: context?.head }
  const [upTo = 0, seq] =
    db.get('SELECT up_to, seq FROM base WHERE context = ? ORDER BY up_to DESC LIMIT 1', context.id) ?? []
  const base = seq === undefined ? undefined : entryAt(db, key, { context: context.id, seq: seq as number })
  const head = headFrom(context.head, base, ownEntries(db, context, upTo as number))
  db.run('DELETE FROM derived WHERE context = ? AND seq > ?', context.id, upTo)
  deriveFrom(desk, context, upTo as number)
  if (head === undefined || sameHead(head, context.head)) return { repaired: false, head: context.head }
  updateHead(db, context, { head, derivedSeq: head.seq })
  return { repaired: true, head }
}

/** Derives what was appended by processes that keep other indexes; returns the row as it is then. */
export function catchUp(desk: Desk, context: ContextRow | undefined): ContextRow | undefined {
  if (context === undefined || isCaughtUp(desk, context)) return context
  const above =
    context.derivedBy === desk.derivedBy ? context.derivedSeq : Math.max(context.head.base, context.forkedAt)
  deriveFrom(desk, context, above)
  return contextById(desk.db, context.id)
}

export function isCaughtUp({ derivedBy }: Desk, context: ContextRow): boolean {
  return context.derivedBy === derivedBy && context.derivedSeq === context.head.seq
}

export function saveSnapshot({ db }: Desk, key: ContextKey, snapshot: Port.Snapshot): void {
  const context = findContext(db, key)
  if (context === undefined || context.head.status === 'erased' || snapshot.seq > context.head.seq) return
  const state = JSON.stringify(snapshot.state)
  db.run(
    'INSERT OR REPLACE INTO snapshot (context, seq, format, state) VALUES (?, ?, ?, ?)',
    context.id,
    snapshot.seq,
    snapshot.format,
    state,
  )
  const old =
    'DELETE FROM snapshot WHERE context = ? AND seq NOT IN (SELECT seq FROM snapshot WHERE context = ? ORDER BY seq DESC LIMIT ?)'
  db.run(old, context.id, context.id, KEPT_SNAPSHOTS)
}

export function putBlob(
  db: Database,
  owner: Owner,
  blob: { hash: string; bytes: Uint8Array; at: number },
): number {
  const put =
    'INSERT INTO blob (tenant, actor, hash, at, data) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET at = excluded.at RETURNING id'
  return db.get(put, owner.tenant, owner.actor, blob.hash, blob.at, blob.bytes)?.[0] as number
}

interface Writing {
  readonly entry: Entry
  readonly encoded: Encoded
  readonly append: string | null
}

function writeEntry(
  { db }: Desk,
  { id, head: { key } }: ContextRow,
  { entry, encoded, append: appendId }: Writing,
): void {
  for (const [hash, bytes] of encoded.blobs)
    useBlob(db, { id, seq: entry.seq, blob: putBlob(db, key, { hash, bytes, at: entry.at }) })
  for (const hash of entry.refs ?? []) {
    const blob = db.get(
      'SELECT id FROM blob WHERE tenant = ? AND actor = ? AND hash = ?',
      key.tenant,
      key.actor,
      hash,
    )
    if (blob === undefined) throw missingBlob(hash, key.contextId)
    useBlob(db, { id, seq: entry.seq, blob: blob[0] as number })
  }
  insertEntry(db, entry, { context: id, encoded, append: appendId })
  if (entry.key !== undefined) {
    const post = 'INSERT INTO inbox (context, key, seq, taken, digest) VALUES (?, ?, ?, 0, ?)'
    db.run(post, id, entry.key, entry.seq, digestOf(entry.type, encoded.json))
  }
  for (const seq of entry.takes ?? [])
    db.run('UPDATE inbox SET taken = ? WHERE context = ? AND seq = ? AND taken = 0', entry.seq, id, seq)
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

function derive({ db, derivations }: Desk, context: number, entry: Entry): void {
  for (const { index, rows } of derivations) {
    for (const { key, value } of rows(entry)) {
      const put = 'INSERT OR REPLACE INTO derived (context, idx, key, seq, value) VALUES (?, ?, ?, ?, ?)'
      db.run(put, context, index, key, entry.seq, JSON.stringify(value))
    }
  }
}

function deriveFrom(desk: Desk, context: ContextRow, above: number): void {
  for (const entry of ownEntries(desk.db, context, above)) derive(desk, context.id, entry)
  desk.db.run('UPDATE context SET derived_seq = seq, derived_by = ? WHERE id = ?', desk.derivedBy, context.id)
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

function inboxFacts(
  db: Database,
  context: ContextRow | undefined,
  request: Port.AppendRequest,
): Map<string, InboxFact> {
  const facts = new Map<string, InboxFact>()
  if (context === undefined) return facts
  const posts = (request.inbox ?? []).map(({ key }) => key)
  const takes = (request.entries ?? []).flatMap((entry) => entry.takes ?? [])
  for (const key of new Set([...posts, ...takes])) {
    const row = db.get('SELECT seq, taken, digest FROM inbox WHERE context = ? AND key = ?', context.id, key)
    if (row !== undefined)
      facts.set(key, { seq: row[0] as number, taken: row[1] as number, digest: row[2] as string })
  }
  return facts
}

function repeatedReceipt(
  db: Database,
  context: ContextRow,
  { id, since, key }: Port.AppendRequest,
): Port.Receipt {
  const bounds = 'SELECT min(seq), max(seq) FROM entry WHERE context = ? AND seq > ? AND append = ?'
  const [first, last] = db.get(bounds, context.id, since, id) as [number, number]
  const positions = Array.from({ length: last - first + 1 }, (_, i) => first + i)
  const entries = positions.map((seq) => entryAt(db, key, { context: context.id, seq }) as Entry)
  const epoch =
    (entries.find(({ type }) => type === 'claim')?.data['epoch'] as number | undefined) ?? context.head.epoch
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
    status === 'running' || status === 'paused' ? turnOf(db, lineage(db, context), turn)?.from : undefined
  const positions = [waiting, open].filter((seq) => typeof seq === 'number')
  return positions.length === 0 ? undefined : Math.min(...positions)
}

function forkPoint(db: Database, context: number): number {
  const sql = `SELECT max(forked_at) FROM context WHERE parent = ? AND parent_kind = 'fork' AND status <> 'erased'`
  return (db.get(sql, context)?.[0] as number | null) ?? 0
}

function eraseTree(desk: Desk, { id, head }: ContextRow): ContextKey[] {
  const { db } = desk
  const children = db
    .all('SELECT id FROM context WHERE parent = ?', id)
    .map(([child]) => contextById(db, child as number) as ContextRow)
  const below = children
    .filter((child) => child.head.status !== 'erased')
    .flatMap((child) => eraseTree(desk, child))
  dropBlobs(db, { context: id, above: 0, upTo: Number.MAX_SAFE_INTEGER })
  for (const table of ['entry', 'inbox', 'base', 'derived', 'snapshot'])
    db.run(`DELETE FROM ${table} WHERE context = ?`, id)
  const { now } = desk.judge()
  db.run(ENTOMB, Math.max(now, head.at), now, id)
  return [head.key, ...below]
}

const ENTOMB = `UPDATE context SET status = 'erased', outcome = NULL, driver = NULL, renewed_at = NULL, lease_ms = NULL, wake_at = NULL,
  claims = 0, pending = 0, base = seq, at = ?, active_at = ?, derived_seq = seq WHERE id = ?`

/** Forgets that a stretch of entries used blobs, and deletes the blobs that nothing else uses. */
function dropBlobs(
  db: Database,
  { context, above, upTo }: { context: number; above: number; upTo: number },
): void {
  const stretch = 'context = ? AND seq > ? AND seq <= ?'
  const blobs = db.all(`SELECT DISTINCT blob FROM blob_use WHERE ${stretch}`, context, above, upTo)
  db.run(`DELETE FROM blob_use WHERE ${stretch}`, context, above, upTo)
  for (const [blob] of blobs)
    db.run(
      'DELETE FROM blob WHERE id = ? AND NOT EXISTS (SELECT 1 FROM blob_use WHERE blob_use.blob = blob.id)',
      blob as number,
    )
}

function missingBlob(hash: string, contextId: string): HoldfastError {
  return new HoldfastError('invalid-entry', {
    message: `An entry for ${contextId} names blob ${hash}, which is not stored. Put the blob first, then append.`,
    details: { hash },
  })
}
