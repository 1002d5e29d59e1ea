/** What a turn is played with: models, tools, prompt and limits. Plain values and functions; nothing here is stored. */
import type { MaybePromise } from '../base/index.ts'
import type { Entities, WordsOptions } from '../grounding/index.ts'
import type { HookRegistry } from '../hook/index.ts'
import type { Limits, LoopTerms } from '../loop/index.ts'
import type { LanguageModel, ModelOptions } from '../model/index.ts'
import type { JsonObject, Principal } from '../protocol/index.ts'
import type { Credentials, Tool } from '../tool/index.ts'

export interface TurnDefinition extends LoopTerms {
  /** The model to ask first, then those to fall back to. */
  readonly models: readonly ModelSource[]
  readonly tools: (turn: TurnInfo) => MaybePromise<readonly Tool[]>
  readonly system: (turn: TurnInfo) => MaybePromise<string | undefined>
  /** The system prompt, if it is the same in every turn and in no file. */
  readonly fixedSystem?: string
  /** When functions or files of the config are asked for tools, system prompt and credentials: any of them may fail. */
  readonly lookups: 'never' | 'once' | 'each call'
  readonly limits: Limits
  /** How many calls of a round run at the same time; Infinity: all that may. */
  readonly toolConcurrency: number
  readonly hooks: HookRegistry
  readonly grounding: GroundingSetup
  /** How many turns that used tools prompts show with their whole results; Infinity: all. */
  readonly toolResultTurns: number
  /** When and how the window is compacted by itself. Absent: never. */
  readonly compact?: CompactionPlan
  /** How full the context may be before a warning says so. */
  readonly warnAtPercent: number
  /** The most messages that a prompt gets. */
  readonly maxMessages: number
}

/**
 * `sliding`: the oldest turns go, at the end of a turn. `summary`: a model says first what they were about, before the
 * next model call.
 */
export type CompactionStrategy = 'sliding' | 'summary'

export interface CompactionPlan {
  readonly strategy: CompactionStrategy
  /** Compacts when the window has more messages than this. */
  readonly overMessages?: number
  /** Compacts when the context is as full as this. */
  readonly atPercent?: number
  /** About how many messages stay. Half of them unless said otherwise. */
  readonly keep?: number
  /** What a summary must not leave out, or how it is to be written. */
  readonly instructions?: string
  /** Who writes summaries, if not the models of the agent. */
  readonly model?: ModelSource
}

/** Which things have ids that must not be invented, and how prompts speak of them. */
export interface GroundingSetup {
  readonly entities: Entities
  readonly words: WordsOptions
  /** How many turns that used tools a prompt is reminded of; at most 3. */
  readonly memoryTurns: number
  /** Do prompts have short codes in place of ids? */
  readonly handles: boolean
  /** The entities whose ids are kept out of what the model says. */
  readonly hidden: ReadonlySet<string>
}

export interface ModelSource {
  /** As `provider/model`. */
  readonly name: string
  readonly settings: ModelOptions
  readonly resolve: () => MaybePromise<LanguageModel>
}

/** What tools and prompts may depend on. */
export interface TurnInfo {
  readonly contextId: string
  readonly turn: number
  readonly principal: Principal
  readonly credentials: Credentials
  readonly metadata: JsonObject
  /** The text that the turn was asked. */
  readonly task: string
}
