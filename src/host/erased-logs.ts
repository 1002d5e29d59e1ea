/**
 * Removes the logs of erased conversations: at most one removal runs at a time, and one more waits for it. A later one finds
 * the last lines of other processes, and the first one after a start the rest of an erase that a process did not finish.
 */
import { existsSync } from 'node:fs'
import { debugThrown, type Timer } from '../base/index.ts'
import { defaultFolders, eraseLogs } from '../observe/index.ts'
import type { Store } from '../store/index.ts'

export interface ErasedLogsOptions {
  readonly store: Store
  readonly timer: Timer
  /** The folders that the configs of agents name. */
  readonly folders: () => readonly string[]
}

/** Other processes write their lines within 100 ms. */
const LATER_MS = 1000

export class ErasedLogs {
  readonly #options: ErasedLogsOptions
  #running: Promise<unknown> | undefined
  #next: Promise<unknown> | undefined
  #cancelLater: (() => void) | undefined
  #isStopped = false

  constructor(options: ErasedLogsOptions) {
    this.#options = options
  }

  /** Resolves after a removal that began after this call. */
  remove(): Promise<unknown> {
    if (!this.#hasFiles()) return Promise.resolve()
    if (this.#running === undefined) return this.#start()
    this.#next ??= this.#running.then(
      () => this.#start(),
      () => this.#start(),
    )
    return this.#next
  }

  removeLater(): void {
    if (this.#cancelLater !== undefined || this.#isStopped || !this.#hasFiles()) return
    this.#cancelLater = this.#options.timer.after(LATER_MS, () => {
      this.#cancelLater = undefined
      this.remove().catch((error: unknown) => debugThrown('The removal of logs', error))
    })
  }

  /** Resolves when no removal runs any more. The next start finishes what is left. */
  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelLater?.()
    await Promise.allSettled([this.#running, this.#next])
  }

  #hasFiles(): boolean {
    const { store, folders } = this.#options
    return [...defaultFolders(store.path), ...folders()].some((folder) => existsSync(folder))
  }

  #start(): Promise<unknown> {
    this.#next = undefined
    const { store, folders } = this.#options
    const running = eraseLogs(store, { folders: folders() })
    this.#running = running
    const ended = (): void => {
      if (this.#running === running) this.#running = undefined
    }
    running.then(ended, ended)
    return running
  }
}
