/** The front door. Authors of stores find the rest of the store's words in `holdfast/store`. */
export type {
  AgentConfig,
  AgentMetadata,
  AgentState,
  AgentToolDefinition,
  ArtifactStore,
  Auth,
  Drive,
  MessageQuery,
  MessageStore,
  Observer,
  SessionView,
  StateStore,
  Stuck,
  SubAgentConfig,
  Subscription,
  Turn,
  TurnError,
  TurnOptions,
  TurnOutcome,
  TurnStep,
  Views,
  WhileBusy,
} from './agent/index.ts'
export { Agent, agentTool, listStuck, settleCall, takeOver, viewsOf } from './agent/index.ts'
export type { Clock, Ids, Timer } from './base/index.ts'
export { processIdentity, systemIds } from './base/index.ts'
export type { Session } from './journal/index.ts'
export {
  clearContext,
  fold,
  forkContext,
  loadSession,
  pruneContext,
  readWindow,
  saveSession,
  transcript,
} from './journal/index.ts'
export type { LanguageModel, ModelOptions, ModelRef, PriceTable } from './model/index.ts'
export { PRICES, PRICES_AS_OF, resolveModel } from './model/index.ts'
export type {
  ArtifactInfo,
  ContextKey,
  DeltaEvent,
  Entry,
  EntryData,
  EntryEvent,
  EntryType,
  ErrorCode,
  Json,
  JsonObject,
  Message,
  NewEntry,
  NewInboxEntry,
  OutcomeReason,
  Owner,
  Principal,
  RequestData,
  TurnEvent,
  Usage,
  UserContent,
} from './protocol/index.ts'
export { childKey, contextKey, HoldfastError, LOCAL_OWNER } from './protocol/index.ts'
export type { AppendRequest, Head, Receipt, Store } from './store/index.ts'
export { persist } from './store/index.ts'
export { memoryStore } from './store/memory/index.ts'
export type {
  Approval,
  ApprovalCall,
  ArtifactContent,
  Artifacts,
  Ask,
  AskRequest,
  Credentials,
  DatasetOptions,
  FileOptions,
  PreviousTool,
  StandardSchema,
  Tool,
  ToolContext,
  ToolDefinition,
  ToolResult,
  Verdict,
} from './tool/index.ts'
export { ask, askUser, defineTool, jsonSchema, toolResult } from './tool/index.ts'
export type {
  BlobPort,
  Limits,
  ModelChoice,
  RunTurnOptions,
  RunTurnResult,
  TurnConfig,
  TurnInfo,
} from './turn/index.ts'
export { runTurn } from './turn/index.ts'
