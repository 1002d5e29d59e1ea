/**
 * The part of the AI SDK's provider interface that is used here, versions 3 and 4 side by side. Structural: every model
 * object of either version fits without a cast, and the defining package is not needed. Knows no vendor.
 */
import type { JsonObject } from '../protocol/index.ts'

/**
 * A callable model. `doStream` sends one request and returns a stream of parts that ends with a `finish` part; it rejects,
 * or the stream holds an `error` part, when the provider refuses or fails.
 */
export interface LanguageModel {
  readonly specificationVersion: 'v3' | 'v4'
  /** The vendor and its API, such as `openai.responses`. */
  readonly provider: string
  readonly modelId: string
  /** Beyond the interface of the AI SDK, whose models leave it out. */
  readonly capabilities?: ModelCapabilities
  doStream(call: ModelCall): PromiseLike<ModelStream>
}

/** Every capability has the value of a language model unless the model says otherwise. */
export interface ModelCapabilities {
  /** The model reads displays and grounding as data in `providerOptions`, instead of as text in the prompt. */
  readonly structuredContext?: boolean
  /** False for a model that writes no text on request, such as a summary or data by a schema. */
  readonly freeText?: boolean
}

export interface ModelStream {
  readonly stream: ReadableStream<ModelStreamPart>
}

export interface ModelCall {
  readonly prompt: readonly PromptMessage[]
  readonly tools?: readonly ToolDeclaration[]
  readonly toolChoice?: { readonly type: string; readonly toolName?: string }
  readonly maxOutputTokens?: number
  readonly temperature?: number
  readonly topP?: number
  readonly topK?: number
  readonly stopSequences?: readonly string[]
  /** JSON mode. Without a schema: vendors accept few of the keywords of JSON Schema. */
  readonly responseFormat?: { readonly type: string }
  readonly seed?: number
  readonly presencePenalty?: number
  readonly frequencyPenalty?: number
  /** Version 4 only. */
  readonly reasoning?: string
  readonly abortSignal?: AbortSignal
  readonly headers?: Readonly<Record<string, string | undefined>>
  readonly providerOptions?: JsonObject
}

export type ToolDeclaration = {
  readonly type: string
  readonly name: string
  readonly description?: string
  readonly inputSchema?: unknown
}

export type PromptMessage =
  | { readonly role: 'system'; readonly content: string }
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly PromptPart[] }

/** One part of a message; `type` decides which fields it has. */
export interface PromptPart {
  readonly type: string
  readonly text?: string
  readonly toolCallId?: string
  readonly toolName?: string
  readonly input?: unknown
  readonly output?: PromptOutput
  /** Of a file. Version 3: base64, bytes or a URL. Version 4: the same below a tag. */
  readonly data?: unknown
  readonly mediaType?: string
  readonly filename?: string
  readonly providerOptions?: JsonObject
}

export interface PromptOutput {
  readonly type: string
  readonly value?: unknown
}

/** One part of a streamed reply; `type` decides which fields it has. Unknown types are skipped. */
export interface ModelStreamPart {
  readonly type: string
  readonly id?: string
  readonly delta?: string
  readonly toolCallId?: string
  readonly toolName?: string
  /** Of a tool call: JSON as text. */
  readonly input?: string
  readonly providerExecuted?: boolean
  readonly providerMetadata?: JsonObject
  readonly finishReason?: { readonly unified: string; readonly raw: string | undefined }
  readonly usage?: ProviderUsage
  readonly error?: unknown
}

export interface ProviderUsage {
  readonly inputTokens: {
    readonly total: number | undefined
    readonly cacheRead: number | undefined
    readonly cacheWrite: number | undefined
  }
  readonly outputTokens: { readonly total: number | undefined }
}
