/**
 * Derived indexes in the file. How far each index is known to be whole is kept in two places: the context row says it
 * for one set of indexes, and costs an append nothing beyond the head that it writes anyway; `derived_upto` says it
 * for the indexes of other processes' sets, and is written only when one set takes the row over from another.
 *
 * Only a process that knows a derivation can catch up on it. An index that the pruning process does not know loses
 * the rows of those pruned entries that it had not been derived from yet.
 */
import { type ContextKey, type Entry, HoldfastError, quote } from '../../protocol/index.ts'
import type { Derivation } from '../derive.ts'
import type { Database } from './database.ts'
import { type FreshRow, lineage, ownEntries } from './reader.ts'
import { type ContextRow, contextById, findContext, putContext } from './rows.ts'
import { isSealed, seal } from './seal.ts'

/** What is needed to keep the indexes of one store. */
export interface Indexes {
  readonly db: Database
  readonly derivations: readonly Derivation[]
  /** The names of them all, as the context row has them. */
  readonly derivedBy: string
}

const INDEX_NAME = /^[a-z][a-z0-9.-]*$/

/** Names a set of derivations, whatever their order. */
export function setName(derivations: readonly Derivation[]): string {
  for (const { index } of derivations) {
    if (typeof index === 'string' && INDEX_NAME.test(index)) continue
    throw new HoldfastError('invalid-option', {
      message: `${quote(index)} cannot be the name of a derived index: use a-z, 0-9, dots and dashes, a letter first.`,
    })
  }
  return derivations
    .map(({ index }) => index)
    .sort()
    .join(' ')
}

/** Derives what was appended by processes that keep other indexes, along the whole line; returns the row as it is then. */
export function catchUp(indexes: Indexes, key: ContextKey): ContextRow | undefined {
  const context = findContext(indexes.db, key)
  for (const link of context === undefined ? [] : lagging(indexes, context)) {
    for (const step of missing(indexes, link)) deriveOne(indexes.db, { ...step, context: link.id })
    takeOver(indexes, link)
  }
  return findContext(indexes.db, key)
}

/** The contexts of a line whose derived rows are not all stored. */
export function lagging(indexes: Indexes, context: ContextRow): ContextRow[] {
  return lineage(indexes.db, context)
    .segments.map(({ id }) => contextById(indexes.db, id) as ContextRow)
    .filter(
      (link) => !isCurrent(indexes, link) && progress(indexes, link).some(([, upTo]) => upTo < link.head.seq),
    )
}

/** What `catchUp` would store, for a reader that may not write; the newest first. */
export function freshRows(indexes: Indexes, context: ContextRow): FreshRow[] {
  return lagging(indexes, context).flatMap((link) =>
    [...missing(indexes, link)].reverse().flatMap(({ entry, derivation }) =>
      checkedRows(derivation, entry).map((row) => ({
        context: link.id,
        index: derivation.index,
        row: { ...row, seq: entry.seq },
      })),
    ),
  )
}

/** Does the row itself say that our indexes are whole? Then new entries can be derived as they are appended. */
export function isCurrent({ derivedBy }: Indexes, context: ContextRow): boolean {
  return context.derivedBy === derivedBy && context.derivedSeq === context.head.seq
}

export function derive({ db, derivations }: Indexes, context: number, entry: Entry): void {
  for (const derivation of derivations) deriveOne(db, { context, entry, derivation })
}

/** For when rows above the base are dropped: then all that was known of other sets is wrong. */
export function forgetProgress(db: Database, context: number): void {
  db.run('DELETE FROM derived_upto WHERE context = ?', context)
}

interface Step {
  readonly entry: Entry
  readonly derivation: Derivation
}

function deriveOne(db: Database, { context, entry, derivation }: Step & { readonly context: number }): void {
  const put = 'INSERT OR REPLACE INTO derived (context, idx, key, seq, value, crc) VALUES (?, ?, ?, ?, ?, ?)'
  for (const { key, value } of checkedRows(derivation, entry)) {
    const cells = [context, derivation.index, key, entry.seq, JSON.stringify(value)] as const
    db.run(put, ...cells, seal(cells))
  }
}

/** SQLite's text ends at a NUL for some readers, and half a surrogate pair comes back as another character. */
function checkedRows({ index, rows }: Derivation, entry: Entry): ReturnType<Derivation['rows']> {
  const found = rows(entry)
  for (const { key } of found) {
    if (typeof key === 'string' && key.isWellFormed() && !key.includes('\0')) continue
    throw new HoldfastError('invalid-entry', {
      message: `The derived index ${quote(index)} made the key ${quote(key)} from entry ${entry.seq}; a key must be text without NUL and without broken characters.`,
      details: { index, seq: entry.seq },
    })
  }
  return found
}

/** Every entry that some of our indexes lack, with each of these, in the order of the entries. */
function* missing(indexes: Indexes, link: ContextRow): Generator<Step> {
  const upTos = progress(indexes, link)
  for (const entry of ownEntries(indexes.db, link, Math.min(...upTos.map(([, upTo]) => upTo))))
    for (const [derivation, upTo] of upTos) if (upTo < entry.seq) yield { entry, derivation }
}

/** Up to where the stored rows of each of our indexes are known to be whole. */
function progress({ db, derivations }: Indexes, link: ContextRow): [Derivation, number][] {
  const current = new Set(link.derivedBy.split(' '))
  const start = Math.max(link.head.base, link.forkedAt)
  return derivations.map((derivation) => {
    const known = current.has(derivation.index)
      ? link.derivedSeq
      : storedProgress(db, link.id, derivation.index)
    return [derivation, Math.max(start, known)]
  })
}

/** A damaged row is as good as none: to derive anew costs only time. */
function storedProgress(db: Database, context: number, index: string): number {
  const row = db.get('SELECT seq, crc FROM derived_upto WHERE context = ? AND idx = ?', context, index)
  return row !== undefined && isSealed(row, context, index) ? (row[0] as number) : 0
}

/** Makes the row speak for our set, now whole; what it said of indexes that are not ours is kept for their processes. */
function takeOver({ db, derivations, derivedBy }: Indexes, link: ContextRow): void {
  const ours = new Set(derivations.map(({ index }) => index))
  const put = 'INSERT OR REPLACE INTO derived_upto (context, idx, seq, crc) VALUES (?, ?, ?, ?)'
  for (const index of link.derivedBy.split(' ')) {
    if (index === '' || ours.has(index)) continue
    const cells = [link.id, index, link.derivedSeq] as const
    db.run(put, ...cells, seal(cells))
  }
  putContext(db, { ...link, derivedSeq: link.head.seq, derivedBy })
}
