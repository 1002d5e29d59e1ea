/** `holdfast/plugins`: plugins that are ready to use, and the types to write one: hooks, and the argument of each. */
export type {
  Adds,
  AfterEachToolPoint,
  AfterLlmPoint,
  AfterToolsPoint,
  BeforeEachToolPoint,
  BeforeLlmPoint,
  BeforeToolsPoint,
  CallError,
  CallResult,
  CompletePoint,
  EditsCall,
  EditsCalls,
  EditsPrompt,
  EditsResult,
  ErrorPoint,
  Hooks,
  InputPoint,
  IterationPoint,
  LimitPoint,
  ModelError,
  PendingCall,
  Plugin,
  PluginParts,
  PointOf,
  Prompt,
  ReadyPoint,
  Reply,
  Stops,
  TurnPoint,
} from '../hook/index.ts'
export type { HookName } from '../protocol/index.ts'
export type { ApprovalPolicy, PolicyCall, PolicyDecision } from '../tool/index.ts'
export type { ApprovalPolicyOptions, PolicyArguments } from './approval-policy.ts'
export { approvalPolicy } from './approval-policy.ts'
export type { ApprovalRule } from './approval-rules.ts'
export type { BreakpointOptions, BreakpointTools, Stop } from './breakpoint.ts'
export { breakpoint } from './breakpoint.ts'
