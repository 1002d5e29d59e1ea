/**
 * One conversation in one process: its callers and its subscribers. Callers enter one at a time, in the order of their
 * requests, and count as waiting from then on. It must not know the life of an agent, nor who drives (`pump.ts`).
 */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import type { Limits } from '../loop/index.ts'
import {
  defined,
  HoldfastError,
  type NewInboxEntry,
  type Principal,
  type RequestData,
} from '../protocol/index.ts'
import { checkContinuation, openRequests } from './answers.ts'
import { checkAllowed, principalOf } from './auth.ts'
import { cancelNumber, cancelUnready } from './cancel.ts'
import { type ChildScope, childConfig, limitsLeft } from './child-scope.ts'
import { type DriveResult, driveToEffect } from './drive-to-effect.ts'
import { Driver } from './driver.ts'
import type { DriverOptions } from './driver-options.ts'
import { callersContext, type ObservedTurns, observeRefusal, observeTurns, publishTo } from './observers.ts'
import { callerPosts, isCallerError, Outbox } from './outbox.ts'
import { isUntaken, requestedPosts } from './posted-entries.ts'
import { type Callers, Pump } from './pump.ts'
import { cancelledEarlyError, checkReason } from './refusal.ts'
import { Subscribers } from './subscribers.ts'
import { attachCause, Turn, type TurnOutcome, type TurnStep } from './turn.ts'
import { CONTINUE_AFTER, cancelOnAbort, type TurnRequest, type TurnRequestOptions } from './turn-request.ts'
import { TurnSubscription, type TurnSubscriptionOptions } from './turn-subscription.ts'

export interface ConversationOptions
  extends Omit<DriverOptions, 'onEntry' | 'emit' | 'pending' | 'thrown' | 'telemetry'>,
    ObservedTurns {
  /** Called before the subscribers when a turn has ended or could not continue. */
  readonly onOutcome: (outcome: TurnOutcome) => void
  /** Lets principals other than the owner in (R20). */
  readonly allow?: ((principal: Principal) => boolean) | undefined
  /** Called after every load outside of a running turn. No turn runs before it resolves. */
  readonly onLoaded?: () => MaybePromise<void>
}

export class Conversation {
  readonly driver: Driver
  readonly #options: ConversationOptions
  readonly #subscribers: Subscribers
  readonly #requests = new Map<TurnSubscription, TurnRequest>()
  readonly #outbox: Outbox
  readonly #pump: Pump
  readonly #telemetry: ReturnType<typeof observeTurns>
  /** The number of callers that have not posted yet. */
  #arriving = 0
  #entering: Promise<void> = Promise.resolve()
  /** While `onLoaded` runs. Until it has resolved, nothing of the entering callers is written. */
  #readying: Promise<void> | undefined
  /** The error thrown by the newest turn that failed here. */
  #thrown: { readonly turn: number; readonly error: unknown } | undefined

  constructor(options: ConversationOptions) {
    this.#options = options
    const subscribers = new Subscribers(options, () => this.driver)
    this.#subscribers = subscribers
    this.#outbox = new Outbox({
      post: (posts) => this.driver.ownership.post(posts),
      continuing: () => this.#toContinue()?.continuing,
      mayCarry: () => this.driver.mayCarry,
      opening: () => this.driver.opening,
      isWaiting: (posted) => isUntaken(options, posted),
      join: (subscription, posted) => subscribers.join(subscription, posted),
    })
    const session = () => this.driver.journal.session
    const asked = { requests: this.#requests, toContinue: () => this.#toContinue(), session }
    const telemetry = (this.#telemetry = observeTurns(options, asked))
    this.driver = new Driver({
      ...options,
      telemetry,
      ...publishTo(subscribers, telemetry, () => session().turn),
      pending: this.#outbox,
      onInboxEntry: () => this.#flushAndStart(),
      thrown: (turn, error) => void (this.#thrown = { turn, error }),
    })
    this.#pump = new Pump({ ...options, driver: this.driver, subscribers, callers: this.#callers() })
  }

  #callers(): Callers {
    return {
      hasOpenCaller: () => this.#hasOpenCaller(),
      arriving: () => (this.#arriving > 0 ? this.#entering : undefined),
      hasPending: () => !this.#outbox.isEmpty,
      hasPosts: () => this.#outbox.queued.length > 0,
      isManual: () => this.#isManual(),
      redirectToOwner: () => this.#redirectToOwner(),
      reportFailure: (error) => this.#reportFailure(error),
      refuseAll: (error) => this.#refuseAll(error),
    }
  }

  /** The first request to continue without a new input for which no turn has begun. */
  #toContinue(): TurnRequest | undefined {
    for (const [subscription, request] of this.#requests)
      if (subscription.isExpecting && !subscription.isStored && !subscription.turn.isEnded) return request
    return undefined
  }

  get isBusy(): boolean {
    if (this.#subscribers.isCompleting) return true
    return (
      this.turn !== undefined || (this.driver.journal.session.open !== undefined && this.driver.isRunning)
    )
  }

  /** The running or next turn that has a subscriber here. */
  get turn(): Turn | undefined {
    for (const { turn } of this.#subscribers.subscriptions) if (!turn.isEnded) return turn
    return undefined
  }

  /** Enters a turn request, in the order of the calls. Throws `forbidden` for a principal that is not let in. */
  ask(
    { auth = {}, signal, manual, [CONTINUE_AFTER]: after }: TurnRequestOptions,
    request: Omit<TurnRequest, keyof TurnRequestOptions | 'principal'>,
  ): Turn {
    const options = this.#options
    const principal = principalOf(options.key, auth)
    checkAllowed(options.key, principal, options.allow)
    return this.#begin({
      ...request,
      principal,
      ...defined({ credentials: auth.credentials, signal, manual, after, within: callersContext(options) }),
    })
  }

  /** The context that the running turn passes to child conversations. `limits`: the turn's, as declared. */
  childScope(limits: Limits): ChildScope {
    const { clock } = this.#options
    return {
      config: childConfig(this.#options, this.driver.journal.seen),
      limits: () => limitsLeft(this.driver.journal.session, limits, clock.now()),
      forward: (event) => this.#subscribers.forward(this.driver.journal.session.turn, event),
    }
  }

  #begin(request: TurnRequest): Turn {
    const subscription = this.#listen({ keys: request.keys ?? [] })
    this.#requests.set(subscription, request)
    if (request.signal !== undefined) cancelOnAbort(request.signal, subscription.turn)
    if (request.signal?.aborted) subscription.refuse(cancelledEarlyError())
    this.#arriving += 1
    this.#entering = this.#entering.then(() => this.#arrive(request, subscription))
    return subscription.turn
  }

  async #arrive(request: TurnRequest, subscription: TurnSubscription): Promise<void> {
    try {
      await this.#enter(request, subscription)
    } catch (error) {
      subscription.refuse(error)
    }
    this.#arriving -= 1
    if (!request.manual && !subscription.turn.isEnded) this.#pump.start()
  }

  /** A turn that was refused and never began. */
  refused(error: unknown): Turn {
    const subscription = this.#listen({})
    subscription.refuse(error)
    return subscription.turn
  }

  /** Follows or takes over the open turn, if there is one. */
  async attach(): Promise<Turn | undefined> {
    await this.#entering
    this.#pump.resume()
    await this.#refresh()
    const { session, inbox } = this.driver.journal
    if (session.open === undefined && inbox.length === 0 && !this.#hasOpenCaller()) return undefined
    const number = session.open?.turn
    const isKnown = [...this.#subscribers.subscriptions].some((known) => known.number === number)
    if (number !== undefined && !isKnown) await this.#replay(number)
    this.#pump.start()
    return this.turn
  }

  /** Resolves when every request of this process is done, here or elsewhere, or waits for a paused turn. */
  async whenIdle(): Promise<void> {
    await this.#entering
    await this.#pump.settled()
  }

  /**
   * Cancels the running turn, whichever process drives it; without one, ends the wait of the last turn. With `turn`,
   * cancels that one and no other.
   */
  async cancel(reason?: string, turn?: number): Promise<void> {
    if (this.#readying !== undefined && (await cancelUnready(this, turn, reason))) return
    return turn === undefined ? this.#cancelNewest(reason) : cancelNumber(this, turn, reason)
  }

  async #cancelNewest(reason?: string): Promise<void> {
    await this.#entering
    // An opening may be refused because another process runs a turn: cancel that one.
    while (this.driver.opening !== undefined) await this.driver.opening
    const [first] = this.#subscribers.subscriptions
    if (first?.number !== undefined) return this.#cancelTurn(first, reason)
    // The first request may wait for a running turn of another process: cancel that one.
    await this.#refresh()
    const { open, parked, turn } = this.driver.journal.session
    if (open !== undefined) await this.postCancel(open.turn, reason)
    else if (first !== undefined) await this.#cancelTurn(first, reason)
    else if (parked !== undefined) {
      await this.postCancel(turn, reason)
      this.#pump.start()
      await this.whenIdle()
    }
  }

  /** Posts to any process, and wakes the pump of this one: a turn that was paused is continued (C4). */
  async postCancel(turn: number, reason?: string): Promise<void> {
    await this.driver.ownership.post([this.cancelPost(turn, reason)])
    this.#pump.call()
  }

  cancelPost(turn: number, reason?: string): NewInboxEntry {
    checkReason(reason)
    const cancel = { turn, ...(reason === undefined ? {} : { reason }) }
    const data = this.driver.vault.hide('cancel', cancel)
    return { type: 'cancel', key: this.#options.ids.next('cancel'), data }
  }

  /** Stops driving, after the effects under way, until `attach`. */
  async stop(how: 'pause' | 'release'): Promise<void> {
    await this.#entering
    this.driver.stop(how)
    try {
      await this.#pump.halt()
      // A step of `drive` or `turn.step()` may be under way, and open a turn.
      while ((await this.driver.step()).state === 'again');
      await this.#awaitDrain(this.#options.definition.graceMs)
      await this.#outbox.postQueued()
    } finally {
      this.driver.stop(undefined)
    }
    await this.driver.flush()
    await this.driver.handOver()
  }

  /** Waits for late results of a lost turn, at most `mostMs` (S6). */
  async #awaitDrain(mostMs: number): Promise<void> {
    const { draining } = this.driver
    if (draining !== undefined) await Promise.race([draining, this.#options.timer.wait(mostMs)])
  }

  /** Stops the pump and fails every waiting caller. */
  close(error: HoldfastError): void {
    void this.#pump.halt()
    this.#refuseAll(error)
  }

  /**
   * The newest turn, replayed from the journal; undefined if there has been none. An open turn is followed, and taken
   * over if it has no driver, but not if it was paused. `refusal`: the reason why that cannot be done here.
   */
  async lastTurn(refusal?: HoldfastError): Promise<Turn | undefined> {
    await this.#entering
    await this.#refresh()
    const { turn: number } = this.driver.journal.session
    if (number === 0) return undefined
    const subscription = await this.#replay(number)
    if (subscription.turn.isEnded) return subscription.turn
    // It may have been paused while it was read.
    await this.#refresh()
    if (refusal !== undefined) subscription.refuse(refusal)
    else if (this.driver.journal.session.closed === 'paused') this.#pump.follow()
    else this.#pump.start()
    return subscription.turn
  }

  async #replay(number: number): Promise<TurnSubscription> {
    const subscription = this.#listen({})
    await this.#subscribers.replay(subscription, number)
    return subscription
  }

  /** Drives by one model call or one round of tools; not between `stop` and `attach`. */
  async drive(): Promise<DriveResult> {
    await this.#entering
    await this.#pump.finished()
    await this.#refresh()
    return driveToEffect({ ...this.#options, driver: this.driver, pump: this.#pump })
  }

  /** The open requests, oldest first. */
  async requests(): Promise<readonly RequestData[]> {
    await this.#entering
    await this.#refresh()
    return openRequests(this.driver.journal, this.#options.clock.now())
  }

  /** Runs `work` between turn requests, in the order of the calls. A turn may be running. */
  between<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#entering.then(() => this.#refresh()).then(work)
    this.#entering = done.then(
      () => undefined,
      () => undefined,
    )
    return done
  }

  /** True while a turn is stepped manually: the pump does not run then. */
  #isManual(): boolean {
    for (const [subscription, { manual }] of this.#requests)
      if (manual && !subscription.turn.isEnded) return true
    return false
  }

  /**
   * Reads the journal again if entries of others were published meanwhile: a turn that it shows as open may have ended.
   * The journal of an owner shows every turn as it is.
   */
  async #refreshToPublished(): Promise<void> {
    for (let before = -1; before < this.#subscribers.published; ) {
      before = this.#subscribers.published
      await this.driver.opening
      await this.#refresh()
      if (this.driver.ownership.isOwner) return
    }
  }

  async #refresh(): Promise<void> {
    await this.driver.ownership.refresh()
    await this.#load()
  }

  #listen(about: Omit<TurnSubscriptionOptions, 'turn'>): TurnSubscription {
    const turn: Turn = new Turn({
      cancel: (reason) => this.#cancelTurn(subscription, reason),
      step: () => this.#stepManually(turn),
      completing: (notify) => this.#subscribers.complete(notify),
      ended: (outcome) => {
        observeRefusal(this.#telemetry, outcome, this.#requests.get(subscription)?.credentials)
        const isManual = this.#requests.get(subscription)?.manual
        this.#subscribers.subscriptions.delete(subscription)
        this.#requests.delete(subscription)
        this.driver.vault.forget(subscription)
        if (outcome.status === 'failed' && outcome.turn === this.#thrown?.turn)
          attachCause(outcome, this.#thrown.error)
        this.#options.onOutcome(outcome)
        if (isManual) queueMicrotask(() => this.#startForOthers())
      },
    })
    const subscription = new TurnSubscription({ turn, ...about })
    this.#subscribers.subscriptions.add(subscription)
    return subscription
  }

  /** Callers of other turns wait while one is stepped manually. Not in its tick: all may be refused in it. */
  #startForOthers(): void {
    if (this.#hasOpenCaller()) this.#pump.start()
  }

  /** Saves buffered entries, because another process waits for the conversation. */
  #flushAndStart(): void {
    this.driver.ownership
      .flush()
      .then(() => this.#pump.start())
      .catch(() => {})
  }

  async #enter(request: TurnRequest, subscription: TurnSubscription): Promise<void> {
    const isPlain = request.continuing === undefined && request.check === undefined
    const loading = isPlain ? this.#load() : this.#refreshToPublished()
    if (isPromise(loading)) await loading
    if (request.check !== undefined) await request.check(this.driver.journal)
    if (subscription.turn.isEnded) return // P5
    const { signal } = request
    if (signal?.aborted) throw cancelledEarlyError()
    if (request.continuing === undefined) await this.#post(request, subscription)
    else await this.#continue(request, subscription)
  }

  async #post(request: TurnRequest, subscription: TurnSubscription): Promise<void> {
    const { repeats, credentials } = request
    const given = requestedPosts(request, this.driver.journal)
    const all = this.driver.vault.withoutSecrets(isPromise(given) ? await given : given, credentials)
    const onWrite = () => this.#keepCredentials(request, subscription)
    const caller = { subscription, onWrite, ...callerPosts(all, repeats) }
    try {
      const sending = this.#outbox.send(caller, { isAlone: this.#arriving === 1 })
      if (isPromise(sending)) await sending
    } catch (error) {
      if (HoldfastError.is(error, 'inbox-full')) this.#pump.start() // P6
      throw error
    }
  }

  #continue(request: TurnRequest, subscription: TurnSubscription): MaybePromise<void> {
    const { credentials, principal, after = Number.MAX_SAFE_INTEGER } = request
    const { journal, vault } = this.driver
    const { open, turn } = journal.session
    if (turn > after && open?.turn !== after + 1) return this.#subscribers.repeat(subscription, after, turn)
    if (open !== undefined) {
      if (credentials !== undefined) vault.refresh(open.turn, { principal, credentials }, open.principal)
      return this.#subscribers.joinTurn(subscription, open.turn)
    }
    checkContinuation(journal, request, this.#options.clock.now())
    this.#keepCredentials(request, subscription)
    subscription.expect(journal.session.turn + 1)
  }

  /** Until the end of the caller's request. */
  #keepCredentials({ keys = [], principal, credentials }: TurnRequest, caller: TurnSubscription): void {
    if (credentials !== undefined) this.driver.vault.put(keys, { principal, credentials, caller })
  }

  /** Refuses the one caller whose request failed (P3), or all waiting callers if the conversation cannot be driven. */
  #reportFailure(error: unknown): boolean {
    const refused = this.#toContinue()
    if (isCallerError(error) && refused !== undefined) {
      for (const [subscription, request] of this.#requests)
        if (request === refused) subscription.refuse(error)
      return true
    }
    this.#refuseAll(error)
    return false
  }

  /** Posts queued requests to the owner; requests to continue follow the owner's turn. */
  async #redirectToOwner(): Promise<void> {
    await this.#outbox.postQueued()
    await this.#refreshToPublished()
    const { open } = this.driver.journal.session
    if (open === undefined) return
    for (const subscription of this.#requests.keys())
      if (subscription.isExpecting && !subscription.isStored)
        await this.#subscribers.joinTurn(subscription, open.turn)
  }

  #refuseAll(error: unknown): void {
    this.#outbox.drop()
    for (const subscription of [...this.#subscribers.subscriptions]) subscription.refuse(error)
  }

  /** True while a caller waits for a turn that has not ended. */
  #hasOpenCaller(): boolean {
    for (const subscription of this.#subscribers.subscriptions)
      if (!subscription.turn.isEnded && !this.#requests.get(subscription)?.manual) return true
    return false
  }

  #load(): MaybePromise<void> {
    const { driver } = this
    return chain(
      chain(driver.ownership.read(), () => this.#ready()),
      () => (this.#subscribers.isStarted ? undefined : this.#startFrom()),
    )
  }

  #ready(): MaybePromise<void> {
    const ready = this.driver.isRunning ? undefined : this.#options.onLoaded?.()
    if (!isPromise(ready)) return ready
    this.#readying = ready
    return ready.finally(() => {
      if (this.#readying === ready) this.#readying = undefined
    })
  }

  async #startFrom(): Promise<void> {
    const { journal } = this.driver
    this.#subscribers.startFrom(journal.session.seq, await openRequests(journal, this.#options.clock.now()))
  }

  async #cancelTurn(subscription: TurnSubscription, reason?: string): Promise<void> {
    if (this.#readying !== undefined && !subscription.isStored)
      return subscription.refuse(cancelledEarlyError())
    await this.#entering
    if (subscription.turn.isEnded) return
    // A turn that has not begun is cancelled as soon as it begins.
    if (subscription.number === undefined)
      subscription.whenKnown((turn) => void this.postCancel(turn, reason).catch(() => {}))
    else await this.postCancel(subscription.number, reason)
  }

  async #stepManually(turn: Turn): Promise<TurnStep> {
    await this.#entering
    if (turn.isEnded) return { done: true, next: 'done' }
    const progress = await this.#pump.step()
    // The end of the turn may be queued behind a gap that could not be read.
    if (progress?.state === 'idle') await this.#subscribers.catchUp()
    const next = progress?.state === 'again' ? progress.next : 'done'
    return { done: turn.isEnded, next }
  }
}
