/**
 * One journal as its driver knows it: the session, the window, what has come into the inbox, and the epoch that lets it
 * append. It keeps these true with every receipt, so a turn reads nothing from the store. It does not know what a turn is.
 */
import type { Clock, Ids, Timer } from '../base/index.ts'
import {
  fold,
  HeldWindow,
  isWorthSaving,
  loadSince,
  newSession,
  type Session,
  saveSession,
  type WindowOptions,
} from '../journal/index.ts'
import {
  type ContextKey,
  ENTRY_FORMAT,
  type Entry,
  type EntryType,
  HoldfastError,
  keyText,
  type Message,
  type NewEntry,
  type NewInboxEntry,
} from '../protocol/index.ts'
import { type AppendRequest, persist, type Receipt, type Store } from '../store/index.ts'
import { cancelBell } from './cancel-bell.ts'

export interface LedgerOptions {
  readonly key: ContextKey
  readonly store: Store
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  /** Who appends. */
  readonly driver: string
  readonly leaseMs: number
  /** How much of what was said is kept at hand. Without it, nothing is. */
  readonly window?: () => Promise<Pick<WindowOptions, 'maxMessages' | 'tokens'>>
  /** The conversation that this one belongs to (R17). */
  readonly parent?: string
  /** Every entry, in order, when it is durable; `unsaved` if it is not yet. */
  readonly onEntry: (entry: Entry, unsaved?: true) => void
}

/** How often to read again while others write. */
const MOST_READS = 5

const EMPTY: readonly Entry[] = []

export class Ledger {
  readonly #options: LedgerOptions
  #session: Session = newSession()
  #loaded = false
  #window: HeldWindow | undefined
  #inbox = new Map<string, Entry>()
  /** Everything up to here is known, inbox entries included; an owner's own appends may be on their way below it. */
  #seen = 0
  /** The newest inbox entry that was told. Past `#seen` when others wrote in between. */
  #told = 0
  #epoch = 0
  #owned = false
  /** When the store was last asked something that it granted: the lease has run since then at the latest. */
  #grantedAt = 0
  #snapshotAt = 0
  #writing: Promise<unknown> | undefined
  #unsaved: { readonly entries: NewEntry[]; readonly held: Set<Entry>; readonly before: Session } | undefined

  constructor(options: LedgerOptions) {
    this.#options = options
  }

  get key(): ContextKey {
    return this.#options.key
  }

  get store(): Store {
    return this.#options.store
  }

  get isLoaded(): boolean {
    return this.#loaded
  }

  /** There is an inbox entry past what is known. */
  get isBehind(): boolean {
    return !this.#owned && this.#told > this.#seen
  }

  get isOwned(): boolean {
    return this.#owned
  }

  /** The newest epoch that was its own. */
  get epoch(): number {
    return this.#epoch
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

  /** Milliseconds since the lease is known to have been good. */
  get age(): number {
    return this.#options.clock.elapsed() - this.#grantedAt
  }

  /** The window as it is held: it may begin a little earlier than a prompt would. */
  get heldEntries(): readonly Entry[] {
    return this.#window?.held ?? []
  }

  window(): Promise<readonly Entry[]> {
    return this.#held.entries(this.#session)
  }

  messages(): Promise<readonly Message[]> {
    return this.#held.messages(this.#session)
  }

  async load(): Promise<void> {
    for (let attempt = 1; !(await this.#read()) && attempt < MOST_READS; attempt++);
  }

  /**
   * Session first: what is taken from the inbox after it was read makes a claim from that position fail. False if others
   * have written meanwhile, and something has come in of which this cannot know.
   */
  async #read(): Promise<boolean> {
    const { store, key, window } = this.#options
    const { session, since } = await loadSince(store, key)
    this.#session = session
    const inbox = await store.inbox(key)
    if (window !== undefined)
      this.#window = await HeldWindow.read(store, key, { session: this.#session, ...(await window()) })
    this.#loaded = true
    this.#seen = this.#session.seq
    // What came in since is known only as far as nobody said anything in between.
    for (const { seq } of inbox) if (seq === this.#seen + 1) this.#seen = seq
    const known = inbox.filter(({ seq }) => seq <= this.#seen)
    this.#inbox = new Map(known.map((entry) => [entry.key ?? '', entry]))
    this.#snapshotAt = since
    this.#owned &&= this.#session.open !== undefined && this.#session.epoch === this.#epoch
    return known.length === inbox.length
  }

  /** Reads what has come in since; everything, if somebody has driven meanwhile. */
  async catchUp(): Promise<void> {
    if (!(await this.#readInbox())) await this.load()
  }

  /** False if others have written more than inbox entries. */
  async #readInbox(): Promise<boolean> {
    const entries = await this.store.read(this.key, { from: this.#seen + 1 })
    if (entries.some(({ key }) => key === undefined)) return false
    this.notice(entries)
    return true
  }

  /**
   * Reads again if somebody else has written since. Not while a turn is played from here. What is being written here is
   * waited for: a claim whose receipt is still on its way looks like somebody else's.
   */
  refresh(): Promise<void> {
    return this.#inOrder(() => this.#refreshNow())
  }

  async #refreshNow(): Promise<void> {
    if (this.isLoaded && this.#unsaved === undefined) {
      const head = await this.store.head(this.key)
      if ((head?.seq ?? 0) !== this.#seen && !this.#owned) this.forget(true)
    }
    if (!this.isLoaded) await this.load()
  }

  /** What is known may be wrong, and is read again before it is used. `lost`: and somebody else owns the conversation. */
  forget(lost: boolean): void {
    this.#loaded = false
    this.#window = undefined
    this.#unsaved = undefined
    if (lost) this.#owned = false
  }

  /** Lets anybody drive it, wherever it stands. */
  release(reason: string): Promise<void> {
    return this.#inOrder(async () => {
      if (!this.#owned) return
      const { turn } = this.#session
      await this.#append({ epoch: this.#epoch, entries: [{ type: 'release', turn, data: { reason } }] })
      this.forget(true)
    })
  }

  /** Becomes the owner, with what is to be posted and said first. Entries need the journal to stand where it is known to. */
  claim(posts: readonly NewInboxEntry[], entries: readonly NewEntry[]): Promise<void> {
    return this.#inOrder(() => this.#claimNow(posts, entries))
  }

  append(entries: readonly NewEntry[]): Promise<void> {
    return this.#inOrder(() => this.#appendNow(entries))
  }

  /** One after the other: receipts have to be folded in the order of what they tell. */
  #inOrder<T>(work: () => Promise<T>): Promise<T> {
    const writing = this.#writing === undefined ? work() : this.#writing.then(work, work)
    this.#writing = writing
    void this.#forgetWriting(writing)
    return writing
  }

  async #forgetWriting(writing: Promise<unknown>): Promise<void> {
    await writing.catch(() => {})
    if (this.#writing === writing) this.#writing = undefined
  }

  /** Inbox entries change nothing that was decided (R2): a claim that they made fail is made again after them. */
  async #claimNow(posts: readonly NewInboxEntry[], entries: readonly NewEntry[]): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#claimHere(posts, entries)
      } catch (error) {
        const isLast = attempt >= MOST_READS || posts.length > 0 || !HoldfastError.is(error, 'moved')
        if (isLast || !(await this.#readInbox())) throw error
      }
    }
  }

  async #claimHere(posts: readonly NewInboxEntry[], entries: readonly NewEntry[]): Promise<void> {
    const { driver, leaseMs } = this.#options
    const [before, sentAt] = [this.#seen, this.#options.clock.elapsed()]
    const receipt = await this.#append({ claim: { driver, leaseMs }, inbox: posts, entries })
    this.#granted(receipt, sentAt)
    this.#epoch = receipt.epoch
    this.#owned = true
    // A bare claim is granted wherever the journal stands.
    if (receipt.first !== before + 1) await this.#loadOwned(receipt.epoch)
    else this.#absorb(receipt)
    this.#checkOwnership(receipt.entries)
  }

  /** The turn may have ended before it was claimed, and the claim holds all the same. */
  async #loadOwned(epoch: number): Promise<void> {
    await this.load()
    this.#owned = this.#session.epoch === epoch
  }

  async #appendNow(entries: readonly NewEntry[]): Promise<void> {
    const unsaved = this.#unsaved?.entries ?? []
    const sentAt = this.#options.clock.elapsed()
    const receipt = await this.#append({ epoch: this.#epoch, entries: [...unsaved, ...entries] })
    this.#granted(receipt, sentAt)
    if (this.#unsaved !== undefined) this.#rewind(this.#unsaved)
    this.#absorb(receipt, unsaved.length)
    this.#checkOwnership(receipt.entries)
  }

  /** Holds entries back until the next append. They count as said here, and are lost in a crash. */
  hold(entries: readonly NewEntry[]): void {
    this.#unsaved ??= { entries: [], held: new Set(), before: this.#session }
    for (const said of entries) {
      const takes = said.takes?.map((key) => this.#inbox.get(key)?.seq ?? 0)
      const entry: Entry = {
        seq: this.#session.seq + 1,
        at: this.#options.clock.now(),
        v: ENTRY_FORMAT[said.type as EntryType],
        type: said.type,
        turn: said.turn,
        data: said.data,
        ...(takes === undefined ? {} : { takes }),
      }
      this.#unsaved.entries.push(said)
      this.#unsaved.held.add(entry)
      this.#take([entry])
      this.#options.onEntry(entry, true)
    }
  }

  async flush(): Promise<void> {
    if (this.#unsaved !== undefined) await this.append([])
  }

  /**
   * Into the inbox, as anybody may. Returns the entries that were not there before. An owner's posts share a commit with
   * what it appends; anybody else's wait for a claim that is on its way, which they would make fail.
   */
  post(posts: readonly NewInboxEntry[]): Promise<readonly Entry[]> {
    return this.#owned ? this.#postNow(posts) : this.#inOrder(() => this.#postNow(posts))
  }

  async #postNow(posts: readonly NewInboxEntry[]): Promise<readonly Entry[]> {
    const receipt = await this.#append({ inbox: posts, since: Math.max(this.#seen, this.#told) })
    this.notice(receipt.inbox)
    if (!this.#owned && posts.some(({ type }) => type === 'cancel'))
      cancelBell(this.store).ring(keyText(this.key))
    return receipt.entries
  }

  async renew(): Promise<void> {
    const { store, key, clock } = this.#options
    const sentAt = clock.elapsed()
    const { inbox } = await store.renew({ key, epoch: this.#epoch, since: this.#seen })
    this.#grantedAt = sentAt
    this.notice(inbox)
  }

  /** Inbox entries that have come to be known. Past a gap, where others may have driven, they are told and not counted on. */
  notice(entries: readonly Entry[]): void {
    for (const entry of entries) {
      if (entry.seq <= this.#seen || entry.key === undefined) continue
      if (this.#owned || entry.seq === this.#seen + 1) {
        this.#inbox.set(entry.key, entry)
        this.#seen = entry.seq
        this.#window?.add([entry])
      }
      if (entry.seq <= this.#told) continue
      this.#told = entry.seq
      this.#options.onEntry(entry)
    }
  }

  /** Is there so much that a snapshot would spare the next process? */
  get isWorthSaving(): boolean {
    return isWorthSaving({ session: this.#session, since: this.#snapshotAt })
  }

  /** Spares the next process some reading; losing it costs nothing. */
  async snapshot(): Promise<void> {
    const { store, key } = this.#options
    if (this.#unsaved !== undefined) return
    const { seq } = this.#session
    // Whatever keeps it from being saved, a turn does not depend on it.
    const isSaved = await saveSession(store, key, { session: this.#session, since: this.#snapshotAt }).catch(
      () => true,
    )
    if (isSaved) this.#snapshotAt = seq
  }

  get #held(): HeldWindow {
    if (this.#window === undefined) throw new Error('The ledger was not loaded.')
    return this.#window
  }

  async #append(
    request: Pick<AppendRequest, 'claim' | 'epoch' | 'inbox' | 'entries'> & { readonly since?: number },
  ): Promise<Receipt> {
    const { store, key, ids, timer, parent } = this.#options
    const birth = parent === undefined ? {} : { parent }
    const whole = { key, id: ids.next('append'), since: this.#seen, ...request, ...birth }
    return persist(store, whole, { wait: (ms) => timer.wait(ms) })
  }

  /** The lease runs from when the store saw the request, which was not before it was sent; a repetition renews nothing. */
  #granted({ repeated }: Receipt, sentAt: number): void {
    if (!repeated) this.#grantedAt = sentAt
  }

  /** `told`: how many of the entries whoever listens has heard of before they were saved. */
  #absorb(receipt: Receipt, told = 0): void {
    this.notice(receipt.inbox.filter(({ seq }) => seq < receipt.first))
    this.#take(receipt.entries)
    this.#seen = Math.max(this.#seen, receipt.last)
    for (const entry of receipt.entries.slice(told)) this.#options.onEntry(entry)
    this.notice(receipt.inbox)
  }

  #take(entries: readonly Entry[]): void {
    this.#session = fold(entries, this.#session)
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

  #rewind({ held, before }: { held: ReadonlySet<Entry>; before: Session }): void {
    this.#session = before
    this.#window?.remove(held)
    this.#unsaved = undefined
  }

  #checkOwnership(entries: readonly Entry[]): void {
    if (entries.some(({ type }) => type === 'turn.end' || type === 'release')) this.#owned = false
  }
}
