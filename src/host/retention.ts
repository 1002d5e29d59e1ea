/** Erases conversations that are unused for longer than their agent keeps them, a bounded number at a time. */
import type { Clock, Timer } from '../base/index.ts'
import type { ContextKey } from '../protocol/index.ts'
import type { Head, Store } from '../store/index.ts'

export interface RetentionOptions {
  readonly store: Store
  readonly clock: Clock
  readonly timer: Timer
  /** How long a conversation is kept without use; undefined for ever. */
  readonly ttlOf: (contextId: string) => number | undefined
  /** Erases a conversation unless it is in use here, or has moved on from `at`. */
  readonly erase: (key: ContextKey, at: number) => Promise<void>
}

/** Heads read in one step, and conversations erased in it: erasing rewrites parts of a file. */
const PAGE = 200
const MOST_ERASED = 20
/** Between two steps through the store, and between two passes. */
const STEP_MS = 1000
const PASS_MS = 60_000

export class Retention {
  readonly #options: RetentionOptions
  #after: ContextKey | undefined
  #step: Promise<void> | undefined
  #cancel: (() => void) | undefined
  #isStopped = false

  constructor(options: RetentionOptions) {
    this.#options = options
  }

  start(): void {
    this.#later(STEP_MS)
  }

  /** Resolves when no step runs any more. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancel?.()
    await this.#step
  }

  #later(ms: number): void {
    if (this.#isStopped) return
    this.#cancel = this.#options.timer.after(ms, () => {
      this.#step = this.#sweep()
    })
  }

  async #sweep(): Promise<void> {
    try {
      await this.#erasePage()
    } catch {
      // The store may be busy or away: the next pass begins anew.
      this.#after = undefined
    }
    this.#later(this.#after === undefined ? PASS_MS : STEP_MS)
  }

  async #erasePage(): Promise<void> {
    const { store } = this.#options
    const after = this.#after
    const heads = await store.scan({ limit: PAGE, ...(after === undefined ? {} : { after }) })
    this.#after = undefined
    let erased = 0
    for (const head of heads) {
      if (erased === MOST_ERASED || this.#isStopped) return
      this.#after = head.key
      if (!this.#isOver(head)) continue
      erased += 1
      // One that was used meanwhile, or has a fork, is kept.
      await this.#options.erase(head.key, head.seq).catch(() => {})
    }
    if (heads.length < PAGE) this.#after = undefined
  }

  #isOver({ key, status, pending, at }: Head): boolean {
    if (status === 'erased' || status === 'running' || pending > 0) return false
    const ttlMs = this.#options.ttlOf(key.contextId)
    return ttlMs !== undefined && this.#options.clock.now() - at > ttlMs
  }
}
