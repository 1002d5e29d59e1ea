/** The stateless loop: one turn from a session, in batches. It knows models and tools, and no store. */
export type { Compaction, CompactionOptions } from './compaction.ts'
export { compaction } from './compaction.ts'
export type { ModelChoice, TurnConfig } from './define-turn.ts'
export {
  atLeast,
  checkLimits,
  checkMs,
  checkName,
  defineTurn,
  invalidOption,
  isUnlimited,
  shown,
} from './define-turn.ts'
export type { Limits, ModelSource, TurnDefinition, TurnInfo } from './definition.ts'
export { DEFAULT_LIMITS } from './definition.ts'
export { playTurn } from './loop.ts'
export { dataOf, textOf } from './play.ts'
export type { BlobPort, RunTurnOptions, RunTurnResult } from './run-turn.ts'
export { runTurn } from './run-turn.ts'
export type { Batch, Continuation, Next, TurnScope, View } from './scope.ts'
