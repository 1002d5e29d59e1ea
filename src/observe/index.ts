/** Logs: text files, session files, the user's logger and the console, as observers of turns. */
export { standardError } from './console.ts'
export { type ErasedLogs, type EraseLogsOptions, eraseLogs } from './erase-logs.ts'
export {
  defaultFolders,
  givenFolders,
  type LogConfig,
  type LogOptions,
  loggerObservers,
  logTelemetry,
} from './log-options.ts'
export type { Logger } from './logger.ts'
export { flushLogs } from './pending-writes.ts'
