/** One conversation's rows in memory: entries as encoded text, its inbox, its derived rows. */
import { type Entry, HoldfastError } from '../../protocol/index.ts'
import type { Derivation } from '../derive.ts'
import { type Cut, decode, type Encoded } from '../encode.ts'
import type { BaseMark, Link } from '../lineage.ts'
import type { Head, IndexRow, Snapshot } from '../port.ts'
import type { InboxFact } from '../rules.ts'

export interface Row {
  readonly envelope: Omit<Entry, 'data'>
  readonly json: string
  readonly cuts: readonly Cut[]
  readonly append: string
}

export class Context {
  readonly id: number
  readonly parent: Context | undefined
  head: Head
  readonly rows: Map<number, Row> = new Map()
  readonly inbox: Map<string, InboxFact> = new Map()
  readonly derived: Map<string, IndexRow[]> = new Map()
  bases: BaseMark[] = []
  snapshots: Snapshot[] = []

  constructor(id: number, head: Head, parent?: Context) {
    this.id = id
    this.head = head
    this.parent = parent
  }

  /** This context and the ones that it reads through to, youngest first. */
  line(): Link<Context>[] {
    const forkedAt = this.head.parent?.kind === 'fork' ? this.head.parent.at : 0
    const own = { id: this, forkedAt, bases: this.bases }
    return forkedAt > 0 && this.parent !== undefined ? [own, ...this.parent.line()] : [own]
  }

  /** The highest position that some fork of this context still reads. */
  forkPoint(all: Iterable<Context>): number {
    const forks = [...all].filter(({ parent, head }) => parent === this && head.parent?.kind === 'fork')
    return Math.max(
      0,
      ...forks.filter(({ head }) => head.status !== 'erased').map(({ head }) => head.parent?.at ?? 0),
    )
  }

  write(entry: Entry, encoded: Encoded, append: string): void {
    const { data: _, ...envelope } = entry
    this.rows.set(entry.seq, { envelope, json: encoded.json, cuts: encoded.cuts, append })
    for (const [key, fact] of this.inbox) {
      if (entry.takes?.includes(fact.seq)) this.inbox.set(key, { ...fact, taken: entry.seq })
    }
  }

  derive(entry: Entry, derivations: readonly Derivation[]): void {
    for (const { index, rows } of derivations) {
      for (const { key, value } of rows(entry)) {
        const kept = this.derived.get(index) ?? []
        kept.push({ key, seq: entry.seq, value })
        this.derived.set(index, kept)
      }
    }
  }

  facts(keys: readonly string[]): Map<string, InboxFact> {
    const found = new Map<string, InboxFact>()
    for (const key of keys) {
      const fact = this.inbox.get(key)
      if (fact !== undefined) found.set(key, fact)
    }
    return found
  }

  hasAppend(id: string, since: number): boolean {
    for (let seq = since + 1; seq <= this.head.seq; seq++) if (this.rows.get(seq)?.append === id) return true
    return false
  }

  entry(seq: number, blob: (hash: string) => Uint8Array | undefined): Entry | undefined {
    const row = this.rows.get(seq)
    if (row === undefined) return undefined
    try {
      return { ...row.envelope, data: decode(row.json, row.cuts, blob) }
    } catch (cause) {
      throw new HoldfastError('entry-corrupt', {
        message: `Entry ${seq} of ${this.head.key.contextId} is damaged (${(cause as Error).message}).`,
        details: { contextId: this.head.key.contextId, seq },
        cause,
      })
    }
  }

  wipe(now: number): void {
    const { key, seq, epoch, createdAt, parent, turn } = this.head
    this.rows.clear()
    this.inbox.clear()
    this.derived.clear()
    this.bases = []
    this.snapshots = []
    const tombstone = {
      key,
      seq,
      at: now,
      turn,
      status: 'erased',
      epoch,
      claims: 0,
      pending: 0,
      base: seq,
    } as const
    this.head = { ...tombstone, createdAt, activeAt: now, ...(parent === undefined ? {} : { parent }) }
  }
}

export function hashesOf({ cuts, envelope }: Row): string[] {
  return [...cuts.map(({ hash }) => hash), ...(envelope.refs ?? [])]
}
