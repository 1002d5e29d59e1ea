/** The options of a driver, and the result of its steps. */
import type { MaybePromise } from '../base/index.ts'
import type { Batch, Continuation, LoopScope, LoopSettings, Next } from '../loop/index.ts'
import type { NewInboxEntry, Principal } from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'
import type { JournalState } from './journal-state.ts'
import type { OwnershipOptions } from './ownership.ts'

/** The requests that the next turn begins with (`outbox.ts`). */
export interface PendingWork {
  readonly isEmpty: boolean
  readonly continuing: Continuation | undefined
  /** The posts of one caller, for the claim to carry (P2). The driver then calls `stored` or `returned`. */
  carry(): readonly NewInboxEntry[]
  stored(): void
  /** `error`: of a claim that was made and not granted. */
  returned(error?: unknown): void
  /** Posts what the next claim would have carried (P3). */
  postQueued(): Promise<void>
}

export interface DriverOptions extends OwnershipOptions {
  readonly definition: LoopSettings
  /** The loop to drive: one turn, from the current journal. */
  readonly run: (scope: LoopScope, journal: JournalState) => AsyncGenerator<Batch, boolean>
  readonly pending: PendingWork
  /** False: entries that no effect depends on are buffered until another must be durable, or until `flush`. */
  readonly autoSave: boolean
  readonly heartbeatMs: number
  readonly emit: LoopScope['emit']
  /** Called at a heartbeat while this driver owns the conversation without a loop and its inbox is not empty. */
  readonly onInboxEntry?: () => void
  readonly abandoned?: LoopScope['abandoned']
  readonly thrown?: LoopScope['thrown']
  readonly telemetry?: LoopScope['telemetry'] | undefined
  /** Finds credentials that no caller of this process has passed (R19). */
  readonly credentials?: (principal: Principal) => MaybePromise<Credentials | undefined>
}

/**
 * `again`: one step was done; `next` is the next step's action. `idle`: there is nothing to do, before `at` if given.
 * `owned`: another driver owns the conversation. `paused`: stopped as requested.
 */
export type Progress =
  | { readonly state: 'again'; readonly next: Next }
  | { readonly state: 'idle'; readonly at?: number }
  | { readonly state: 'owned' }
  | { readonly state: 'paused' }
