/** Owns a journal, advances it and publishes it, for agent turns and graph runs alike. R1 to R21: ARCHITECTURE.md. */

export { ANSWER_ORIGINS, type AnswerOrigins, answerRequest, openRequests } from './answers.ts'
export type { Auth } from './auth.ts'
export { requestFields } from './auth.ts'
export type { ChildScope } from './child-scope.ts'
export {
  approvalsAround,
  CHILD_SCOPE,
  idsAround,
  leastLimits,
  refuseInside,
  runWithApprovals,
} from './child-scope.ts'
export type { ConversationOptions } from './conversation.ts'
export { Conversation } from './conversation.ts'
export { copyJson } from './copy-json.ts'
export type { DriveResult } from './drive-to-effect.ts'
export { Driver } from './driver.ts'
export type { DriverOptions } from './driver-options.ts'
export type { JournalStateOptions } from './journal-state.ts'
export { JournalState } from './journal-state.ts'
export { busyError, checkReason, checkUnkeyed, pausedError, problemOf, shutdownError } from './refusal.ts'
export type { Child, ChildContext, ChildResult, Runnable } from './runnable.ts'
export { isComplete, metadataBelow, metadataOf, questionFrom, runChild } from './runnable.ts'
export type { Observer, Subscription, TurnError, TurnOutcome, TurnStep } from './turn.ts'
export { attachCause, TurnView } from './turn.ts'
export { CONTINUE_AFTER, type TurnRequest } from './turn-request.ts'
