/**
 * The subscribers of a conversation, and the position published to them. Each gets every entry, in order, whichever
 * process wrote it: a gap is read before later entries are published (R18).
 */
import { beginsAnew } from '../journal/index.ts'
import type { ContextKey, Entry, EntryEvent, RequestData, TurnEvent } from '../protocol/index.ts'
import { begunAnew, type Store } from '../store/index.ts'
import { findPosted } from './find-consumed.ts'
import type { Publication } from './journal-state.ts'
import type { TurnSubscription } from './turn-subscription.ts'

/** The bound of a replayed turn. */
const MAX_ENTRIES = 100_000

interface QueuedEntry {
  readonly entry: Entry
  readonly how: Publication | undefined
}

export class Subscribers {
  readonly subscriptions: Set<TurnSubscription> = new Set()
  readonly #store: Store
  readonly #key: ContextKey
  /** The last published position; undefined before the conversation was loaded. */
  #published: number | undefined
  /** Entries that wait until a gap is filled. */
  #queue: QueuedEntry[] | undefined
  #filling: Promise<void> | undefined
  /** Positions of the published inbox entries that no turn has taken. */
  readonly #waiting = new Set<number>()
  /** The number of turns published to their end. */
  #ended = 0
  /** The events since the last turn ended. */
  #since: EntryEvent[] = []
  /** The open requests: a turn that ends to wait reports all of them, whichever turn asked. */
  readonly #openRequests = new Map<string, RequestData>()

  #isCompleting = false

  constructor(store: Store, key: ContextKey) {
    this.#store = store
    this.#key = key
  }

  /** True while an observer runs its `complete`. */
  get isCompleting(): boolean {
    return this.#isCompleting
  }

  /** The conversation counts as busy inside an observer's `complete`, up to its first await. */
  complete(notify: () => void): void {
    this.#isCompleting = true
    try {
      notify()
    } finally {
      this.#isCompleting = false
    }
  }

  get isStarted(): boolean {
    return this.#published !== undefined
  }

  get published(): number {
    return this.#published ?? 0
  }

  /** True if a published inbox entry is not taken: the owner knows of it and continues by itself. */
  get hasWaiting(): boolean {
    return this.#waiting.size > 0
  }

  get since(): readonly EntryEvent[] {
    return this.#since
  }

  /** Publishes from this position on. */
  startFrom(seq: number, requests: readonly RequestData[]): void {
    this.#published ??= seq
    for (const request of requests) this.#openRequests.set(request.requestId, request)
  }

  receive(entry: Entry, how?: Publication): void {
    if (this.#queue !== undefined) this.#queue.push({ entry, how })
    else if (how === 'unsaved' || this.#published === undefined || entry.seq === this.#published + 1)
      this.#publish(entry, how)
    else if (entry.seq > this.#published + 1) this.#filling = this.#fill({ entry, how })
  }

  /**
   * Subscribes to the turn that took the message posted under this key, or to the newest turn that continued it; while
   * the message waits, to the turn that will take it. False if the journal does not reach back to it.
   */
  async join(subscription: TurnSubscription, posted: string): Promise<boolean> {
    for (;;) {
      await this.catchUp()
      const before = this.#ended
      const found = await findPosted(this.#store, this.#key, posted)
      // A turn that ended meanwhile may have taken the message, and is not published again.
      if (before !== this.#ended) continue
      if (found?.turn !== undefined) await this.replay(subscription, found.turn, found.isOver)
      else if (found !== undefined) subscription.recognise(eventOf(found.entry), this.#since)
      return found !== undefined
    }
  }

  /** Publishes the entries of others, up to now. */
  async catchUp(): Promise<void> {
    for (;;) {
      await this.#filling
      const entries = await this.#store.read(this.#key, { from: this.published + 1 })
      const anew = this.published > 0 ? entries.find(beginsAnew) : undefined
      if (anew !== undefined) throw begunAnew(this.#key, anew.data.position)
      for (const entry of entries) this.receive(entry)
      if (entries.length === 0) return
    }
  }

  /**
   * Publishes a past or running turn to one subscription; later entries follow as they come. `isOver`: another input
   * has begun a turn since, so none of its requests is open.
   */
  async replay(subscription: TurnSubscription, number: number, isOver = false): Promise<void> {
    for (;;) {
      const before = this.#published
      const entries = await this.#store.read(this.#key, { turn: number, limit: MAX_ENTRIES })
      const hasEnded = entries.some(({ type, turn }) => type === 'turn.end' && turn === number)
      if (before !== this.#published && !hasEnded) continue
      const events = entries.filter(({ turn }) => turn === number).map((entry) => eventOf(entry))
      subscription.follow(number, events, isOver ? [] : [...this.#openRequests.values()])
      return
    }
  }

  /** Publishes an event that is not stored. */
  delta(event: TurnEvent): void {
    for (const subscription of this.subscriptions) subscription.delta(event)
  }

  /** Publishes an event of a child of turn `number`. */
  forward(number: number, event: TurnEvent): void {
    for (const subscription of this.subscriptions)
      if (subscription.number === number) subscription.turn.push(event)
  }

  async #fill(first: QueuedEntry): Promise<void> {
    const queue = [first]
    this.#queue = queue
    try {
      const missing = await this.#store.read(this.#key, { from: this.published + 1, to: first.entry.seq - 1 })
      for (const entry of missing) this.#publish(entry)
    } catch {
      // A gap that cannot be read is skipped.
    }
    this.#queue = undefined
    this.#published = first.entry.seq - 1
    for (const { entry, how } of queue) this.receive(entry, how)
  }

  #publish(entry: Entry, how?: Publication): void {
    if (how !== 'unsaved') this.#published = entry.seq
    if (how === 'saved') return
    const event = eventOf(entry, how)
    this.#since.push(event)
    if (entry.key !== undefined && how === undefined) this.#waiting.add(entry.seq)
    if (entry.takes !== undefined) for (const taken of entry.takes) this.#waiting.delete(taken)
    if (event.type === 'request.start') this.#openRequests.set(event.data.requestId, event.data)
    else if (event.type === 'request.end') this.#openRequests.delete(event.data.requestId)
    else if (event.type === 'clear') this.#openRequests.clear()
    for (const subscription of this.subscriptions)
      subscription.receive(event, this.#since, this.#openRequests)
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
