/**
 * Drives one conversation: claims it, plays its turns, makes each batch durable before the loop goes on, holds the lease
 * meanwhile, and lets go. `step` does one of these at a time, so an engine, an agent and a test that steps by hand all do
 * the same thing.
 */
import { isStarted, type Session } from '../journal/index.ts'
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
import { type Batch, dataOf, isLarge, type Next, type PlayScope, type PlayTerms } from '../turn/index.ts'
import { type ConversationArtifacts, journalArtifacts } from './artifacts.ts'
import { type DeferredWrites, deferredWrites } from './deferred-writes.ts'
import { Heartbeat } from './heartbeat.ts'
import { Ledger, type LedgerOptions } from './ledger.ts'
import { Offers } from './offers.ts'
import { Vault } from './vault.ts'

export interface DriverOptions extends LedgerOptions {
  readonly definition: PlayTerms
  /** What is driven: one turn, from wherever the ledger stands. */
  readonly play: (scope: PlayScope, ledger: Ledger) => AsyncGenerator<Batch, boolean>
  /** False: what no effect depends on is held back until something must be durable, or until it is asked for. */
  readonly autoSave: boolean
  readonly heartbeatMs: number
  readonly emit: PlayScope['emit']
  /** Something has come in for a conversation that is held and not driven. */
  readonly onWanted?: () => void
  readonly abandoned?: PlayScope['abandoned']
  /** For turns whose credentials nobody in this process has brought (R19). */
  readonly credentials?: (principal: Principal) => Promise<Credentials | undefined> | Credentials | undefined
}

/**
 * `again`: it has come one step further; `next` is what the next step will do. `idle`: nothing wants to be done, before
 * `at` if that is given. `owned`: somebody else is doing it. `paused`: it was told to stop and has.
 */
export type Progress =
  | { readonly state: 'again'; readonly next: Next }
  | { readonly state: 'idle'; readonly at?: number }
  | { readonly state: 'owned' }
  | { readonly state: 'paused' }

type Said = readonly Omit<NewEntry, 'turn'>[]

/** What says that somebody else has the conversation now. */
const LOSSES: readonly ErrorCode[] = ['fenced', 'owned', 'moved', 'erased']

/** What an entry is refused for, whoever writes it. */
const UNFIT: readonly ErrorCode[] = ['invalid-entry', 'too-large']

/** How often to try again to say something when others say things too. */
const MOST_ATTEMPTS = 10

export class Driver {
  readonly ledger: Ledger
  readonly #options: DriverOptions
  readonly #artifacts: ConversationArtifacts
  readonly vault: Vault = new Vault()
  /** For the next turn, if this process is the one that begins it. */
  readonly offers: Offers = new Offers()
  #play: AsyncGenerator<Batch, boolean> | undefined
  #opening: PromiseWithResolvers<void> | undefined
  #signals: { readonly cancel: AbortController; readonly stop: AbortController } | undefined
  /** The posts that the claim of this turn brings along (P2). */
  #carried: readonly NewInboxEntry[] = []
  #lost: HoldfastError | undefined
  readonly #heartbeat: Heartbeat
  #stepping: Promise<void> | undefined
  #aftermath: Promise<void> | undefined
  /** Effects of the last batch have not been looked at: it cannot be left here. */
  #acting: Next = 'done'
  #pausing: 'pause' | 'release' | undefined
  #leave = new AbortController()

  constructor(options: DriverOptions) {
    this.#options = options
    this.ledger = new Ledger({ ...options, onEntry: (entry, unsaved) => this.#heard(entry, unsaved) })
    this.#heartbeat = new Heartbeat({
      ledger: this.ledger,
      timer: options.timer,
      everyMs: options.heartbeatMs,
      isHeld: () => this.isPlaying || this.ledger.hasUnsaved,
      onBeat: () => {
        if (!this.isPlaying && !this.ledger.isInboxEmpty) options.onWanted?.()
      },
      onLost: (error) => {
        this.#lost = error
        this.#signals?.stop.abort()
      },
    })
    this.#artifacts = journalArtifacts(options, {
      clearedAt: async () => {
        if (!this.isPlaying) await this.ledger.refresh()
        return this.ledger.session.cleared ?? 0
      },
      record: (entry) => this.record([entry]),
    })
  }

  get isPlaying(): boolean {
    return this.#play !== undefined
  }

  /** While a turn is being begun: resolves when it is known whether it is this process that begins it. */
  get opening(): Promise<void> | undefined {
    return this.#opening?.promise
  }

  /** What the next step will do. */
  get next(): Next {
    return this.#acting
  }

  get artifacts(): ConversationArtifacts {
    return this.#artifacts
  }

  /** May a claim bring posts along now (P2)? */
  get mayCarry(): boolean {
    return !this.isPlaying && this.ledger.session.open === undefined && this.ledger.isInboxEmpty
  }

  /** Stop after the effects that are under way: `pause` until somebody says so, `release` for anybody to go on. */
  stop(how: 'pause' | 'release' | undefined): void {
    this.#pausing = how
    if (how === undefined) this.#leave = new AbortController()
    else this.#leave.abort()
  }

  /** One at a time, whoever asks. */
  step(): Promise<Progress> {
    const step = this.#stepping === undefined ? this.#step() : this.#stepping.then(() => this.#step())
    const settled = settle(step)
    this.#stepping = settled
    void settled.finally(() => {
      if (this.#stepping === settled) this.#stepping = undefined
    })
    return step
  }

  /** Effects of a turn that was lost are still under way here. Resolves when their results were handed in. */
  get aftermath(): Promise<void> | undefined {
    return this.#aftermath
  }

  async #step(): Promise<Progress> {
    if (this.#aftermath !== undefined) return { state: 'owned' }
    if (this.#pausing !== undefined && this.#acting !== 'tools' && this.#acting !== 'on') return this.#letGo()
    try {
      if (this.#play === undefined) {
        const opened = await this.#open()
        if (opened !== undefined) return opened
      }
      return await this.#advance()
    } catch (error) {
      await this.#abandon(error)
      if (HoldfastError.is(error, 'owned')) return { state: 'owned' }
      if (HoldfastError.is(error, 'moved') || HoldfastError.is(error, 'fenced'))
        return { state: 'again', next: 'on' }
      throw error
    }
  }

  /**
   * Says something outside of what a turn says: in the running turn if there is one, else under a claim of its own.
   * Rejects with `owned` while another driver has the conversation. What depends on where the conversation stands is a
   * function, which is asked again if others have written meanwhile.
   */
  async record(what: Said | ((session: Session) => Said)): Promise<void> {
    const release = { type: 'release', turn: 0, data: { reason: 'said' } }
    for (let attempt = 1; ; attempt++) {
      await this.opening
      const ledger = await this.#loaded()
      const { open } = ledger.session
      const entries = typeof what === 'function' ? what(ledger.session) : what
      if (entries.length === 0) return
      const said = entries.map(
        (entry): NewEntry => ({
          turn: open?.turn ?? 0,
          ...entry,
          data: this.vault.hide(entry.type, entry.data),
        }),
      )
      if (ledger.isOwned) return ledger.append(said)
      try {
        return await ledger.claim([], [...said, release])
      } catch (error) {
        const isOurs = this.isPlaying && HoldfastError.is(error, 'owned')
        if (!(isOurs || HoldfastError.is(error, 'moved')) || attempt >= MOST_ATTEMPTS) throw error
        if (!this.isPlaying) ledger.forget(true)
      }
    }
  }

  async #loaded(): Promise<Ledger> {
    const { ledger } = this
    if (!ledger.isLoaded) await ledger.load()
    else if (ledger.isBehind) await ledger.catchUp()
    return ledger
  }

  async #open(): Promise<Progress | undefined> {
    const ledger = await this.#loaded()
    const { open } = ledger.session
    if (open === undefined && !this.#hasWork() && this.#deferred.isEmpty) return this.#idle()
    this.#opening = Promise.withResolvers()
    if (!this.#deferred.isEmpty) await this.#deferred.flush(ledger)
    await ledger.flush()
    this.#carried = this.mayCarry ? this.offers.posts : []
    this.offers.markTried()
    if (open !== undefined && !ledger.isOwned) await ledger.claim([], [])
    this.#lost = undefined
    this.#signals = { cancel: new AbortController(), stop: new AbortController() }
    this.#play = this.#options.play(this.#scope(this.#signals), ledger)
    this.#heartbeat.start()
    return undefined
  }

  async #advance(): Promise<Progress> {
    const { value, done } = await this.#nextDurable()
    if (done) {
      this.#close()
      return { state: 'again', next: 'on' }
    }
    const { next } = value
    this.#opened()
    this.#acting = next
    if (next === 'done') await this.#finish()
    else if (this.ledger.isWorthSaving) await this.ledger.snapshot()
    return { state: 'again', next }
  }

  /** The next batch, durable. What the store cannot keep is for the loop to answer for: it says something else instead. */
  async #nextDurable(): Promise<IteratorResult<Batch, boolean>> {
    const over = { value: true, done: true as const }
    let result = (await this.#play?.next()) ?? over
    while (!result.done) {
      try {
        await this.#commit(result.value)
        return result
      } catch (refusal) {
        if (!UNFIT.some((code) => HoldfastError.is(refusal, code)) || !this.ledger.isOwned) throw refusal
        result = (await this.#play?.throw(refusal)) ?? over
      }
    }
    return result
  }

  /** Whoever heard the end may ask for the next turn already, and must not find this one still playing. */
  async #finish(): Promise<void> {
    const play = this.#play
    this.#close()
    if (!this.ledger.hasUnsaved) await this.ledger.snapshot()
    await play?.return(true)
  }

  async #commit({ entries }: Batch): Promise<void> {
    const { ledger } = this
    if (!ledger.isOwned) {
      await ledger.claim(this.#carried, entries)
      this.offers.withdrawContinuing()
      if (this.#carried.length > 0) this.offers.withdrawPosts()
    } else if (entries.length > 0 && !this.#options.autoSave && mayWait(entries)) {
      ledger.hold(entries)
    } else if (entries.length > 0) {
      try {
        await ledger.append(entries)
      } catch (error) {
        if (!UNFIT.some((code) => HoldfastError.is(error, code))) this.#handIn(entries)
        throw error
      }
    }
  }

  /** Puts down what it was doing. After a fence, effects under way are waited for and handed in by the loop (R4). */
  async #abandon(why: unknown): Promise<void> {
    const play = this.#play
    const lost = LOSSES.some((code) => HoldfastError.is(why, code))
    if (HoldfastError.is(why, 'fenced')) this.#lost ??= why
    this.#signals?.stop.abort()
    this.#close()
    this.ledger.forget(lost)
    const rest = this.#settleRest(play, why)
    // A tool that never ends must not keep this process from hearing what becomes of its turn.
    if (HoldfastError.is(why, 'fenced')) this.#aftermath = rest
    else await rest
  }

  async #settleRest(play: AsyncGenerator<Batch, boolean> | undefined, why: unknown): Promise<void> {
    await play?.throw(why).catch(() => {})
    if (this.ledger.isOwned) this.#deferred.release(this.ledger)
    await this.#deferred.tried()
    this.#aftermath = undefined
  }

  /** Writes what is held back. What the store could not take before is tried once more, and for as long as the process lives. */
  async flush(): Promise<void> {
    await this.ledger.flush()
    if (!this.#deferred.isEmpty) await settle(this.#deferred.flush(this.ledger))
  }

  /** A driver that stops with messages in its inbox says so: followers wait for it to go on. */
  async handOver(): Promise<void> {
    const { ledger } = this
    const isNewest = ledger.epoch > 0 && ledger.session.epoch === ledger.epoch
    if (ledger.isOwned || !isNewest || ledger.isInboxEmpty) return
    await settle(ledger.claim([], [{ type: 'release', turn: 0, data: { reason: 'stopped' } }]))
  }

  get #deferred(): DeferredWrites {
    return deferredWrites(this.#options)
  }

  /** Results that are in nobody's journal. They are for the one who has the turn now. */
  #handIn(entries: readonly NewEntry[]): void {
    const { session } = this.ledger
    for (const { type, data } of entries) {
      if (type !== 'tool.end' && type !== 'effect.end') continue
      const { callId, seen: _, ...settled } = data as EntryData['tool.end']
      const isKnown = settled.status === 'ok' || settled.status === 'error'
      if (isKnown && isStarted(session, callId)) this.#late(callId, settled)
    }
  }

  #late(callId: string, settled: Settled): void {
    this.#deferred.handIn({ ...settled, callId }, this.#options.driver, this.ledger)
  }

  async #letGo(): Promise<Progress> {
    const pausing = this.#pausing
    const { ledger } = this
    const play = this.#play
    this.#close()
    await play?.return(true)
    if (ledger.isOwned && ledger.session.open !== undefined) {
      const pause = pausing === 'pause' ? ({ pause: true } as const) : {}
      await ledger.append([
        { type: 'release', turn: ledger.session.turn, data: { reason: pausing ?? '', ...pause } },
      ])
    }
    return { state: 'paused' }
  }

  #opened(): void {
    this.#opening?.resolve()
    this.#opening = undefined
  }

  #close(): void {
    this.#opened()
    this.#play = undefined
    this.#acting = 'done'
  }

  #hasWork(): boolean {
    return !this.offers.isEmpty || !this.ledger.isInboxEmpty || this.#expiry() <= this.#options.clock.now()
  }

  #idle(): Progress {
    const at = this.#expiry()
    return { state: 'idle', ...(Number.isFinite(at) ? { at } : {}) }
  }

  #expiry(): number {
    const requests = this.ledger.session.parked?.requests ?? []
    return Math.min(...requests.map(({ expiresAt }) => expiresAt ?? Number.POSITIVE_INFINITY))
  }

  #scope({ cancel, stop }: { cancel: AbortController; stop: AbortController }): PlayScope {
    const { ledger } = this
    const { key, definition, clock, timer, ids, emit, abandoned, store } = this.#options
    const { continuing } = this.offers
    const offered = this.#carried.map(({ type, data, key: inboxKey }, index): Entry => {
      return {
        seq: ledger.session.seq + index + 1,
        turn: 0,
        at: clock.now(),
        v: 1,
        type,
        data,
        key: inboxKey,
      }
    })
    return {
      key,
      definition,
      clock,
      timer,
      ids,
      emit,
      ...(abandoned === undefined ? {} : { abandoned }),
      ...(continuing === undefined ? {} : { continuing }),
      view: {
        get session() {
          return ledger.session
        },
        get inbox() {
          return ledger.isOwned ? ledger.inbox : [...ledger.inbox, ...offered]
        },
        request: async (seq) => {
          const [entry] = await store.read(key, { from: seq, to: seq })
          return entry?.type === 'request.start' ? dataOf(entry, 'request.start') : undefined
        },
      },
      signal: cancel.signal,
      stop: stop.signal,
      leave: this.#leave.signal,
      mayAct: () => this.#mayAct(),
      credentials: (principal) => this.#credentials(principal),
      artifacts: (callId, secrets) => this.#artifacts.by({ callId, secrets }),
      callArguments: this.vault.callArguments,
      late: (callId, settled) => this.#late(callId, settled),
    }
  }

  async #credentials(principal: Principal): Promise<Credentials | undefined> {
    const { turn } = this.ledger.session
    const here = this.vault.of(turn, principal)
    if (here !== undefined) return here
    const found = await this.#options.credentials?.(principal)
    if (found !== undefined) this.vault.keep(turn, { principal, credentials: found })
    return found
  }

  /** No effect starts on a grant older than half the lease (R4). */
  async #mayAct(): Promise<void> {
    while (this.#lost === undefined && this.ledger.age > this.#options.leaseMs / 2) await this.ledger.renew()
    if (this.#lost !== undefined) throw this.#lost
  }

  #heard(entry: Entry, unsaved?: true): void {
    const { session } = this.ledger
    this.vault.follow(entry, session.open?.principal)
    if (entry.type === 'cancel' && dataOf(entry, 'cancel').turn === session.open?.turn) this.#cancel()
    this.#options.onEntry(entry, unsaved)
  }

  #cancel(): void {
    this.#signals?.cancel.abort()
    this.#signals?.stop.abort()
  }
}

const BEFORE_EFFECTS: ReadonlySet<string> = new Set([
  'turn.start',
  'tool.start',
  'request.start',
  'request.end',
  'release',
  'graph.start',
  'effect.start',
])

/** May these be held back? Not the intent of an effect (R3), nothing that others wait for or the store may refuse. */
function mayWait(entries: readonly NewEntry[]): boolean {
  return !entries.some(
    ({ type, takes = [], data }) => BEFORE_EFFECTS.has(type) || takes.length > 0 || isLarge(data),
  )
}

async function settle(work: Promise<unknown>): Promise<void> {
  try {
    await work
  } catch {
    // Whoever asked for it is told.
  }
}
