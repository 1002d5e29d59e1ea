/** The definition of a turn: models, tools, prompt and limits. Plain values and functions; nothing here is stored. */
import type { MaybePromise } from '../base/index.ts'
import type { Entities, WordsOptions } from '../grounding/index.ts'
import type { HookRegistry } from '../hook/index.ts'
import type { Limits, LoopSettings } from '../loop/index.ts'
import type { LanguageModel, ModelOptions, ModelRequest } from '../model/index.ts'
import type { AssistantPart, JsonObject, Message, Principal, PromptVersion } from '../protocol/index.ts'
import type { Credentials, NamedPolicy, Tool } from '../tool/index.ts'
import type { OutputSchema } from './output-schema.ts'

export interface TurnDefinition extends LoopSettings {
  /** The first model, then the fallbacks. */
  readonly models: readonly ModelSource[]
  readonly tools: (turn: TurnInfo) => MaybePromise<readonly Tool[]>
  /** The tools, if they are the same in every turn. */
  readonly fixedTools?: readonly Tool[]
  readonly system: (turn: TurnInfo) => MaybePromise<string | undefined>
  /** The system prompt, if it is the same in every turn. */
  readonly fixedSystem?: string
  /** The file of the system prompt, if it is in one. */
  readonly promptVersion?: PromptVersion
  /** When functions or files of the config are read for tools, system prompt and credentials: any of them may fail. */
  readonly lookups: 'never' | 'once' | 'each call'
  readonly limits: Limits
  /** The number of calls of a round that run at the same time; Infinity: all. */
  readonly toolConcurrency: number
  readonly hooks: HookRegistry
  /** The approval policies of the plugins. */
  readonly policies: readonly NamedPolicy[]
  readonly grounding: GroundingSetup
  /** The schema of the output of every turn that has none of its own. */
  readonly output?: OutputSchema
  readonly outputRetries: number
  /** The number of tool-using turns whose results prompts show whole; Infinity: all. */
  readonly toolResultTurns: number
  /** Automatic compaction. Absent: none. */
  readonly compact?: CompactionPlan
  /** The fill level in percent that causes a warning. */
  readonly warnAtPercent: number
  /** The maximum number of messages in a prompt. */
  readonly maxMessages: number
  /** For a node of a graph: the history that its state holds, and how much of a turn it runs. */
  readonly nodeTurn?: NodeTurn
}

/**
 * A turn of a node, after the messages of the state. It must get the same ones whenever it runs again.
 *
 * `whole`: all of a turn. `reply`: one model call, whose calls are not run. `round`: the calls of a given reply, and no
 * model call.
 */
export type NodeTurn =
  | { readonly kind: 'whole' | 'reply'; readonly history: readonly Message[] }
  | { readonly kind: 'round'; readonly history: readonly Message[]; readonly reply: GivenReply }

/** A reply that came from elsewhere. Its calls keep their ids, and each runs once in a conversation. */
export interface GivenReply {
  readonly content: readonly AssistantPart[]
  readonly model?: string
}

/** `sliding`: drops the oldest turns as a turn ends. `summary`: a model summarises them before the next model call. */
export type CompactionStrategy = 'sliding' | 'summary'

export interface CompactionPlan {
  readonly strategy: CompactionStrategy
  /** Compacts when the window has more messages than this. */
  readonly overMessages?: number
  /** Compacts when the context is this full, in percent. */
  readonly atPercent?: number
  /** About how many messages to keep. Half of them by default. */
  readonly keep?: number
  /** Instructions for the summary. */
  readonly instructions?: string
  /** The model that writes summaries, if not the agent's models. */
  readonly model?: ModelSource
}

/** Entities whose ids are guarded, and how prompts name them. */
export interface GroundingSetup {
  readonly entities: Entities
  readonly words: WordsOptions
  /** The number of tool-using turns in a prompt's memory block; at most 3. */
  readonly memoryTurns: number
  /** True if prompts have short codes in place of ids. */
  readonly handles: boolean
  /** The entities whose ids are kept out of the model's texts. */
  readonly hidden: ReadonlySet<string>
}

export interface ModelSource {
  /** As `provider/model`. */
  readonly name: string
  readonly settings: ModelOptions
  /** The parts of the settings that go into each request. */
  readonly request: Pick<ModelRequest, 'settings' | 'timeoutMs' | 'prices'>
  /** The size of its context in tokens; undefined if unknown. */
  readonly contextTokens: number | undefined
  readonly resolve: () => MaybePromise<LanguageModel>
}

/** The turn, as functions of the config get it. */
export interface TurnInfo {
  readonly contextId: string
  readonly turn: number
  readonly principal: Principal
  readonly credentials: Credentials
  readonly metadata: JsonObject
  /** The text of the turn's input. */
  readonly task: string
}
