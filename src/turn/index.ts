/** The stateless loop: one turn from a session, in batches. It knows models and tools, and must not know a store. */
export type { Compaction, CompactionOptions, CompactionReceipt } from './compaction.ts'
export { compactEntry, compaction } from './compaction.ts'
export type { AutoCompact } from './compaction-plan.ts'
export { checkSummary, compactionPlan } from './compaction-plan.ts'
export { contextPercent, tokenBudget } from './context-fill.ts'
export { checkLimits, defineTurn, modelSource } from './define-turn.ts'
export type {
  CompactionPlan,
  CompactionStrategy,
  GivenReply,
  ModelSource,
  NodeTurn,
  TurnDefinition,
  TurnInfo,
} from './definition.ts'
export { runReadyHooks } from './hooks.ts'
export { jsonIn } from './json-in-text.ts'
export type { LlmDoOptions, LlmDoResult } from './llm-do.ts'
export { llmDo } from './llm-do.ts'
export { turnLoop } from './loop.ts'
export { modelSecrets } from './model-secrets.ts'
export { outputSchema } from './output-schema.ts'
export type { FileInput, MessageInput } from './parse-message.ts'
export { parseMessage } from './parse-message.ts'
export type { PromptFile, PromptFileOptions, PromptVariables } from './prompt-file.ts'
export { promptFile } from './prompt-file.ts'
export type { BlobPort, RunTurnOptions, RunTurnResult } from './run-turn.ts'
export { runTurn } from './run-turn.ts'
export type { ActorState, GivenAnswers, Sightings, TurnScope } from './scope.ts'
export { summarise, summaryWarning } from './summary.ts'
export type { GroundingOptions, ModelChoice, TurnConfig } from './turn-config.ts'
export { FOREIGN_CONFIG, FOREIGN_LIMITS, FOREIGN_OUTPUT, TURN_CONFIG } from './turn-config.ts'
