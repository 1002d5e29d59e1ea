/**
 * The subscribers of a conversation, and the position published to them. Each gets every entry, in order, whichever
 * process wrote it: a gap is read before later entries are published (R18). While the store cannot read it, later
 * entries wait; every new entry and `catchUp` read again, and `catchUp` reports the failure. What this process is writing
 * comes with its receipt, and is not read: reads wait for the writes under way (L3, W4).
 */
import type { MaybePromise } from '../base/index.ts'
import { beginsAnew, readTurn } from '../journal/index.ts'
import type { ContextKey, Entry, EntryEvent, RequestData, TurnEvent } from '../protocol/index.ts'
import { begunAnew, type Store } from '../store/index.ts'

import type { Publication } from './journal-state.ts'
import { findPosted } from './posted-entries.ts'
import { prunedTurnError } from './refusal.ts'
import type { TurnSubscription } from './turn-subscription.ts'

/** The driver of this process, as its subscribers need it. */
export interface DrivingHere {
  /** Receives every entry that was read from the journal, before it is published. */
  follow(entry: Entry): void
  readonly ownership: {
    /** Runs a read while this process writes nothing. */
    betweenWrites<T>(read: () => Promise<T>): Promise<T>
    /** Appends the buffered entries. */
    flush(): Promise<void>
    readonly journal: { readonly hasUnsaved: boolean }
  }
}

interface QueuedEntry {
  readonly entry: Entry
  readonly how: Publication | undefined
}

export class Subscribers {
  readonly subscriptions: Set<TurnSubscription> = new Set()
  readonly #store: Store
  readonly #key: ContextKey
  readonly #driver: () => DrivingHere
  /** The last published position; undefined before the conversation was loaded. */
  #published: number | undefined
  /** Entries that wait until the gap before the first of them is filled. */
  #queue: [QueuedEntry, ...QueuedEntry[]] | undefined
  #filling: Promise<void> | undefined
  /** Positions of the published inbox entries that no turn has taken. */
  readonly #waiting = new Set<number>()
  /** The number of turns published to their end. */
  #ended = 0
  #newest: EntryEvent[] = []
  /** The open requests: a turn that ends to wait reports all of them, whichever turn asked. */
  readonly #openRequests = new Map<string, RequestData>()

  #isCompleting = false

  constructor({ store, key }: { store: Store; key: ContextKey }, driver: () => DrivingHere) {
    this.#store = store
    this.#key = key
    this.#driver = driver
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
  get hasUntakenInput(): boolean {
    return this.#waiting.size > 0
  }

  /** The events since the last turn ended. */
  get newest(): readonly EntryEvent[] {
    return this.#newest
  }

  /** Publishes from this position on. */
  startFrom(seq: number, requests: readonly RequestData[]): void {
    this.#published ??= seq
    for (const request of requests) this.#openRequests.set(request.requestId, request)
  }

  /** Receives an entry that was read from the journal. */
  follow(entry: Entry): void {
    this.#driver().follow(entry)
    this.receive(entry)
  }

  /** Receives an entry that this process has appended or posted. */
  receive(entry: Entry, how?: Publication): void {
    if (this.#queue !== undefined) this.#queue.push({ entry, how })
    else if (how === 'unsaved' || this.#published === undefined || entry.seq === this.#published + 1)
      return this.#publish(entry, how)
    else if (entry.seq > this.#published + 1) this.#queue = [{ entry, how }]
    else return
    this.#fill().catch(() => {}) // `catchUp` reports it.
  }

  /**
   * Subscribes to the turn that took the message posted under this key, or to the newest turn that continued it; while
   * the message waits, to the turn that will take it. A message that was taken for nothing ends the subscription. False
   * if the journal does not reach back to it.
   */
  async join(subscription: TurnSubscription, posted: string): Promise<boolean> {
    for (;;) {
      await this.catchUp()
      const before = this.#ended
      const found = await findPosted(this.#store, this.#key, posted)
      // A turn that ended meanwhile may have taken the message, and is not published again.
      if (before !== this.#ended) continue
      if (found !== undefined) this.#driver().follow(found.entry)
      if (found?.taker !== undefined) this.#driver().follow(found.taker)
      if (found?.turn !== undefined) await this.replay(subscription, found.turn, found.isOver)
      else if (found !== undefined) {
        const { entry, taker } = found
        subscription.recognise(eventOf(entry), taker === undefined ? this.#newest : [eventOf(taker)])
      }
      return found !== undefined
    }
  }

  /** Publishes the entries of others, up to now. Rejects if the store cannot read them; nothing is skipped. */
  async catchUp(): Promise<void> {
    for (;;) {
      if (this.#queue !== undefined) await this.#fill()
      const count = await this.#driver().ownership.betweenWrites(() => this.#followOn())
      if (count === 0 && this.#queue === undefined) return
    }
  }

  /** Publishes the next page of entries that were not published. Returns their number. */
  async #followOn(): Promise<number> {
    const entries = await this.#readOn()
    for (const entry of entries) this.follow(entry)
    return entries.length
  }

  /** The next page of entries that were not published. */
  async #readOn(to?: number): Promise<readonly Entry[]> {
    const from = this.published + 1
    const entries = await this.#store.read(this.#key, to === undefined ? { from } : { from, to })
    const anew = from > 1 ? entries.find(beginsAnew) : undefined
    if (anew !== undefined) throw begunAnew(this.#key, anew.data.position)
    return entries
  }

  /**
   * Publishes a past or running turn to one subscription; later entries follow as they come. `isOver`: another input
   * has begun a turn since, so none of its requests is open.
   */
  async replay(subscription: TurnSubscription, number: number, isOver = false): Promise<void> {
    const { ownership } = this.#driver()
    if (this.isStarted) await this.catchUp()
    for (;;) {
      await ownership.flush()
      // Buffered entries are published already, and not read.
      if (ownership.journal.hasUnsaved) continue
      const newest = this.#newest
      const { length } = newest
      const own = await this.#readPublished(number)
      // A turn that ended meanwhile is read again, with its end.
      if (newest !== this.#newest && !own.some(({ type }) => type === 'turn.end')) continue
      const later = newest === this.#newest ? newest.slice(length) : []
      const requests = isOver ? [] : [...this.#openRequests.values()]
      subscription.follow(number, [...own.map((entry) => eventOf(entry)), ...later], requests)
      return
    }
  }

  /** The entries of a turn that are published now. Its owner may write on: later ones are published as they come. */
  async #readPublished(number: number): Promise<readonly Entry[]> {
    const [to, store] = [this.#published, this.#store]
    const read: Store['read'] = (key, range) => store.read(key, to === undefined ? range : { ...range, to })
    const { ownership } = this.#driver()
    const entries = await ownership.betweenWrites(() => readTurn({ read }, this.#key, number))
    return entries.filter(({ turn }) => turn === number)
  }

  /** Publishes a running turn to one subscription from its beginning, whenever publication began. */
  joinTurn(subscription: TurnSubscription, number: number): MaybePromise<void> {
    const hasStart = this.#newest.some(({ type, turn }) => type === 'turn.start' && turn === number)
    if (!hasStart) return this.replay(subscription, number)
    subscription.follow(number, this.#newest)
  }

  /** Publishes the turn after another, which has ended, to a request that was made before. Throws if it was pruned. */
  async repeat(subscription: TurnSubscription, after: number, newest: number): Promise<void> {
    await this.replay(subscription, after + 1, after + 1 < newest)
    if (!subscription.turn.isEnded) throw prunedTurnError(this.#key.contextId, after + 1)
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

  /** Publishes the queued entries and the gaps before them. If it rejects, they stay queued. */
  #fill(): Promise<void> {
    this.#filling ??= this.#fillGaps().finally(() => (this.#filling = undefined))
    return this.#filling
  }

  async #fillGaps(): Promise<void> {
    while (this.#queue !== undefined) await this.#driver().ownership.betweenWrites(() => this.#fillFirst())
  }

  async #fillFirst(): Promise<void> {
    if (this.#queue === undefined) return
    // Receipts of the writes that were under way may have brought earlier entries.
    this.#queue.sort((a, b) => a.entry.seq - b.entry.seq)
    const last = this.#queue[0].entry.seq - 1
    await this.#publishUpTo(last)
    const queued = this.#queue
    this.#queue = undefined
    this.#published = Math.max(last, this.published)
    // Another gap in between queues the rest again.
    for (const { entry, how } of queued) this.receive(entry, how)
  }

  async #publishUpTo(last: number): Promise<void> {
    while (this.published < last) {
      const missing = await this.#readOn(last)
      if (missing.length === 0) return // pruned
      for (const entry of missing) {
        this.#driver().follow(entry)
        this.#publish(entry)
      }
    }
  }

  #isFollowed(turn: number): boolean {
    for (const { number } of this.subscriptions) if (number === turn) return true
    return false
  }

  /** Not in this tick: the rest of the batch is buffered in it (W5). */
  #flushSoon(): void {
    const { ownership } = this.#driver()
    queueMicrotask(() => void ownership.flush().catch(() => {}))
  }

  #publish(entry: Entry, how?: Publication): void {
    if (how !== 'unsaved') this.#published = entry.seq
    if (how === 'saved') return
    const event = eventOf(entry, how)
    this.#newest.push(event)
    if (entry.key !== undefined && how === undefined) this.#waiting.add(entry.seq)
    if (entry.takes !== undefined) for (const taken of entry.takes) this.#waiting.delete(taken)
    if (event.type === 'request.start') this.#openRequests.set(event.data.requestId, event.data)
    else if (event.type === 'request.end') this.#openRequests.delete(event.data.requestId)
    else if (event.type === 'clear') this.#openRequests.clear()
    // Only other processes wait for such a turn, and they read what is stored.
    if (how === 'unsaved' && entry.type === 'turn.end' && !this.#isFollowed(entry.turn)) this.#flushSoon()
    for (const subscription of this.subscriptions)
      subscription.receive(event, this.#newest, this.#openRequests)
    if (entry.type === 'turn.end') this.#ended += 1
    if (entry.type === 'turn.end' || (entry.type === 'release' && entry.turn === 0)) this.#newest = []
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
