/** The contract between a driver and the loops that it runs, and the life of a turn that all of them share. */
export { CallArguments, hasRedaction } from './call-arguments.ts'
export { callConfig, optionFailed } from './config-function.ts'
export {
  type Batch,
  type Continuation,
  type JournalView,
  type LoopScope,
  type LoopSettings,
  type Next,
  type PersonGrants,
} from './driver-port.ts'
export { accountFor, appendTurnEnd, type Ending, effectEnd, lateResultOf, waitingFor } from './end-turn.ts'
export { type EndFailed, endsTurn, type Failure } from './fail-turn.ts'
export { DEFAULT_LIMITS, isUnlimited, type Limits, storedLimits, UNLIMITED } from './limits.ts'
export {
  checkRequestFields,
  isExpiredAt,
  noProgress,
  type OpenTurnResult,
  openTurn,
  type StartFields,
  startTurn,
  wrongKind,
} from './open-turn.ts'
export { idsOfRun, judgeForChildren, type ParentIdJudge, type RunKnowledge } from './parent-id-judge.ts'
export { redactEntry } from './redact-entry.ts'
export {
  answerOriginsOf,
  answersOf,
  expire,
  findCredentials,
  givenAnswersOf,
  givenApproval,
  isCommittedFirst,
  newRequestId,
  type Question,
  reasonsOf,
  request,
  takeAnswers,
} from './requests.ts'
export { dataOf, Interrupted, originOf, RunBase } from './run-base.ts'
export { type LoopSteps, runLoop } from './run-loop.ts'
export { cutResult, isLarge } from './shorten.ts'
export {
  type ContextTelemetry,
  contained,
  type ErrorSource,
  type ObservedContext,
  type ObservedRequest,
  type ObservedStep,
  observe,
  onceOnly,
  safeError,
  type Telemetry,
  telemetryOption,
} from './telemetry.ts'
