/** Erases conversations with their logs, and recreates them (R15). Turns of one that is being erased wait here. */
import type { Timer } from '../base/index.ts'
import type { TurnError } from '../drive/index.ts'
import { recreateContext } from '../journal/index.ts'
import { type ContextKey, keyText, quote } from '../protocol/index.ts'
import { erased, type Head, type Store } from '../store/index.ts'
import type { Catalog } from './catalog.ts'
import { ErasedLogs } from './erased-logs.ts'
import type { HostedTurn } from './hosted.ts'
import type { Pool } from './pool.ts'

export interface ErasuresOptions {
  readonly store: Store
  readonly catalog: Catalog
  readonly pool: Pool
  readonly timer: Timer
}

export class Erasures {
  readonly #options: ErasuresOptions
  readonly #logs: ErasedLogs
  /** Conversations that are being erased, by key: true once they are. */
  readonly #running = new Map<string, Promise<boolean>>()

  constructor(options: ErasuresOptions) {
    const { store, catalog, timer } = options
    this.#options = options
    this.#logs = new ErasedLogs({ store, timer, folders: () => catalog.logFolders })
  }

  /** Finishes what an earlier process has left. */
  start(): void {
    this.#logs.removeLater()
  }

  stop(): Promise<void> {
    return this.#logs.stop()
  }

  /** Returns the number of conversations that were erased. One that was erased before loses what is left in logs. */
  async erase(key: ContextKey): Promise<number> {
    const { store, catalog, pool } = this.#options
    const name = keyText(key)
    const erasing = pool.close(key).then(() => store.erase(key))
    const ended = erasing.then(
      () => true,
      () => false,
    )
    // An earlier one may still be under way.
    const all = Promise.all([this.#running.get(name), ended]).then((each) => each.includes(true))
    this.#running.set(name, all)
    try {
      const count = await erasing
      await catalog.learnLogs(key)
      await this.#logs.remove()
      this.#logs.removeLater()
      return count
    } finally {
      await all
      if (this.#running.get(name) === all) this.#running.delete(name)
    }
  }

  /** Erases a conversation that nobody uses here, and that has not moved on from `at`. Its logs follow. */
  async eraseUnused(key: ContextKey, at: number): Promise<void> {
    const { store, catalog, pool } = this.#options
    if (pool.isUsed(key)) return
    await pool.close(key)
    await store.erase(key, { at })
    await catalog.learnLogs(key)
    this.#logs.removeLater()
  }

  async recreate(key: ContextKey): Promise<void> {
    await this.#running.get(keyText(key))
    // A later removal would take the new conversation for one that is not erased.
    await this.#logs.remove()
    await recreateContext(this.#options.store, key)
  }

  /** The head of a conversation that may be written to. Throws `erased` for one that was erased. */
  async writable(key: ContextKey): Promise<Head | undefined> {
    await this.#running.get(keyText(key))
    const head = await this.#options.store.head(key)
    if (head?.status === 'erased') throw erased(key)
    return head
  }

  /** A turn that ends because its conversation is erased is not one that another process goes on with. */
  erasable(key: ContextKey, turn: HostedTurn): HostedTurn {
    const outcome = turn.outcome.then(async (ended) => {
      const isErased = this.#running.get(keyText(key))
      if (ended.error?.code !== 'shutdown' || !(await isErased)) return ended
      return { ...ended, error: erasedError(key) }
    })
    return {
      outcome,
      cancel: (reason) => turn.cancel(reason),
      [Symbol.asyncIterator]: () => turn[Symbol.asyncIterator](),
    }
  }
}

function erasedError({ contextId }: ContextKey): TurnError {
  return { code: 'erased', message: `The conversation ${quote(contextId)} was erased, and its turn with it.` }
}
