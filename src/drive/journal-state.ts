/**
 * The state of one journal in this process: session, window and inbox. Every receipt updates it, so a turn reads
 * nothing from the store. It writes nothing and must not know who owns the journal.
 *
 * L1  `seen`: every entry up to there is known. Past it only inbox entries may be known, and nothing relies on them.
 * L2  Others' inbox entries extend `seen` while no other entry lies between. Any other entry of others makes the state
 *     stale: `isLoaded` is false, and the journal is read again before use.
 * L3  Every entry that this process appends or posts is published once; a buffered one when it is buffered and again
 *     when it is durable. The entries of a receipt come in order; a post may overtake an append. Subscribers read the
 *     entries that were only read here, and those whose receipt is not absorbed: a release of a stale journal, an append
 *     whose replies were lost and whose repetition was given up (W6).
 * L4  The state is of one conversation. If that was erased and another has begun under its name, a read rejects with
 *     `erased`.
 */
import { type Clock, isPromise, type MaybePromise } from '../base/index.ts'
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
import { isLarge } from '../loop/index.ts'
import {
  type ContextKey,
  ENTRY_KINDS,
  type Entry,
  type Message,
  type NewEntry,
  stampEntry,
} from '../protocol/index.ts'
import { begunAnew, isOfErased, type Receipt, type Store } from '../store/index.ts'

export interface JournalStateOptions {
  readonly key: ContextKey
  readonly store: Store
  readonly clock: Clock
  /** The window of messages to keep in memory. Without it, none is kept. */
  readonly window?: () => Promise<Pick<WindowOptions, 'maxMessages' | 'tokens'>>
  /** Receives every entry, in order, when it is durable; a buffered one before that too. */
  readonly onEntry: (entry: Entry, how?: Publication) => void
}

/** `unsaved`: the entry is buffered. `saved`: an entry published as `unsaved` is durable now. */
export type Publication = 'unsaved' | 'saved'

/** Attempts at a consistent read while others write. */
const MAX_READS = 5

const EMPTY: readonly Entry[] = []

/** Buffered entries, the same as folded into the session, and the session before them. */
interface Unsaved {
  readonly entries: NewEntry[]
  readonly folded: Set<Entry>
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
  #newestInboxSeq = 0
  #snapshotAt = 0
  #unsaved: Unsaved | undefined
  /** The part of a long turn that lies before the window. */
  #beginning: readonly Entry[] = []

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

  /** The newest known position. */
  get newest(): number {
    return Math.max(this.#seen, this.#newestInboxSeq)
  }

  /** Buffered entries, oldest first. */
  get unsaved(): readonly NewEntry[] {
    return this.#unsaved?.entries ?? []
  }

  get hasUnsaved(): boolean {
    return this.#unsaved !== undefined
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

  /** The window in memory: it may begin a little earlier than a prompt would. */
  get windowEntries(): readonly Entry[] {
    return this.#window?.held ?? []
  }

  window(): MaybePromise<readonly Entry[]> {
    return this.#liveWindow.entries(this.#session)
  }

  messages(): MaybePromise<readonly Message[]> {
    return this.#liveWindow.messages(this.#session)
  }

  /** The window, and before it the rest of the open turn. */
  turnEntries(): MaybePromise<readonly Entry[]> {
    const entries = this.window()
    return isPromise(entries) ? entries.then((found) => this.#fromStart(found)) : this.#fromStart(entries)
  }

  #fromStart(entries: readonly Entry[]): MaybePromise<readonly Entry[]> {
    const { from } = this.#liveWindow
    const startSeq = this.#session.open?.startSeq ?? from
    if (startSeq < from) return this.#withStart(startSeq, from, entries)
    this.#beginning = EMPTY
    return entries
  }

  async #withStart(startSeq: number, from: number, entries: readonly Entry[]): Promise<readonly Entry[]> {
    let beginning = this.#beginning[0]?.seq === startSeq ? this.#beginning : []
    for (;;) {
      const next = (beginning.at(-1)?.seq ?? startSeq - 1) + 1
      const page = next >= from ? [] : await this.store.read(this.key, { from: next, to: from - 1 })
      if (page.length === 0) break
      beginning = [...beginning, ...page]
    }
    this.#beginning = beginning
    const known = new Set(beginning.map(({ seq }) => seq))
    return [...beginning, ...entries.filter(({ seq }) => !known.has(seq))].sort((a, b) => a.seq - b.seq)
  }

  get #liveWindow(): LiveWindow {
    if (this.#window === undefined) throw new Error('The journal was not loaded.')
    return this.#window
  }

  /** Reads the journal, and again if others wrote meanwhile. */
  async load(): Promise<void> {
    for (let attempt = 1; !(await this.#read()) && attempt < MAX_READS; attempt++);
  }

  /** False if others wrote meanwhile. Session first: a claim from there fails if an inbox entry was taken since. */
  async #read(): Promise<boolean> {
    const { store, key, window } = this.#options
    const { session, since } = await loadSince(store, key)
    const inbox = await store.inbox(key)
    const liveWindow =
      window === undefined ? undefined : await LiveWindow.read(store, key, { session, ...(await window()) })
    if (this.newest > 0 && isOfErased(session, this.newest)) throw begunAnew(key, session) // L4
    this.#session = session
    this.#window = liveWindow
    this.#snapshotAt = since
    this.#isLoaded = true
    this.#seen = session.seq
    for (const { seq } of inbox) if (seq === this.#seen + 1) this.#seen = seq
    const known = inbox.filter(({ seq }) => seq <= this.#seen)
    this.#inbox.clear()
    for (const entry of known) this.#inbox.set(entry.key ?? '', entry)
    return known.length === inbox.length
  }

  /** True if every known entry was read (L1, L2). */
  get isUpToDate(): boolean {
    return this.#isLoaded && this.#newestInboxSeq <= this.#seen
  }

  /** Brings the journal up to date with as few reads as possible. Not while receipts do that (`isKeptCurrent`). */
  async bringUpToDate(): Promise<void> {
    const isBehind = this.#newestInboxSeq > this.#seen
    if (!this.#isLoaded || (isBehind && !(await this.readInbox()))) await this.load()
  }

  /** Reads the entries that others have written since. False if they are more than inbox entries (L2). */
  async readInbox(): Promise<boolean> {
    const entries = await this.store.read(this.key, { from: this.#seen + 1 })
    if (entries.some(({ key }) => key === undefined)) return false
    this.receive(entries)
    return true
  }

  /** True if the store's head is at `seen`. */
  async isCurrent(): Promise<boolean> {
    if (!this.#isLoaded) return false
    const head = await this.store.head(this.key)
    return (head?.seq ?? 0) === this.#seen
  }

  /** Marks the journal as stale (L2). */
  forget(): void {
    this.#isLoaded = false
    this.#window = undefined
    this.#unsaved = undefined
  }

  /**
   * Adds inbox entries of others. `isOwner`: no other entry can lie in between. The receipts of an owner's posts and
   * renewals arrive in any order and perhaps under a later epoch (W1). That is safe: an entry up to `seen` is known and
   * skipped, and one after it came after the claim that this process owns the journal by, so only inbox entries and
   * appends of its own, whose receipts come, lie in between.
   */
  receive(entries: readonly Entry[], { isOwner = false }: { readonly isOwner?: boolean } = {}): void {
    for (const entry of entries) {
      if (entry.seq <= this.#seen || entry.key === undefined) continue
      if (isOwner || entry.seq === this.#seen + 1) {
        this.#inbox.set(entry.key, entry)
        this.#seen = entry.seq
        this.#window?.add([entry])
      }
      if (entry.seq <= this.#newestInboxSeq) continue
      this.#newestInboxSeq = entry.seq
      this.#options.onEntry(entry)
    }
  }

  /** Applies the receipt of an owner's append. The first `published` entries were buffered, and published before. */
  absorb({ first, last, entries, inbox }: Receipt, published: number): void {
    this.#rewind()
    if (inbox.length > 0)
      this.receive(
        inbox.filter(({ seq }) => seq < first),
        { isOwner: true },
      )
    this.#take(entries)
    this.#seen = Math.max(this.#seen, last)
    for (let at = 0; at < entries.length; at++)
      this.#options.onEntry(entries[at] as Entry, at < published ? 'saved' : undefined)
    if (inbox.length > 0) this.receive(inbox, { isOwner: true })
  }

  /** Buffers entries until the next append, unless they must be durable. They are folded here, and lost in a crash. */
  buffer(entries: readonly NewEntry[]): boolean {
    if (mustBeDurable(entries)) return false
    this.#unsaved ??= { entries: [], folded: new Set(), before: this.#session }
    for (const newEntry of entries) {
      const takes = newEntry.takes?.map((key) => this.#inbox.get(key)?.seq ?? 0)
      const stamp = { seq: this.#session.seq + 1, at: this.#options.clock.now() }
      const entry = stampEntry(newEntry, takes === undefined ? stamp : { ...stamp, takes })
      this.#unsaved.entries.push(newEntry)
      this.#unsaved.folded.add(entry)
      this.#take([entry])
      this.#options.onEntry(entry, 'unsaved')
    }
    return true
  }

  /** True if a snapshot would spare the next process enough reading. */
  get isWorthSaving(): boolean {
    return isWorthSaving({ session: this.#session, since: this.#snapshotAt })
  }

  /** Saves a snapshot of the session. No turn depends on it, so a failure is ignored. */
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
    this.#window?.remove(this.#unsaved.folded)
    this.#unsaved = undefined
  }

  #take(entries: readonly Entry[]): void {
    this.#session = advance(entries, this.#session)
    this.#window?.add(entries)
    for (const entry of entries) this.#file(entry)
  }

  /** Adds an inbox entry, and removes the entries that this one takes. */
  #file(entry: Entry): void {
    if (entry.key !== undefined) this.#inbox.set(entry.key, entry)
    if (entry.takes === undefined) return
    for (const taken of entry.takes)
      for (const [key, waiting] of this.#inbox) {
        if (waiting.seq !== taken) continue
        this.#inbox.delete(key)
        // The entry may be older than the window.
        if (this.windowEntries.findLast(({ seq }) => seq === taken) === undefined)
          this.#window?.add([waiting])
      }
  }
}

/** True for the intent of an effect (R3), entries that others wait for, and entries that the store may refuse. */
function mustBeDurable(entries: readonly NewEntry[]): boolean {
  return entries.some(
    ({ type, takes = [], data }) =>
      ENTRY_KINDS.get(type)?.unbuffered === true || takes.length > 0 || isLarge(data),
  )
}
