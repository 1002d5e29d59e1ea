/** Renews the lease of a conversation while this process needs it, and notices a loss (R1, R2). */
import type { Timer } from '../base/index.ts'
import { type HoldfastError, keyText } from '../protocol/index.ts'
import { cancelNotifier } from './cancel-notifier.ts'
import { isLoss, type Ownership } from './ownership.ts'
import { grantOf, needsLease } from './state.ts'

export interface HeartbeatOptions {
  readonly ownership: Ownership
  readonly timer: Timer
  readonly everyMs: number
  /** The lease was renewed, and new inbox entries are known. */
  readonly onBeat: () => void
  readonly onLost: (error: HoldfastError) => void
}

export class Heartbeat {
  readonly #options: HeartbeatOptions
  #isBeating = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  /** One timer serves all turns of a driver, so short turns start none. It ends when there is nothing to renew. */
  start(): void {
    if (this.#isBeating) return
    this.#isBeating = true
    const { store, key } = this.#options.ownership.journal
    const leave = cancelNotifier(store).listen(keyText(key), () => void this.#renew())
    void this.#beat().finally(leave)
  }

  async #beat(): Promise<void> {
    const { ownership, timer, everyMs } = this.#options
    for (;;) {
      await timer.wait(everyMs, { background: true })
      const { state, journal } = ownership
      // Set in the same tick as the decision, so a turn that begins then starts a new heartbeat.
      this.#isBeating = needsLease(state, journal.hasUnsaved)
      if (!this.#isBeating) return
      if (ownership.age >= everyMs / 2) await this.#renew()
    }
  }

  async #renew(): Promise<void> {
    const { ownership, onBeat } = this.#options
    const epoch = grantOf(ownership.state)?.epoch
    if (epoch === undefined) return
    try {
      await ownership.renew()
      onBeat()
    } catch (problem) {
      // A write under way may end the ownership whose renewal was refused.
      if (isLoss(problem)) await ownership.betweenWrites(async () => this.#lose(problem, epoch))
    }
  }

  /** Reports a loss only under the epoch that was renewed (W2): a turn that has ended meanwhile is not lost. */
  #lose(problem: HoldfastError, epoch: number): void {
    const { ownership, onLost } = this.#options
    if (grantOf(ownership.state)?.epoch === epoch) onLost(problem)
  }
}
