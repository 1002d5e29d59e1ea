/** What the loop of an agent's turn is lent beyond what every run is: the words of the conversation, and its person. */
import type { MaybePromise } from '../base/index.ts'
import type { PersonWords, Seen, ShownList } from '../grounding/index.ts'
import type { IdsAbove, JournalView, LoopScope } from '../loop/index.ts'
import type {
  ActiveValue,
  Entry,
  InputOrigin,
  Json,
  JsonObject,
  Message,
  Principal,
} from '../protocol/index.ts'
import type { TurnDefinition } from './definition.ts'

export interface TurnScope extends LoopScope {
  readonly definition: TurnDefinition
  readonly view: View
  /** What the person of the turn has chosen, in whatever conversation. Without it, what is chosen is the conversation's. */
  readonly actor?: (principal: Principal) => ActorState
  /** For a conversation that has none of its own: stored with its first turn. */
  readonly metadata?: JsonObject
  /** What is known of ids where this conversation is run from, if it is run inside of a call. */
  readonly above?: IdsAbove
  /** What else a tool's context carries, for tools that the driver knows; `ids` is what the turn knows of ids. */
  readonly extras?: (ids: IdsAbove, told?: GivenAnswers) => object
}

/** The answers that a call has got, as they were given, and where those were posted that no person gave. */
export interface GivenAnswers {
  readonly answers: Readonly<Record<string, Json>>
  readonly answerOrigins: Readonly<Record<string, InputOrigin>>
}

export interface ActorState {
  readonly read: () => Promise<readonly ActiveValue[]>
  /** Makes of what is chosen what is to be chosen; `change` may be called again if others choose meanwhile. */
  readonly change: (
    by: string,
    change: (values: readonly ActiveValue[]) => readonly ActiveValue[],
  ) => Promise<readonly ActiveValue[]>
}

export interface View extends JournalView {
  /** What a prompt is made from. */
  readonly messages: () => MaybePromise<readonly Message[]>
  /** The entries that `messages` come from. */
  readonly window: () => MaybePromise<readonly Entry[]>
  /** Sightings of things that were shown before the window, newest first: by id, by label or by the normal form of the id. */
  readonly seen: (
    entity: string,
    by: { readonly id: string } | { readonly label: string } | { readonly normal: string },
  ) => Promise<readonly Seen[]>
  /** The newest result before the window that showed several things of an entity, in its order. */
  readonly listing: (entity: string) => Promise<readonly Seen[] | undefined>
  /** The newest result before the window that showed several things of any kind. */
  readonly lastList: () => Promise<Omit<ShownList, 'isThisTurn'> | undefined>
  /** Messages of the person before the window that may have an id in them, newest first. */
  readonly said: (id: string) => Promise<readonly PersonWords[]>
}
