/**
 * What is said in a conversation, in no provider's dialect. These are type aliases and not interfaces because only
 * aliases count as JSON for the compiler.
 */
import type { Json, JsonObject } from './json.ts'

export type Message = UserMessage | AssistantMessage | ToolMessage

/** The system prompt as a message: in views only. It is no part of a journal. */
export type SystemMessage = {
  readonly role: 'system'
  readonly content: string
}

export type UserMessage = {
  readonly role: 'user'
  readonly content: UserContent
  /** Who says it, if it is not the person: a model or a program, in the role of the user. */
  readonly by?: 'program'
}

export type AssistantMessage = {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
  /** Who said it, as `provider/model`. */
  readonly model?: string
}

/** All results of one round, in the order in which the calls were asked for. */
export type ToolMessage = {
  readonly role: 'tool'
  readonly content: readonly ToolResultPart[]
}

export type UserContent = string | readonly (TextPart | FilePart)[]
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart

export type TextPart = {
  readonly type: 'text'
  readonly text: string
  /** Of a user's message: not the person's own words, such as the text of a document. */
  readonly by?: 'program'
  readonly provider?: JsonObject
}

export type FilePart = {
  readonly type: 'file'
  readonly mediaType: string
  readonly name?: string
  /** Base64, or a URL. */
  readonly data: string
}

export type ReasoningPart = {
  readonly type: 'reasoning'
  readonly text: string
  /** Signatures and the like. They go back only to the model that they came from (R10). */
  readonly provider?: JsonObject
}

export type ToolCallPart = {
  readonly type: 'tool-call'
  /** Ours, unique in the conversation (R10). */
  readonly callId: string
  /** The provider's own id for the call, if it gave one. */
  readonly providerId?: string
  readonly tool: string
  readonly args: Json
  /** Why the arguments cannot be used; `args` is then the text that the model wrote. */
  readonly malformed?: string
  readonly provider?: JsonObject
}

export type ToolResultPart = {
  readonly type: 'tool-result'
  readonly callId: string
  readonly tool: string
  readonly status: SettledStatus
  readonly output: Json
}

/**
 * How a call came to rest. `ok` and `error` are the tool's own; `rejected` was refused before it started; `unknown`
 * was started and nobody can say whether it happened; `not-run` never started and never will.
 */
export type SettledStatus = 'ok' | 'error' | 'rejected' | 'unknown' | 'not-run'
