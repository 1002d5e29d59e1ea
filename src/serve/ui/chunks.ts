/** Chunks of the UI message stream of the AI SDK: those that its versions 5 to 7 share. */
import type { ActiveValue, Json, JsonObject, RequestData, Sighting, Usage } from '../../protocol/index.ts'

export type UiChunk =
  | { readonly type: 'start'; readonly messageId: string }
  | { readonly type: 'start-step' | 'finish-step' }
  | { readonly type: `${'text' | 'reasoning'}-${'start' | 'end'}`; readonly id: string }
  | { readonly type: 'text-delta' | 'reasoning-delta'; readonly id: string; readonly delta: string }
  | ToolChunk
  | DataChunk
  | { readonly type: 'error'; readonly errorText: string }
  | { readonly type: 'abort'; readonly reason?: string }
  | {
      readonly type: 'finish'
      readonly finishReason: 'stop' | 'length' | 'tool-calls' | 'error'
      readonly messageMetadata: UiMessageMetadata
    }

export type ToolChunk =
  | { readonly type: 'tool-input-start'; readonly toolCallId: string; readonly toolName: string }
  | { readonly type: 'tool-input-delta'; readonly toolCallId: string; readonly inputTextDelta: string }
  | {
      readonly type: 'tool-input-available'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: Json
    }
  | {
      readonly type: 'tool-input-error'
      readonly toolCallId: string
      readonly toolName: string
      readonly input: Json
      readonly errorText: string
    }
  | { readonly type: 'tool-approval-request'; readonly toolCallId: string; readonly approvalId: string }
  | { readonly type: 'tool-output-available'; readonly toolCallId: string; readonly output: Json }
  | { readonly type: 'tool-output-error'; readonly toolCallId: string; readonly errorText: string }
  | { readonly type: 'tool-output-denied'; readonly toolCallId: string }

export type DataChunk = {
  readonly [Name in keyof UiDataParts]: {
    readonly type: `data-${Name}`
    readonly id: string
    readonly data: UiDataParts[Name]
  }
}[keyof UiDataParts]

/** The data parts of messages, for `UIMessage<UiMessageMetadata, UiDataParts>`. */
export type UiDataParts = {
  /** A question, by its id. `status` changes when it is answered. */
  request: RequestData & { readonly status: 'open' | 'answered' | 'expired' | 'cancelled' }
  /** Things with ids that the result of a call has shown. */
  sightings: { readonly toolCallId: string; readonly sightings: readonly Sighting[] }
  /** The active selection. */
  selection: { readonly values: readonly ActiveValue[]; readonly by?: string }
}

/** The metadata of a message whose turn has ended. */
export type UiMessageMetadata = {
  readonly turn: number
  readonly outcome: string
  readonly usage: Usage
  readonly limit?: string
  readonly error?: JsonObject
}
