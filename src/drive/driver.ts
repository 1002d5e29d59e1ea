/**
 * Drives one conversation: opens or takes over a turn, makes each batch of its loop durable before the loop continues,
 * and releases. `step` does one of these at a time, for engines, agents and manual stepping alike.
 *
 * The errors of a step, and who decides what follows:
 *
 *   owned, moved, fenced        `#step`: no failure of a caller; the pump follows the owner, or tries again
 *   a batch that does not fit   `#begin`, `#advance`: the loop gets the refusal, and yields another batch
 *   posts that do not fit       `#open`: the claim is repeated without them, and their caller is refused (P3)
 *   any other                   `#abandon`: the turn breaks, a release is owed (S5), and the callers are refused; a claim
 *                               whose replies were all lost may be stored, so it owes one, too
 *
 * A loss (`fenced`, `erased`, of this journal) is decided in one of four places, and ends in `#lose`:
 *
 *   an append or `ensureLease` of a loop     driving            `#abandon`, with the error of the step
 *   an append or release without loop   holding, leaving   `Ownership.#writeAs`: no step would report it
 *   a post, `erased` only               any owner          `Ownership.#post`
 *   the renewal of a heartbeat          any owner          `Heartbeat.#lose`, after the writes under way, if the epoch
 *                                                          is still held: a turn that has ended meanwhile is not lost
 */
import type { MaybePromise } from '../base/index.ts'
import { readTurn, type Session } from '../journal/index.ts'
import { type Batch, dataOf, type LoopScope, type Next } from '../loop/index.ts'
import {
  type Entry,
  type EntryData,
  type ErrorCode,
  HoldfastError,
  type NewEntry,
  type NewInboxEntry,
} from '../protocol/index.ts'
import { type ConversationArtifacts, journalArtifacts } from './artifacts.ts'
import { deferredWrites, findDeferredWrites } from './deferred-writes.ts'
import type { DriverOptions, PendingWork, Progress } from './driver-options.ts'
import { DriverStop } from './driver-stop.ts'
import { EffectResults } from './effect-results.ts'
import { Heartbeat } from './heartbeat.ts'
import type { JournalState, Publication } from './journal-state.ts'
import { LoopView } from './loop-view.ts'
import { nextBatch, resumeObserved } from './observers.ts'
import { isCallerError } from './outbox.ts'
import { Ownership } from './ownership.ts'
import { endedTurnError } from './refusal.ts'
import { Serial } from './serial.ts'
import { interruptLoop, isActing, isRunning, type Loop, type State, whenLeft } from './state.ts'
import { Vault } from './vault.ts'

const ON: Progress = { state: 'again', next: 'continue' }
const OWNED: Progress = { state: 'owned' }

/** Refusals of an entry for its content, whoever writes it. */
const UNFIT: readonly ErrorCode[] = ['invalid-entry', 'too-large']

/** Attempts at an append between turns while others write. */
const MAX_ATTEMPTS = 10

export class Driver {
  readonly ownership: Ownership
  readonly vault: Vault = new Vault()
  readonly artifacts: ConversationArtifacts
  readonly #options: DriverOptions
  readonly #pending: PendingWork
  readonly #heartbeat: Heartbeat
  readonly #steps = new Serial()
  readonly #stop = new DriverStop()
  readonly #results = new EffectResults((callId, settled) => {
    const { driver } = this.#options
    deferredWrites(this.#options).postResult({ ...settled, callId }, driver, this.ownership)
  })
  /** Ends the current step's wait for its loop. */
  #leaveStep: (() => void) | undefined

  constructor(options: DriverOptions) {
    this.#options = options
    this.#pending = options.pending
    const onEntry: DriverOptions['onEntry'] = (entry, how) => this.#onEntry(entry, how)
    this.ownership = new Ownership({ ...options, onEntry }, (why) => this.#lose(why))
    this.#heartbeat = new Heartbeat({
      ownership: this.ownership,
      timer: options.timer,
      everyMs: options.heartbeatMs,
      onBeat: () => {
        if (this.ownership.state.is === 'holding' && !this.journal.isInboxEmpty) options.onInboxEntry?.()
      },
      onLost: (error) => this.#lose(error),
    })
    this.artifacts = journalArtifacts(options, {
      clearedAt: async () => {
        await this.ownership.refresh()
        return this.journal.session.cleared ?? 0
      },
      record: (entry) => this.record([entry]),
    })
  }

  get journal(): JournalState {
    return this.ownership.journal
  }

  get isRunning(): boolean {
    return isRunning(this.ownership.state)
  }

  /** While a turn is being opened: resolves when its claim is granted or refused. */
  get opening(): Promise<void> | undefined {
    return whenLeft(this.ownership.state, 'opening')
  }

  /** While effects of a lost turn run here: resolves when their results are posted, or their grace is over. */
  get draining(): Promise<void> | undefined {
    return whenLeft(this.ownership.state, 'draining')
  }

  /** The next step's action. */
  get next(): Next {
    const { state } = this.ownership
    return state.is === 'driving' ? state.next : 'done'
  }

  /** True if a claim may carry posts now (P2). */
  get mayCarry(): boolean {
    return !this.isRunning && this.#isUntouched
  }

  get #isUntouched(): boolean {
    return this.journal.session.open === undefined && this.journal.isInboxEmpty
  }

  /**
   * Stops after the effects under way: `pause` until a resume, `release` for others to continue, who repeat a model call
   * under way. Undefined: no stop.
   */
  stop(how: 'pause' | 'release' | undefined): void {
    this.#stop.set(how)
  }

  /** Steps run one at a time, in the order of the calls. */
  step(): Promise<Progress> {
    return this.#steps.run(() => this.#step())
  }

  async #step(): Promise<Progress> {
    const { state } = this.ownership
    if (state.is === 'draining') return OWNED
    try {
      if (this.#stop.how !== undefined && !isActing(state)) return await this.#stopTurn(state)
      return await (state.is === 'driving' ? this.#advance(state.loop) : this.#open())
    } catch (error) {
      await this.#abandon(error)
      if (HoldfastError.is(error, 'owned')) return OWNED
      if (HoldfastError.is(error, 'moved') || HoldfastError.is(error, 'fenced')) return ON
      throw error
    }
  }

  /** Opens a turn or takes over the open one, up to its first batch. */
  async #open(): Promise<Progress> {
    const owed = findDeferredWrites(this.#options)
    if (owed !== undefined) await owed.flush(this.ownership) // D2
    const { ownership } = this
    if (ownership.isOwner && this.hasWork) await ownership.releaseIdle()
    if (ownership.isOwner || !(await ownership.open(() => this.hasWork))) return this.#idle()
    if (!this.#isUntouched) await this.#pending.postQueued()
    const posts = this.#pending.carry()
    const loop = this.#loop(posts)
    try {
      return await (this.journal.session.open === undefined ? this.#begin(loop, posts) : this.#takeOver(loop))
    } catch (error) {
      this.#pending.returned(error)
      if (ownership.state.is !== 'opening') throw error
      await this.#closeLoop(loop, error)
      if (posts.length === 0 || !isCallerError(error)) throw error
      ownership.refused()
      await this.#pending.postQueued()
      return ON
    }
  }

  /**
   * Begins a turn: the claim and its first batch are one append, with the posts of a caller. That saves a commit (P2),
   * and is why the loop runs before its claim: on posts that are not stored, at the positions that they will have
   * (`LoopView`). If anyone else writes first, the claim is refused, and the loop is closed unused (W3).
   */
  async #begin(loop: Loop, posts: readonly NewInboxEntry[]): Promise<Progress> {
    const from = this.journal.session
    let result = await loop.batches.next()
    while (!result.done) {
      const { value: batch } = result
      try {
        await this.ownership.claim({ loop, posts, first: { entries: batch.entries, from } })
      } catch (refusal) {
        // The posts may be what does not fit: they are judged alone first (P3).
        if (!isUnfit(refusal) || posts.length > 0) throw refusal
        result = await insteadOf(batch, loop, refusal)
        continue
      }
      batch.stored()
      this.#pending.stored()
      this.#heartbeat.start()
      return this.#advanced(loop, batch)
    }
    this.#pending.returned()
    this.ownership.refused()
    return ON
  }

  async #takeOver(loop: Loop): Promise<Progress> {
    await this.ownership.claim({ loop })
    this.#heartbeat.start()
    await findDeferredWrites(this.#options)?.flush(this.ownership) // D2
    if (this.vault.hasUnclaimedCredentials) await this.#followTurn()
    await resumeObserved(this.#options, this.journal.session)
    return this.#advance(loop)
  }

  /** The open turn may have taken a message of this process, in entries that were not published here yet. */
  async #followTurn(): Promise<void> {
    const { store, key, session } = this.journal
    for (const entry of await readTurn(store, key, session.turn)) this.follow(entry)
  }

  /**
   * Makes the loop's next batch durable. A batch that the store cannot keep goes back to the loop, which yields
   * another.
   */
  async #advance(loop: Loop): Promise<Progress> {
    let result = await this.#next(loop)
    while (result !== undefined && !result.done) {
      const { value: batch } = result
      try {
        await this.#commit(loop, batch)
      } catch (refusal) {
        if (isUnfit(refusal) && this.#isDriving(loop)) {
          result = await insteadOf(batch, loop, refusal)
          continue
        }
        batch.refused(refusal)
        throw isUnfit(refusal) ? this.ownership.lossError() : refusal
      }
      batch.stored()
      return this.#advanced(loop, batch)
    }
    if (result === undefined) return OWNED
    if (this.#isDriving(loop)) this.ownership.close()
    return ON
  }

  /** Undefined if the turn is lost meanwhile: its effects may never end, and its later batches come to nothing. */
  #next(loop: Loop): Promise<IteratorResult<Batch, boolean> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Batch, boolean> | undefined>()
    this.#leaveStep = () => resolve(undefined)
    nextBatch(this.#options, { turn: this.journal.session.turn, loop }).then(resolve, reject)
    return promise
  }

  #commit(loop: Loop, { entries }: Batch): Promise<void> | undefined {
    if (entries.length === 0) return undefined
    const { ownership } = this
    const isBuffered = !this.#options.autoSave && this.#isDriving(loop) && ownership.buffer(entries)
    return isBuffered ? undefined : ownership.append(entries)
  }

  #advanced(loop: Loop, { next }: Batch): MaybePromise<Progress> {
    // A buffered end of a turn leaves the conversation owned (S5).
    if (this.#isDriving(loop)) {
      if (next === 'done') this.ownership.close()
      else this.ownership.advanced(next)
    }
    const isDone = next === 'done'
    return isDone || this.journal.isWorthSaving ? this.#saved(loop, next) : { state: 'again', next }
  }

  async #saved(loop: Loop, next: Next): Promise<Progress> {
    if (this.journal.isWorthSaving) await this.journal.snapshot()
    if (next === 'done') await loop.batches.return(true)
    return { state: 'again', next }
  }

  #isDriving({ interrupt }: Pick<Loop, 'interrupt'>): boolean {
    const { state } = this.ownership
    return state.is === 'driving' && state.loop.interrupt === interrupt
  }

  /** Leaves the state that an error has ended (S4, S5). */
  async #abandon(why: unknown): Promise<void> {
    const { state } = this.ownership
    if (state.is === 'opening') this.ownership.refused()
    if (this.ownership.isOwnLoss(why)) {
      if (this.ownership.isOwner) this.#lose(why)
      return
    }
    if (state.is === 'driving') {
      this.#results.postAll()
      this.#options.telemetry?.leave()
      this.ownership.broke()
      await this.#endLoop(state.loop, why)
    }
    if (!this.ownership.owesRelease) return
    await this.#oweRelease()
  }

  /** Releases the conversation, now or as soon as the store takes it (S5). */
  async #oweRelease(): Promise<void> {
    const owed = deferredWrites(this.#options)
    owed.release(this.ownership, this.#owedRelease)
    await owed.tried()
  }

  /** A turn that breaks while it is to be paused is paused. */
  get #owedRelease(): EntryData['release'] {
    const isOpen = this.ownership.isOwner && this.journal.session.open !== undefined
    return (isOpen ? this.#stop.release : undefined) ?? { reason: 'trouble' }
  }

  /** Another driver has claimed: the loop is stopped, and the results of its effects are posted (R4, S6). */
  #lose(why: HoldfastError): void {
    const { state } = this.ownership
    this.#results.postAll()
    this.#options.telemetry?.leave()
    this.ownership.lost(why)
    // Not awaited: a tool that never ends must not keep this process from following the turn.
    if (state.is === 'driving') void this.#drain(state.loop, why)
    this.#leaveStep?.()
  }

  async #drain(loop: Loop, why: HoldfastError): Promise<void> {
    await this.#endLoop(loop, why)
    await findDeferredWrites(this.#options)?.tried()
    this.ownership.drained()
  }

  /** Closes a loop, and waits for its effects, at most for their grace. Later results are posted, too. */
  async #endLoop(loop: Loop, why: unknown): Promise<void> {
    const { timer, definition } = this.#options
    const ended = new AbortController()
    const grace = timer.wait(definition.graceMs, { signal: ended.signal, background: true })
    await Promise.race([this.#closeLoop(loop, why), grace])
    ended.abort()
  }

  async #closeLoop(loop: Loop, why: unknown): Promise<void> {
    interruptLoop(loop)
    await quietly(loop.batches.throw(why))
  }

  async #stopTurn(state: State): Promise<Progress> {
    if (state.is === 'driving') {
      this.ownership.close()
      await state.loop.batches.return(true)
      const { turn, open } = this.journal.session
      const data = this.#stop.release
      const released = open && data && this.ownership.append([{ type: 'release', turn, data }])
      await released?.finally(() => this.#options.telemetry?.leave())
    } else if (this.ownership.owesRelease) await this.#oweRelease()
    return { state: 'paused' }
  }

  /**
   * Appends entries that no turn made: in the running turn, or under a claim of its own. Rejects with `owned` while
   * another driver owns the conversation, and with the reason of the loss while draining. Entries that depend on the
   * session are a function, called again if others have written meanwhile.
   */
  async record(what: EntriesToRecord | ((session: Session) => EntriesToRecord)): Promise<void> {
    const entriesFor = (session: Session): readonly NewEntry[] =>
      (typeof what === 'function' ? what(session) : what).map((entry) => ({
        turn: session.open?.turn ?? 0,
        ...entry,
        data: this.vault.hide(entry.type, entry.data),
      }))
    for (let attempt = 1; ; attempt++) {
      await this.opening
      try {
        if (await this.ownership.appendOrClaim(entriesFor)) return
      } catch (error) {
        if (!HoldfastError.is(error, 'moved') || attempt >= MAX_ATTEMPTS) throw error
        await this.ownership.refresh()
      }
    }
  }

  /** Appends the buffered entries, and tries the deferred writes once; they are retried while the process lives. */
  async flush(): Promise<void> {
    await this.ownership.flush()
    const owed = findDeferredWrites(this.#options)
    if (owed !== undefined) await quietly(owed.flush(this.ownership))
  }

  /** Releases a conversation left between turns with a non-empty inbox: its followers wait for this driver. */
  async handOver(): Promise<void> {
    const { journal, ownership } = this
    const isOwed = ({ epoch, open }: Session) =>
      open === undefined && epoch > 0 && epoch === ownership.epoch && !journal.isInboxEmpty
    if (ownership.state.is !== 'free' || !isOwed(journal.session)) return
    const release = { type: 'release', data: { reason: 'stopped' } }
    await quietly(this.record((session) => (isOwed(session) ? [release] : [])))
  }

  /** True if there is a turn to open or to continue. */
  get hasWork(): boolean {
    if (!this.#pending.isEmpty || !this.journal.isInboxEmpty) return true
    return this.journal.session.open !== undefined || this.#expiry() <= this.#options.clock.now()
  }

  #idle(): Progress {
    const at = this.#expiry()
    return Number.isFinite(at) ? { state: 'idle', at } : { state: 'idle' }
  }

  #expiry(): number {
    const { parked } = this.journal.session
    if (parked === undefined) return Number.POSITIVE_INFINITY
    return Math.min(...parked.requests.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  }

  #loop(posts: readonly NewInboxEntry[]): Loop {
    const [cancel, interrupt] = [new AbortController(), new AbortController()]
    const signals = { cancel, interrupt, release: this.#stop.newRelease() }
    return { batches: this.#options.run(this.#scope(posts, signals), this.journal), ...signals }
  }

  #scope(posts: readonly NewInboxEntry[], signals: Omit<Loop, 'batches'>): LoopScope {
    const { cancel, interrupt, release } = signals
    const { key, definition, clock, timer, ids, emit, abandoned, thrown, telemetry } = this.#options
    // A call that outlasts its turn writes nothing into a later one (S4).
    const mayStore = (): void => {
      if (!this.#isDriving(signals)) throw endedTurnError(key.contextId)
    }
    return {
      key,
      definition,
      clock,
      timer,
      ids,
      emit,
      abandoned,
      thrown,
      telemetry,
      continuing: this.#pending.continuing,
      view: new LoopView(this.ownership, posts, clock.now()),
      cancelled: cancel.signal,
      cancelledOrLost: interrupt.signal,
      cancelledLostOrReleased: release.signal,
      stopping: this.#stop.stopping,
      ensureLease: () => this.#ensureLease(signals),
      credentials: (principal) =>
        this.vault.lookUp(principal, {
          find: this.#options.credentials,
          session: () => this.journal.session,
        }),
      artifacts: (callId, secrets) => this.artifacts.by({ callId, secrets, check: mayStore }),
      callArguments: this.vault.callArguments,
      ended: (callId, settled) => this.#results.ended(callId, settled, this.#isDriving(signals)),
      late: (callId, settled) => this.#results.late(callId, settled),
    }
  }

  /** No effect starts on a grant older than half the lease, nor for a loop that no longer drives (R4, S3). */
  #ensureLease(of: Pick<Loop, 'interrupt'>): MaybePromise<void> {
    const { ownership } = this
    if (!this.#isDriving(of)) throw ownership.lossError()
    return ownership.freshen()?.then(() => this.#ensureLease(of))
  }

  /** Follows an entry that was read, not written here: the credentials of a message go with the turn that takes it. */
  follow(entry: Entry): void {
    this.vault.follow(entry, this.journal.session)
  }

  #onEntry(entry: Entry, how?: Publication): void {
    const { session } = this.journal
    if (how !== 'unsaved') this.#results.stored(entry)
    if (how !== 'saved') this.vault.follow(entry, session)
    if (entry.type === 'cancel' && dataOf(entry, 'cancel').turn === session.open?.turn) this.#cancel()
    this.#options.onEntry(entry, how)
  }

  #cancel(): void {
    const { state } = this.ownership
    if (state.is !== 'driving') return
    state.loop.cancel.abort()
    interruptLoop(state.loop)
  }
}

type EntriesToRecord = readonly Omit<NewEntry, 'turn'>[]

/** A smaller batch, or the loop's next one after it was told of the refusal. */
async function insteadOf(
  batch: Batch,
  { batches }: Loop,
  refusal: unknown,
): Promise<IteratorResult<Batch, boolean>> {
  const smaller = batch.refused(refusal)
  return smaller === undefined ? batches.throw(refusal) : { done: false, value: smaller }
}

function isUnfit(error: unknown): boolean {
  return UNFIT.some((code) => HoldfastError.is(error, code))
}

/** Waits for work whose failure is reported elsewhere or does not matter. */
async function quietly(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch {
    // The failure is reported elsewhere.
  }
}
