/** `holdfast/observe`: traces of turns, `xray` for the code of tools, and the port for observers of agents and graphs. */
export type { Observer, Subscription } from '../agent/index.ts'
export type { TraceOptions, TraceTree } from '../journal/index.ts'
export { readTrace, readTraceTree, traceOf } from '../journal/index.ts'
export type {
  ContextTelemetry,
  ErrorSource,
  ObservedContext,
  ObservedRequest,
  ObservedStep,
  Telemetry,
} from '../loop/index.ts'
export type { ErasedLogs, EraseLogsOptions, LogConfig, Logger, LogOptions } from '../observe/index.ts'
export { eraseLogs } from '../observe/index.ts'
export type {
  HookChangeTrace,
  LlmCallTrace,
  NodeExecutionTrace,
  RequestTrace,
  TakeOverTrace,
  ToolExecutionTrace,
  TraceEntry,
  TraceStatus,
  TraceUsage,
  TurnResultTrace,
  UserInputTrace,
  WarningTrace,
} from '../protocol/index.ts'
export type { Xray } from '../tool/index.ts'
export { xray } from '../tool/index.ts'
