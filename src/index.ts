/** `holdfast`: an agent, its tools, its turns and their types. Other entries have the rest: docs/guide/entries.md. */
export type {
  AgentConfig,
  AgentState,
  AgentToolDefinition,
  AnswerOptions,
  Auth,
  CompactOptions,
  ForkOptions,
  MessageQuery,
  SessionView,
  SubAgentConfig,
  Turn,
  TurnError,
  TurnOptions,
  TurnOutcome,
  WhileBusy,
} from './agent/index.ts'
export { Agent, agentTool } from './agent/index.ts'
export type { Limits } from './loop/index.ts'
export type { LanguageModel, ModelOptions } from './model/index.ts'
export type {
  ArtifactInfo,
  ContextKey,
  DeltaEvent,
  EntryEvent,
  ErrorCode,
  Json,
  JsonObject,
  Message,
  OutcomeReason,
  Owner,
  Principal,
  RequestData,
  TurnEvent,
  Usage,
  UserContent,
} from './protocol/index.ts'
export { contextKey, HoldfastError, LOCAL_OWNER } from './protocol/index.ts'
export type { Store } from './store/index.ts'
export { memoryStore } from './store/memory/index.ts'
export type {
  Approval,
  Artifacts,
  Ask,
  AskRequest,
  Credentials,
  StandardSchema,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolResult,
} from './tool/index.ts'
export { ask, askUser, defineTool, jsonSchema, toolResult } from './tool/index.ts'
export type {
  AutoCompact,
  CompactionStrategy,
  FileInput,
  MessageInput,
  ModelChoice,
  PromptFile,
} from './turn/index.ts'
export { llmDo, promptFile } from './turn/index.ts'
