/** Models: from a name to a reply. Knows nothing of turns, tools or storage. */
export type { ModelDelta } from './assemble.ts'
export { CONTEXT_SIZES, CONTEXT_SIZES_AS_OF, contextSizeOf } from './context-sizes.ts'
export type { FailureKind, FailureOptions, NamedFile, NextAttempt, RetryPosition } from './failure.ts'
export { afterFailure, ModelFailure } from './failure.ts'
export { FILE_LIMITS, FILE_LIMITS_AS_OF } from './file-limits.ts'
export type { ActiveSince, EntityWords, GroundingContext } from './grounding-context.ts'
export type {
  LanguageModel,
  ModelCall,
  ModelCapabilities,
  ModelStream,
  ModelStreamPart,
  PromptMessage,
  PromptOutput,
  PromptPart,
  ProviderUsage,
  ToolDeclaration,
} from './language-model.ts'
export { keyVariableOf, modelName } from './name.ts'
export type { ModelOptions, ModelRef, ModelSettings, Reasoning, ToolChoice, ToolSpec } from './options.ts'
export type { Price, PricedTokens, PriceTable } from './prices.ts'
export { checkPrices, costOf, PRICES, PRICES_AS_OF } from './prices.ts'
export type { PromptInput } from './prompt.ts'
export { GO_ON, PromptLines, toPrompt } from './prompt.ts'
export { withRefusedFiles } from './refused-files.ts'
export type { ResolveOptions, ResolvePorts } from './resolve.ts'
export { checkModel, resolveModel } from './resolve.ts'
export type { ShownFiles } from './shown-files.ts'
export { fileDigest, filesIn, hasFiles, shownFiles } from './shown-files.ts'
export type { ModelReply, ModelRequest } from './stream.ts'
export { streamModel } from './stream.ts'
export type { TokenCount, TokenCounter } from './tokens.ts'
export { countTokens, estimatedTokens, tokenCounter } from './tokens.ts'
export type { FileLimits, ModelVendor } from './vendors.ts'
export { MODEL_VENDORS } from './vendors.ts'
