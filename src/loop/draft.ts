/**
 * What a turn says until it is made durable. The loop reads the session only from here: it stands as if everything said
 * were in the journal already, so live run and recovery look at the same thing.
 */
import type { Clock } from '../base/index.ts'
import { advance, type OpenTurn, type Session } from '../journal/index.ts'
import {
  type EntryData,
  type EntryType,
  formatOf,
  HoldfastError,
  type JsonObject,
  type NewEntry,
} from '../protocol/index.ts'
import type { Batch, LoopScope, Next } from './driver-port.ts'

/** The data of an entry as it may be stored. */
export type Hide = <T extends JsonObject>(type: string, data: T) => T

export class Draft {
  readonly #clock: Clock
  readonly #scope: LoopScope
  readonly #hide: Hide
  #said: NewEntry[] = []
  #taken = new Set<string>()
  #session: Session

  constructor(scope: LoopScope, hide: Hide) {
    this.#scope = scope
    this.#hide = hide
    this.#clock = scope.clock
    this.#session = scope.view.session
  }

  get session(): Session {
    return this.#session
  }

  /** The open turn. The loop runs inside of one. */
  get open(): OpenTurn {
    const { open } = this.#session
    if (open !== undefined) return open
    throw new HoldfastError('nothing-to-continue', { message: 'There is no open turn to say anything in.' })
  }

  get isEmpty(): boolean {
    return this.#said.length === 0
  }

  /** Is there more to it than phases that changed nothing? Those can wait for what comes next. */
  get hasNews(): boolean {
    return this.#said.some(({ type, data }) => type !== 'phase' || data['changes'] !== undefined)
  }

  /** The one way for a turn into its journal: here it loses its secrets, so that what is read is what will be stored. */
  append<T extends EntryType>(type: T, given: EntryData[T], takes: readonly string[] = []): void {
    this.#add(type, this.#hide(type, given), takes)
  }

  #add<T extends EntryType>(type: T, data: EntryData[T], takes: readonly string[]): void {
    const turn = type === 'turn.start' ? this.#session.turn + 1 : (this.#session.open?.turn ?? 0)
    this.#said.push(takes.length === 0 ? { type, turn, data } : { type, turn, data, takes })
    for (const key of takes) this.#taken.add(key)
    const { seq } = this.#session
    // How many of them speak is all that the fold asks of what is taken.
    const positions = takes.map(() => seq)
    const at = this.#clock.now()
    const entry = { seq: seq + 1, at, v: formatOf(type), type, turn, data, takes: positions }
    this.#session = advance([entry], this.#session)
  }

  /** Was this inbox entry taken by something that is said but not durable yet? */
  hasTaken(key: string | undefined): boolean {
    return key !== undefined && this.#taken.has(key)
  }

  batch(next: Next): Batch {
    return { entries: this.#said, next }
  }

  /** Puts these in the place of everything since the last batch. They are made of what was said, without its secrets. */
  replace(entries: readonly NewEntry[]): void {
    this.settle()
    for (const { type, data, takes = [] } of entries) this.#add(type as EntryType, data, takes)
  }

  /** After a batch was made durable: what it said is in the journal now. */
  settle(): void {
    this.#said = []
    if (this.#taken.size > 0) this.#taken = new Set()
    this.#session = this.#scope.view.session
  }
}
