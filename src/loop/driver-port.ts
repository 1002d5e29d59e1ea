/**
 * The loop's side of the contract with whoever drives it. The loop sees no store: it yields batches, and goes on only
 * when the driver has made them durable. So an effect that follows a yield follows its durable intent (R3).
 */
import type { Clock, Ids, MaybePromise, Timer } from '../base/index.ts'
import type { Session } from '../journal/index.ts'
import type {
  ContextKey,
  DeltaData,
  DeltaType,
  Entry,
  JsonObject,
  NewEntry,
  Principal,
  RequestData,
} from '../protocol/index.ts'
import type { Artifacts, Credentials, Redactor, Settled } from '../tool/index.ts'
import type { CallArguments } from './call-arguments.ts'

export interface Batch {
  readonly entries: readonly NewEntry[]
  /** What the loop will do once they are durable. */
  readonly next: Next
}

/**
 * `model`, `tools`: an effect. `hooks`: what others have hooked in. `wait`: time has to pass. `on`: nothing that anybody
 * would notice. `done`: it is over.
 */
export type Next = 'model' | 'tools' | 'hooks' | 'wait' | 'on' | 'done'

/** What every run keeps to, whatever is played. */
export interface LoopTerms {
  /** How long somebody may take to answer a request that does not say. */
  readonly requestTtlMs: number
  /** Claims without progress before a turn is given up (R7). */
  readonly maxClaims: number
  /** How long an effect that is cancelled may take to come to an end. */
  readonly graceMs: number
}

/** What a driver lends to whatever it drives: a turn of an agent, or a run of a graph. */
export interface LoopScope {
  readonly key: ContextKey
  readonly definition: LoopTerms
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  /** As of the last batch that was made durable, with everything else that has come in since. */
  readonly view: JournalView
  /** Somebody wants a turn although nothing new was said. */
  readonly continuing?: Continuation
  /** Aborts when the turn is cancelled. */
  readonly signal: AbortSignal
  /** Aborts then too, and when another driver was given the turn: nothing that this one thinks counts any more. */
  readonly stop: AbortSignal
  /** Aborts when the driver wants to let go of the turn: no time is waited for any more. */
  readonly leave?: AbortSignal
  /** Resolves when an effect may start; rejects if this driver has been passed over (R4). */
  readonly mayAct: () => MaybePromise<void>
  readonly emit: <T extends DeltaType>(type: T, data: DeltaData[T]) => void
  /** The secrets of whoever asked, if this process has them or can get them (R19). */
  readonly credentials: (principal: Principal) => MaybePromise<Credentials | undefined>
  /** As a call sees them: what it writes loses its secrets. */
  readonly artifacts: (callId: string, secrets: Redactor) => Artifacts
  /** Of calls whose stored arguments lack a secret (R19). */
  readonly callArguments: CallArguments
  /** User code threw this, and the turn fails because of it. */
  readonly thrown?: (turn: number, error: unknown) => void
  /** A result that came after its call was settled. */
  readonly late: (callId: string, settled: Settled) => void
  /** A call that was run before is settled without being run again: whatever still works for it can stop. */
  readonly abandoned?: (callId: string) => void
}

export interface Continuation {
  readonly principal: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  readonly credentials?: true
}

export interface JournalView {
  readonly session: Session
  /** Inbox entries that nobody has taken, oldest first. */
  readonly inbox: readonly Entry[]
  /** What an open request asked, from where it was asked. */
  readonly request: (seq: number) => Promise<RequestData | undefined>
}
