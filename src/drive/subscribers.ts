/**
 * Those who listen to a conversation, and how far they have been told. Everybody hears of every entry, in order, whoever
 * wrote it: what this process did not see is read before what comes after it is told (R18).
 */
import { beginsAnew } from '../journal/index.ts'
import type { ContextKey, Entry, EntryEvent, RequestData, TurnEvent } from '../protocol/index.ts'
import { begunAnew, type Store } from '../store/index.ts'
import { findPosted } from './find-consumed.ts'
import type { Publication } from './journal-state.ts'
import type { TurnSubscription } from './turn-subscription.ts'

/** Of one turn, when it is told again. */
const MOST_ENTRIES = 100_000

interface Heard {
  readonly entry: Entry
  readonly how: Publication | undefined
}

export class Subscribers {
  readonly subscriptions: Set<TurnSubscription> = new Set()
  readonly #store: Store
  readonly #key: ContextKey
  /** The last position that was told; undefined before the conversation was looked at. */
  #told: number | undefined
  /** What cannot be told before a gap is filled. */
  #held: Heard[] | undefined
  #filling: Promise<void> | undefined
  /** Positions of the inbox entries that were told and not taken. */
  readonly #waiting = new Set<number>()
  /** How many turns have been told to their end. */
  #ended = 0
  /** What happened since the last turn ended. */
  #since: EntryEvent[] = []
  /** What waits for an answer: a turn that ends to wait says all of it, whoever asked. */
  readonly #asked = new Map<string, RequestData>()

  #isCompleting = false

  constructor(store: Store, key: ContextKey) {
    this.#store = store
    this.#key = key
  }

  /** An observer is being told that a turn is complete. */
  get isCompleting(): boolean {
    return this.#isCompleting
  }

  /** Observers find the conversation busy inside of `complete`, until they wait for something there. */
  complete(tell: () => void): void {
    this.#isCompleting = true
    try {
      tell()
    } finally {
      this.#isCompleting = false
    }
  }

  get isStarted(): boolean {
    return this.#told !== undefined
  }

  get told(): number {
    return this.#told ?? 0
  }

  /** Is an inbox entry untaken that was told before the last entry? The owner knows of it and goes on by itself. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0
  }

  get since(): readonly EntryEvent[] {
    return this.#since
  }

  /** From here on. */
  startFrom(seq: number, asked: readonly RequestData[]): void {
    this.#told ??= seq
    for (const request of asked) this.#asked.set(request.requestId, request)
  }

  hear(entry: Entry, how?: Publication): void {
    if (this.#held !== undefined) this.#held.push({ entry, how })
    else if (how === 'unsaved' || this.#told === undefined || entry.seq === this.#told + 1)
      this.#tell(entry, how)
    else if (entry.seq > this.#told + 1) this.#filling = this.#fill({ entry, how })
  }

  /**
   * A listener whose message was posted before, under this key, is told of the turn that took it or, if others went on
   * with that one, of the newest of these; while it waits, of the turn that will take it. False if the journal does not
   * reach back to it.
   */
  async join(subscription: TurnSubscription, posted: string): Promise<boolean> {
    for (;;) {
      await this.catchUp()
      const before = this.#ended
      const found = await findPosted(this.#store, this.#key, posted)
      // A turn that ended meanwhile may have taken it, and is not told again.
      if (before !== this.#ended) continue
      if (found?.turn !== undefined) await this.retell(subscription, found.turn, found.isOver)
      else if (found !== undefined) subscription.recognise(eventOf(found.entry), this.#since)
      return found !== undefined
    }
  }

  /** Tells what others have written, up to now. */
  async catchUp(): Promise<void> {
    for (;;) {
      await this.#filling
      const entries = await this.#store.read(this.#key, { from: this.told + 1 })
      const anew = this.told > 0 ? entries.find(beginsAnew) : undefined
      if (anew !== undefined) throw begunAnew(this.#key, anew.data.position)
      for (const entry of entries) this.hear(entry)
      if (entries.length === 0) return
    }
  }

  /**
   * Tells one listener of a turn of the past, as far as it has come; what comes after is told as it happens. `isOver`:
   * the conversation has turned to something else since, and nothing that the turn asked waits any more.
   */
  async retell(subscription: TurnSubscription, number: number, isOver = false): Promise<void> {
    for (;;) {
      const before = this.#told
      const entries = await this.#store.read(this.#key, { turn: number, limit: MOST_ENTRIES })
      const hasEnded = entries.some(({ type, turn }) => type === 'turn.end' && turn === number)
      if (before !== this.#told && !hasEnded) continue
      const events = entries.filter(({ turn }) => turn === number).map((entry) => eventOf(entry))
      subscription.follow(number, events, isOver ? [] : [...this.#asked.values()])
      return
    }
  }

  /** What is not stored. */
  delta(event: TurnEvent): void {
    for (const subscription of this.subscriptions) subscription.delta(event)
  }

  /** Something that happened below turn `number`. */
  forward(number: number, event: TurnEvent): void {
    for (const subscription of this.subscriptions)
      if (subscription.number === number) subscription.turn.push(event)
  }

  async #fill(first: Heard): Promise<void> {
    const held = [first]
    this.#held = held
    try {
      const missing = await this.#store.read(this.#key, { from: this.told + 1, to: first.entry.seq - 1 })
      for (const entry of missing) this.#tell(entry)
    } catch {
      // What cannot be read is not told; what comes after it is.
    }
    this.#held = undefined
    this.#told = first.entry.seq - 1
    for (const { entry, how } of held) this.hear(entry, how)
  }

  #tell(entry: Entry, how?: Publication): void {
    if (how !== 'unsaved') this.#told = entry.seq
    if (how === 'saved') return
    const event = eventOf(entry, how)
    this.#since.push(event)
    if (entry.key !== undefined && how === undefined) this.#waiting.add(entry.seq)
    if (entry.takes !== undefined) for (const taken of entry.takes) this.#waiting.delete(taken)
    if (event.type === 'request.start') this.#asked.set(event.data.requestId, event.data)
    else if (event.type === 'request.end') this.#asked.delete(event.data.requestId)
    else if (event.type === 'clear') this.#asked.clear()
    for (const subscription of this.subscriptions) subscription.see(event, this.#since, this.#asked)
    if (entry.type === 'turn.end') this.#ended += 1
    if (entry.type === 'turn.end' || (entry.type === 'release' && entry.turn === 0)) this.#since = []
  }
}

function eventOf(entry: Entry, how?: Publication): EntryEvent {
  const { seq, turn, at, type, data, key, takes } = entry
  const event: Record<string, unknown> =
    how === 'unsaved' ? { turn, at, type, data } : { seq, turn, at, type, data }
  if (key !== undefined) event['key'] = key
  if (takes !== undefined) event['takes'] = takes
  return event as unknown as EntryEvent
}
