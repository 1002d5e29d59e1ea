/** What the contract suite asks of the store under test: ways to open it, and, if it has them, ways behind its back. */
import type { Clock, Liveness } from '../../base/index.ts'
import type { ContextKey } from '../../protocol/index.ts'
import type { Derivation, Store } from '../../store/index.ts'

/** Only `open` is required. What else is left out makes the cases that need it skip, with a reason. */
export interface StoreHarness {
  /** A store on a fresh, empty database of its own. The suite closes it. */
  open(options?: OpenOptions): Promise<Store>
  /** Another store on the database of one that `open` or `reopen` gave, whether that one is still open or closed. */
  reopen?(store: Store, options?: OpenOptions): Promise<Store>
  /** How a child process opens the database of such a store. */
  worker?(store: Store): StoreWorker
  /** Spoils what is stored, behind the store's back. */
  readonly damage?: StoreDamage
  /** The database's own check of itself, if it has one. Rejects when something is wrong. */
  verify?(store: Store): Promise<void>
}

export interface OpenOptions {
  readonly clock?: Clock
  /** Is the process of this driver alive? */
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
  /** Makes a head row wrong, so that it says something that the journal does not. */
  head(store: Store, key: ContextKey): Promise<void>
}
