/** Models: from a name to a reply. It does not know turns, tools or where anything is stored. */
export type { ModelDelta } from './assemble.ts'
export type { FailureKind, FailureOptions, NextStep, RetryPosition } from './failure.ts'
export { afterFailure, ModelFailure } from './failure.ts'
export type {
  LanguageModel,
  ModelCall,
  ModelStream,
  ModelStreamPart,
  PromptMessage,
  PromptOutput,
  PromptPart,
  ProviderUsage,
  ToolDeclaration,
} from './language-model.ts'
export { modelName } from './name.ts'
export type { ModelOptions, ModelRef, ModelSettings, Reasoning, ToolChoice, ToolSpec } from './options.ts'
export type { Price, PricedTokens, PriceTable } from './prices.ts'
export { costOf, PRICES, PRICES_AS_OF } from './prices.ts'
export type { PromptInput } from './prompt.ts'
export { toPrompt } from './prompt.ts'
export type { ResolveOptions, ResolvePorts } from './resolve.ts'
export { resolveModel } from './resolve.ts'
export type { ModelReply, ModelRequest } from './stream.ts'
export { streamModel } from './stream.ts'
export { estimateTokens } from './usage.ts'
