/**
 * Texts on their way to files: collected while turns run, and written together a moment later, at the latest when the
 * process ends. Writes are synchronous, so none is under way when the process exits: no line is lost or written twice.
 */
import { systemTimer, warnOnce } from '../base/index.ts'

export interface PendingFile {
  readonly folder: string
  /** Writes everything that was collected. An exception is reported, once for each folder and kind. */
  readonly write: () => void
}

const DELAY_MS = 100

const pending = new Set<PendingFile>()
let cancelTimer: (() => void) | undefined
let isWatchingExit = false

export function writeSoon(file: PendingFile): void {
  pending.add(file)
  cancelTimer ??= systemTimer.after(DELAY_MS, flushLogs)
  if (!isWatchingExit) process.on('exit', flushLogs)
  isWatchingExit = true
}

/** Writes one file now. */
export function writeNow(file: PendingFile): void {
  pending.delete(file)
  try {
    file.write()
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error)
    warnOnce(
      `Logs cannot be written in ${file.folder} (${why}). Turns go on without them. Make room or give this user access, or turn them off with log: false and sessions: false.`,
    )
  }
}

/** Writes all files now. */
export function flushLogs(): void {
  cancelTimer?.()
  cancelTimer = undefined
  for (const file of pending) writeNow(file)
}
