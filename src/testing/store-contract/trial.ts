/**
 * The fixture of one case: a manual clock, processes that are dead or alive as the case sets, and stores that are closed
 * at its end. It knows nothing of the contract.
 */
import type { Liveness } from '../../base/index.ts'
import type { ContextKey } from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { ManualClock } from '../manual-clock.ts'
import type { OpenOptions, StoreHarness, StoreWorker } from './harness.ts'
import { keyOf, Talk } from './talk.ts'

export class Trial {
  readonly clock: ManualClock = new ManualClock()
  /** Drivers whose process is dead. The liveness of others is unknown, as if they ran on another machine. */
  readonly dead: Set<string> = new Set()
  readonly #harness: StoreHarness
  readonly #cleanups: (() => unknown)[] = []

  constructor(harness: StoreHarness) {
    this.#harness = harness
  }

  /** A store on a database of its own, with this trial's clock and dead drivers. */
  async open(options: OpenOptions = {}): Promise<Store> {
    return this.#closeLater(await this.#harness.open({ ...this.#manual(), ...options }))
  }

  /** Another store on the same database. */
  async reopen(store: Store, options: OpenOptions = {}): Promise<Store> {
    if (this.#harness.reopen === undefined) throw new Error('The case did not say that it needs `reopen`.')
    return this.#closeLater(await this.#harness.reopen(store, { ...this.#manual(), ...options }))
  }

  /** A store with the real clock, for cases with real processes. */
  async openReal(): Promise<Store> {
    return this.#closeLater(await this.#harness.open())
  }

  async reopenReal(store: Store): Promise<Store> {
    if (this.#harness.reopen === undefined) throw new Error('The case did not say that it needs `reopen`.')
    return this.#closeLater(await this.#harness.reopen(store))
  }

  /** A conversation in a store of its own. */
  async talk(contextId?: string): Promise<Talk> {
    return new Talk(await this.open(), keyOf(contextId))
  }

  worker(store: Store): StoreWorker {
    if (this.#harness.worker === undefined) throw new Error('The case did not say that it needs `worker`.')
    return this.#harness.worker(store)
  }

  async damageEntry(store: Store, key: ContextKey, seq: number): Promise<void> {
    if (this.#harness.damage === undefined) throw new Error('The case did not say that it needs `damage`.')
    await this.#harness.damage.entry(store, key, seq)
  }

  async damageHead(store: Store, key: ContextKey): Promise<void> {
    if (this.#harness.damage === undefined) throw new Error('The case did not say that it needs `damage`.')
    await this.#harness.damage.head(store, key)
  }

  async verify(store: Store): Promise<void> {
    await this.#harness.verify?.(store)
  }

  /** Runs at the end of the case, however it ends; the last one first. */
  later(cleanup: () => unknown): void {
    this.#cleanups.push(cleanup)
  }

  async end(): Promise<void> {
    for (const cleanup of this.#cleanups.reverse()) await cleanup()
  }

  #manual(): OpenOptions {
    const liveness = (driver: string): Liveness => (this.dead.has(driver) ? 'dead' : 'unknown')
    return { clock: this.clock, liveness }
  }

  #closeLater(store: Store): Store {
    this.later(() => store.close())
    return store
  }
}
