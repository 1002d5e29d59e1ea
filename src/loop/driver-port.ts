/**
 * The contract of a loop with its driver. The loop must not know a store: it yields batches, and continues only when
 * the driver has made them durable. So an effect after a yield follows its durable intent (R3).
 */
import type { Clock, Ids, MaybePromise, Timer } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import type {
  ContextKey,
  DeltaData,
  DeltaType,
  Entry,
  Grant,
  JsonObject,
  Message,
  NewEntry,
  Principal,
  RequestData,
} from '../protocol/index.ts'
import type { Artifacts, Credentials, Redactor, Settled } from '../tool/index.ts'
import type { CallArguments } from './call-arguments.ts'
import type { ContextTelemetry } from './telemetry.ts'

export interface Batch {
  readonly entries: readonly NewEntry[]
  /** The loop's next action once they are durable. */
  readonly next: Next
  /** The driver calls it once they are durable, before it asks for the next batch. */
  readonly stored: () => void
  /**
   * The driver calls it if they could not be stored. Returns a smaller batch to store instead of one that is too large.
   * Undefined: the entries are dropped, and the driver throws the refusal into the loop.
   */
  readonly refused: (refusal: unknown) => Batch | undefined
}

/**
 * `model`, `tools`: an effect. `hooks`: user hooks. `wait`: a delay. `continue`: the loop's next batch, while effects under
 * way may go on. `done`: the end.
 */
export type Next = 'model' | 'tools' | 'hooks' | 'wait' | 'continue' | 'done'

/** The settings of every run, of agents and graphs alike. */
export interface LoopSettings {
  /** The expiry of a request that has none of its own. */
  readonly requestTtlMs: number
  /** Claims without progress before a turn fails (R7). */
  readonly maxClaims: number
  /** The time that a cancelled effect may take to end. */
  readonly graceMs: number
}

/** The context that a driver passes to a loop: a turn of an agent, or a run of a graph. */
export interface LoopScope {
  readonly key: ContextKey
  readonly definition: LoopSettings
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  /** The journal as of the last durable batch, with newer inbox entries. */
  readonly view: JournalView
  /** Set for a request to continue without a new input. */
  readonly continuing?: Continuation | undefined
  /** Aborts when the turn is cancelled. */
  readonly cancelled: AbortSignal
  /** Aborts on a cancel too, and when the turn was lost to another driver: results of the model no longer count. */
  readonly cancelledOrLost: AbortSignal
  /**
   * Aborts like `cancelledOrLost`, right after it, and when the driver is to release the turn for a shutdown: the next driver
   * repeats a model call under way.
   */
  readonly cancelledLostOrReleased: AbortSignal
  /** Aborts when the driver is to stop after the effects under way, for a pause or a shutdown: ends a delay. */
  readonly stopping?: AbortSignal
  /** Renews the lease if it is old. Resolves when an effect may start; rejects if the turn was lost to another driver (R4). */
  readonly ensureLease: () => MaybePromise<void>
  readonly emit: <T extends DeltaType>(type: T, data: DeltaData[T]) => void
  /** The principal's credentials, if this process has them or can get them (R19). */
  readonly credentials: (principal: Principal) => MaybePromise<Credentials | undefined>
  /** The grants of a person in all conversations. Without it, a conversation keeps its own. */
  readonly grants?: ((principal: Principal) => PersonGrants) | undefined
  /** The artifacts for one call, which redact what it writes. */
  readonly artifacts: (callId: string, secrets: Redactor) => Artifacts
  /** Arguments of calls that are stored redacted (R19). */
  readonly callArguments: CallArguments
  /** The observers of the turns, if there are any. */
  readonly telemetry?: Required<ContextTelemetry> | undefined
  /** Reports the exception of user code that fails the turn. */
  readonly thrown?: ((turn: number, error: unknown) => void) | undefined
  /**
   * An effect of this turn has ended; called before the result is appended to the draft. If it does not become durable
   * here, the driver posts it as late (R4).
   */
  readonly ended: (callId: string, settled: Settled) => void
  /** Posts a result that came after its call was settled. */
  readonly late: (callId: string, settled: Settled) => void
  /** A durable entry has settled an earlier attempt of the call without another run: its remaining work can stop. */
  readonly abandoned?: ((callId: string) => void) | undefined
}

export interface PersonGrants {
  readonly read: () => Promise<readonly Grant[]>
  /** Adds patterns; those that are granted already stay as they are. */
  readonly add: (patterns: readonly string[], at: number) => Promise<void>
}

export interface Continuation {
  readonly principal: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  readonly credentials?: true
  readonly outputSchema?: JsonObject
}

export interface JournalView {
  readonly session: Session
  /** Inbox entries that no entry takes, oldest first. */
  readonly inbox: readonly Entry[]
  /** The messages of a prompt. */
  readonly messages: () => MaybePromise<readonly Message[]>
  /** The entries that `messages` come from. */
  readonly window: () => MaybePromise<readonly Entry[]>
  /** The window, and before it the rest of the open turn. */
  readonly turnEntries: () => MaybePromise<readonly Entry[]>
  /** The request that was opened at this position. */
  readonly request: (seq: number) => Promise<RequestData | undefined>
  /** The principal of the turn that opened this request; undefined if its entries were pruned. */
  readonly askedBy: (seq: number) => Promise<Principal | undefined>
}
