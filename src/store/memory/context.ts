/** One conversation's rows in memory: entries as encoded text, its inbox, its derived rows. */
import {
  type ContextKey,
  type Entry,
  HoldfastError,
  type JsonObject,
  keyText,
  sameKey,
} from '../../protocol/index.ts'
import { checkedRows, type Derivation, type TurnRange, turnKey, turnRange } from '../derive.ts'
import { type CutValue, decode, type Encoded, inboxDigest } from '../encode.ts'
import { copyHead } from '../head.ts'
import { isSubConversation, tombstone } from '../history.ts'
import { type BaseMark, type ForkLink, lineageOf } from '../lineage.ts'
import { jsonCopy } from '../plain.ts'
import type { Head, IndexRow, ListPage, ListQuery, LookupQuery, ScanQuery, Snapshot } from '../port.ts'
import { byCodePoint, byContextKey, fromCursor, limitOf, toCursor } from '../query.ts'
import type { InboxFact } from '../rules.ts'
import { RowList } from './row-list.ts'

/** An entry, with its data as text. All rows have one shape. */
export interface Row extends Required<Pick<Entry, 'seq' | 'turn' | 'at' | 'type' | 'v'>> {
  readonly key: string | undefined
  readonly takes: readonly number[] | undefined
  readonly refs: readonly string[] | undefined
  readonly optional: true | undefined
  readonly json: string
  readonly cuts: readonly CutValue[]
  readonly append: string
}

/** A validated entry: writing it cannot fail. */
export interface PreparedEntry {
  readonly entry: Entry
  readonly encoded: Encoded
  readonly append: string
  readonly derived: readonly DerivedRow[]
}

/** A snapshot, with its state as text. */
interface SnapshotRow extends Omit<Snapshot, 'state'> {
  readonly json: string
}

interface DerivedRow {
  readonly index: string
  readonly row: IndexRow
}

export class Context {
  readonly id: number
  parent: Context | undefined
  head: Head
  readonly rows: RowList<Row> = new RowList()
  readonly inbox: Map<string, InboxFact> = new Map()
  /** Keys of the untaken inbox entries, by position, oldest first. */
  readonly untaken: Map<number, string> = new Map()
  /** By index and key, oldest first. */
  readonly derived: Map<string, Map<string, IndexRow[]>> = new Map()
  bases: BaseMark[] = []
  snapshots: SnapshotRow[] = []

  constructor(id: number, head: Head, parent?: Context) {
    this.id = id
    this.head = head
    this.parent = parent
  }

  /** This context and its ancestors by fork, youngest first. */
  line(): ForkLink<Context>[] {
    if (this.head.status === 'erased') return []
    const forkedAt = this.head.parent?.kind === 'fork' ? this.head.parent.at : 0
    const own = { id: this, forkedAt, bases: this.bases }
    return forkedAt > 0 && this.parent !== undefined ? [own, ...this.parent.line()] : [own]
  }

  /** The highest position that a fork of this context reads. */
  forkPoint(all: Iterable<Context>): number {
    const forks = [...all].filter(({ parent, head }) => parent === this && head.parent?.kind === 'fork')
    return Math.max(
      0,
      ...forks.filter(({ head }) => head.status !== 'erased').map(({ head }) => head.parent?.at ?? 0),
    )
  }

  write({ entry, encoded, append, derived }: PreparedEntry): void {
    const { seq, turn, at, type, v, key, optional } = entry
    const { json, cuts } = encoded
    // Copies: the receipt has these lists, and a caller may change them.
    const takes = entry.takes && [...entry.takes]
    const refs = entry.refs && [...entry.refs]
    this.rows.push({ seq, turn, at, type, v, key, takes, refs, optional, json, cuts, append })
    if (key !== undefined) {
      this.inbox.set(key, { seq, taken: 0, digest: inboxDigest(type, encoded) })
      this.untaken.set(seq, key)
    }
    if (takes !== undefined) for (const taken of takes) this.#take(taken, seq)
    if (derived.length > 0) this.addDerived(derived)
  }

  #take(seq: number, by: number): void {
    const key = this.untaken.get(seq)
    const fact = key === undefined ? undefined : this.inbox.get(key)
    if (key === undefined || fact === undefined) return
    this.inbox.set(key, { ...fact, taken: by })
    this.untaken.delete(seq)
  }

  addDerived(derived: readonly DerivedRow[]): void {
    for (const { index, row } of derived) {
      const byKey = this.derived.get(index) ?? new Map<string, IndexRow[]>()
      this.derived.set(index, byKey)
      const rows = byKey.get(row.key)
      if (rows === undefined) byKey.set(row.key, [row])
      else rows.push(row)
    }
  }

  /** Drops the derived rows of entries above a position. */
  dropDerived(above: number): void {
    for (const byKey of this.derived.values())
      for (const [key, rows] of byKey)
        byKey.set(
          key,
          rows.filter(({ seq }) => seq <= above),
        )
  }

  /** Positions of an append's entries after `since`. */
  positionsOf(append: string, since: number): readonly number[] {
    const positions: number[] = []
    for (let seq = since + 1; seq <= this.head.seq; seq++)
      if (this.rows.get(seq)?.append === append) positions.push(seq)
    return positions
  }

  entry(seq: number, blob: (hash: string) => Uint8Array | undefined): Entry | undefined {
    const row = this.rows.get(seq)
    if (row === undefined) return undefined
    try {
      return entryOf(row, decode(row.json, row.cuts, blob))
    } catch (cause) {
      throw new HoldfastError('entry-corrupt', {
        message: `Entry ${seq} of ${this.head.key.contextId} is damaged (${(cause as Error).message}).`,
        details: { contextId: this.head.key.contextId, seq },
        cause,
      })
    }
  }

  /** Rows of a derived index, through the whole line of forks. */
  lookup(query: LookupQuery): IndexRow[] {
    const newest = new Map<string, IndexRow>()
    for (const { id, to } of lineageOf(this.line()).ancestry) {
      const byKey = id.derived.get(query.index) ?? NO_KEYS
      for (const [key, rows] of query.key === undefined
        ? byKey
        : [[query.key, byKey.get(query.key)] as const]) {
        if (!matchesLookup(key, query) || newest.has(key)) continue
        const row = rows?.findLast(({ seq }) => seq <= to)
        if (row !== undefined) newest.set(key, row)
      }
    }
    const rows = [...newest.values()].sort((a, b) => byCodePoint(a.key, b.key))
    const found = (query.order === 'last' ? rows.reverse() : rows).slice(0, limitOf(query.limit, 1000))
    return found.map(({ key, seq, value }) => ({ key, seq, value: jsonCopy(value) }))
  }

  turn(turn: number): TurnRange | undefined {
    const row = (index: string) => this.lookup({ index, key: turnKey(turn) })[0]
    return turnRange(row('turn'), row('outcome'))
  }

  /** The oldest position that pruning up to `upTo` must keep. */
  needed(upTo: number): number | undefined {
    const { status, turn } = this.head
    const open = status === 'running' || status === 'paused' ? this.turn(turn)?.from : undefined
    const inbox = [...this.inbox.values()]
      .filter(({ taken }) => taken === 0 || taken > upTo)
      .map(({ seq }) => seq)
    return [...inbox, ...(open === undefined ? [] : [open])].sort((a, b) => a - b)[0]
  }

  /** Parent and base of a context that is recreated after an erase. */
  recreate(base: BaseMark, { parent }: Head): void {
    this.bases = [base]
    if (parent === undefined) this.parent = undefined
  }

  wipe(now: number): void {
    this.rows.clear()
    this.inbox.clear()
    this.untaken.clear()
    this.derived.clear()
    this.bases = []
    this.snapshots = []
    this.head = tombstone(this.head, now)
  }
}

/** All conversations of a store. */
export class Contexts {
  readonly #byKey = new Map<string, Context>()
  /** The last one found: a driver uses the same key over and over. */
  #last: { readonly key: ContextKey; readonly context: Context } | undefined

  find(key: ContextKey): Context | undefined {
    if (this.#last !== undefined && sameKey(this.#last.key, key)) return this.#last.context
    const context = this.#byKey.get(keyText(key))
    // A copy: the caller may change its object.
    if (context !== undefined) this.#last = { key: { ...key }, context }
    return context
  }

  create(head: Head, parent: Context | undefined): Context {
    const context = new Context(this.#byKey.size + 1, head, parent)
    this.#byKey.set(keyText(head.key), context)
    return context
  }

  values(): Iterable<Context> {
    return this.#byKey.values()
  }

  list(query: ListQuery): ListPage {
    const { tenant, actor } = query.owner
    const limit = limitOf(query.limit, 50)
    const cursor = fromCursor(query.cursor)
    const matching = [...this.#byKey.values()]
      .filter(({ head }) => head.key.tenant === tenant && head.key.actor === actor && matches(head, query))
      .filter(
        ({ id, head: { activeAt } }) =>
          !cursor || activeAt < cursor.activeAt || (activeAt === cursor.activeAt && id < cursor.id),
      )
      .sort((a, b) => b.head.activeAt - a.head.activeAt || b.id - a.id)
    const heads = matching.slice(0, limit)
    const last = matching.length > limit ? heads.at(-1) : undefined
    const next = last === undefined ? {} : { next: toCursor({ activeAt: last.head.activeAt, id: last.id }) }
    return { heads: heads.map(({ head }) => copyHead(head)), ...next }
  }

  scan({ after, limit }: ScanQuery): Head[] {
    return [...this.#byKey.values()]
      .map(({ head }) => head)
      .filter(({ key }) => after === undefined || byContextKey(key, after) > 0)
      .sort((a, b) => byContextKey(a.key, b.key))
      .slice(0, limitOf(limit, 100))
      .map(copyHead)
  }
}

export function isLivingFork({ head }: Context): boolean {
  return head.parent?.kind === 'fork' && head.status !== 'erased'
}

/** An entry with this data. */
function entryOf({ seq, at, turn, type, v, key, takes, refs, optional }: Row, data: JsonObject): Entry {
  const entry: { -readonly [K in keyof Entry]: Entry[K] } = { seq, at, turn, type, v, data }
  if (key !== undefined) entry.key = key
  if (takes !== undefined) entry.takes = [...takes]
  if (refs !== undefined) entry.refs = [...refs]
  if (optional !== undefined) entry.optional = optional
  return entry
}

const NO_ROWS: readonly DerivedRow[] = []

export function derive(entry: Entry, derivations: readonly Derivation[]): readonly DerivedRow[] {
  if (derivations.length === 0) return NO_ROWS
  const derived: DerivedRow[] = []
  for (const derivation of derivations)
    for (const { key, value } of checkedRows(derivation, entry))
      derived.push({ index: derivation.index, row: { key, seq: entry.seq, value: jsonCopy(value) } })
  return derived
}

export function hashesOf({ cuts, refs = [] }: Row): string[] {
  return [...cuts.map(({ hash }) => hash), ...refs]
}

function matches(head: Head, { status, prefix, parent, activeSince }: ListQuery): boolean {
  if (head.status === 'erased' || (status !== undefined && head.status !== status)) return false
  if (parent === undefined ? isSubConversation(head) : head.parent?.contextId !== parent) return false
  return head.key.contextId.startsWith(prefix ?? '') && head.activeAt >= (activeSince ?? 0)
}

const NO_KEYS: ReadonlyMap<string, IndexRow[]> = new Map()

function matchesLookup(key: string, query: LookupQuery): boolean {
  if (query.key !== undefined) return true
  return key.startsWith(query.prefix ?? '') && byCodePoint(key, query.after ?? '') > 0
}
