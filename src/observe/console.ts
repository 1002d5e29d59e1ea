/**
 * The observer that prints turns for a person, to standard error: the input, the reply as it streams, a line for each
 * model call and tool, and the outcome. All text goes through the gate.
 */
import type { ContextTelemetry, ObservedContext, Telemetry } from '../loop/index.ts'
import {
  type ContextKey,
  type DeltaEvent,
  type Entry,
  type EntryData,
  sameKey,
  type TraceEntry,
  type TraceStatus,
} from '../protocol/index.ts'
import {
  bold,
  cyan,
  dim,
  green,
  Output,
  type OutputStream,
  prose,
  red,
  type Styled,
  styled,
  VisibleStream,
  wantsColour,
  yellow,
} from '../terminal/index.ts'
import { ContextTrace } from './context-trace.ts'
import { answerText, cut, jsonText, spanText, usageText } from './describe.ts'
import { resultText } from './log-lines.ts'

const MOST_INPUT = 2000

/** Lines of several agents on one stream: a line does not begin in the middle of streamed text. */
export class Console {
  readonly #output: Output
  /** The agent whose text does not end in a line break yet. */
  #streaming: object | undefined

  constructor(stream: OutputStream, env: Readonly<Record<string, string | undefined>> = process.env) {
    this.#output = new Output(stream, wantsColour(stream.isTTY === true, { env }))
  }

  line(text: Styled): void {
    this.#endLine()
    this.#output.write(styled`${text}\n`)
  }

  /** Text that is escaped already. */
  stream(by: object, text: string): void {
    if (text === '') return
    if (this.#streaming !== by) this.#endLine()
    this.#output.write(prose(text))
    this.#streaming = text.endsWith('\n') ? undefined : by
  }

  #endLine(): void {
    if (this.#streaming !== undefined) this.#output.write(styled`\n`)
    this.#streaming = undefined
  }
}

let shared: Console | undefined

export function standardError(): Console {
  shared ??= new Console({
    isTTY: process.stderr.isTTY,
    on: (event, listener) => process.stderr.on(event, listener),
    write: (text: string) => process.stderr.write(text, ignoreError),
  })
  return shared
}

/** A closed pipe must not end the process: nobody reads there any more. The stream emits the error after this call. */
function ignoreError(error: Error | null | undefined): void {
  if (error && process.stderr.listenerCount('error') === 0) process.stderr.once('error', () => {})
}

/** @param key the agent's own conversation; others below it are indented, and their replies are not streamed */
export function consoleLog(key: ContextKey, out: Console): Telemetry {
  return { context: (of) => new TurnLines(of, out, { isBelow: !sameKey(of.key, key) }) }
}

type Line = readonly [mark: Styled, text: Styled]

type Lines = {
  readonly [T in TraceEntry['type']]?: (one: TraceEntry & { readonly type: T }) => Line
}

class TurnLines implements ContextTelemetry {
  readonly #trace: ContextTrace
  readonly #out: Console
  readonly #name: string
  readonly #isBelow: boolean
  readonly #piece = new VisibleStream()
  #hasStreamed = false

  constructor(of: ObservedContext, out: Console, { isBelow }: { readonly isBelow: boolean }) {
    this.#trace = new ContextTrace(of)
    this.#out = out
    this.#name = of.name
    this.#isBelow = isBelow
  }

  readonly #lines: Lines = {
    user_input: ({ prompt }) => [
      this.#isBelow ? cyan('›') : styled`${cyan('›')} ${bold(this.#name)}`,
      this.#prose(cut(prompt, MOST_INPUT)),
    ],
    llm_call: ({ model, usage, duration_ms = 0, status, error = status }) => {
      const used = styled`${model} ${usageText(usage)}, ${spanText(duration_ms)}`
      return status === 'success' ? [dim('◦'), dim(used)] : [yellow('!'), styled`${used}: ${cut(error)}`]
    },
    tool_execution: ({ tool_name, arguments: args, ...result }) => [
      markOf(result.status),
      styled`${tool_name} ${dim(jsonText(args))} ${resultText(result)}`,
    ],
    node_execution: ({ name, ...result }) => [markOf(result.status), styled`${name} ${resultText(result)}`],
    request: ({ prompt, how, value }) => [
      yellow('?'),
      this.#prose(how === undefined ? cut(prompt, MOST_INPUT) : answerText(how, value)),
    ],
    warning: ({ message }) => [yellow('!'), yellow(cut(message))],
    take_over: ({ turn }) => [yellow('!'), styled`turn ${turn} goes on here, after another process`],
    turn_result: ({ reason, limit, duration_ms, usage, error }) => {
      const outcome = limit === undefined ? reason : `${reason} (${limit})`
      const text = styled`${outcome} in ${spanText(duration_ms)}, ${usageText(usage)}`
      return error === undefined ? [dim('●'), dim(text)] : [red('●'), styled`${text}: ${cut(error)}`]
    },
  }

  readonly entry = (entry: Entry): void => {
    if (entry.type === 'model.start') this.#hasStreamed = false
    if (entry.type === 'model.end') this.#endReply(entry.data as EntryData['model.end'])
    for (const one of this.#trace.read(entry)) {
      const line = this.#lines[one.type] as ((one: TraceEntry) => Line) | undefined
      if (line !== undefined) this.#print(line(one))
    }
  }

  readonly delta = (event: DeltaEvent): void => {
    if (event.type === 'turn.refused') {
      const { code, message } = event.data
      this.#print([red('✗'), styled`turn refused (${code}): ${cut(message)}`])
    } else if (event.type === 'text.delta' && !this.#isBelow) {
      this.#hasStreamed = true
      this.#out.stream(this, this.#piece.add(event.data.text))
    }
  }

  readonly thrown: NonNullable<ContextTelemetry['thrown']> = ({ kind, name }, error) => {
    // The others have a line of their own, with the message.
    if (kind === 'hook' || kind === 'function')
      this.#print([red('✗'), styled`${kind} ${name} threw ${error.name}: ${cut(error.message)}`])
  }

  /** A reply that was not streamed is printed whole. */
  #endReply({ content }: EntryData['model.end']): void {
    if (!this.#isBelow && !this.#hasStreamed)
      for (const part of content) if (part.type === 'text') this.#out.stream(this, this.#piece.add(part.text))
    this.#out.stream(this, this.#piece.end())
  }

  /** Text of several lines, which cannot pass for lines of others. */
  #prose(text: string): Styled {
    return prose(text.replaceAll(/\r?\n/g, `\n${this.#isBelow ? '    ' : '  '}`))
  }

  #print([mark, text]: Line): void {
    this.#out.line(this.#isBelow ? styled`  ${mark} ${this.#name}: ${text}` : styled`${mark} ${text}`)
  }
}

function markOf(status: TraceStatus): Styled {
  if (status === 'success') return green('✓')
  return status === 'waiting' ? yellow('?') : red('✗')
}
