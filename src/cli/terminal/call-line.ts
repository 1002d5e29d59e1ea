/** A tool call on one line: its name, its shortened arguments, and its result. */
import type { Json } from 'holdfast'
import type { EntryData } from 'holdfast/journal'
import { dim, green, joinLines, red, type Styled, styled, visible, visibleValue } from 'holdfast/terminal'
import { cut, oneLine, spanText, widthOf } from './text.ts'

const MOST_ARGUMENT = 40
const MOST_ARGUMENTS = 500
const MOST_TOOL = 120

/** The name of a tool, as the model wrote it: it may be any text. */
export function toolText(tool: string): string {
  return cut(tool, MOST_TOOL)
}

const MOST_ORIGIN = 40

function originShown(origin: string | undefined): string {
  return origin === undefined ? '' : cut(oneLine(origin), MOST_ORIGIN)
}

/** Arguments as `name=value`, long ones cut. */
export function argumentsText(args: Json): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return args === null ? '' : cut(valueText(args), MOST_ARGUMENT)
  const named = Object.entries(args as Record<string, Json>).map(
    ([name, value]) => `${cut(name, MOST_ARGUMENT)}=${cut(valueText(value), MOST_ARGUMENT)}`,
  )
  return cut(named.join(' '), MOST_ARGUMENTS)
}

function valueText(value: Json): string {
  if (typeof value !== 'string') return visibleValue(value)
  const text = oneLine(value)
  return /^[^\s"=]+$/.test(text) ? text : `"${text}"`
}

export interface CallEnd {
  readonly tool: string
  /** The origin of a tool that is not the agent's own, such as `mcp:files`. */
  readonly origin?: string | undefined
  readonly args: Json
  readonly status: EntryData['tool.end']['status']
  readonly output: Json
  readonly display?: string | undefined
  readonly tookMs?: number
  /** The depth below the conversation: calls of sub-agents are indented. */
  readonly depth?: number
  /** The result is shown below, in the reply. */
  readonly isRepeated?: boolean
}

const SLOW_MS = 1000

/** One line if everything fits, else the result on a line of its own. */
export function callLines(call: CallEnd, columns: number): Styled {
  return joinLines(callRows(call, columns))
}

export function callRows(call: CallEnd, columns: number): readonly Styled[] {
  const indent = '  '.repeat(call.depth ?? 0)
  const room = columns - indent.length
  const mark = call.status === 'ok' ? green('✓') : red('✗')
  const span = call.tookMs !== undefined && call.tookMs >= SLOW_MS ? ` ${spanText(call.tookMs)}` : ''
  const tool = toolText(call.tool)
  const named = [tool, originShown(call.origin), argumentsText(call.args)].filter((part) => part !== '')
  const head = cut(named.join(' '), room - 2 - span.length)
  const shownHead = head.startsWith(tool) ? styled`${tool}${dim(head.slice(tool.length))}` : head
  const result = call.isRepeated ? '' : resultText(call)
  const first = styled`${indent}${mark} ${shownHead}${dim(span)}`
  if (result === '') return [first]
  const paint = call.status === 'ok' ? dim : red
  const used = 2 + widthOf(head) + span.length
  if (used + 3 + widthOf(result) <= room) return [styled`${first} ${dim('→')} ${paint(result)}`]
  return [first, styled`${indent}  ${paint(cut(result, room - 2))}`]
}

/** The result on one line. `display` is the tool's text for people. */
export function resultText({
  status,
  output,
  display,
}: Pick<CallEnd, 'status' | 'output' | 'display'>): string {
  const plain = typeof output === 'string' ? output : visibleValue(output)
  const text = oneLine(display ?? failureText(output) ?? plain)
  if (status === 'ok' || status === 'error') return text
  const word = STATUS[status]
  return text.toLowerCase().startsWith(word) ? text : `${word}: ${text}`
}

const STATUS = { rejected: 'refused', unknown: 'outcome unknown', 'not-run': 'not run' } as const

function failureText(output: Json): string | undefined {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return undefined
  const { error, message } = output as Record<string, Json>
  if (typeof error !== 'string') return undefined
  return typeof message === 'string' ? message : error
}

/** The progress of a tool, as text. */
export function progressText(progress: Json): string {
  if (typeof progress === 'string') return oneLine(progress)
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress))
    return visible(visibleValue(progress))
  const { message, text } = progress as Record<string, Json>
  const shown = [message, text].find((value) => typeof value === 'string')
  return shown === undefined ? argumentsText(progress) : oneLine(shown)
}
