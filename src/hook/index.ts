/** Hooks: the points of a turn where user code reads and changes it, and plugins, which bundle them. */
export type { Plugin, PluginParts, Registered } from './plugin.ts'
export { checkHooks, HookRegistry, pluginParts } from './plugin.ts'
export type {
  AfterEachToolPoint,
  AfterLlmPoint,
  AfterToolsPoint,
  BeforeEachToolPoint,
  BeforeLlmPoint,
  BeforeToolsPoint,
  CallError,
  CallResult,
  CompletePoint,
  DataOf,
  ErrorPoint,
  Hooks,
  InputPoint,
  IterationPoint,
  LimitPoint,
  ModelError,
  PendingCall,
  PointOf,
  Prompt,
  ReadyPoint,
  Reply,
  TurnPoint,
} from './points.ts'
