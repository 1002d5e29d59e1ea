/** The observer that writes a plain text log, a line for each step. */
import type { Clock } from '../base/index.ts'
import type { ObservedContext, Telemetry } from '../loop/index.ts'
import { visible, visibleLines } from '../terminal/index.ts'
import { addLine, type LogTarget } from './log-file.ts'
import { type LogRecord, logLines } from './log-lines.ts'
import { logPlace } from './log-place.ts'

export interface TextLogOptions {
  /** The agent's name: lines of others below it begin with theirs. */
  readonly agent: string
  readonly clock: Clock
  readonly target: LogTarget
}

export function textLog({ agent, clock, target }: TextLogOptions): Telemetry {
  return {
    context: (of) =>
      logLines(of, (record) => {
        const at = record.at ?? clock.now()
        addLine(target, () => textLine(of, agent, { ...record, at }))
      }),
  }
}

function textLine(
  { key, name }: ObservedContext,
  agent: string,
  { level, at = 0, turn, message, error }: LogRecord,
): string {
  const below = name === agent ? '' : `${visible(name)}: `
  const line = `${new Date(at).toISOString()} ${level.toUpperCase().padEnd(5)} ${logPlace(key, turn)} ${below}${visible(message)}`
  return error === undefined ? line : `${line}\n${stackText(error)}`
}

/** The frames of a stack, indented, without the message that is in the line. */
export function stackText({ stack = '' }: Error): string {
  const lines = visibleLines(stack).split('\n')
  const first = lines.findIndex((line) => /^\s+at /.test(line))
  return lines
    .slice(first < 0 ? 0 : first)
    .map((line) => `    ${line.trim()}`)
    .join('\n')
}
