/**
 * One journal as this process knows it: the session, the window, and what waits in the inbox. Every receipt keeps it
 * true, so a turn reads nothing from the store. It writes nothing and does not know who owns the journal.
 *
 * L1  `seen`: every entry up to there is known. Past it only inbox entries may be known of, and they are not counted on.
 * L2  Others' inbox entries extend what is known, as long as no other entry lies between. Anything else that others wrote
 *     makes it stale: `isLoaded` is false, and it is read again before it is used.
 * L3  Every entry of an append or a post of this process is published once, in order, and one that is held back both
 *     when it is said and when it is durable. What was only read is for the subscribers to fill in.
 * L4  It is of one conversation. If that was erased and another has begun under its name, reading it rejects with `erased`.
 */
import type { Clock, MaybePromise } from '../base/index.ts'
import {
  advance,
  isWorthSaving,
  LiveWindow,
  loadSince,
  newSession,
  type Session,
  saveSession,
  type WindowOptions,
} from '../journal/index.ts'
import { type ContextKey, type Entry, formatOf, type Message, type NewEntry } from '../protocol/index.ts'
import { begunAnew, isOfErased, type Receipt, type Store } from '../store/index.ts'

export interface JournalStateOptions {
  readonly key: ContextKey
  readonly store: Store
  readonly clock: Clock
  /** How much of the conversation is kept at hand. Without it, nothing is. */
  readonly window?: () => Promise<Pick<WindowOptions, 'maxMessages' | 'tokens'>>
  /** Every entry, in order, when it is durable, or before that and then once more. */
  readonly onEntry: (entry: Entry, how?: Publication) => void
}

/** `unsaved`: an entry that is held back. `saved`: one that was published as `unsaved` is durable now. */
export type Publication = 'unsaved' | 'saved'

/** How often to read again while others write. */
const MOST_READS = 5

const EMPTY: readonly Entry[] = []

/** Entries that are held back, and the session before them. */
interface Unsaved {
  readonly entries: NewEntry[]
  readonly held: Set<Entry>
  readonly before: Session
}

export class JournalState {
  readonly #options: JournalStateOptions
  #session: Session = newSession()
  #isLoaded = false
  #window: LiveWindow | undefined
  readonly #inbox = new Map<string, Entry>()
  #seen = 0
  /** The newest inbox entry that was published. Past `seen` when others wrote in between. */
  #published = 0
  #snapshotAt = 0
  #unsaved: Unsaved | undefined

  constructor(options: JournalStateOptions) {
    this.#options = options
  }

  get key(): ContextKey {
    return this.#options.key
  }

  get store(): Store {
    return this.#options.store
  }

  get isLoaded(): boolean {
    return this.#isLoaded
  }

  /** The position up to which every entry is known (L1). */
  get seen(): number {
    return this.#seen
  }

  /** The newest position that is known of. */
  get newest(): number {
    return Math.max(this.#seen, this.#published)
  }

  /** Entries that are held back, oldest first. */
  get unsaved(): readonly NewEntry[] {
    return this.#unsaved?.entries ?? []
  }

  get hasUnsaved(): boolean {
    return this.#unsaved !== undefined
  }

  /** The session without the entries that are held back. */
  get saved(): Session {
    return this.#unsaved?.before ?? this.#session
  }

  get session(): Session {
    return this.#session
  }

  get inbox(): readonly Entry[] {
    return this.#inbox.size === 0 ? EMPTY : [...this.#inbox.values()]
  }

  get isInboxEmpty(): boolean {
    return this.#inbox.size === 0
  }

  /** The window as it is held: it may begin a little earlier than a prompt would. */
  get heldEntries(): readonly Entry[] {
    return this.#window?.held ?? []
  }

  window(): MaybePromise<readonly Entry[]> {
    return this.#held.entries(this.#session)
  }

  messages(): MaybePromise<readonly Message[]> {
    return this.#held.messages(this.#session)
  }

  get #held(): LiveWindow {
    if (this.#window === undefined) throw new Error('The journal was not loaded.')
    return this.#window
  }

  /** Reads the journal, and again if others wrote meanwhile. */
  async load(): Promise<void> {
    for (let attempt = 1; !(await this.#read()) && attempt < MOST_READS; attempt++);
  }

  /** Session first: a claim from its position fails if an inbox entry was taken after that. False if others wrote meanwhile. */
  async #read(): Promise<boolean> {
    const { store, key, window } = this.#options
    const { session, since } = await loadSince(store, key)
    const inbox = await store.inbox(key)
    const held =
      window === undefined ? undefined : await LiveWindow.read(store, key, { session, ...(await window()) })
    if (this.newest > 0 && isOfErased(session, this.newest)) throw begunAnew(key, session) // L4
    this.#session = session
    this.#window = held
    this.#snapshotAt = since
    this.#isLoaded = true
    this.#seen = session.seq
    for (const { seq } of inbox) if (seq === this.#seen + 1) this.#seen = seq
    const known = inbox.filter(({ seq }) => seq <= this.#seen)
    this.#inbox.clear()
    for (const entry of known) this.#inbox.set(entry.key ?? '', entry)
    return known.length === inbox.length
  }

  /** Nothing is known of that was not read (L1, L2). */
  get isUpToDate(): boolean {
    return this.#isLoaded && this.#published <= this.#seen
  }

  /** Makes it current, by as little reading as it takes. Not for an owner: its receipts do that. */
  async bringUpToDate(): Promise<void> {
    const isBehind = this.#published > this.#seen
    if (!this.#isLoaded || (isBehind && !(await this.readInbox()))) await this.load()
  }

  /** Reads the entries that others have written since. False if there is more among them than inbox entries (L2). */
  async readInbox(): Promise<boolean> {
    const entries = await this.store.read(this.key, { from: this.#seen + 1 })
    if (entries.some(({ key }) => key === undefined)) return false
    this.receive(entries)
    return true
  }

  /** Does the journal stand where it is known to? */
  async isCurrent(): Promise<boolean> {
    if (!this.#isLoaded) return false
    const head = await this.store.head(this.key)
    return (head?.seq ?? 0) === this.#seen
  }

  /** It is read again before it is used (L2). */
  forget(): void {
    this.#isLoaded = false
    this.#window = undefined
    this.#unsaved = undefined
  }

  /** Inbox entries of others. `isOwner`: nobody else can have written anything else in between. */
  receive(entries: readonly Entry[], { isOwner = false }: { readonly isOwner?: boolean } = {}): void {
    for (const entry of entries) {
      if (entry.seq <= this.#seen || entry.key === undefined) continue
      if (isOwner || entry.seq === this.#seen + 1) {
        this.#inbox.set(entry.key, entry)
        this.#seen = entry.seq
        this.#window?.add([entry])
      }
      if (entry.seq <= this.#published) continue
      this.#published = entry.seq
      this.#options.onEntry(entry)
    }
  }

  /** An append of the owner was acknowledged. Entries that were held back are part of it, and were published before. */
  absorb({ first, last, entries, inbox }: Receipt): void {
    const published = this.unsaved.length
    this.#rewind()
    if (inbox.length > 0)
      this.receive(
        inbox.filter(({ seq }) => seq < first),
        { isOwner: true },
      )
    this.#take(entries)
    this.#seen = Math.max(this.#seen, last)
    for (const [place, entry] of entries.entries())
      this.#options.onEntry(entry, place < published ? 'saved' : undefined)
    if (inbox.length > 0) this.receive(inbox, { isOwner: true })
  }

  /** Holds entries back until the next append. They count here, and are lost in a crash. */
  hold(entries: readonly NewEntry[]): void {
    this.#unsaved ??= { entries: [], held: new Set(), before: this.#session }
    for (const held of entries) {
      const takes = held.takes?.map((key) => this.#inbox.get(key)?.seq ?? 0)
      const entry: Entry = {
        seq: this.#session.seq + 1,
        at: this.#options.clock.now(),
        v: formatOf(held.type),
        type: held.type,
        turn: held.turn,
        data: held.data,
        ...(takes === undefined ? {} : { takes }),
      }
      this.#unsaved.entries.push(held)
      this.#unsaved.held.add(entry)
      this.#take([entry])
      this.#options.onEntry(entry, 'unsaved')
    }
  }

  /** Is there so much that a snapshot would spare the next process? */
  get isWorthSaving(): boolean {
    return isWorthSaving({ session: this.#session, since: this.#snapshotAt })
  }

  /** Spares the next process some reading. A turn does not depend on it, so a failure is not reported. */
  async snapshot(): Promise<void> {
    const { store, key } = this.#options
    if (this.#unsaved !== undefined || !this.isWorthSaving) return
    const { seq } = this.#session
    const saving = saveSession(store, key, { session: this.#session, since: this.#snapshotAt })
    if (await saving.catch(() => true)) this.#snapshotAt = seq
  }

  #rewind(): void {
    if (this.#unsaved === undefined) return
    this.#session = this.#unsaved.before
    this.#window?.remove(this.#unsaved.held)
    this.#unsaved = undefined
  }

  #take(entries: readonly Entry[]): void {
    this.#session = advance(entries, this.#session)
    this.#window?.add(entries)
    for (const entry of entries) this.#file(entry)
  }

  /** Into the inbox, and out of it what it takes. */
  #file(entry: Entry): void {
    if (entry.key !== undefined) this.#inbox.set(entry.key, entry)
    for (const taken of entry.takes ?? [])
      for (const [key, waiting] of this.#inbox) {
        if (waiting.seq !== taken) continue
        this.#inbox.delete(key)
        // It may have waited for so long that the window does not reach back to it.
        if (this.heldEntries.findLast(({ seq }) => seq === taken) === undefined) this.#window?.add([waiting])
      }
  }
}
