/**
 * The entries of a turn that are not durable yet. The loop reads the session only from here, as if the draft were in
 * the journal already, so a live run and a recovery see the same.
 */
import type { Clock } from '../base/index.ts'
import { advance, type OpenTurn, type Session } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  type EntryType,
  type JsonObject,
  type NewEntry,
  stampEntry,
} from '../protocol/index.ts'
import type { LoopScope } from './driver-port.ts'

/** Redacts the data of an entry before it is stored. */
export type Hide = <T extends JsonObject>(type: string, data: T) => T

export class Draft {
  readonly #clock: Clock
  readonly #scope: LoopScope
  readonly #hide: Hide
  #entries: NewEntry[] = []
  /** Appended and not folded yet: the last entries of a batch are rarely read before it is durable. */
  #unread: Entry[] = []
  #taken = new Set<string>()
  #session: Session

  constructor(scope: LoopScope, hide: Hide) {
    this.#scope = scope
    this.#hide = hide
    this.#clock = scope.clock
    this.#session = scope.view.session
  }

  get session(): Session {
    if (this.#unread.length > 0) {
      this.#session = advance(this.#unread, this.#session)
      this.#unread = []
    }
    return this.#session
  }

  /** The open turn; the loop runs inside one. */
  get open(): OpenTurn {
    const { open } = this.session
    if (open !== undefined) return open
    throw new Error('The loop needs an open turn, and none is open. This is a defect of holdfast.')
  }

  get isEmpty(): boolean {
    return this.#entries.length === 0
  }

  /** False if the draft has only phases that changed nothing: those can wait for the next batch. */
  get hasNews(): boolean {
    return this.#entries.some(({ type, data }) => type !== 'phase' || data['changes'] !== undefined)
  }

  /** The one way for a turn into its journal. Data is redacted here, so the loop reads what will be stored. */
  append<T extends EntryType>(type: T, data: EntryData[T], takes: readonly string[] = []): void {
    this.#add(type, this.#hide(type, data), takes)
  }

  #add<T extends EntryType>(type: T, data: EntryData[T], takes: readonly string[]): void {
    const { session } = this
    const turn = type === 'turn.start' ? session.turn + 1 : (session.open?.turn ?? 0)
    this.#entries.push(takes.length === 0 ? { type, turn, data } : { type, turn, data, takes })
    for (const key of takes) this.#taken.add(key)
    const { seq } = session
    // The fold needs only the number of taken entries, not their positions.
    const positions = takes.map(() => seq)
    const stamp = { seq: seq + 1, at: this.#clock.now(), takes: positions }
    this.#unread.push(stampEntry({ type, turn, data }, stamp))
  }

  /** True if an entry of the draft takes this inbox entry. */
  hasTaken(key: string | undefined): boolean {
    return key !== undefined && this.#taken.has(key)
  }

  get entries(): readonly NewEntry[] {
    return this.#entries
  }

  /** Replaces the draft. The entries are made of drafted ones, so they are redacted already. */
  replace(entries: readonly NewEntry[]): void {
    this.reset()
    for (const { type, data, takes = [] } of entries) this.#add(type as EntryType, data, takes)
  }

  /** Clears the draft, after its batch became durable. */
  reset(): void {
    this.#entries = []
    if (this.#unread.length > 0) this.#unread = []
    if (this.#taken.size > 0) this.#taken = new Set()
    this.#session = this.#scope.view.session
  }
}
