/** `holdfast/plugins`: plugins that are ready to use, and the types to write one: hooks, and the argument of each. */
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
  Hooks,
  IterationContext,
  LimitContext,
  ModelError,
  PendingCall,
  Plugin,
  PluginParts,
  Prompt,
  Reply,
} from '../hook/index.ts'
export type { HookName } from '../protocol/index.ts'
export type { ApprovalPolicy, PolicyCall, PolicyDecision } from '../tool/index.ts'
export type { ApprovalPolicyOptions, PolicyArguments } from './approval-policy.ts'
export { approvalPolicy } from './approval-policy.ts'
export type { ApprovalRule } from './approval-rules.ts'
export type { BreakpointOptions, BreakpointStop, BreakpointTools } from './breakpoint.ts'
export { breakpoint } from './breakpoint.ts'
