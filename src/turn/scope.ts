/** The context of an agent's turn, beyond that of every loop: messages, sightings and the person's choices. */
import type { PersonWords, Seen, ShownList } from '../grounding/index.ts'
import type { LoopScope, ParentIdJudge } from '../loop/index.ts'
import type { PromptLines } from '../model/index.ts'
import type { ActiveValue, InputOrigin, Json, JsonObject, Principal } from '../protocol/index.ts'
import type { Approvals, StandardSchema } from '../tool/index.ts'
import type { TurnDefinition } from './definition.ts'

export interface TurnScope extends LoopScope {
  readonly definition: TurnDefinition
  readonly sightings: Sightings
  /** The lines of the conversation's last prompt. */
  readonly promptLines: PromptLines
  /** The person's choices in all conversations. Without it, choices belong to the conversation. */
  readonly actor?: ((principal: Principal) => ActorState) | undefined
  /** The name of the agent. */
  readonly agent?: string | undefined
  /** Stored with the first turn of a conversation that has no metadata. */
  readonly metadata?: JsonObject | undefined
  /** The judge of ids of the caller, if a call runs this conversation. */
  readonly above?: ParentIdJudge | undefined
  /** The approval policies of the turns above, if a call runs this conversation. */
  readonly approvalsAbove?: Approvals | undefined
  /** The schema that a caller of this process gave, by the key of its input or by its JSON Schema as text. */
  readonly schemaNamed?: ((names: readonly string[]) => StandardSchema | undefined) | undefined
  /** Further fields of a tool's context, for tools that the driver knows; `ids`: the turn's judge of ids. */
  readonly extras?: ((ids: ParentIdJudge, answers?: GivenAnswers) => object) | undefined
}

/** The answers to a call, as given, the origins of those that no person gave, and the policies for calls below it. */
export interface GivenAnswers {
  readonly approvals: Approvals
  readonly answers: Readonly<Record<string, Json>>
  readonly answerOrigins: Readonly<Record<string, InputOrigin>>
}

export interface ActorState {
  readonly read: () => Promise<readonly ActiveValue[]>
  /** Applies `change` to the choices; called again if others choose meanwhile. */
  readonly change: (
    by: string,
    change: (values: readonly ActiveValue[]) => readonly ActiveValue[],
  ) => Promise<readonly ActiveValue[]>
}

/** The things that tools showed, and the person's words, before the window. */
export interface Sightings {
  /** Sightings before the window, newest first: by id, label or normal form of the id. */
  readonly seen: (
    entity: string,
    by: { readonly id: string } | { readonly label: string } | { readonly normal: string },
  ) => Promise<readonly Seen[]>
  /** The newest result before the window with several things of an entity, in its order. */
  readonly listing: (entity: string) => Promise<readonly Seen[] | undefined>
  /** The newest result before the window with several things of any kind. */
  readonly lastList: () => Promise<Omit<ShownList, 'isThisTurn'> | undefined>
  /** Messages of the person before the window that may have an id in them, newest first. */
  readonly said: (id: string) => Promise<readonly PersonWords[]>
}
