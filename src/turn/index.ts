/** The stateless loop: one turn from a session, in batches. It knows models and tools, and no store. */
export { openTurn, startBare, startTurn } from './beginning.ts'
export { CallArguments } from './call-arguments.ts'
export type { Compaction, CompactionOptions, CompactionReceipt } from './compaction.ts'
export { compactEntry, compaction } from './compaction.ts'
export type { AutoCompact } from './compaction-plan.ts'
export { checkSummary, compactionPlan } from './compaction-plan.ts'
export { contextPercent, tokenBudget } from './context.ts'
export {
  checkLimits,
  defineTurn,
  isUnlimited,
  modelSource,
} from './define-turn.ts'
export type {
  CompactionPlan,
  CompactionStrategy,
  Limits,
  ModelSource,
  TurnDefinition,
  TurnInfo,
} from './definition.ts'
export { DEFAULT_LIMITS } from './definition.ts'
export { accountFor, handedIn, sayTurnEnd } from './ending.ts'
export { endsTurn } from './giving-up.ts'
export { runReadyHooks } from './hooks.ts'
export type { RunKnowledge } from './ids-above.ts'
export { idsOfRun } from './ids-above.ts'
export { playTurn } from './loop.ts'
export { modelSecrets } from './model-secrets.ts'
export type { FileInput, MessageInput } from './parse-message.ts'
export { parseMessage } from './parse-message.ts'
export type { Batch, Continuation, Next, PlayScope, PlayTerms, PlayView } from './play-scope.ts'
export { redactEntry } from './redact-entry.ts'
export { askForCredentials, hearAnswers, request } from './requests.ts'
export type { BlobPort, RunTurnOptions, RunTurnResult } from './run-turn.ts'
export { runTurn } from './run-turn.ts'
export type { ActorState, IdsAbove, TurnScope, View } from './scope.ts'
export { cutResult, isLarge } from './shorten.ts'
export { dataOf, Interrupted, originOf, Stage } from './stage.ts'
export { summarise, summaryWarning } from './summary.ts'
export type { GroundingOptions, ModelChoice, TurnConfig } from './turn-config.ts'
export { FOREIGN_CONFIG, FOREIGN_LIMITS, TURN_CONFIG } from './turn-config.ts'
