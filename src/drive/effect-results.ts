/**
 * Results of effects that ended here, until they are durable. The end of the ownership posts the rest: a result is stored
 * or posted, however its turn ends (R4).
 */
import { ENTRY_KINDS, type Entry, type EntryData } from '../protocol/index.ts'
import type { Settled } from '../tool/index.ts'

export class EffectResults {
  readonly #post: (callId: string, settled: Settled) => void
  readonly #kept = new Map<string, Settled>()

  /** `post`: posts a late result. */
  constructor(post: (callId: string, settled: Settled) => void) {
    this.#post = post
  }

  /** An effect has ended. `isDriving`: its loop still drives, and is to store the result. */
  ended(callId: string, settled: Settled, isDriving: boolean): void {
    if (settled.status === 'unknown') return
    if (isDriving) this.#kept.set(callId, settled)
    else this.late(callId, settled)
  }

  /** An entry is durable. A result here is better than an end without one, so it stays to be posted. */
  stored({ type, data }: Entry): void {
    if (this.#kept.size === 0) return
    if (type === 'tool.end' || type === 'effect.end') {
      const { callId, status } = data as EntryData['tool.end']
      if (status !== 'unknown') this.#kept.delete(callId)
    } else if (ENTRY_KINDS.get(type)?.ends) this.postAll()
  }

  /** Posts the results that this driver will not store. */
  postAll(): void {
    for (const [callId, settled] of this.#kept) this.late(callId, settled)
  }

  late(callId: string, settled: Settled): void {
    this.#kept.delete(callId)
    this.#post(callId, settled)
  }
}
