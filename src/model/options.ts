/** What a caller may say about how a model is asked. It does not know how any of it reaches a provider. */
import type { JsonObject } from '../protocol/index.ts'
import type { LanguageModel } from './language-model.ts'
import type { PriceTable } from './prices.ts'

/** A name such as `openai/gpt-4.1`, or a model object of the AI SDK's provider interface. */
export type ModelRef = string | LanguageModel

/** Goes to the model with every call. What a model does not support, its provider ignores. */
export interface ModelSettings {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** How hard to think before answering; for models of interface version 4 only, others never see it. */
  readonly reasoning?: Reasoning
  readonly toolChoice?: ToolChoice
  readonly headers?: Readonly<Record<string, string>>
  /** By provider, such as `{ anthropic: { … } }`. */
  readonly providerOptions?: JsonObject
}

export type Reasoning = 'provider-default' | 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max'

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

export interface ModelOptions extends ModelSettings {
  /** Instead of the vendor's environment variable. Never stored. */
  readonly apiKey?: string
  readonly baseURL?: string
  /** For one whole call, from the request to the last part; 10 minutes unless said otherwise. */
  readonly timeoutMs?: number
  /** How often a failed call is repeated on the same model; 2 unless said otherwise. */
  readonly retries?: number
  /** A provider that asks to wait longer than this is not waited for; a minute unless said otherwise. */
  readonly maxRetryWaitMs?: number
  /** Looked up before the built-in table. */
  readonly prices?: PriceTable
  /** How many tokens the model can be sent at once, for models that the built-in table does not know. */
  readonly contextTokens?: number
}

/** What a model gets to know of a tool. `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}
