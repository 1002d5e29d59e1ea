/** What a driver is made with, and what a step of it says. */
import type { MaybePromise } from '../base/index.ts'
import type { Batch, Continuation, LoopScope, LoopTerms, Next } from '../loop/index.ts'
import type { NewInboxEntry, Principal } from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'
import type { JournalState } from './journal-state.ts'
import type { OwnershipOptions } from './ownership.ts'

/** What callers want the next turn to begin with (`outbox.ts`). */
export interface Offers {
  readonly isEmpty: () => boolean
  readonly continuing: () => Continuation | undefined
  /** The posts of one caller, for the claim to carry (P2). It says what has become of them: `stored` or `returned`. */
  readonly carry: () => readonly NewInboxEntry[]
  readonly stored: () => void
  readonly returned: () => void
  /** The next claim carries nothing: what was left to it is posted now (P3). */
  readonly postNow: () => Promise<void>
}

export interface DriverOptions extends OwnershipOptions {
  readonly definition: LoopTerms
  /** What is driven: one turn, from wherever the journal stands. */
  readonly play: (scope: LoopScope, journal: JournalState) => AsyncGenerator<Batch, boolean>
  readonly offers?: Offers
  /** False: entries that no effect depends on are held back until something must be durable, or until asked for. */
  readonly autoSave: boolean
  readonly heartbeatMs: number
  readonly emit: LoopScope['emit']
  /** An inbox entry has come for a conversation that is held and not driven. */
  readonly onWanted?: () => void
  readonly abandoned?: LoopScope['abandoned']
  readonly thrown?: LoopScope['thrown']
  /** For turns whose credentials nobody in this process has brought (R19). */
  readonly credentials?: (principal: Principal) => MaybePromise<Credentials | undefined>
}

/**
 * `again`: it has come one step further; `next` is what the next step will do. `idle`: nothing wants to be done, before
 * `at` if that is given. `owned`: somebody else is doing it. `paused`: it was told to stop and has.
 */
export type Progress =
  | { readonly state: 'again'; readonly next: Next }
  | { readonly state: 'idle'; readonly at?: number }
  | { readonly state: 'owned' }
  | { readonly state: 'paused' }

export const NO_OFFERS: Offers = {
  isEmpty: () => true,
  continuing: () => undefined,
  carry: () => [],
  stored: () => {},
  returned: () => {},
  postNow: async () => {},
}
