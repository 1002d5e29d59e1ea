/** Renews the lease of a conversation while this process needs it, and notices when it is lost (R1, R2). */
import type { Timer } from '../base/index.ts'
import { type HoldfastError, keyText } from '../protocol/index.ts'
import { cancelBell } from './cancel-bell.ts'
import { isLoss, type Ownership } from './ownership.ts'
import { grantOf } from './state.ts'

export interface HeartbeatOptions {
  readonly ownership: Ownership
  readonly timer: Timer
  readonly everyMs: number
  /** The lease was renewed, and the inbox entries of others are known. */
  readonly onBeat: () => void
  readonly onLost: (error: HoldfastError) => void
}

export class Heartbeat {
  readonly #options: HeartbeatOptions
  #isBeating = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  /** One timer for all turns of a driver: short ones cost none of their own. It ends when there is nothing to hold. */
  start(): void {
    if (this.#isBeating) return
    this.#isBeating = true
    const { store, key } = this.#options.ownership.journal
    const leave = cancelBell(store).listen(keyText(key), () => void this.#renew())
    void this.#beat().finally(leave)
  }

  async #beat(): Promise<void> {
    const { ownership, timer, everyMs } = this.#options
    for (;;) {
      await timer.wait(everyMs, { background: true })
      const { state, journal } = ownership
      // Set in the same tick as the decision, so that a turn that begins then starts a new loop.
      this.#isBeating = state.is === 'driving' || (state.is === 'holding' && journal.hasUnsaved)
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
      if (isLoss(problem)) await ownership.afterWrites(() => this.#lose(problem, epoch))
    }
  }

  /** A turn that has ended meanwhile is not lost, even if another has begun. Trouble that passes is no loss, either. */
  #lose(problem: HoldfastError, epoch: number): void {
    const { ownership, onLost } = this.#options
    if (grantOf(ownership.state)?.epoch === epoch) onLost(problem)
  }
}
