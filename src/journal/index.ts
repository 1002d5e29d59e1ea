/** The meaning of a journal: fold, transcript, window, fork and prune. Functions with a store take it as an argument. */
export type { TokenBudget } from './backwards.ts'
export { windowSize } from './backwards.ts'
export { advance, fold } from './fold.ts'
export { forkContext } from './fork-context.ts'
export { isKnown } from './format.ts'
export type { GraphEffect, GraphPosition, GraphTask, SeenInRun, TaskAnswer } from './graph-position.ts'
export { INPUT_DROPPED, joined, taskNamed } from './graph-position.ts'
export type { ChannelValue, GraphState } from './graph-state.ts'
export { valueIn, withChanges, withUpdate } from './graph-state.ts'
export { clearContext, clearWaitingBelow, pruneContext, recreateContext } from './history.ts'
export type { ImportFormat } from './import/foreign.ts'
export type { ImportReceipt, ImportRequest } from './import/import-context.ts'
export { addImported, checkIdle, importContext, importEntries } from './import/import-context.ts'
export type { Imported, ImportOptions } from './import/import-messages.ts'
export { importMessages } from './import/import-messages.ts'
export { LiveWindow, withUnsaved } from './live-window.ts'
export { isWorthSaving, loadSession, loadSince, saveSession } from './load.ts'
export { messageCount } from './message-count.ts'
export { readTrace, readTurn } from './read-trace.ts'
export type {
  Answer,
  ArgumentKeys,
  Call,
  OpenTurn,
  Parked,
  Request,
  Retry,
  Session,
  Totals,
  UnknownCall,
} from './session.ts'
export {
  beginsAnew,
  hasRound,
  isSameCall,
  isStarted,
  isUnknown,
  newSession,
  OUTPUT_NOTE,
  OVER_MESSAGES,
  positionOf,
  SESSION_FORMAT,
  SHUTDOWN_RELEASE,
  stillOpen,
} from './session.ts'
export { trimPoint } from './tool-results.ts'
export type { TraceOptions } from './trace.ts'
export { TraceReader, traceOf } from './trace.ts'
export type { TraceTree } from './trace-tree.ts'
export { readTraceTree } from './trace-tree.ts'
export { transcript } from './transcript.ts'
export type { WindowOptions } from './window.ts'
export { readNewest, readWindow } from './window.ts'
