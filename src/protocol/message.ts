/** Messages of a conversation, independent of any provider. Type aliases: the compiler accepts only these as JSON. */
import type { Json, JsonObject } from './json.ts'

export type Message = UserMessage | AssistantMessage | ToolMessage

/** The system prompt as a message: in views only, never in a journal. */
export type SystemMessage = {
  readonly role: 'system'
  readonly content: string
}

export type UserMessage = {
  readonly role: 'user'
  readonly content: UserContent
  /** Present if the author is not the person: a model or a program, in the role of the user. */
  readonly by?: 'program'
}

export type AssistantMessage = {
  readonly role: 'assistant'
  readonly content: readonly AssistantPart[]
  /** The model that wrote it, as `provider/model`. */
  readonly model?: string
}

/** All results of one round, in the order of the calls. */
export type ToolMessage = {
  readonly role: 'tool'
  readonly content: readonly ToolResultPart[]
}

export type UserContent = string | readonly (TextPart | FilePart)[]
export type AssistantPart = TextPart | ReasoningPart | ToolCallPart

export type TextPart = {
  readonly type: 'text'
  readonly text: string
  /** In a user message: not the person's own words, such as the text of a document. */
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
  /** Signatures and the like, returned only to the model that they came from (R10). */
  readonly provider?: JsonObject
}

export type ToolCallPart = {
  readonly type: 'tool-call'
  /** Holdfast's own id, unique in the conversation (R10). */
  readonly callId: string
  /** The provider's id for the call, if it gave one. */
  readonly providerId?: string
  readonly tool: string
  readonly args: Json
  /** The reason why the arguments are unusable; `args` is then the model's text. */
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
 * How a call was settled. `ok` and `error` are the tool's own; `rejected`: refused before it started; `unknown`:
 * started, and its outcome is not known; `not-run`: never started and never will be.
 */
export type SettledStatus = 'ok' | 'error' | 'rejected' | 'unknown' | 'not-run'

/** The texts of a reply, joined. */
export function replyText(content: readonly AssistantPart[]): string {
  return content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
}
