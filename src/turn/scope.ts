/**
 * The loop's side of the contract with whoever drives it. The loop sees no store: it yields batches, and goes on only
 * when the driver has made them durable. So an effect that follows a yield follows its durable intent (R3).
 */
import type { Clock, Ids, Timer } from '../base/index.ts'
import type { Seen } from '../grounding/index.ts'
import type { Session } from '../journal/index.ts'
import type {
  ActiveValue,
  ContextKey,
  DeltaData,
  DeltaType,
  Entry,
  JsonObject,
  Message,
  NewEntry,
  Principal,
  RequestData,
} from '../protocol/index.ts'
import type { Artifacts, Credentials, Settled } from '../tool/index.ts'
import type { TurnDefinition } from './definition.ts'

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

export interface TurnScope {
  readonly key: ContextKey
  readonly definition: TurnDefinition
  readonly clock: Clock
  readonly timer: Timer
  readonly ids: Ids
  /** As of the last batch that was made durable, with everything else that has come in since. */
  readonly view: View
  /** Somebody wants a turn although nothing new was said. */
  readonly continuing?: Continuation
  /** Aborts when the turn is cancelled. */
  readonly signal: AbortSignal
  /** Aborts then too, and when another driver was given the turn: nothing that this one thinks counts any more. */
  readonly stop: AbortSignal
  /** Aborts when the driver wants to let go of the turn: no time is waited for any more. */
  readonly leave?: AbortSignal
  /** Resolves when an effect may start; rejects if this driver has been passed over (R4). */
  readonly mayAct: () => Promise<void>
  readonly emit: <T extends DeltaType>(type: T, data: DeltaData[T]) => void
  /** The secrets of whoever asked, if this process has them or can get them (R19). */
  readonly credentials: (principal: Principal) => Promise<Credentials | undefined>
  /** As a call sees them: what it writes loses its secrets. */
  readonly artifacts: (callId: string, secrets: readonly string[]) => Artifacts
  /** What the person of the turn has chosen, in whatever conversation. Without it, what is chosen is the conversation's. */
  readonly actor?: (principal: Principal) => ActorState
  /** What else a tool's context carries, for tools that the driver knows. */
  readonly extras?: (callId: string) => object
  /** A call that was run before is settled without being run again: whatever still works for it can stop. */
  readonly abandoned?: (callId: string) => void
  /** A result that came after its call was settled. */
  readonly late: (callId: string, settled: Settled) => void
}

export interface ActorState {
  readonly read: () => Promise<readonly ActiveValue[]>
  /** Makes of what is chosen what is to be chosen; `change` may be called again if others choose meanwhile. */
  readonly change: (
    by: string,
    change: (values: readonly ActiveValue[]) => readonly ActiveValue[],
  ) => Promise<readonly ActiveValue[]>
}

export interface Continuation {
  readonly principal: Principal
  readonly limits?: JsonObject
  readonly metadata?: JsonObject
  readonly credentials?: true
}

export interface View {
  readonly session: Session
  /** Inbox entries that nobody has taken, oldest first. */
  readonly inbox: readonly Entry[]
  /** What a prompt is made from. */
  readonly messages: () => Promise<readonly Message[]>
  /** The entries that `messages` come from. */
  readonly window: () => Promise<readonly Entry[]>
  /** The newest sightings of things that were shown before the window, by id or by label in normal form. */
  readonly seen: (
    entity: string,
    by: { readonly id: string } | { readonly label: string },
  ) => Promise<readonly Seen[]>
  /** The newest result before the window that showed several things of an entity, in its order. */
  readonly listing: (entity: string) => Promise<readonly Seen[] | undefined>
  /** What an open request asked, from where it was asked. */
  readonly request: (seq: number) => Promise<RequestData | undefined>
}
