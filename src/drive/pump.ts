/**
 * The pump of a conversation: it drives when it can, follows the journal while another process does, and takes over when
 * that one is gone. It knows no callers, only whether somebody waits.
 *
 * C1  There is one pump. It ends in the same tick in which it finds that nobody waits, so a later caller starts another.
 *     A caller that finds it asleep, with something that only the pump can begin, wakes it.
 * C2  It sleeps only when no step can be taken here: another process owns the conversation, or somebody waits for a turn
 *     that the journal, read to its end, does not ask of this process.
 * C3  Its sleep ends when a turn ends, the owner is gone, or nobody has owned it for a heartbeat, and that decides nothing:
 *     the next step does, from the journal as it stands then. So a wake-up too many costs a read, and one too few two
 *     heartbeats at most.
 */
import { type Clock, processLiveness, type Timer } from '../base/index.ts'
import type { ContextKey } from '../protocol/index.ts'
import { erased, type Head, isOwned, type Store } from '../store/index.ts'
import type { Driver } from './driver.ts'
import type { Progress } from './driver-options.ts'
import type { Subscribers } from './subscribers.ts'

/** Those who ask something of the conversation. */
export interface Callers {
  /** Does anybody wait for a turn that has not ended? */
  readonly isWaiting: () => boolean
  /** While callers are on their way: resolves when they have posted. */
  readonly arriving: () => Promise<void> | undefined
  /** Does somebody want what only a step can begin? */
  readonly hasOffers: () => boolean
  /** Does one of them want to post something? */
  readonly hasPosts: () => boolean
  /** Does somebody step a turn by hand? Then nobody else does. */
  readonly isByHand: () => boolean
  /** Another process owns the conversation: callers turn to it. */
  readonly turnToOwner: () => Promise<void>
  /** A step has failed. False if nobody can go on. */
  readonly answerFor: (error: unknown) => boolean
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

const AGAIN: Progress = { state: 'again', next: 'on' }

export class Pump {
  readonly #options: PumpOptions
  #running: Promise<void> | undefined
  #isHalted = false
  /** While it sleeps; `isElsewhere`: because another process owns the conversation. */
  #sleep: { readonly wake: AbortController; readonly isElsewhere: boolean } | undefined

  constructor(options: PumpOptions) {
    this.#options = options
  }

  /** Drives and follows until nobody waits any more. */
  start(): void {
    const { callers } = this.#options
    if (this.#isHalted || callers.isByHand()) return
    // An owner hears of what was posted to it by itself.
    if (callers.hasOffers() || this.#sleep?.isElsewhere === false) this.#sleep?.wake.abort()
    this.#running ??= this.#run()
  }

  /** Resolves when it has ended. */
  async ended(): Promise<void> {
    while (this.#running !== undefined) await this.#running
  }

  /** It ends after the step that it is in, and does not start before `resume`. */
  async halt(): Promise<void> {
    this.#isHalted = true
    this.#sleep?.wake.abort()
    await this.ended()
  }

  resume(): void {
    this.#isHalted = false
  }

  /** One step. Undefined if it failed and nobody can go on. */
  step(): Promise<Progress | undefined> {
    const { driver, callers } = this.#options
    return driver.step().catch((error: unknown) => (callers.answerFor(error) ? AGAIN : undefined))
  }

  async #run(): Promise<void> {
    const { driver, callers } = this.#options
    try {
      while (!this.#isHalted && (driver.isPlaying || !callers.isByHand())) {
        const progress = await this.step()
        const state = progress?.state
        if (state === 'paused') return
        const isDone = state === 'idle' || state === undefined || (state === 'again' && !driver.hasWork)
        // In the same tick as the end (C1): whoever asks later finds no pump, and starts one.
        if (isDone && !driver.isPlaying && !callers.isWaiting()) return
        if (state === 'owned') await this.#followOwner()
        if (state === 'idle') await this.#awaitOthers()
      }
    } catch (error) {
      callers.answerFor(error)
    } finally {
      this.#running = undefined // C1
    }
  }

  async #followOwner(): Promise<void> {
    const { driver, subscribers, callers, store, key, timer, heartbeatMs } = this.#options
    await callers.turnToOwner()
    await subscribers.catchUp()
    const head = await store.head(key)
    if (head?.lease !== undefined) return this.#follow({ isElsewhere: true })
    // Released since the claim was refused. The subscribers has heard of the release already: no watch would report it (C3).
    driver.ownership.forget()
    const { settling } = driver
    if (settling !== undefined) await Promise.race([settling, timer.wait(heartbeatMs)])
  }

  /** Somebody waits, and nothing is to be done here: sleeps until there may be something (C2). */
  async #awaitOthers(): Promise<void> {
    const { driver, subscribers, callers, store, key } = this.#options
    const arriving = callers.arriving()
    if (arriving !== undefined || callers.hasOffers()) return arriving
    await subscribers.catchUp()
    const { ownership, journal } = driver
    if (ownership.isOwner) await ownership.flush()
    const head = await store.head(key)
    if (!callers.isWaiting()) return
    // Nobody will ever answer them.
    if (head?.status === 'erased') throw erased(key)
    const isCurrent = journal.isLoaded && (head?.seq ?? 0) === journal.seen
    if (isCurrent) await this.#follow({ isElsewhere: false })
    else ownership.forget()
  }

  /** Publishes the entries of other processes, until one of them is done or gone, or a heartbeat has passed (C3). */
  async #follow({ isElsewhere }: { readonly isElsewhere: boolean }): Promise<void> {
    const { driver, subscribers, callers, store, key, timer, heartbeatMs } = this.#options
    // Whoever wants to go on without anything new has nothing to post to the owner.
    if ((isElsewhere ? callers.hasPosts() : callers.hasOffers()) || this.#isHalted) return
    const wake = new AbortController()
    this.#sleep = { wake, isElsewhere }
    const { signal } = wake
    const look = async () => {
      for (let before: number | undefined; !signal.aborted; ) {
        await timer.wait(heartbeatMs, { signal })
        const head = await store.head(key)
        // Between two turns an owner lets go for a moment: it is gone if it has not come back after a heartbeat.
        const isFree = head?.lease === undefined ? head?.seq === before : !this.#hasOwner(head)
        if (isFree || head === undefined) wake.abort()
        before = head?.seq
      }
    }
    const looking = look().catch(() => wake.abort())
    try {
      for await (const entry of store.watch(key, { since: subscribers.told, signal })) {
        subscribers.hear(entry)
        if (entry.type === 'release') break
        // With more in its inbox the other goes on by itself, or releases when it stops. If it dies, `look` notices.
        if (entry.type === 'turn.end' && !subscribers.hasWaiting) break
      }
    } finally {
      wake.abort()
      this.#sleep = undefined
    }
    await looking
    driver.ownership.forget()
  }

  #hasOwner(head: Head): boolean {
    return isOwned(head, { now: this.#options.clock.now(), liveness: processLiveness })
  }
}
