/** The observer that writes to a logger of the user's. */
import { contained, type Telemetry } from '../loop/index.ts'
import { invalidOption, shown } from '../protocol/index.ts'
import { visible } from '../terminal/index.ts'
import { type LogLevel, type LogRecord, logLines } from './log-lines.ts'
import { logPlace, namedOwner } from './log-place.ts'
import { stackText } from './text-log.ts'

/**
 * A logger as pino has it: fields first, then the message; an exception is the field `err`. One with a `log` method, such
 * as `console`, gets one text, without characters that a terminal obeys.
 */
export interface Logger {
  debug?(fields: object, message: string): unknown
  info(fields: object, message: string): unknown
  warn(fields: object, message: string): unknown
  error(fields: object, message: string): unknown
}

const NEEDED: readonly LogLevel[] = ['info', 'warn', 'error']

export function loggerOption(logger: unknown): Logger {
  const methods = (typeof logger === 'object' || typeof logger === 'function' ? logger : {}) as Partial<
    Record<string, unknown>
  > | null
  if (NEEDED.every((level) => typeof methods?.[level] === 'function')) return logger as Logger
  throw invalidOption(
    'logger',
    `must have info(), warn() and error(), as pino or console, not ${shown(logger)}`,
  )
}

export function loggerTelemetry(logger: Logger): Telemetry {
  const takesText = 'log' in logger && typeof logger.log === 'function'
  return {
    context: (of) => {
      const { key, name, kind } = of
      const place = { [kind]: name, contextId: key.contextId, ...namedOwner(key) }
      const write = takesText
        ? (record: LogRecord) => callText(logger, record, `${name} ${logPlace(key, record.turn)}`)
        : (record: LogRecord) => callWithFields(logger, record, place)
      return logLines(of, write)
    },
  }
}

function callWithFields(
  logger: Logger,
  { level, turn, message, fields, error }: LogRecord,
  place: object,
): void {
  const all = { ...place, turn, ...fields, ...(error === undefined ? {} : { err: error }) }
  contained(() => logger[level]?.(all, message))
}

function callText(logger: Logger, { level, message, error }: LogRecord, place: string): void {
  const line = visible(`holdfast ${place} ${message}`)
  const log = logger as unknown as Record<LogLevel, ((text: string) => unknown) | undefined>
  contained(() => log[level]?.(error === undefined ? line : `${line}\n${stackText(error)}`))
}
