/** `holdfast/client`: calls a host over HTTP, from Node or a browser, and reconnects by itself. */
export type {
  ClientOptions,
  ConversationClient,
  ConversationSummary,
  HoldfastClient,
  SendMessage,
  SourcePassage,
  TurnResult,
} from './client.ts'
export { createClient } from './client.ts'
export { ClientError } from './client-error.ts'
export type { ClientEvent, FollowOptions } from './follow.ts'
