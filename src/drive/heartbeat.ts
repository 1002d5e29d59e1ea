/** Holds the lease of a conversation while somebody drives it, and notices when it is lost (R1, R2). */
import type { Timer } from '../base/index.ts'
import { HoldfastError, keyText } from '../protocol/index.ts'
import { cancelBell } from './cancel-bell.ts'
import type { Ledger } from './ledger.ts'

export interface HeartbeatOptions {
  readonly ledger: Ledger
  readonly timer: Timer
  readonly everyMs: number
  /** Does anybody here still need the lease? */
  readonly isHeld: () => boolean
  /** The lease was renewed, and what has come in is known. */
  readonly onBeat: () => void
  readonly onLost: (error: HoldfastError) => void
}

export class Heartbeat {
  readonly #options: HeartbeatOptions
  #beating = false

  constructor(options: HeartbeatOptions) {
    this.#options = options
  }

  /** One loop for all turns of a driver: short ones cost no timer each. It ends when there is nothing to hold. */
  start(): void {
    if (this.#beating) return
    this.#beating = true
    const { store, key } = this.#options.ledger
    const leave = cancelBell(store).listen(keyText(key), () => void this.#renew())
    void this.#beat().finally(leave)
  }

  async #beat(): Promise<void> {
    const { ledger, timer, everyMs, isHeld } = this.#options
    for (;;) {
      await timer.wait(everyMs, { background: true })
      if (!ledger.isOwned || !isHeld()) break
      if (ledger.age < everyMs / 2) continue
      if (!(await this.#renew())) break
    }
    // In the same tick as the decision, so that a turn that begins then starts a new loop.
    this.#beating = false
  }

  /** False if the lease is lost. */
  async #renew(): Promise<boolean> {
    const { ledger, onBeat } = this.#options
    const { epoch } = ledger
    try {
      if (!ledger.isOwned) return true
      await ledger.renew()
      onBeat()
      return true
    } catch (problem) {
      return !this.#isLost(problem, epoch)
    }
  }

  /** Trouble that passes is not a loss; nor is that of a turn which has ended meanwhile, perhaps with another begun. */
  #isLost(problem: unknown, epoch: number): boolean {
    const { ledger, onLost } = this.#options
    if (!HoldfastError.is(problem, 'fenced') && !HoldfastError.is(problem, 'erased')) return false
    if (!ledger.isOwned || epoch !== ledger.epoch) return false
    onLost(problem)
    return true
  }
}
