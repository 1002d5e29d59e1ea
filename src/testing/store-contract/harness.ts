/** The interface of the contract suite to the store under test: ways to open it, and optional ways to damage it. */
import type { Clock, Liveness } from '../../base/index.ts'
import type { ContextKey } from '../../protocol/index.ts'
import type { Derivation, Store } from '../../store/index.ts'

/** Only `open` is required. Cases that need a missing member are skipped, with a reason. */
export interface StoreHarness {
  /** A store on a fresh, empty database of its own. The suite closes it. */
  open(options?: OpenOptions): Promise<Store>
  /** Another store on the database of one that `open` or `reopen` returned, open or closed. */
  reopen?(store: Store, options?: OpenOptions): Promise<Store>
  /** The way for a child process to open the database of such a store. */
  worker?(store: Store): StoreWorker
  /** Damages stored data without the store. */
  readonly damage?: StoreDamage
  /** The database's own check of itself, if it has one. Rejects when something is wrong. */
  verify?(store: Store): Promise<void>
}

export interface OpenOptions {
  readonly clock?: Clock
  /** The liveness of a driver's process. */
  readonly liveness?: (driver: string) => Liveness
  /** Indexes beside the standard ones. */
  readonly derivations?: readonly Derivation[]
}

/** A child imports `module` (a `file:` URL) and calls its `open(argument)`, which returns a Store or a promise of one. */
export interface StoreWorker {
  readonly module: string
  readonly argument: string
}

export interface StoreDamage {
  /** Changes something in the stored data of one entry. */
  entry(store: Store, key: ContextKey, seq: number): Promise<void>
  /** Makes a head row differ from the journal. */
  head(store: Store, key: ContextKey): Promise<void>
}
