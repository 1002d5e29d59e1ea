/**
 * Drives one conversation: opens or takes over a turn, makes each batch of its loop durable before the loop goes on, and
 * lets go. `step` does one of these at a time, so an engine, an agent and a test that steps by hand all do the same.
 */
import { chain, type MaybePromise } from '../base/index.ts'
import { isStarted, type Session } from '../journal/index.ts'
import { type Batch, dataOf, type LoopScope, type Next } from '../loop/index.ts'
import {
  type Entry,
  type EntryData,
  type ErrorCode,
  HoldfastError,
  type NewEntry,
  type NewInboxEntry,
  type Principal,
} from '../protocol/index.ts'
import type { Credentials, Settled } from '../tool/index.ts'
import { type ConversationArtifacts, journalArtifacts } from './artifacts.ts'
import { type DeferredWrites, deferredWrites, owedTo } from './deferred-writes.ts'
import { type DriverOptions, NO_OFFERS, type Offers, type Progress } from './driver-options.ts'
import { Heartbeat } from './heartbeat.ts'
import { mayWait } from './holding-back.ts'
import type { JournalState, Publication } from './journal-state.ts'
import { LoopView } from './loop-view.ts'
import { isOfTheCaller } from './outbox.ts'
import { isLoss, Ownership } from './ownership.ts'
import { Serial } from './serial.ts'
import type { Loop, State } from './state.ts'
import { Vault } from './vault.ts'

const ON: Progress = { state: 'again', next: 'on' }
const OWNED: Progress = { state: 'owned' }

/** What an entry is refused for, whoever writes it. */
const UNFIT: readonly ErrorCode[] = ['invalid-entry', 'too-large']

/** How often to append between turns again when others write too. */
const MOST_ATTEMPTS = 10

export class Driver {
  readonly ownership: Ownership
  readonly vault: Vault = new Vault()
  readonly artifacts: ConversationArtifacts
  readonly #options: DriverOptions
  readonly #offers: Offers
  readonly #heartbeat: Heartbeat
  readonly #steps = new Serial()
  #stopping: 'pause' | 'release' | undefined
  /** Ends the wait of the step that is under way for its loop. */
  #leaveStep: (() => void) | undefined
  #leave = new AbortController()

  constructor(options: DriverOptions) {
    this.#options = options
    this.#offers = options.offers ?? NO_OFFERS
    const onEntry: DriverOptions['onEntry'] = (entry, how) => this.#heard(entry, how)
    this.ownership = new Ownership({ ...options, onEntry }, (why) => this.#lose(why))
    this.#heartbeat = new Heartbeat({
      ownership: this.ownership,
      timer: options.timer,
      everyMs: options.heartbeatMs,
      onBeat: () => {
        if (this.ownership.state.is === 'holding' && !this.journal.isInboxEmpty) options.onWanted?.()
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

  get isPlaying(): boolean {
    const { is } = this.ownership.state
    return is === 'opening' || is === 'driving'
  }

  /** While a turn is being begun: resolves when it is known whether it is this process that begins it. */
  get opening(): Promise<void> | undefined {
    return decisionOf(this.ownership.state, 'opening')
  }

  /** While effects of a turn that was lost are under way here: resolves when their results were handed in. */
  get settling(): Promise<void> | undefined {
    return decisionOf(this.ownership.state, 'settling')
  }

  /** What the next step will do. */
  get next(): Next {
    const { state } = this.ownership
    return state.is === 'driving' ? state.next : 'done'
  }

  /** May a claim bring posts along now (P2)? */
  get mayCarry(): boolean {
    return !this.isPlaying && this.#isUntouched
  }

  get #isUntouched(): boolean {
    return this.journal.session.open === undefined && this.journal.isInboxEmpty
  }

  /** Stop after the effects that are under way: `pause` until somebody says so, `release` for anybody to go on. */
  stop(how: 'pause' | 'release' | undefined): void {
    this.#stopping = how
    if (how === undefined) this.#leave = new AbortController()
    else this.#leave.abort()
  }

  /** One at a time, whoever asks. */
  step(): Promise<Progress> {
    return this.#steps.run(() => this.#step())
  }

  async #step(): Promise<Progress> {
    const { state } = this.ownership
    if (state.is === 'settling') return OWNED
    try {
      if (this.#stopping !== undefined && !isActing(state)) return await this.#letGo(state)
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
    const owed = owedTo(this.#options)
    if (owed !== undefined) await owed.flush(this.ownership)
    const { ownership } = this
    if (ownership.isOwner && this.hasWork) await ownership.letGo()
    if (ownership.isOwner || !(await ownership.open(() => this.hasWork))) return this.#idle()
    if (!this.#isUntouched) await this.#offers.postNow()
    const posts = this.#offers.carry()
    const loop = this.#loop(posts)
    try {
      return await (this.journal.session.open === undefined ? this.#begin(loop, posts) : this.#takeOver(loop))
    } catch (error) {
      this.#offers.returned()
      if (ownership.state.is !== 'opening') throw error
      await this.#putDown(loop, error)
      if (posts.length === 0 || !isOfTheCaller(error)) throw error
      ownership.refused()
      await this.#offers.postNow()
      return ON
    }
  }

  /** A new turn: its first batch goes into the journal with the claim. */
  async #begin(loop: Loop, posts: readonly NewInboxEntry[]): Promise<Progress> {
    const from = this.journal.session
    let result = await loop.batches.next()
    while (!result.done) {
      const { value: batch } = result
      try {
        await this.ownership.claim({ loop, posts, first: { entries: batch.entries, from } })
      } catch (refusal) {
        // With posts it may be those that do not fit: they are judged alone first (P3).
        if (!isUnfit(refusal) || posts.length > 0) throw refusal
        result = await loop.batches.throw(refusal)
        continue
      }
      this.#offers.stored()
      this.#heartbeat.start()
      return this.#advanced(loop, batch)
    }
    this.#offers.returned()
    this.ownership.refused()
    return ON
  }

  async #takeOver(loop: Loop): Promise<Progress> {
    await this.ownership.claim({ loop })
    this.#heartbeat.start()
    return this.#advance(loop)
  }

  /** The next batch, durable. The loop answers for a batch that the store cannot keep: it makes another one. */
  async #advance(loop: Loop): Promise<Progress> {
    let result = await this.#next(loop)
    while (result !== undefined && !result.done) {
      const { value: batch } = result
      try {
        await this.#commit(loop, batch)
      } catch (refusal) {
        if (isUnfit(refusal) && this.#isDriving(loop)) {
          result = await loop.batches.throw(refusal)
          continue
        }
        this.#handIn(batch.entries)
        throw isUnfit(refusal) ? this.ownership.lossError() : refusal
      }
      return this.#advanced(loop, batch)
    }
    if (result === undefined) return OWNED
    if (this.#isDriving(loop)) this.ownership.close()
    return ON
  }

  /** Undefined if the turn is lost meanwhile: an effect may never end, and results that come later are handed in (R4). */
  #next(loop: Loop): Promise<IteratorResult<Batch, boolean> | undefined> {
    const { promise, resolve, reject } = Promise.withResolvers<IteratorResult<Batch, boolean> | undefined>()
    let isLost = false
    this.#leaveStep = () => {
      isLost = true
      resolve(undefined)
    }
    const arrived = (result: IteratorResult<Batch, boolean>): void => {
      if (isLost && !result.done) this.#handIn(result.value.entries)
      else resolve(result)
    }
    loop.batches.next().then(arrived, reject)
    return promise
  }

  #commit(loop: Loop, { entries }: Batch): Promise<void> | undefined {
    if (entries.length === 0) return undefined
    if (this.#options.autoSave || !mayWait(entries) || !this.#isDriving(loop))
      return this.ownership.append(entries)
    this.ownership.hold(entries)
    return undefined
  }

  #advanced(loop: Loop, { next }: Batch): MaybePromise<Progress> {
    // Held back, the end of a turn leaves the conversation owned (S5).
    if (this.#isDriving(loop)) {
      if (next === 'done') this.ownership.close()
      else this.ownership.advanced(next)
    }
    const progress = { state: 'again', next } as const
    return next === 'done' || this.journal.isWorthSaving ? this.#saved(loop, progress) : progress
  }

  async #saved(loop: Loop, progress: Progress & { readonly next: Next }): Promise<Progress> {
    await this.journal.snapshot()
    if (progress.next === 'done') await loop.batches.return(true)
    return progress
  }

  #isDriving(loop: Loop): boolean {
    const { state } = this.ownership
    return state.is === 'driving' && state.loop === loop
  }

  /** Leaves the state that an error has ended (S4, S5). */
  async #abandon(why: unknown): Promise<void> {
    const { state } = this.ownership
    if (state.is === 'opening') this.ownership.refused()
    if (isLoss(why)) {
      if (this.ownership.isOwner) this.#lose(why)
      return
    }
    if (state.is === 'driving') {
      this.#handInHeld()
      this.ownership.broke()
      await this.#putDown(state.loop, why)
    }
    if (!this.ownership.isOwner || this.journal.hasUnsaved) return
    this.#deferred.release(this.ownership)
    await this.#deferred.tried()
  }

  /** Another driver was let in: effects under way are waited for, and the loop hands in their results (R4, S6). */
  #lose(why: HoldfastError): void {
    const { state } = this.ownership
    this.#handInHeld()
    this.ownership.passedOver(why)
    // Not awaited: a tool that never ends must not keep this process from following its turn.
    if (state.is === 'driving') void this.#settle(state.loop, why)
    this.#leaveStep?.()
  }

  /** Effects under way may take their grace to end; what comes of them later is handed in all the same. */
  async #settle(loop: Loop, why: HoldfastError): Promise<void> {
    const { timer, definition } = this.#options
    const ended = new AbortController()
    const grace = timer.wait(definition.graceMs, { signal: ended.signal, background: true })
    await Promise.race([this.#putDown(loop, why), grace])
    ended.abort()
    await owedTo(this.#options)?.tried()
    this.ownership.settled()
  }

  async #putDown({ batches, stop }: Loop, why: unknown): Promise<void> {
    stop.abort()
    await quietly(batches.throw(why))
  }

  async #letGo(state: State): Promise<Progress> {
    if (state.is === 'driving') {
      this.ownership.close()
      await state.loop.batches.return(true)
      const { turn, open } = this.journal.session
      const pause = this.#stopping === 'pause' ? ({ pause: true } as const) : {}
      const data = { reason: this.#stopping ?? '', ...pause }
      if (open !== undefined) await this.ownership.append([{ type: 'release', turn, data }])
    }
    return { state: 'paused' }
  }

  /**
   * Appends entries that no turn made: in the running turn if there is one, else under a claim of its own. Rejects with
   * `owned` while another driver has the conversation, and with why it was lost while that is being settled. Entries that depend on where the conversation stands are a
   * function, which is asked again if others have written meanwhile.
   */
  async record(what: Said | ((session: Session) => Said)): Promise<void> {
    const entriesFor = (session: Session): readonly NewEntry[] =>
      (typeof what === 'function' ? what(session) : what).map((entry) => ({
        turn: session.open?.turn ?? 0,
        ...entry,
        data: this.vault.hide(entry.type, entry.data),
      }))
    for (let attempt = 1; ; attempt++) {
      await this.opening
      try {
        if (await this.ownership.appendBetween(entriesFor)) return
      } catch (error) {
        if (!HoldfastError.is(error, 'moved') || attempt >= MOST_ATTEMPTS) throw error
        await this.ownership.refresh()
      }
    }
  }

  /** Writes what is held back. What the store could not take before is tried once more, and for as long as the process lives. */
  async flush(): Promise<void> {
    await this.ownership.flush()
    const owed = owedTo(this.#options)
    if (owed !== undefined) await quietly(owed.flush(this.ownership))
  }

  /** A driver that stops between turns, with messages in its inbox, says so: followers wait for it to go on. */
  async handOver(): Promise<void> {
    const { journal, ownership } = this
    const isOwed = ({ epoch, open }: Session) =>
      open === undefined && epoch > 0 && epoch === ownership.epoch && !journal.isInboxEmpty
    if (ownership.state.is !== 'free' || !isOwed(journal.session)) return
    const release = { type: 'release', data: { reason: 'stopped' } }
    await quietly(this.record((session) => (isOwed(session) ? [release] : [])))
  }

  get #deferred(): DeferredWrites {
    return deferredWrites(this.#options)
  }

  /** Results that were held back are not lost with the ownership (R4). */
  #handInHeld(): void {
    this.#handIn(this.journal.unsaved, this.journal.saved)
  }

  /** Results that are in nobody's journal are for the one who has the turn now. */
  #handIn(entries: readonly NewEntry[], session: Session = this.journal.session): void {
    for (const { type, data } of entries) {
      if (type !== 'tool.end' && type !== 'effect.end') continue
      const { callId, seen: _, ...settled } = data as EntryData['tool.end']
      const isKnown = settled.status === 'ok' || settled.status === 'error'
      if (isKnown && isStarted(session, callId)) this.#late(callId, settled)
    }
  }

  #late(callId: string, settled: Settled): void {
    this.#deferred.handIn({ ...settled, callId }, this.#options.driver, this.ownership)
  }

  /** Is there anything to open a turn for, or one to go on with? */
  get hasWork(): boolean {
    if (!this.#offers.isEmpty() || !this.journal.isInboxEmpty) return true
    return this.journal.session.open !== undefined || this.#expiry() <= this.#options.clock.now()
  }

  #idle(): Progress {
    const at = this.#expiry()
    return Number.isFinite(at) ? { state: 'idle', at } : { state: 'idle' }
  }

  #expiry(): number {
    const requests = this.journal.session.parked?.requests ?? []
    return Math.min(...requests.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  }

  #loop(posts: readonly NewInboxEntry[]): Loop {
    const [cancel, stop] = [new AbortController(), new AbortController()]
    return { batches: this.#options.play(this.#scope(posts, { cancel, stop }), this.journal), cancel, stop }
  }

  #scope(posts: readonly NewInboxEntry[], { cancel, stop }: Omit<Loop, 'batches'>): LoopScope {
    const { key, definition, clock, timer, ids, emit, abandoned, thrown } = this.#options
    const continuing = this.#offers.continuing()
    return {
      key,
      definition,
      clock,
      timer,
      ids,
      emit,
      ...(abandoned === undefined ? {} : { abandoned }),
      ...(thrown === undefined ? {} : { thrown }),
      ...(continuing === undefined ? {} : { continuing }),
      view: new LoopView(this.ownership, posts, clock.now()),
      signal: cancel.signal,
      stop: stop.signal,
      leave: this.#leave.signal,
      mayAct: () => this.#mayAct(stop),
      credentials: (principal) => this.#credentials(principal),
      artifacts: (callId, secrets) => this.artifacts.by({ callId, secrets }),
      callArguments: this.vault.callArguments,
      late: (callId, settled) => this.#late(callId, settled),
    }
  }

  #credentials(principal: Principal): MaybePromise<Credentials | undefined> {
    const { turn } = this.journal.session
    const here = this.vault.of(turn, principal)
    const { credentials: find } = this.#options
    if (here !== undefined || find === undefined) return here
    return chain(find(principal), (found) => {
      if (found !== undefined) this.vault.keep(turn, { principal, credentials: found })
      return found
    })
  }

  /** No effect starts on a grant older than half the lease, nor for a loop that drives no longer (R4, S3). */
  #mayAct(stop: AbortController): MaybePromise<void> {
    const { ownership } = this
    const { state } = ownership
    if (state.is !== 'driving' || state.loop.stop !== stop) throw ownership.lossError()
    if (ownership.age > this.#options.leaseMs / 2) return ownership.renew().then(() => this.#mayAct(stop))
  }

  #heard(entry: Entry, how?: Publication): void {
    const { session } = this.journal
    if (how !== 'saved') this.vault.follow(entry, session.open?.principal)
    if (entry.type === 'cancel' && dataOf(entry, 'cancel').turn === session.open?.turn) this.#cancel()
    this.#options.onEntry(entry, how)
  }

  #cancel(): void {
    const { state } = this.ownership
    if (state.is !== 'driving') return
    state.loop.cancel.abort()
    state.loop.stop.abort()
  }
}

type Said = readonly Omit<NewEntry, 'turn'>[]

/** The effects of the last batch have not been looked at: the turn cannot be left here. */
function isActing(state: State): boolean {
  return state.is === 'driving' && (state.next === 'tools' || state.next === 'on')
}

function decisionOf(state: State, is: 'opening' | 'settling'): Promise<void> | undefined {
  return state.is === is ? state.decided.promise : undefined
}

function isUnfit(error: unknown): boolean {
  return UNFIT.some((code) => HoldfastError.is(error, code))
}

/** Its failure is reported elsewhere, or to nobody. */
async function quietly(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch {
    // The work goes on without this one.
  }
}
