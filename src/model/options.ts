/** The caller's options for a model. Does not know how they reach a provider. */
import type { JsonObject } from '../protocol/index.ts'
import type { LanguageModel } from './language-model.ts'
import type { PriceTable } from './prices.ts'

/** A name such as `openai/gpt-4.1`, or a model object of the AI SDK's provider interface. */
export type ModelRef = string | LanguageModel

/** Sent with every call. Providers ignore settings that a model does not support. */
export interface ModelSettings {
  readonly temperature?: number
  readonly maxOutputTokens?: number
  readonly topP?: number
  readonly topK?: number
  readonly stopSequences?: readonly string[]
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** The reasoning effort; for models of interface version 4 only, others never see it. */
  readonly reasoning?: Reasoning
  /** False: a text that begins with `<think>…</think>`, as local models write it, stays text. Default: it is reasoning. */
  readonly thinkTags?: boolean
  readonly toolChoice?: ToolChoice
  /** Whether the provider's JSON mode is used for structured output. Default: by vendor. */
  readonly jsonMode?: boolean
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
  /** The limit of one whole call, from the request to the last part. Default: 10 minutes. */
  readonly timeoutMs?: number
  /** How often a failed call is retried on the same model. Default: 2. */
  readonly retries?: number
  /** The longest wait for a provider that asks for one. Default: a minute. */
  readonly maxRetryWaitMs?: number
  /** Looked up before the built-in table. */
  readonly prices?: PriceTable
  /** The model's context size in tokens, for models that the built-in table does not know. */
  readonly contextTokens?: number
}

/** A tool as a model sees it. `parameters` is a JSON Schema. */
export interface ToolSpec {
  readonly name: string
  readonly description: string
  readonly parameters: JsonObject
}
