/** A tool call on one line: its name, its arguments in short, and what came of it. */
import type { EntryData, Json } from 'holdfast'
import type { Style } from './style.ts'
import { cut, oneLine, spanText, widthOf } from './text.ts'

const MOST_ARGUMENT = 40

/** Arguments as `name=value`, long ones cut. */
export function argumentsText(args: Json): string {
  if (typeof args !== 'object' || args === null || Array.isArray(args))
    return args === null ? '' : cut(valueText(args), MOST_ARGUMENT)
  return Object.entries(args as Record<string, Json>)
    .map(([name, value]) => `${oneLine(name)}=${cut(valueText(value), MOST_ARGUMENT)}`)
    .join(' ')
}

function valueText(value: Json): string {
  if (typeof value !== 'string') return oneLine(JSON.stringify(value))
  const text = oneLine(value)
  return /^[^\s"=]+$/.test(text) ? text : `"${text}"`
}

export interface CallEnd {
  readonly tool: string
  readonly args: Json
  readonly status: EntryData['tool.end']['status']
  readonly output: Json
  readonly display?: string | undefined
  readonly tookMs?: number
  /** How deep below the conversation: calls of sub-agents stand further in. */
  readonly depth?: number
}

const SLOW_MS = 1000

/** One line if everything fits, else the result on a line of its own. */
export function callLines(call: CallEnd, style: Style, columns: number): string {
  const indent = '  '.repeat(call.depth ?? 0)
  const room = columns - indent.length
  const mark = call.status === 'ok' ? style.green('✓') : style.red('✗')
  const span = call.tookMs !== undefined && call.tookMs >= SLOW_MS ? ` ${spanText(call.tookMs)}` : ''
  const head = cut(`${call.tool} ${argumentsText(call.args)}`.trim(), room - 2 - span.length)
  const shownHead = head.startsWith(call.tool)
    ? `${call.tool}${style.dim(head.slice(call.tool.length))}`
    : head
  const result = resultText(call)
  const first = `${indent}${mark} ${shownHead}${style.dim(span)}`
  if (result === '') return first
  const paint = call.status === 'ok' ? style.dim : style.red
  const used = 2 + widthOf(head) + span.length
  if (used + 3 + widthOf(result) <= room) return `${first} ${style.dim('→')} ${paint(result)}`
  return `${first}\n${indent}  ${paint(cut(result, room - 2))}`
}

/** What came of it, on one line. `display` is what the tool has to say to people. */
function resultText({ status, output, display }: Pick<CallEnd, 'status' | 'output' | 'display'>): string {
  const plain = typeof output === 'string' ? output : JSON.stringify(output)
  const text = oneLine(display ?? failureText(output) ?? plain)
  if (status === 'ok' || status === 'error') return text
  const word = STATUS[status]
  return text.toLowerCase().startsWith(word) ? text : `${word}: ${text}`
}

const STATUS = { rejected: 'refused', unknown: 'outcome unknown', 'not-run': 'not run' } as const

function failureText(output: Json): string | undefined {
  if (typeof output !== 'object' || output === null || Array.isArray(output)) return undefined
  const { error } = output as Record<string, Json>
  return typeof error === 'string' ? error : undefined
}

/** What a tool says while it runs. */
export function progressText(progress: Json): string {
  if (typeof progress === 'string') return oneLine(progress)
  if (typeof progress !== 'object' || progress === null || Array.isArray(progress))
    return oneLine(JSON.stringify(progress))
  const { message, text } = progress as Record<string, Json>
  const said = [message, text].find((value) => typeof value === 'string')
  return said === undefined ? argumentsText(progress) : oneLine(said)
}
