/**
 * One conversation in one process: its callers and its listeners. Callers enter one at a time, in the order of asking, and
 * count as waiting from the moment they ask. It does not know the life of an agent, nor who drives (`pump.ts`).
 */

import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import type { Continuation, Limits } from '../loop/index.ts'
import {
  HoldfastError,
  type NewInboxEntry,
  type Principal,
  type RequestData,
  type TurnEvent,
} from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'
import { checkContinuation, openRequests } from './answers.ts'
import { Audience } from './audience.ts'
import { type Auth, checkLetIn, principalOf } from './auth.ts'
import { giveCause } from './cause.ts'
import { Driver } from './driver.ts'
import type { DriverOptions, Offers } from './driver-options.ts'
import { sparingOwnTurn } from './find-taken.ts'
import { Handle, type HandleOptions } from './handle.ts'
import type { Ledger } from './ledger.ts'
import { limitsLeft, type Nursery } from './nursery.ts'
import { isOfTheCaller, Outbox } from './outbox.ts'
import { type Callers, Pump } from './pump.ts'
import { cancelledEarly, checkReason } from './refusal.ts'
import { Turn, type TurnOutcome, type TurnStep } from './turn.ts'

/** What somebody wants of the conversation. */
export interface Wish {
  /** What to post; `busy` is the number of the turn that runs, if one does. Throws to refuse. */
  readonly posts?: (busy: number | undefined) => readonly NewInboxEntry[]
  /** Go on without anything new. */
  readonly continuing?: Continuation
  readonly keys?: readonly string[]
  /** The key that the sender chose: it may have been heard before. */
  readonly repeats?: string
  readonly principal: Principal
  readonly credentials?: Credentials
  readonly signal?: AbortSignal
  /** Nobody drives it but `turn.step()`. */
  readonly manual?: boolean
  /** Looked at before anything is posted; rejects to refuse. */
  readonly check?: (ledger: Ledger) => Promise<void>
}

/** How a turn is asked for. What is left out is the owner's. */
export interface Asking {
  readonly auth?: Auth
  readonly signal?: AbortSignal
  readonly manual?: boolean
}

/** `again`: there is more to do now. `at`: there may be then. `done`: not before somebody says something. */
export type Drive =
  | { readonly state: 'again' }
  | { readonly state: 'at'; readonly time: number }
  | { readonly state: 'done' }

export interface ConversationOptions extends Omit<DriverOptions, 'onEntry' | 'emit' | 'offers' | 'thrown'> {
  /** A turn has ended, or could not go on; before anybody else hears of it. */
  readonly onOutcome: (outcome: TurnOutcome) => void
  /** Whom besides the owner to let in (R20). */
  readonly allow?: ((principal: Principal) => boolean) | undefined
  /** The conversation is loaded. Nothing is played before it resolves. */
  readonly onLoaded?: () => MaybePromise<void>
}

export class Conversation {
  readonly driver: Driver
  readonly #options: ConversationOptions
  readonly #audience: Audience
  readonly #wishes = new Map<Handle, Wish>()
  readonly #outbox: Outbox
  readonly #pump: Pump
  /** How many callers have asked and not yet posted. */
  #arriving = 0
  #entering: Promise<void> = Promise.resolve()
  /** The error that ended the newest turn that failed here, as it was thrown. */
  #thrown: { readonly turn: number; readonly error: unknown } | undefined

  constructor(options: ConversationOptions) {
    this.#options = options
    const audience = new Audience(options.store, options.key)
    this.#audience = audience
    this.#outbox = new Outbox({
      post: (posts) => this.driver.ownership.post(posts),
      mayCarry: () => this.driver.mayCarry,
      opening: () => this.driver.opening,
      join: (handle, posted) => audience.join(handle, posted),
    })
    this.driver = new Driver({
      ...options,
      offers: this.#offers(),
      onEntry: (entry, how) => audience.hear(entry, how),
      onWanted: () => this.#serve(),
      thrown: (turn, error) => void (this.#thrown = { turn, error }),
      emit: (type, data) =>
        audience.delta({ type, turn: this.driver.ledger.session.turn, data } as TurnEvent),
    })
    this.#pump = new Pump({ ...options, driver: this.driver, audience, callers: this.#callers() })
  }

  #callers(): Callers {
    return {
      isWaiting: () => this.#isWaiting(),
      arriving: () => (this.#arriving > 0 ? this.#entering : undefined),
      hasOffers: () => this.#hasOffers(),
      hasPosts: () => this.#outbox.offered.length > 0,
      isByHand: () => this.#isByHand(),
      turnToOwner: () => this.#turnToOwner(),
      answerFor: (error) => this.#answerFor(error),
    }
  }

  #offers(): Offers {
    const outbox = this.#outbox
    return {
      isEmpty: () => !this.#hasOffers(),
      continuing: () => this.#toContinue()?.continuing,
      carry: () => outbox.carry(),
      stored: () => outbox.stored(),
      returned: () => outbox.returned(),
      postNow: () => outbox.postOffered(),
    }
  }

  #hasOffers(): boolean {
    return this.#outbox.offered.length > 0 || this.#toContinue() !== undefined
  }

  /** The first caller who wants to go on without anything new, and for whom no turn has begun yet. */
  #toContinue(): Wish | undefined {
    for (const [handle, wish] of this.#wishes)
      if (handle.isExpecting && !handle.isStored && !handle.turn.isEnded) return wish
    return undefined
  }

  get isBusy(): boolean {
    if (this.#audience.isCompleting) return true
    return this.turn !== undefined || (this.driver.ledger.session.open !== undefined && this.driver.isPlaying)
  }

  /** The turn that runs or is about to, if somebody here listens to it. */
  get turn(): Turn | undefined {
    for (const { turn } of this.#audience.handles) if (!turn.isEnded) return turn
    return undefined
  }

  /** Begins what is wished for, in the order of asking. Throws `forbidden` for somebody who is not let in. */
  ask({ auth = {}, signal, manual }: Asking, wish: Omit<Wish, keyof Asking | 'principal'>): Turn {
    const { key, allow } = this.#options
    const principal = principalOf(key, auth)
    checkLetIn(key, principal, allow)
    return this.#begin({
      ...wish,
      principal,
      ...(auth.credentials === undefined ? {} : { credentials: auth.credentials }),
      ...(signal === undefined ? {} : { signal }),
      ...(manual === undefined ? {} : { manual }),
    })
  }

  /** What the turn that runs lends to conversations below it. `limits`: of the turn, as they were declared. */
  childScope(limits: Limits): Nursery {
    const { key, store, clock, timer, ids, leaseMs } = this.#options
    const { contextId, ...owner } = key
    return {
      config: { contextId, parentSince: this.driver.ledger.seen, owner, store, clock, timer, ids, leaseMs },
      limits: () => limitsLeft(this.driver.ledger.session, limits, clock.now()),
      forward: (event) => this.#audience.forward(this.driver.ledger.session.turn, event),
    }
  }

  #begin(wish: Wish): Turn {
    const handle = this.#listen({ keys: wish.keys ?? [] })
    this.#wishes.set(handle, wish)
    this.#arriving += 1
    this.#entering = this.#entering.then(() => this.#arrive(wish, handle))
    return handle.turn
  }

  async #arrive(wish: Wish, handle: Handle): Promise<void> {
    try {
      await this.#enter(wish, handle)
    } catch (error) {
      this.driver.vault.forget(wish.keys ?? [])
      handle.refuse(error)
    }
    this.#arriving -= 1
    if (!wish.manual && !handle.turn.isEnded) this.#pump.start()
  }

  /** A turn that never was. */
  refused(error: unknown): Turn {
    const handle = this.#listen({})
    handle.refuse(error)
    return handle.turn
  }

  /** Follows or takes up the turn that is open, if there is one. */
  async attach(): Promise<Turn | undefined> {
    await this.#entering
    this.#pump.resume()
    await this.#refresh()
    const { session, inbox } = this.driver.ledger
    if (session.open === undefined && inbox.length === 0 && !this.#isWaiting()) return undefined
    const number = session.open?.turn
    const isKnown = [...this.#audience.handles].some((handle) => handle.number === number)
    if (number !== undefined && !isKnown) await this.#retell(number)
    this.#pump.start()
    return this.turn
  }

  /** Resolves when everything that was asked for here has been done, or is done elsewhere. */
  async settled(): Promise<void> {
    await this.#entering
    await this.#pump.ended()
  }

  /** Cancels the turn that runs, whoever drives it; if none does, ends what the last one waits for. */
  async cancel(reason?: string): Promise<void> {
    await this.#entering
    // An opening may be refused: another process runs a turn, and that is the one to be cancelled.
    while (this.driver.opening !== undefined) await this.driver.opening
    const [first] = this.#audience.handles
    if (first?.number !== undefined) return this.#cancelTurn(first, reason)
    // What was asked for here may wait for a turn of another process, and that is the one which runs.
    await this.#refresh()
    const { ledger, ownership } = this.driver
    const { open, parked, turn } = ledger.session
    if (open !== undefined) await ownership.post([this.cancelPost(open.turn, reason)])
    else if (first !== undefined) await this.#cancelTurn(first, reason)
    else if (parked !== undefined) {
      await ownership.post([this.cancelPost(turn, reason)])
      this.#pump.start()
      await this.settled()
    }
  }

  cancelPost(turn: number, reason?: string): NewInboxEntry {
    checkReason(reason)
    const said = { turn, ...(reason === undefined ? {} : { reason }) }
    const data = this.driver.vault.hide('cancel', said)
    return { type: 'cancel', key: this.#options.ids.next('cancel'), data }
  }

  /** Stops driving, after the effects under way, until `attach`. */
  async stop(how: 'pause' | 'release'): Promise<void> {
    await this.#entering
    this.driver.stop(how)
    try {
      await this.#pump.halt()
      if (this.driver.isPlaying) while ((await this.driver.step()).state === 'again');
      await this.#settling(this.#options.definition.graceMs)
      await this.#outbox.postOffered()
    } finally {
      this.driver.stop(undefined)
    }
    await this.driver.flush()
    await this.driver.handOver()
  }

  /** Results of effects that were lost are handed in, if they come soon (S6). */
  async #settling(mostMs: number): Promise<void> {
    const { settling } = this.driver
    if (settling !== undefined) await Promise.race([settling, this.#options.timer.wait(mostMs)])
  }

  /** No more listening; those who still wait are told. */
  close(error: HoldfastError): void {
    void this.#pump.halt()
    this.#refuseAll(error)
  }

  /**
   * The newest turn, told again from the journal; undefined if there has been none. One that is open is followed, or taken
   * over if nobody drives it, unless it was paused. `refusal`: why that cannot be done here.
   */
  async lastTurn(refusal?: HoldfastError): Promise<Turn | undefined> {
    await this.#entering
    await this.#refresh()
    const { turn: number, closed } = this.driver.ledger.session
    if (number === 0) return undefined
    const handle = await this.#retell(number)
    if (handle.turn.isEnded) return handle.turn
    if (refusal !== undefined) handle.refuse(refusal)
    else if (closed !== 'paused') this.#pump.start()
    return handle.turn
  }

  async #retell(number: number): Promise<Handle> {
    const handle = this.#listen({})
    await this.#audience.retell(handle, number)
    return handle
  }

  /** Goes on by one model call or one round of tools, and says whether there is more. */
  async drive(): Promise<Drive> {
    await this.settled()
    await this.#refresh()
    for (;;) {
      const isEffect = this.driver.next === 'model' || this.driver.next === 'tools'
      const progress = await this.driver.step()
      if (progress.state === 'again' && isEffect) return { state: 'again' }
      if (progress.state === 'idle')
        return progress.at === undefined ? { state: 'done' } : { state: 'at', time: progress.at }
      if (progress.state === 'owned')
        return { state: 'at', time: this.#options.clock.now() + this.#options.heartbeatMs }
      if (progress.state === 'paused') return { state: 'done' }
    }
  }

  /** What waits for an answer, oldest first. */
  async requests(): Promise<readonly RequestData[]> {
    await this.#entering
    await this.#refresh()
    return openRequests(this.driver.ledger, this.#options.clock.now())
  }

  /** Does something between what is asked for here, in the order of asking. A turn may be running. */
  async between(work: () => Promise<void>): Promise<void> {
    const alone = async () => {
      await this.#refresh()
      await work()
    }
    const done = this.#entering.then(alone)
    this.#entering = done.catch(() => {})
    await done
  }

  /** Somebody steps a turn by hand: nobody else does. */
  #isByHand(): boolean {
    for (const [handle, { manual }] of this.#wishes) if (manual && !handle.turn.isEnded) return true
    return false
  }

  async #refresh(): Promise<void> {
    await this.driver.ownership.refresh()
    await this.#load()
  }

  #listen(about: Omit<HandleOptions, 'turn'>): Handle {
    const turn: Turn = new Turn({
      cancel: (reason) => this.#cancelTurn(handle, reason),
      step: () => this.#stepByHand(turn),
      completing: (tell) => this.#audience.complete(tell),
      ended: (outcome) => {
        this.#audience.handles.delete(handle)
        this.#wishes.delete(handle)
        if (outcome.status === 'failed' && outcome.turn === this.#thrown?.turn)
          giveCause(outcome, this.#thrown.error)
        this.#options.onOutcome(outcome)
      },
    })
    const handle = new Handle({ turn, ...about })
    this.#audience.handles.add(handle)
    return handle
  }

  /** Others wait for a conversation that is held here because something is not saved yet. */
  #serve(): void {
    this.driver.ownership
      .flush()
      .then(() => this.#pump.start())
      .catch(() => {})
  }

  async #enter(wish: Wish, handle: Handle): Promise<void> {
    const isPlain = wish.continuing === undefined && wish.check === undefined
    const loading = isPlain ? this.#load() : this.#refresh()
    if (isPromise(loading)) await loading
    if (wish.check !== undefined) await wish.check(this.driver.ledger)
    const { signal, credentials, keys = [] } = wish
    if (signal?.aborted) throw cancelledEarly()
    if (signal !== undefined) this.#cancelWith(signal, handle)
    const secrets = credentials === undefined ? undefined : { principal: wish.principal, credentials }
    if (secrets !== undefined) for (const key of keys) this.driver.vault.entrust(key, secrets)
    if (wish.continuing === undefined) await this.#post(wish, handle)
    else this.#continue(wish, handle)
  }

  #cancelWith(signal: AbortSignal, handle: Handle): void {
    const stop = () => void handle.turn.cancel('aborted').catch(() => {})
    signal.addEventListener('abort', stop)
    void handle.turn.outcome.finally(() => signal.removeEventListener('abort', stop))
  }

  async #post({ posts: postsFor, repeats, credentials }: Wish, handle: Handle): Promise<void> {
    const { store, key } = this.#options
    const turn = this.driver.ledger.session.open?.turn
    let posts = this.driver.vault.withoutSecrets(postsFor?.(turn) ?? [], credentials)
    if (posts.length > 1 && turn !== undefined && repeats !== undefined)
      posts = await sparingOwnTurn(posts, { store, key, turn, posted: repeats })
    const caller = { handle, posts, ...(repeats === undefined ? {} : { repeats }) }
    try {
      await this.#outbox.send(caller, { isAlone: this.#arriving === 1 })
    } catch (error) {
      if (HoldfastError.is(error, 'inbox-full')) this.#pump.start() // P6
      throw error
    }
  }

  #continue({ continuing, credentials, principal }: Wish, handle: Handle): void {
    const { ledger, vault } = this.driver
    const { open } = ledger.session
    if (continuing === undefined) return
    const now = this.#options.clock.now()
    if (open === undefined) checkContinuation(ledger, { now, isAuthorised: credentials !== undefined })
    const secrets = credentials === undefined ? undefined : { principal, credentials }
    if (open !== undefined) {
      if (secrets !== undefined) vault.refresh(open.turn, secrets, open.principal)
      handle.follow(open.turn, this.#audience.since)
      return
    }
    if (secrets !== undefined) vault.entrust(undefined, secrets)
    handle.expect(ledger.session.turn + 1)
  }

  /** One caller answers for what it asked for (P3); all who wait hear of what keeps the conversation from being driven. */
  #answerFor(error: unknown): boolean {
    const refused = this.#toContinue()
    if (isOfTheCaller(error) && refused !== undefined) {
      for (const [handle, wish] of this.#wishes) if (wish === refused) handle.refuse(error)
      return true
    }
    this.#outbox.drop()
    this.#refuseAll(error)
    return false
  }

  /** Callers post to the owner; those who want to go on without anything new go on with its turn. */
  async #turnToOwner(): Promise<void> {
    await this.#outbox.postOffered()
    await this.#load()
    const { open } = this.driver.ledger.session
    if (open === undefined) return
    for (const handle of this.#wishes.keys())
      if (handle.isExpecting && !handle.isStored) handle.follow(open.turn, this.#audience.since)
  }

  #refuseAll(error: unknown): void {
    for (const handle of [...this.#audience.handles]) handle.refuse(error)
  }

  /** Does anybody wait for a turn that has not ended? */
  #isWaiting(): boolean {
    for (const handle of this.#audience.handles)
      if (!handle.turn.isEnded && !this.#wishes.get(handle)?.manual) return true
    return false
  }

  #load(): MaybePromise<void> {
    const { driver } = this
    const ready = () => (driver.isPlaying ? undefined : this.#options.onLoaded?.())
    return chain(chain(driver.ownership.read(), ready), () =>
      this.#audience.isSeated ? undefined : this.#seat(),
    )
  }

  async #seat(): Promise<void> {
    const { ledger } = this.driver
    this.#audience.seat(ledger.session.seq, await openRequests(ledger, this.#options.clock.now()))
  }

  async #cancelTurn(handle: Handle, reason?: string): Promise<void> {
    await this.#entering
    if (handle.turn.isEnded) return
    const post = (turn: number) => this.driver.ownership.post([this.cancelPost(turn, reason)])
    // A turn that waits for another to end is cancelled as soon as it begins.
    if (handle.number === undefined) handle.whenKnown((turn) => void post(turn).catch(() => {}))
    else await post(handle.number)
  }

  async #stepByHand(turn: Turn): Promise<TurnStep> {
    await this.#entering
    if (turn.isEnded) return { done: true, next: 'done' }
    const progress = await this.#pump.step()
    const next = progress?.state === 'again' ? progress.next : 'done'
    if (turn.isEnded && this.#isWaiting()) this.#pump.start()
    return { done: turn.isEnded, next }
  }
}
