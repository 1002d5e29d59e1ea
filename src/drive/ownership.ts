/**
 * The one way to the journal of a conversation: every read, post, claim, append, renewal and release of this driver
 * goes through here, and moves it from one state to the next (`state.ts`, S1 to S7).
 *
 * W1  Reads, claims, appends and the posts of a driver that is not the owner run one after the other, so receipts are
 *     absorbed in the order of the journal. An owner's posts and renewals run beside them: their receipts bring inbox
 *     entries, and only the owner's own appends can lie between those (L1, `JournalState.receive`).
 * W2  A reply of the store to an append, renewal or release counts only under the epoch of its request: a late one
 *     changes nothing. A post has no epoch, and its receipt counts whoever owns the journal when it comes.
 * W3  The first batch of a turn is claimed only from the session that it was computed from; otherwise `moved`.
 * W4  The state changes before the entries that changed it are published: a caller that receives the end of a turn
 *     finds the conversation free.
 * W5  No entry is buffered while an append is under way or unclear: the append would lack it, and its receipt clears the
 *     buffer.
 * W6  An owner's append is unclear while the store may have it and no reply has said so. It is repeated under its id
 *     before the owner's next append, so its entries are stored once, and the journal in memory has them in order. A
 *     driver that gives up its journal gives up the repetition, too: the next read finds what is stored.
 */
import type { Ids, MaybePromise, Timer } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import type { Next } from '../loop/index.ts'
import {
  ENTRY_KINDS,
  type Entry,
  type EntryData,
  HoldfastError,
  keyText,
  type NewEntry,
  type NewInboxEntry,
} from '../protocol/index.ts'
import {
  type AppendRequest,
  type PersistOptions,
  persist,
  persistLease,
  type Receipt,
} from '../store/index.ts'
import { cancelNotifier } from './cancel-notifier.ts'
import { JournalState, type JournalStateOptions } from './journal-state.ts'
import { slowLeaseError } from './refusal.ts'
import { Serial } from './serial.ts'
import {
  after,
  type Event,
  FREE,
  grantOf,
  isKeptCurrent,
  isOwner,
  type LeaseGrant,
  type Loop,
  type State,
  TRANSITIONS,
  type Transitions,
} from './state.ts'

export interface OwnershipOptions extends JournalStateOptions {
  readonly timer: Timer
  readonly ids: Ids
  /** The driver's name in a claim, which no other driver has: a lost reply to the claim is found by it. */
  readonly driver: string
  readonly leaseMs: number
  /** The parent conversation, and its last known position (R17). */
  readonly parent?: string
  readonly parentSince?: number
  /** A broken table, for tests that expect it to be caught. */
  readonly transitions?: Transitions
}

/** A claim: with a caller's posts and the first batch of a turn, or bare, to take over the open turn. */
export interface Claim {
  readonly loop: Loop
  readonly posts?: readonly NewInboxEntry[]
  readonly first?: { readonly entries: readonly NewEntry[]; readonly from: Session }
}

/** Attempts at one claim while others post. The claims of a turn without progress are `maxClaims` (R7). */
const MAX_CLAIM_ATTEMPTS = 5

/** Renewals before one effect, each of which came too late. */
const MAX_RENEWALS = 5

export class Ownership {
  readonly journal: JournalState
  readonly #options: OwnershipOptions
  readonly #onLost: (why: HoldfastError) => void
  /** W1 */
  readonly #inOrder = new Serial()
  readonly #patience: PersistOptions
  #state: State = FREE
  /** The newest epoch granted here. */
  #epoch = 0
  #isAppending = false
  /** W6 */
  #unclearAppend: OwnerAppend | undefined
  /** True while a claim may be stored whose reply never came. */
  #isClaimUnclear = false
  /** Loss errors of this journal; a loop can see those of other journals, too. */
  readonly #losses = new WeakSet<HoldfastError>()

  /** `onLost`: the store has refused an owner without a loop, because another driver has claimed, or a post of any owner, because it was erased. */
  constructor(options: OwnershipOptions, onLost: (why: HoldfastError) => void) {
    this.#options = options
    this.#onLost = onLost
    this.#patience = { wait: (ms) => options.timer.wait(ms) }
    this.journal = new JournalState(options)
  }

  get state(): State {
    return this.#state
  }

  get epoch(): number {
    return this.#epoch
  }

  get isOwner(): boolean {
    return isOwner(this.#state)
  }

  /** True if a release is owed (S5). A buffered end of a turn ends ownership by itself. */
  get owesRelease(): boolean {
    return this.#isClaimUnclear || (this.isOwner && !this.#hasUnsavedEnd)
  }

  get #hasUnsavedEnd(): boolean {
    return this.journal.hasUnsaved && this.journal.session.open === undefined
  }

  /** True if the store refused a write to this journal because another driver has claimed, or it was erased. */
  isOwnLoss(error: unknown): error is HoldfastError {
    return isLoss(error) && this.#losses.has(error)
  }

  /** Milliseconds since the grant. */
  get age(): number {
    const { at = Number.NEGATIVE_INFINITY } = grantOf(this.#state) ?? {}
    return this.#options.clock.elapsed() - at
  }

  get #isFresh(): boolean {
    return this.age <= this.#options.leaseMs / 2
  }

  /** Renews a lease that is older than half of it (R4). Rejects if the store takes too long for that. */
  freshen(): Promise<void> | undefined {
    return this.#isFresh || !this.isOwner ? undefined : this.#renewInTime()
  }

  async #renewInTime(): Promise<void> {
    const { key, leaseMs } = this.#options
    for (let attempt = 1; this.isOwner && !this.#isFresh; attempt++) {
      if (attempt > MAX_RENEWALS) throw slowLeaseError(key.contextId, leaseMs)
      await this.renew()
    }
  }

  /** Brings the journal up to date if it is known to be stale. */
  read(): MaybePromise<void> {
    if (this.#inOrder.isIdle && (this.#isKeptCurrent || this.journal.isUpToDate)) return
    return this.#inOrder.run(async () => {
      if (!this.#isKeptCurrent) await this.journal.bringUpToDate()
    })
  }

  /** Reads the head, and brings the journal up to date if others have written. */
  refresh(): Promise<void> {
    return this.#inOrder.run(async () => {
      if (!this.#isKeptCurrent && !(await this.journal.isCurrent())) await this.journal.load()
    })
  }

  /** Marks the journal as stale: others may have written. */
  forget(): void {
    if (!this.#isKeptCurrent) this.journal.forget()
  }

  get #isKeptCurrent(): boolean {
    return isKeptCurrent(this.#state)
  }

  /** Moves to `opening` if `isWanted` holds for the current journal (S2). */
  open(isWanted: () => boolean): Promise<boolean> {
    return this.#inOrder.run(async () => {
      if (!this.journal.isUpToDate) await this.journal.bringUpToDate()
      if (this.#state.is !== 'free' || !isWanted()) return false
      this.#on({ type: 'opens' })
      return true
    })
  }

  /** Opens or takes over a turn. Rejects with `owned`, `moved`, or the store's refusal of the batch or the posts. */
  claim(claim: Claim): Promise<void> {
    return this.#inOrder.run(async () => {
      // W3
      if (claim.first !== undefined && claim.first.from !== this.journal.session) throw moved(this.journal)
      await this.#claim({ posts: claim.posts ?? [], entries: claim.first?.entries ?? [], loop: claim.loop })
    })
  }

  append(entries: readonly NewEntry[]): Promise<void> {
    return this.#inOrder.run(() => this.#append(entries))
  }

  /**
   * Appends in the running turn or between turns: as the owner, or with a claim and a release of its own. `entriesFor`
   * gets the current session. False while a turn is being opened: retry when that is decided.
   */
  appendOrClaim(entriesFor: (session: Session) => readonly NewEntry[]): Promise<boolean> {
    return this.#inOrder.run(async () => {
      const state = this.#state
      if (state.is === 'opening') return false
      if (state.is === 'draining') throw state.why
      await this.#settle()
      if (!this.#isKeptCurrent) await this.journal.bringUpToDate()
      const entries = entriesFor(this.journal.session)
      if (entries.length === 0) return true
      if (this.isOwner) await this.#append(entries)
      else await this.#claim({ posts: [], entries: withRelease(entries) })
      return true
    })
  }

  /** Appends the buffered entries, unless a write under way has them. */
  async flush(): Promise<void> {
    if (!this.journal.hasUnsaved) return
    await this.#inOrder.run(async () => {
      if (this.journal.hasUnsaved) await this.#append([])
    })
  }

  /** Buffers entries of the owner until the next append. False if that may not be (W5, R3). */
  buffer(entries: readonly NewEntry[]): boolean {
    return !this.#isAppending && this.#unclearAppend === undefined && this.journal.buffer(entries)
  }

  /** Ends ownership with a release entry, after buffered entries; also while the journal is stale. */
  release(data: EntryData['release']): Promise<void> {
    return this.#inOrder.run(async () => {
      await this.#settle()
      const grant = grantOf(this.#state)
      if (grant === undefined) return
      const release: NewEntry = { type: 'release', turn: this.journal.session.turn, data }
      if (this.journal.hasUnsaved) return this.#append([release])
      await this.#writeAs(
        grant.epoch,
        this.#request({ since: this.journal.seen, epoch: grant.epoch, entries: [release] }),
      )
      if (this.#holds(grant.epoch)) this.#on({ type: 'ended' }) // W2
      this.journal.forget()
    })
  }

  /** Ends ownership without a loop: with the buffered end of the turn, or a release. */
  releaseIdle(): Promise<void> {
    return this.#hasUnsavedEnd ? this.flush() : this.release({ reason: 'idle' })
  }

  /** Posts to the inbox, as owner or not. Returns the entries that were not there before (W1). */
  post(posts: readonly NewInboxEntry[]): Promise<readonly Entry[]> {
    return this.isOwner ? this.#post(posts) : this.#inOrder.run(() => this.#post(posts))
  }

  async renew(): Promise<void> {
    const grant = grantOf(this.#state)
    if (grant === undefined) return
    const { store, key, clock } = this.#options
    const at = clock.elapsed()
    const renewing = persistLease(
      store,
      { key, epoch: grant.epoch, since: this.journal.seen },
      this.#patience,
    )
    const { inbox } = await renewing.catch((error: unknown) => {
      if (isLoss(error)) this.#losses.add(error)
      throw error
    })
    if (!this.#holds(grant.epoch)) return // W2
    this.#on({ type: 'granted', at })
    this.journal.receive(inbox, { isOwner: true })
  }

  /** Runs work after the writes under way and before later ones (W1). It must wait for none of them. */
  betweenWrites<T>(work: () => Promise<T>): Promise<T> {
    return this.#inOrder.run(work)
  }

  advanced(next: Next): void {
    this.#on({ type: 'advanced', next })
  }

  /** The loop has ended and the epoch is still held. */
  close(): void {
    this.#on({ type: 'closed' })
  }

  /** The claim of an opening was refused or never made. */
  refused(): void {
    this.journal.forget()
    this.#on({ type: 'refused' })
  }

  /** Another driver has claimed, or the conversation was erased. */
  lost(why: HoldfastError): void {
    this.journal.forget()
    this.#on({ type: 'lost', why })
  }

  /** The turn cannot continue here and the epoch is still held: a release is owed (S5). */
  broke(): void {
    this.journal.forget()
    this.#on({ type: 'broke' })
  }

  drained(): void {
    this.#on({ type: 'drained' })
  }

  #on(event: Event): void {
    const before = this.#state
    this.#state = after(this.#options.transitions ?? TRANSITIONS, before, event)
    if (!this.#isKeptCurrent) this.#unclearAppend = undefined // W6
    if (before.is === 'opening' || before.is === 'draining') before.left.resolve()
  }

  #holds(epoch: number): boolean {
    return grantOf(this.#state)?.epoch === epoch
  }

  /**
   * Repeats a claim that a new inbox entry made fail (R2). A turn that ends a wait was decided from the inbox, so it is
   * `moved`: an answer in time comes before the expiry of its request.
   */
  async #claim(claim: ClaimRequest): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#claimOnce(claim)
      } catch (error) {
        const isDecided = claim.posts.length > 0 || this.#endsWait(claim)
        const isLast = attempt >= MAX_CLAIM_ATTEMPTS || isDecided || !HoldfastError.is(error, 'moved')
        if (isLast || !(await this.journal.readInbox())) throw this.#refusal(error)
      }
    }
  }

  #endsWait({ loop, entries }: ClaimRequest): boolean {
    return loop !== undefined && entries.length > 0 && this.journal.session.parked !== undefined
  }

  async #claimOnce({ posts, entries, loop }: ClaimRequest): Promise<void> {
    // S6, and not before the waits of a caller: the turn may be lost during them.
    if (this.#state.is === 'draining') throw this.#state.why
    const { driver, leaseMs, clock } = this.#options
    const [since, sentAt] = [this.journal.seen, clock.elapsed()]
    const claiming = this.#write({ since, claim: { driver, leaseMs }, inbox: posts, entries })
    const receipt = await claiming.catch((error: unknown) => {
      if (isUnclear(error)) this.#isClaimUnclear = true
      throw error
    })
    this.#isClaimUnclear = false
    this.#epoch = receipt.epoch
    // A repeated receipt renews nothing: the grant counts as expired, and is renewed before any effect.
    const at = receipt.repeated ? Number.NEGATIVE_INFINITY : sentAt
    const grant = { epoch: receipt.epoch, at }
    this.#on(loop === undefined ? { type: 'claimed to append', grant } : { type: 'claimed', grant, loop })
    // A bare claim is granted at any position of the journal.
    if (receipt.first !== since + 1) await this.journal.load()
    else this.#absorb(receipt)
  }

  /** Finds out what the store has of writes whose replies never came. */
  async #settle(): Promise<void> {
    if (this.#isClaimUnclear) await this.#findClaim()
    if (this.#unclearAppend !== undefined) await this.#appendAs(this.#unclearAppend) // W6
  }

  /** Finds out whether this driver is the owner by a claim whose reply never came. */
  async #findClaim(): Promise<void> {
    const { store, key, driver } = this.#options
    const head = await store.head(key)
    const isStored = head?.lease?.driver === driver && this.#state.is === 'free'
    if (isStored) await this.journal.load()
    this.#isClaimUnclear = false
    if (!isStored) return
    this.#epoch = head.epoch
    this.#on({ type: 'claimed to append', grant: { epoch: head.epoch, at: Number.NEGATIVE_INFINITY } })
  }

  async #append(entries: readonly NewEntry[]): Promise<void> {
    this.#isAppending = true // W5
    try {
      if (this.#unclearAppend !== undefined) await this.#appendAs(this.#unclearAppend) // W6
      const { unsaved, seen } = this.journal
      const all = unsaved.length > 0 ? [...unsaved, ...entries] : entries
      if (all.length === 0) return
      const request = this.#request({ since: seen, epoch: this.#grant.epoch, entries: all }) // S1
      await this.#appendAs({ request, buffered: unsaved.length })
    } finally {
      this.#isAppending = false
    }
  }

  async #appendAs(append: OwnerAppend): Promise<void> {
    const { request, buffered } = append
    const { epoch } = this.#grant
    const at = this.#options.clock.elapsed()
    let receipt: Receipt
    try {
      receipt = await this.#writeAs(epoch, request)
    } catch (error) {
      if (this.#isKeptCurrent && isUnclear(error)) this.#unclearAppend = append
      else if (!isOfStore(error)) this.#unclearAppend = undefined
      throw error
    }
    if (!this.#holds(epoch)) throw this.lossError() // W2
    this.#unclearAppend = undefined
    if (!receipt.repeated) this.#on({ type: 'granted', at })
    this.#absorb(receipt, buffered)
  }

  get #grant(): LeaseGrant {
    const grant = grantOf(this.#state)
    if (grant === undefined) throw this.lossError()
    return grant
  }

  /** A loop gets the refusal and its results are posted. An owner without a loop is notified here (S5), under its epoch (W2). */
  #writeAs(epoch: number, request: AppendRequest): Promise<Receipt> {
    return this.#persist(request).catch((error: unknown) => {
      if (isLoss(error) && this.#holds(epoch) && this.#state.is !== 'driving') this.#onLost(error)
      throw this.#refusal(error)
    })
  }

  /** Keeps W4. `published`: the number of its first entries that were buffered. */
  #absorb(receipt: Receipt, published = 0): void {
    if (receipt.entries.some(({ type }) => ENTRY_KINDS.get(type)?.ends)) this.#on({ type: 'ended' })
    this.journal.absorb(receipt, published)
  }

  async #post(posts: readonly NewInboxEntry[]): Promise<readonly Entry[]> {
    const receipt = await this.#write({ since: this.journal.newest, inbox: posts }).catch(
      (error: unknown) => {
        const refusal = this.#refusal(error)
        // No epoch decides that: an erased conversation has no owner.
        if (this.isOwner && HoldfastError.is(error, 'erased')) this.#onLost(error)
        throw refusal
      },
    )
    const owns = this.isOwner
    this.journal.receive(receipt.inbox, { isOwner: owns })
    const { store, key } = this.#options
    if (!owns && posts.some(({ type }) => type === 'cancel')) cancelNotifier(store).notify(keyText(key))
    return receipt.entries
  }

  #write(parts: RequestParts): Promise<Receipt> {
    return this.#persist(this.#request(parts))
  }

  #request(parts: RequestParts): AppendRequest {
    const { key, ids, parent, parentSince } = this.#options
    const whole: Writable<AppendRequest> = { key, id: ids.next('append'), ...parts }
    if (parent !== undefined) whole.parent = parent
    if (parent !== undefined && parentSince !== undefined) whole.parentSince = parentSince
    return whole
  }

  #persist(request: AppendRequest): Promise<Receipt> {
    return persist(this.#options.store, request, this.#patience)
  }

  /** Forgets the journal of an erased conversation: the next read finds the one begun anew under the name (L4). An owner's is forgotten as it loses it. */
  #refusal(error: unknown): unknown {
    if (isLoss(error)) this.#losses.add(error)
    if (HoldfastError.is(error, 'erased')) this.forget()
    return error
  }

  /** The error for a loop that no longer drives. */
  lossError(): HoldfastError {
    if (this.#state.is === 'draining') return this.#state.why
    const { contextId } = this.journal.key
    return new HoldfastError('fenced', {
      message: `This process no longer drives ${contextId}.`,
      details: { contextId },
    })
  }
}

/** True if the store refused an owner that has lost the conversation. */
export function isLoss(error: unknown): error is HoldfastError {
  return HoldfastError.is(error, 'fenced') || HoldfastError.is(error, 'erased')
}

/** True if an append may have been stored (`persist`). */
function isUnclear(error: unknown): boolean {
  return !HoldfastError.is(error) || error.code === 'ambiguous'
}

/** True for a failure of the store itself: it wrote nothing, and says nothing of an earlier attempt. */
function isOfStore(error: unknown): boolean {
  return HoldfastError.is(error) && error.code.startsWith('store-')
}

type RequestParts = Pick<AppendRequest, 'claim' | 'epoch' | 'inbox' | 'entries' | 'since'>

/** An append of the owner. `buffered`: the number of its first entries that were buffered. */
interface OwnerAppend {
  readonly request: AppendRequest
  readonly buffered: number
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

interface ClaimRequest {
  readonly posts: readonly NewInboxEntry[]
  readonly entries: readonly NewEntry[]
  readonly loop?: Loop
}

function withRelease(entries: readonly NewEntry[]): readonly NewEntry[] {
  const isReleased = entries.at(-1)?.type === 'release'
  return isReleased ? entries : [...entries, { type: 'release', turn: 0, data: { reason: 'recorded' } }]
}

function moved({ key: { contextId } }: JournalState): HoldfastError {
  return new HoldfastError('moved', {
    message: `Entries were appended to ${contextId} while its turn was prepared. The turn is prepared again.`,
    details: { contextId },
  })
}
