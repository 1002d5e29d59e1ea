/**
 * Drives a conversation when it can, follows the journal while another process does, and takes over when that one is
 * gone. It must not know callers, only that one waits.
 *
 * C1  There is one pump. It ends in the same tick as the last waiter, so a later caller starts another. A caller that
 *     needs a step wakes a sleeping pump.
 * C2  The pump sleeps only when no step is possible here: another process owns the conversation, or the journal, read
 *     to its end, has no work for this process.
 * C3  A sleep ends when a turn ends, the owner is gone, or the conversation had no owner for a heartbeat. That decides
 *     nothing: the next step does, from the journal as it is then. A wake-up too many costs a read, one too few two
 *     heartbeats at most.
 * C4  A pause of another process is no wake-up. A turn that it paused is left alone until a caller comes after that, or
 *     another driver; until then the pump rests, and `settled` does not wait for it. A caller that comes during a sleep
 *     has the head read, because the watch may not have seen the pause.
 *
 * Wake-ups, and the sleeps that they end:
 *
 *                                                        owned elsewhere   no work   draining
 *   a caller requests a turn to continue, or queues posts       ×             ×
 *   a caller has posted to the inbox                                          ×
 *   `release`, or `turn.end` with an empty inbox, is read       ×             ×
 *   a caller, or a cancel, comes to a turn that was paused      ×
 *   a turn that was stepped manually ends                                     ×
 *   the owner is dead, or its lease has expired                 ×             ×
 *   no owner, and no new entry, for a heartbeat                 ×             ×
 *   the store cannot read the head                              ×             ×
 *   `halt`                                                      ×             ×
 *   results of the lost turn are posted                                                  ×
 *   a heartbeat passes                                                                   ×
 *
 * A watch that fails ends the pump, and its callers are refused.
 */
import { type Clock, processLiveness, type Timer } from '../base/index.ts'
import type { ContextKey } from '../protocol/index.ts'
import { erased, type Head, isOwned, type Store } from '../store/index.ts'
import type { Driver } from './driver.ts'
import type { Progress } from './driver-options.ts'
import { Sleep, type SleepOptions } from './sleep.ts'
import type { Subscribers } from './subscribers.ts'

/** The callers of the conversation. */
export interface Callers {
  /** True while a caller waits for a turn that has not ended. */
  readonly hasOpenCaller: () => boolean
  /** While callers are entering: resolves when they have posted. */
  readonly arriving: () => Promise<void> | undefined
  /** True if a request needs a step to begin. */
  readonly hasPending: () => boolean
  /** True if posts are queued. */
  readonly hasPosts: () => boolean
  /** True while a turn is stepped manually: the pump does not run then. */
  readonly isManual: () => boolean
  /** Posts to the owner and follows its turn. */
  readonly redirectToOwner: () => Promise<void>
  /** A step has failed. False if no caller can continue. */
  readonly reportFailure: (error: unknown) => boolean
  /** The conversation cannot be followed: ends every caller. */
  readonly refuseAll: (error: unknown) => void
}

export interface PumpOptions {
  readonly driver: Driver
  readonly subscribers: Subscribers
  readonly callers: Callers
  readonly key: ContextKey
  readonly store: Store
  readonly clock: Clock
  readonly timer: Timer
  readonly heartbeatMs: number
}

const AGAIN: Progress = { state: 'again', next: 'continue' }
const OWNED: Progress = { state: 'owned' }

export class Pump {
  readonly #options: PumpOptions
  #running: Promise<void> | undefined
  #isHalted = false
  /** Set while the pump sleeps. */
  #sleep: Sleep | undefined
  /** True if a caller has come since the last step began (C4). */
  #isCalled = false
  #isLooking = false
  /** Resolves when the pump begins to rest. */
  #rest: PromiseWithResolvers<void> = Promise.withResolvers()

  constructor(options: PumpOptions) {
    this.#options = options
  }

  /** A caller has come: drives and follows until none waits. */
  start(): void {
    this.call()
    if (this.#isHalted || this.#options.callers.isManual()) return
    this.#running ??= this.#run()
  }

  /** Follows the open turn, and takes it over if its driver is gone, but not if it was paused (C4). */
  follow(): void {
    if (this.#isHalted || this.#options.callers.isManual()) return
    if (this.#running !== undefined) return
    // Of callers that found no pump to wake.
    this.#isCalled = false
    this.#running = this.#run({ isFollowing: true })
  }

  /** A caller has come: wakes the pump if that changes what it can do. */
  call(): void {
    this.#isCalled = true
    const { callers } = this.#options
    if (this.#isHalted || this.#sleep === undefined || callers.isManual()) return
    // An owner elsewhere gets posts through its inbox.
    if (callers.hasPending() || !this.#sleep.isElsewhere) this.#sleep.wake.abort()
    else void this.#look()
  }

  /** Wakes the pump if the turn was paused before the newest caller came (C4). */
  async #look(): Promise<void> {
    if (this.#isLooking) return
    this.#isLooking = true
    while (this.#isCalled && this.#sleep?.isElsewhere) {
      this.#isCalled = false
      if (!(await this.#isPaused().catch(() => true))) continue
      this.#isCalled = true
      this.#sleep?.wake.abort()
      break
    }
    this.#isLooking = false
  }

  /** Resolves when the pump has ended. */
  async ended(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** Resolves when the pump has ended, or rests (C4). */
  async settled(): Promise<void> {
    while (this.#running !== undefined && this.#sleep?.isResting !== true)
      await Promise.race([this.#running, this.#rest.promise])
  }

  /** Resolves when the pump has ended; a turn at which it rests is continued. */
  async finished(): Promise<void> {
    for (await this.settled(); this.#sleep?.isResting; await this.settled()) {
      this.#isCalled = true
      this.#sleep.wake.abort()
    }
  }

  /** Ends the pump after its current step. It does not start again before `resume`. */
  async halt(): Promise<void> {
    this.#isHalted = true
    this.#sleep?.wake.abort()
    await this.ended()
  }

  get isHalted(): boolean {
    return this.#isHalted
  }

  resume(): void {
    this.#isHalted = false
  }

  /** One step. Undefined if it failed and no caller can continue. */
  step(): Promise<Progress | undefined> {
    const { driver, callers } = this.#options
    return driver.step().catch((error: unknown) => (callers.reportFailure(error) ? AGAIN : undefined))
  }

  async #run({ isFollowing = false } = {}): Promise<void> {
    const { driver, callers } = this.#options
    try {
      for (let mayRest = isFollowing; !this.#isHalted && (driver.isRunning || !callers.isManual()); ) {
        const progress = await this.#next(mayRest)
        const state = progress?.state
        mayRest = state === 'owned'
        if (state === 'paused') return
        const isDone = state === 'idle' || state === undefined || (state === 'again' && !driver.hasWork)
        // In the same tick as the end (C1): a later caller finds no pump, and starts one.
        if (isDone && !driver.isRunning && !callers.hasOpenCaller()) return
        // A caller that is entering, or whose posts are being written, ends by itself.
        if (state === undefined) await callers.arriving()
        if (state === 'owned') await this.#followOwner()
        if (state === 'idle') await this.#awaitOthers()
      }
    } catch (error) {
      // No step has failed, so the error is about no single request (P3).
      callers.refuseAll(error)
    } finally {
      this.#running = undefined // C1
    }
  }

  /** A step, unless the turn is paused and no caller has come (C4). */
  async #next(mayRest: boolean): Promise<Progress | undefined> {
    if (mayRest && !this.#isCalled && (await this.#isPaused()) && !this.#isCalled) return OWNED
    // A draining driver claims nothing, so its step decides nothing for those who came before.
    this.#isCalled &&= this.#options.driver.draining !== undefined
    return this.step()
  }

  async #isPaused(): Promise<boolean> {
    const { store, key } = this.#options
    return (await store.head(key))?.status === 'paused'
  }

  async #followOwner(): Promise<void> {
    const { driver, subscribers, callers, store, key, timer, heartbeatMs } = this.#options
    await callers.redirectToOwner()
    await subscribers.catchUp()
    const head = await store.head(key)
    const isPaused = head?.status === 'paused'
    const { draining } = driver
    const isLeft = isPaused && draining === undefined
    if (head?.lease !== undefined || isLeft) return this.#follow({ isElsewhere: true, isPaused })
    // Released since the claim was refused. The release is published already, so no watch would report it (C3).
    driver.ownership.forget()
    if (draining !== undefined) await Promise.race([draining, timer.wait(heartbeatMs)])
  }

  /** A caller waits and no step is possible here: sleeps until one may be (C2). */
  async #awaitOthers(): Promise<void> {
    const { driver, subscribers, callers, store, key } = this.#options
    const arriving = callers.arriving()
    if (arriving !== undefined || callers.hasPending()) return arriving
    await subscribers.catchUp()
    const { ownership, journal } = driver
    if (ownership.isOwner) await ownership.flush()
    const head = await store.head(key)
    if (!callers.hasOpenCaller()) return
    // An erased conversation gets no more turns.
    if (head?.status === 'erased') throw erased(key)
    const isCurrent = journal.isLoaded && (head?.seq ?? 0) === journal.seen
    if (isCurrent) await this.#follow({ isElsewhere: false, isPaused: false })
    else ownership.forget()
  }

  /** Publishes entries of others until a turn ends, its driver is gone, or a heartbeat passes without an owner (C3). */
  async #follow({ isElsewhere, isPaused }: Omit<SleepOptions, 'onRest'>): Promise<void> {
    const { driver, subscribers, callers, store, key, timer, heartbeatMs } = this.#options
    // A request to continue has nothing to post to an owner elsewhere.
    if ((isElsewhere ? callers.hasPosts() : callers.hasPending()) || this.#isHalted) return
    const sleep = new Sleep({ isElsewhere, isPaused, onRest: () => this.#rests() })
    this.#sleep = sleep
    // A caller may have come since the claim was refused.
    if (isElsewhere && this.#isCalled) void this.#look()
    const { wake } = sleep
    const { signal } = wake
    const pollHead = async () => {
      for (let before: number | undefined; !signal.aborted; ) {
        await timer.wait(heartbeatMs, { signal })
        const head = await store.head(key)
        // Between two turns an owner releases for a moment: it is gone if the head has not moved after a heartbeat.
        const isFree = head?.lease === undefined ? head?.seq === before : !this.#hasOwner(head)
        // The watch may have overtaken this read.
        if (head !== undefined && head.seq >= subscribers.published) sleep.followHead(head)
        if ((isFree && !sleep.isResting) || head === undefined) wake.abort()
        before = head?.seq
      }
    }
    const polling = pollHead().catch(() => wake.abort())
    try {
      for await (const entry of store.watch(key, { since: subscribers.published, signal })) {
        subscribers.follow(entry)
        if (sleep.follow(entry)) break
        // With a non-empty inbox the owner continues, or releases when it stops. If it dies, `pollHead` notices.
        if (entry.type === 'turn.end' && !subscribers.hasUntakenInput) break
      }
    } finally {
      wake.abort()
      this.#sleep = undefined
    }
    await polling
    driver.ownership.forget()
  }

  #rests(): void {
    const { resolve } = this.#rest
    this.#rest = Promise.withResolvers()
    resolve()
  }

  #hasOwner(head: Head): boolean {
    return isOwned(head, { now: this.#options.clock.now(), liveness: processLiveness })
  }
}
