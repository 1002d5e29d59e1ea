/**
 * Copies the intact entries of a damaged file into a new one, and only reads the damaged file. The new file holds each
 * conversation's entries up to the first lost one, so that a conversation that continues is whole; intact entries after
 * a gap are written beside it as JSON lines, for people to inspect. Snapshots are derived and left out.
 */
import { appendFileSync, existsSync, rmSync } from 'node:fs'
import {
  type ContextKey,
  type Entry,
  type EntryData,
  HoldfastError,
  invalidOption,
  keyText,
  shown,
} from '../../../protocol/index.ts'
import { derivationsByType, STANDARD_DERIVATIONS } from '../../derive.ts'
import { hashOf } from '../../encode.ts'
import { newHead } from '../../head.ts'
import { Backlogs } from '../backlog.ts'
import { makeFile, moveIntoPlace, ownName } from '../copy.ts'
import { type Cell, Database } from '../database.ts'
import { setName } from '../derived.ts'
import { HeadCache } from '../head-cache.ts'
import { blobReader, readEntries, viewOf } from '../reader.ts'
import { rebuild, restoreParent } from '../rebuild.ts'
import { checksumMatches } from '../row-checksum.ts'
import { type ContextRow, contextById, findContext, putContext, toEntry } from '../rows.ts'
import type { WriteContext } from '../writer.ts'
import { DamagedFile } from './damaged-file.ts'

export interface SalvageReport {
  readonly conversations: readonly SalvagedConversation[]
  /** The file with intact entries after a gap, one JSON object per line; absent if there are none. */
  readonly rest?: string
}

export interface SalvagedConversation {
  /** Absent if the name is lost; its entries are then in the rest, under `context`. */
  readonly key?: ContextKey
  readonly context: number
  readonly erased: boolean
  readonly intact: number
  /** Intact entries that the new file holds. */
  readonly kept: number
  /** Missing positions, both ends inclusive. */
  readonly lost: readonly { readonly from: number; readonly to: number }[]
  /** The head row was damaged: entries after the last one found may be missing. */
  readonly endUnknown: boolean
}

/**
 * Creates the new file `to`, which must not exist, from the damaged file `from`, which no store of this process may
 * have open. Needs disk space for two copies, which have temporary names until they are complete.
 */
export async function salvageSqlite(from: string, to: string): Promise<SalvageReport> {
  for (const path of [from, to])
    if (typeof path !== 'string' || path === '')
      throw invalidOption('salvageSqlite()', `needs the paths of both files, not ${shown(path)}`)
  const rest = `${to}.rest.jsonl`
  if (existsSync(rest))
    throw refused('exists', `${rest} exists already and was left as it is. Choose a new path`)
  if (!existsSync(from))
    throw refused('not-found', `${from} does not exist. Give the path of the damaged file`)
  const damaged = await DamagedFile.open(from, ownName(to, 'damaged')).catch((error: Error) => {
    throw refused(
      'store-failed',
      `${from} could not be copied beside ${to} (${error.message.split(',')[0]}); it was left as it is. Check both paths, and that the disk has room for two copies`,
    )
  })
  if (damaged === undefined)
    throw refused(
      'store-corrupt',
      `In ${from} no conversation could be found; it was left as it is. Restore a backup`,
    )
  const conversations: SalvagedConversation[] = []
  const partialRest = ownName(to, 'rest')
  try {
    await makeFile(to, async (partial) => {
      const db = new Database(partial, {
        synchronous: 'NORMAL',
        readOnly: false,
        busyMs: 0,
        maxBytes: undefined,
      })
      await copyBlobs(damaged, db)
      const names = damaged.names()
      for (const id of damaged.contextIds()) {
        const found = await copyContext(db, { damaged, id, name: names.get(id), rest: partialRest })
        if (found !== undefined) conversations.push(found)
      }
      await db.close()
    })
    if (!existsSync(partialRest)) return { conversations }
    moveIntoPlace(partialRest, rest)
    return { conversations, rest }
  } catch (error) {
    rmSync(partialRest, { force: true })
    throw error
  } finally {
    damaged.close()
  }
}

interface ContextRemains {
  readonly damaged: DamagedFile
  readonly id: number
  readonly name: ContextKey | undefined
  readonly rest: string
}

interface Rows {
  readonly row: Cell[]
  readonly entry: Entry
}

async function copyContext(db: Database, remains: ContextRemains): Promise<SalvagedConversation | undefined> {
  const { damaged, id, rest } = remains
  const stored = damaged.context(id)
  const key = stored?.head.key ?? remains.name
  const found = intactEntries(db, remains, { stored, key })
  const report = { context: id, ...(key && { key }), erased: false, endUnknown: stored === undefined }
  if (stored?.head.status === 'erased') {
    await db.write(() => putContext(db, withParent(db, stored)))
    return { ...report, erased: true, intact: 0, kept: 0, lost: [] }
  }
  if (stored === undefined && found.length === 0) return undefined
  const live = liveEntries(found, stored)
  const copied =
    key !== undefined && live.length > 0 && (await copyLive(db, remains, { stored, key, found, live }))
  const last = copied ? (live.at(-1)?.entry.seq ?? 0) : 0
  const beyond = found.filter(({ entry }) => entry.seq > last)
  const lines = beyond.map(({ entry }) => `${JSON.stringify({ ...key, context: id, ...entry })}\n`)
  if (lines.length > 0) appendFileSync(rest, lines.join(''))
  return {
    ...report,
    intact: found.length,
    kept: found.length - beyond.length,
    lost: lostRanges(found, stored),
  }
}

/** Blobs are verified by their hash; the copies keep their ids. */
async function copyBlobs(damaged: DamagedFile, db: Database): Promise<void> {
  const put = 'INSERT OR IGNORE INTO blob (id, tenant, actor, hash, at, data) VALUES (?, ?, ?, ?, ?, ?)'
  for (const row of damaged.blobs()) {
    const [, , , hash, , data] = row
    if (data instanceof Uint8Array && hashOf(data) === hash) await db.write(() => db.run(put, ...row))
  }
}

function intactEntries(
  db: Database,
  { damaged, id }: ContextRemains,
  { stored, key }: { stored: ContextRow | undefined; key: ContextKey | undefined },
): Rows[] {
  const unknownKey = { tenant: '-', actor: '-', contextId: '-' }
  const source = { key: key ?? unknownKey, context: id, blob: blobReader(db, key ?? unknownKey) }
  const found: Rows[] = []
  for (const row of damaged.entries(id, stored?.head.seq)) {
    try {
      found.push({ row, entry: toEntry(row, source) })
    } catch (error) {
      if (!HoldfastError.is(error, 'entry-corrupt')) throw error
    }
  }
  return found
}

/** The entries without a gap from the newest base, the fork point or the beginning on. */
function liveEntries(found: readonly Rows[], stored: ContextRow | undefined): Rows[] {
  const start = startOf(found, stored)
  const live: Rows[] = []
  for (const item of found) if (item.entry.seq === start + live.length) live.push(item)
  const base = newestBase(found)
  // A base after the gap cannot start the new conversation.
  return base === undefined || live.some(({ entry }) => entry.seq === base.seq) ? live : []
}

function startOf(found: readonly Rows[], stored: ContextRow | undefined): number {
  const base = newestBase(found)
  if (base !== undefined) return (base.data as EntryData['base']).upTo + 1
  if ((stored?.head.base ?? 0) > 0) return Number.NaN
  const first = found[0]?.entry
  if (stored !== undefined) return stored.forkedAt + 1
  return first?.type === 'fork' ? first.seq : 1
}

function newestBase(found: readonly Rows[]): Entry | undefined {
  return found.findLast(({ entry }) => entry.type === 'base')?.entry
}

interface LiveEntries {
  readonly stored: ContextRow | undefined
  readonly key: ContextKey
  readonly found: readonly Rows[]
  readonly live: readonly Rows[]
}

const ENTRY_INTO =
  'INSERT INTO entry (seq, turn, at, type, v, data, extra, crc, append, context) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)'

/** False if the conversation is not self-contained in the new file, as a fork of one that lost its part. */
async function copyLive(
  db: Database,
  remains: ContextRemains,
  { stored, key, found, live }: LiveEntries,
): Promise<boolean> {
  const { id } = remains
  const last = live.at(-1)?.entry.seq ?? 0
  const writing: WriteContext = {
    db,
    judge: () => ({ now: 0, liveness: () => 'unknown' }),
    derivations: STANDARD_DERIVATIONS,
    derivationsOf: derivationsByType(STANDARD_DERIVATIONS),
    derivedBy: setName(STANDARD_DERIVATIONS),
    backlogs: new Backlogs(db),
    headCache: new HeadCache(db),
  }
  try {
    await db.write(() => {
      if (findContext(db, key) !== undefined) throw refused('exists', `${keyText(key)} is there twice`)
      const context = stored === undefined ? unlinked(id, key) : withParent(db, stored)
      putContext(db, { ...context, head: { ...context.head, seq: 0 } })
      for (const { row } of found.filter((item) => item.entry.seq <= last)) db.run(ENTRY_INTO, ...row, id)
      if (stored === undefined) putContext(db, restoreParent(db, context))
      copyOldRows(db, remains, (live[0]?.entry.seq ?? 1) - 1)
      rebuild(writing, key)
      const whole = viewOf(db, findContext(db, key) as ContextRow)
      for (let from = 1; from <= last; from += 1000) readEntries(db, whole, { from, to: from + 999 })
    })
    return true
  } catch (error) {
    if (HoldfastError.is(error)) return false
    throw error
  }
}

/** A row for a conversation that has lost its own; `rebuild` computes the rest from its entries. */
function unlinked(id: number, key: ContextKey): ContextRow {
  return { id, head: newHead(key, 0), parentId: undefined, forkedAt: 0, derivedSeq: 0, derivedBy: '' }
}

/** Rows of inbox and derived indexes whose entries were pruned; the others are recomputed. */
function copyOldRows(db: Database, { damaged, id }: ContextRemains, below: number): void {
  const inbox =
    'INSERT OR IGNORE INTO inbox (key, seq, taken, digest, crc, context) VALUES (?, ?, ?, ?, ?, ?)'
  for (const row of damaged.rowsOf('key, seq, taken, digest, crc', 'inbox', id))
    if ((row[1] as number) <= below && checksumMatches(row, id)) db.run(inbox, ...row, id)
  const derived =
    'INSERT OR IGNORE INTO derived (idx, key, seq, value, crc, context) VALUES (?, ?, ?, ?, ?, ?)'
  for (const row of damaged.rowsOf('idx, key, seq, value, crc', 'derived', id))
    if ((row[2] as number) <= below && checksumMatches(row, id)) db.run(derived, ...row, id)
}

/** Drops a parent that could not be copied. */
function withParent(db: Database, context: ContextRow): ContextRow {
  if (context.parentId === undefined || contextById(db, context.parentId) !== undefined) return context
  const { parent, ...head } = context.head
  if (parent?.kind === 'fork' && context.head.base <= context.forkedAt && context.head.status !== 'erased')
    throw refused('not-found', `The parent of ${keyText(head.key)} could not be copied`)
  return { ...context, head, parentId: undefined, forkedAt: 0 }
}

function lostRanges(found: readonly Rows[], stored: ContextRow | undefined): { from: number; to: number }[] {
  const start = startOf(found, stored)
  const first = Number.isNaN(start) ? (stored?.head.base ?? 0) + 1 : start
  const ranges: { from: number; to: number }[] = []
  let next = first
  for (const { entry } of found.filter((item) => item.entry.seq >= first)) {
    if (entry.seq > next) ranges.push({ from: next, to: entry.seq - 1 })
    next = entry.seq + 1
  }
  const last = stored?.head.seq ?? next - 1
  if (last >= next) ranges.push({ from: next, to: last })
  return ranges
}

function refused(
  code: 'exists' | 'not-found' | 'store-corrupt' | 'store-failed',
  why: string,
): HoldfastError {
  return new HoldfastError(code, { message: `${why}.` })
}
