/** Hooks: the points of a turn where user code reads and changes it, and plugins, which bundle them. */

export type {
  AfterEachToolContext,
  AfterLlmContext,
  AfterToolsContext,
  AfterUserInputContext,
  AgentReadyContext,
  BeforeEachToolContext,
  BeforeLlmContext,
  BeforeToolsContext,
  CallError,
  CallResult,
  CanAdd,
  CanEditCall,
  CanEditCalls,
  CanEditPrompt,
  CanEditResult,
  CanStop,
  CompleteContext,
  ErrorContext,
  HookContext,
  HookContextOf,
  HookDataOf,
  Hooks,
  IterationContext,
  LimitContext,
  ModelError,
  PendingCall,
  Prompt,
  Reply,
} from './hook-context.ts'
export type { Plugin, PluginParts, Registered } from './plugin.ts'
export { checkHooks, HookRegistry, pluginParts } from './plugin.ts'
