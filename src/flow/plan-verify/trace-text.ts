/** The messages of a run as numbered steps: whole for the verifier, shortened for people. */
import type { AssistantPart, Message, ToolResultPart } from '../../protocol/index.ts'
import { contentText, jsonText } from './rounds.ts'

export interface TraceTextOptions {
  /** The most characters of a text, and of arguments. Default: all. */
  readonly texts?: number
  /** The most characters of a result. Default: all. */
  readonly results?: number
  /** Put before the name of a tool, such as its origin. */
  readonly label?: (tool: string) => string
}

/** A step cannot be forged by a text whose lines end otherwise. */
const LINE_END = /\r\n?|[\n\u2028\u2029]/g

/** One numbered line for each text, call and result, in their order; further lines of a text are indented. */
export function traceText(messages: readonly Message[], options: TraceTextOptions = {}): string {
  const lines = messages.flatMap((message) => linesOf(message, options))
  return lines.map((line, at) => `${at + 1}. ${line.replaceAll(LINE_END, '\n   ')}`).join('\n')
}

/** The whole trace, or, if it is longer than `most` characters, one whose texts and results are shortened until it fits. */
export function fittingTrace(messages: readonly Message[], most: number): string {
  const whole = traceText(messages)
  for (let each = 20_000; whole.length > most && each >= 100; each = Math.floor(each / 2)) {
    const shorter = traceText(messages, { texts: each, results: each })
    if (shorter.length <= most) return shorter
  }
  return shortened(whole, most)
}

function linesOf(message: Message, options: TraceTextOptions): string[] {
  if (message.role === 'user') return [`user: ${shortened(contentText(message.content), options.texts)}`]
  if (message.role === 'assistant') return message.content.flatMap((part) => partLine(part, options))
  return message.content.map((part) => resultLine(part, options))
}

function partLine(part: AssistantPart, { texts, label = plain }: TraceTextOptions): string[] {
  if (part.type === 'tool-call')
    return [`call ${label(part.tool)}${part.tool} ${shortened(jsonText(part.args), texts)}`]
  return part.type === 'text' && part.text.trim() !== ''
    ? [`assistant: ${shortened(part.text.trim(), texts)}`]
    : []
}

function resultLine(
  { tool, status, output }: ToolResultPart,
  { results, label = plain }: TraceTextOptions,
): string {
  return `result of ${label(tool)}${tool} (${status}): ${shortened(jsonText(output), results)}`
}

function plain(): string {
  return ''
}

/** The beginning and the end of a long text: results say at their end how they ended. */
function shortened(text: string, most = Number.POSITIVE_INFINITY): string {
  if (text.length <= most) return text
  const end = Math.floor(most / 3)
  const left = text.length - most
  return `${text.slice(0, most - end).toWellFormed()} … [${left} characters left out] … ${text.slice(text.length - end).toWellFormed()}`
}
