/** Shorthand for the requests of a case: one conversation of a store, and its entries. */
import {
  type ContextKey,
  type Entry,
  type InboxType,
  type JsonObject,
  type NewEntry,
  type NewInboxEntry,
  NO_USAGE,
  type OutcomeReason,
  type Owner,
} from '../../protocol/index.ts'
import type { AppendRequest, Head, ReadRange, Receipt, Store } from '../../store/index.ts'

export const ANN: Owner = { tenant: 'acme', actor: 'ann' }
const LEASE_MS = 1000

export function keyOf(contextId = 'talk', owner: Owner = ANN): ContextKey {
  return { ...owner, contextId }
}

let appends = 0

/** An append id that is unique in this process. */
function newId(): string {
  appends += 1
  return `append-${process.pid}-${appends}`
}

export interface Claiming {
  readonly driver?: string
  readonly leaseMs?: number
  readonly entries?: readonly NewEntry[]
  readonly since?: number
}

export class Talk {
  readonly store: Store
  readonly key: ContextKey
  /** The `since` of requests without one. A driver's may not lie below the base of a prune. */
  since = 0

  constructor(store: Store, key: ContextKey) {
    this.store = store
    this.key = key
  }

  append(request: Omit<AppendRequest, 'key' | 'id' | 'since'> & Partial<AppendRequest>): Promise<Receipt> {
    return this.store.append({ key: this.key, id: newId(), since: this.since, ...request })
  }

  /** Posts inputs whose text is their key. */
  post(...keys: readonly string[]): Promise<Receipt> {
    return this.append({ inbox: keys.map((key) => input(key)) })
  }

  claim({
    driver = 'd1',
    leaseMs = LEASE_MS,
    entries = [],
    since = this.since,
  }: Claiming = {}): Promise<Receipt> {
    return this.append({ claim: { driver, leaseMs }, entries, since })
  }

  write(epoch: number, ...entries: readonly NewEntry[]): Promise<Receipt> {
    return this.append({ epoch, entries })
  }

  /** One whole turn: an input, a claim, the start that takes the input, a note, the end. Five entries. */
  async turn(turn: number, outcome: OutcomeReason = 'stop'): Promise<void> {
    await this.post(`input ${turn}`)
    const { epoch } = await this.claim()
    await this.write(epoch, turnStart(turn, `input ${turn}`), note(`note ${turn}`, turn))
    await this.write(epoch, turnEnd(turn, { outcome }))
  }

  async head(): Promise<Head> {
    const head = await this.store.head(this.key)
    if (head === undefined) throw new Error(`${this.key.contextId} has no head row.`)
    return head
  }

  read(range?: ReadRange): Promise<readonly Entry[]> {
    return this.store.read(this.key, range)
  }
}

export function input(key: string, text: string = key, type: InboxType = 'input'): NewInboxEntry {
  return { type, key, data: { message: text } }
}

export function note(text: string, turn = 0): NewEntry {
  return { type: 'note', turn, data: { text, from: 'contract' } }
}

export function turnStart(turn: number, ...takes: readonly string[]): NewEntry {
  return { type: 'turn.start', turn, takes, data: { principal: { ...ANN } } }
}

export function turnEnd(turn: number, data: { outcome?: OutcomeReason; wakeAt?: number } = {}): NewEntry {
  return {
    type: 'turn.end',
    turn,
    data: { outcome: 'stop', usage: { ...NO_USAGE }, durationMs: 1, ...data },
  }
}

export function release(data: { wakeAt?: number; pause?: true } = {}, turn = 0): NewEntry {
  return { type: 'release', turn, data: { reason: 'contract', ...data } }
}

export function entry(type: string, turn = 0, data: JsonObject = {}): NewEntry {
  return { type, turn, data }
}
