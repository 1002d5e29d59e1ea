/**
 * One conversation in one process: what is asked of it, who listens, and who drives it. It drives when it can, follows
 * the journal when another process does, and takes over when that one is gone. It does not know the life of an agent.
 */
import { type Clock, processLiveness } from '../base/index.ts'
import {
  type ContextKey,
  HoldfastError,
  type NewInboxEntry,
  type Principal,
  type RequestData,
  type TurnEvent,
} from '../protocol/index.ts'
import { isOwned, type Store } from '../store/index.ts'
import type { Credentials } from '../tool/index.ts'
import type { Continuation } from '../turn/index.ts'
import { checkContinuation, openRequests } from './answers.ts'
import { Audience } from './audience.ts'
import { Driver, type DriverOptions, type Progress } from './driver.ts'
import { sparingOwnTurn } from './find-taken.ts'
import { Handle, type HandleOptions } from './handle.ts'
import type { Ledger } from './ledger.ts'
import { isOfTheCaller, Outbox } from './outbox.ts'
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

/** `again`: there is more to do now. `at`: there may be then. `done`: not before somebody says something. */
export type Drive =
  | { readonly state: 'again' }
  | { readonly state: 'at'; readonly time: number }
  | { readonly state: 'done' }

export interface ConversationOptions extends Omit<DriverOptions, 'onEntry' | 'emit'> {
  /** A turn has ended, or could not go on; before anybody else hears of it. */
  readonly onOutcome: (outcome: TurnOutcome) => void
  /** The conversation is loaded. Nothing is played before it resolves. */
  readonly onLoaded?: () => Promise<void>
}

export class Conversation {
  readonly driver: Driver
  readonly #options: ConversationOptions
  readonly #audience: Audience
  /** Aborts to leave off following another process. */
  #halt = new AbortController()
  readonly #wishes = new Map<Handle, Wish>()
  readonly #outbox: Outbox
  /** How many callers have asked and not yet posted. */
  #arriving = 0
  #entering: Promise<void> = Promise.resolve()
  #pumping: Promise<void> | undefined

  constructor(options: ConversationOptions) {
    this.#options = options
    const audience = new Audience(options.store, options.key)
    this.#audience = audience
    this.driver = new Driver({
      ...options,
      onEntry: (entry, unsaved) => audience.hear(entry, unsaved),
      onWanted: () => this.#serve(),
      emit: (type, data) =>
        audience.delta({ type, turn: this.driver.ledger.session.turn, data } as TurnEvent),
    })
    this.#outbox = new Outbox(this.driver, audience)
  }

  get isBusy(): boolean {
    if (this.#audience.isCompleting) return true
    return this.turn !== undefined || (this.driver.ledger.session.open !== undefined && this.driver.isPlaying)
  }

  /** The turn that runs or is about to, if somebody here listens to it. */
  get turn(): Turn | undefined {
    return [...this.#audience.handles].find(({ turn }) => !turn.isEnded)?.turn
  }

  /** Begins what is wished for, in the order of asking. */
  begin(wish: Wish): Turn {
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
      handle.refuse(error)
    }
    this.#arriving -= 1
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
    await this.#refresh()
    const { session, inbox } = this.driver.ledger
    if (session.open === undefined && inbox.length === 0) return undefined
    const number = session.open?.turn
    const isKnown = [...this.#audience.handles].some((handle) => handle.number === number)
    if (number !== undefined && !isKnown) this.#listen({ number })
    this.pump()
    return this.turn
  }

  /** Resolves when everything that was asked for here has been done, or is done elsewhere. */
  async settled(): Promise<void> {
    await this.#entering
    while (this.#pumping !== undefined) await this.#pumping
  }

  /** Cancels the turn that runs, whoever drives it; if none does, ends what the last one waits for. */
  async cancel(reason?: string): Promise<void> {
    await this.#entering
    const [first] = this.#audience.handles
    if (first !== undefined && (first.number ?? this.driver.opening) !== undefined)
      return this.#cancelTurn(first, reason)
    // What was asked for here may wait for a turn of another process, and that is the one which runs.
    await this.#refresh()
    const { ledger } = this.driver
    const { open, parked, turn } = ledger.session
    if (open !== undefined) await ledger.post([this.cancelPost(open.turn, reason)])
    else if (first !== undefined) await this.#cancelTurn(first, reason)
    else if (parked !== undefined) {
      await ledger.post([this.cancelPost(turn, reason)])
      this.pump()
      await this.settled()
    }
  }

  cancelPost(turn: number, reason?: string): NewInboxEntry {
    checkReason(reason)
    const said = { turn, ...(reason === undefined ? {} : { reason }) }
    const data = this.driver.vault.hide('cancel', said)
    return { type: 'cancel', key: this.#options.ids.next('cancel'), data }
  }

  /** Stops driving, after the effects under way. */
  async stop(how: 'pause' | 'release'): Promise<void> {
    await this.#entering
    this.driver.stop(how)
    this.#halt.abort()
    await this.#pumping
    if (this.driver.isPlaying) while ((await this.driver.step()).state === 'again');
    await this.#aftermath()
    this.driver.stop(undefined)
    this.#halt = new AbortController()
    await this.driver.flush()
    await this.driver.handOver()
  }

  /** Results of effects that were lost are handed in, if they come soon. */
  async #aftermath(): Promise<void> {
    const { timer, definition } = this.#options
    const { aftermath } = this.driver
    if (aftermath !== undefined) await Promise.race([aftermath, timer.wait(definition.graceMs)])
  }

  /** No more listening; those who still wait are told. */
  close(error: HoldfastError): void {
    this.#halt.abort()
    this.#outbox.settle()
    this.#refuseAll(error)
  }

  /** The newest turn, told again from the journal; undefined if there has been none. */
  async lastTurn(): Promise<Turn | undefined> {
    await this.#entering
    await this.#refresh()
    const { turn: number } = this.driver.ledger.session
    if (number === 0) return undefined
    const handle = this.#listen({})
    await this.#audience.retell(handle, number)
    return handle.turn
  }

  /** An event of a sub-agent that the running turn called. */
  forward(event: TurnEvent): void {
    this.#audience.forward(this.driver.ledger.session.turn, event)
  }

  /** Goes on by one model call or one round of tools, and says whether there is more. */
  async drive(): Promise<Drive> {
    await this.settled()
    await this.#load()
    const { ledger, isPlaying } = this.driver
    // Others may have written since.
    if (!isPlaying && !ledger.hasUnsaved) ledger.forget(false)
    await this.#outbox.postOffered()
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

  /** Drives and follows until nobody wants anything any more. */
  pump(): void {
    if (!this.#isByHand()) this.#pumping ??= this.#run()
  }

  /** Somebody steps a turn by hand: nobody else does. */
  #isByHand(): boolean {
    for (const [handle, { manual }] of this.#wishes) if (manual && !handle.turn.isEnded) return true
    return false
  }

  async #refresh(): Promise<void> {
    if (!this.driver.isPlaying) await this.driver.ledger.refresh()
    await this.#load()
  }

  #listen(about: Omit<HandleOptions, 'turn'>): Handle {
    const turn: Turn = new Turn({
      cancel: (reason) => this.#cancelTurn(handle, reason),
      step: () => this.#stepByHand(turn),
      completing: (tell) => this.#audience.complete(tell),
      ended: (outcome) => this.#options.onOutcome(outcome),
    })
    const handle = new Handle({ turn, ...about })
    this.#audience.handles.add(handle)
    void turn.outcome.finally(() => {
      this.#audience.handles.delete(handle)
      this.#wishes.delete(handle)
    })
    return handle
  }

  /** Others wait for a conversation that is held here because something is not saved yet. */
  #serve(): void {
    this.driver.ledger
      .flush()
      .then(() => this.pump())
      .catch(() => {})
  }

  async #enter(wish: Wish, handle: Handle): Promise<void> {
    if (wish.continuing === undefined && wish.check === undefined) await this.#load()
    else await this.#refresh()
    await wish.check?.(this.driver.ledger)
    const { signal, credentials, keys = [] } = wish
    if (signal?.aborted) throw cancelledEarly()
    const stop = () => void handle.turn.cancel('aborted').catch(() => {})
    signal?.addEventListener('abort', stop)
    void handle.turn.outcome.finally(() => signal?.removeEventListener('abort', stop))
    const secrets = credentials === undefined ? undefined : { principal: wish.principal, credentials }
    if (secrets !== undefined) for (const key of keys) this.driver.vault.entrust(key, secrets)
    // A claim on its way may carry what was asked for before (P4).
    await this.driver.opening
    if (wish.continuing === undefined) await this.#post(wish, handle)
    else this.#continue(wish, handle)
    if (!wish.manual) this.pump()
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
      if (HoldfastError.is(error, 'inbox-full')) this.pump() // P6
      throw error
    }
  }

  #continue({ continuing, credentials, principal }: Wish, handle: Handle): void {
    const { ledger } = this.driver
    const { open } = ledger.session
    if (continuing === undefined) return
    const now = this.#options.clock.now()
    if (open === undefined) checkContinuation(ledger, { now, isAuthorised: credentials !== undefined })
    const secrets = credentials === undefined ? undefined : { principal, credentials }
    if (open !== undefined) {
      if (secrets !== undefined) this.driver.vault.refresh(open.turn, secrets, open.principal)
      handle.follow(open.turn, this.#audience.since)
      return
    }
    if (secrets !== undefined) this.driver.vault.entrust(undefined, secrets)
    handle.expect(ledger.session.turn + 1)
    this.driver.offers.continue(continuing)
  }

  /** It is over in the same moment in which nobody waits any more, so that whoever comes next finds it running or not. */
  async #run(): Promise<void> {
    try {
      for (let [idle, isHasty] = [0, false]; ; ) {
        if (!this.driver.isPlaying && this.#isByHand()) return
        const progress = await this.#step()
        if (progress === undefined || progress.state === 'paused') return
        if (progress.state === 'owned') {
          await this.#continueElsewhere()
          await this.#audience.catchUp()
          // What was followed may have ended meanwhile: then nothing comes that would end the wait. Clocks may differ, so once.
          isHasty = !isHasty && (await isFree(this.#options))
          if (isHasty) this.driver.ledger.forget(true)
          else await this.#follow()
        } else if (progress.state === 'idle') {
          // What somebody wishes may be on its way.
          await this.#entering
          await this.#audience.catchUp()
          if (!this.#isWaiting()) return
          // Looked at twice, there was nothing to do: then it is done elsewhere.
          idle = this.driver.offers.isEmpty ? idle + 1 : 0
          if (idle > 1) {
            await this.driver.ledger.flush()
            await this.#follow()
          }
        }
        if (this.#halt.signal.aborted) return
      }
    } catch (error) {
      this.#refuseAll(error)
    } finally {
      this.#pumping = undefined
    }
  }

  async #step(): Promise<Progress | undefined> {
    try {
      const progress = await this.driver.step()
      this.#outbox.settle()
      if (this.driver.offers.isLeftBehind || progress.state === 'owned') await this.#outbox.postOffered()
      return progress
    } catch (error) {
      this.#outbox.settle()
      return this.#answerFor(error)
    }
  }

  /** One caller answers for what it asked for (P3); all who wait hear of what keeps the conversation from being driven. */
  async #answerFor(error: unknown): Promise<Progress | undefined> {
    const again: Progress = { state: 'again', next: 'on' }
    if (isOfTheCaller(error) && this.#outbox.hasOffered) {
      await this.#outbox.postOffered()
      return again
    }
    this.#outbox.drop()
    const refused = this.driver.offers.withdrawContinuing()
    if (isOfTheCaller(error) && refused !== undefined) {
      for (const [handle, { continuing }] of this.#wishes)
        if (continuing === refused) handle.refuse(error)
        else if (continuing !== undefined && !handle.isStored) this.driver.offers.continue(continuing)
      return again
    }
    this.#refuseAll(error)
    return undefined
  }

  #refuseAll(error: unknown): void {
    for (const handle of this.#audience.handles) handle.refuse(error)
  }

  /** Another process drives: what was to go on here goes on there, or when that one is done. */
  async #continueElsewhere(): Promise<void> {
    this.driver.offers.withdrawContinuing()
    await this.#load()
    const { open } = this.driver.ledger.session
    for (const [handle, { continuing }] of this.#wishes) {
      if (continuing === undefined || handle.isStored) continue
      if (open !== undefined) handle.follow(open.turn, this.#audience.since)
      else this.driver.offers.continue(continuing)
    }
  }

  /** Tells what the other process does, until it is done or gone, or some time has passed. */
  async #follow(): Promise<void> {
    const { store, key, timer, clock, heartbeatMs } = this.#options
    const over = new AbortController()
    const signal = AbortSignal.any([over.signal, this.#halt.signal])
    const look = async () => {
      while (!signal.aborted) {
        await timer.wait(heartbeatMs, { signal })
        if (await isFree({ store, key, clock })) over.abort()
      }
    }
    const looking = look().catch(() => over.abort())
    for await (const entry of store.watch(key, { since: this.#audience.told, signal })) {
      this.#audience.hear(entry)
      if (entry.type === 'release') break
      // With more in its inbox the other goes on by itself, or releases when it stops. If it dies, `look` notices.
      if (entry.type === 'turn.end' && !this.#audience.hasWaiting) break
    }
    over.abort()
    await looking
    this.driver.ledger.forget(true)
  }

  /** Is there somebody left whose turn has not ended, although nothing is to be done here? Then it is done elsewhere. */
  #isWaiting(): boolean {
    const waiting = [...this.#audience.handles].some(
      (handle) => !handle.turn.isEnded && !this.#wishes.get(handle)?.manual,
    )
    const { ledger } = this.driver
    // Whoever holds something back owns the conversation: nobody else has written.
    if (waiting && !ledger.hasUnsaved) ledger.forget(true)
    return waiting
  }

  async #load(): Promise<void> {
    const { ledger, isPlaying } = this.driver
    if (!ledger.isLoaded && !isPlaying) await ledger.load()
    if (!isPlaying) await this.#options.onLoaded?.()
    if (this.#audience.isSeated) return
    this.#audience.seat(ledger.session.seq, await openRequests(ledger, this.#options.clock.now()))
  }

  async #cancelTurn(handle: Handle, reason?: string): Promise<void> {
    await this.#entering
    if (handle.turn.isEnded) return
    const post = (turn: number) => this.driver.ledger.post([this.cancelPost(turn, reason)])
    // A turn that waits for another to end is cancelled as soon as it begins.
    if (handle.number === undefined) handle.whenKnown((turn) => void post(turn).catch(() => {}))
    else await post(handle.number)
  }

  async #stepByHand(turn: Turn): Promise<TurnStep> {
    await this.#entering
    if (turn.isEnded) return { done: true, next: 'done' }
    const progress = await this.#step()
    const next = progress?.state === 'again' ? progress.next : 'done'
    if (turn.isEnded && this.#isWaiting()) this.pump()
    return { done: turn.isEnded, next }
  }
}

async function isFree(at: { store: Store; key: ContextKey; clock: Clock }): Promise<boolean> {
  const head = await at.store.head(at.key)
  return head === undefined || !isOwned(head, { now: at.clock.now(), liveness: processLiveness })
}
