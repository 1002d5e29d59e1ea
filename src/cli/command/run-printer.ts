/** A turn for scripts and pipes: the text on standard output, what happens meanwhile on standard error. */
import type { Json, TurnEvent } from 'holdfast'
import { argumentsText, callLines, progressText } from '../terminal/call-line.ts'
import { Screen } from '../terminal/screen.ts'
import type { Style } from '../terminal/style.ts'
import { clean, oneLine } from '../terminal/text.ts'
import { type Hearing, type KnownCall, TurnPrinter } from '../terminal/turn-printer.ts'

export interface RunPrinterOptions {
  readonly stdout: NodeJS.WriteStream
  readonly stderr: NodeJS.WriteStream
  readonly errorStyle: Style
}

/** Where a turn is told while it runs. */
export interface RunPrinter {
  /** Calls that were asked for in an earlier turn. */
  know(calls: readonly KnownCall[]): void
  start(): void
  event(event: TurnEvent): void
  /** A line for people, below whatever stands on the screen. */
  note(line: string): void
  end(): void
}

export function runPrinter(options: RunPrinterOptions): RunPrinter {
  const isTerminal = options.stdout.isTTY && options.stderr.isTTY
  return isTerminal ? new ScreenPrinter(options) : new LinePrinter(options)
}

/** For a person who watches: the same as in a chat. */
class ScreenPrinter implements RunPrinter {
  readonly #screen: Screen
  readonly #printer: TurnPrinter

  constructor({ stdout, errorStyle }: RunPrinterOptions) {
    this.#screen = new Screen(stdout)
    this.#printer = new TurnPrinter({ screen: this.#screen, style: errorStyle, now: () => performance.now() })
  }

  start(): void {
    this.#printer.start()
  }

  know(calls: readonly KnownCall[]): void {
    this.#printer.know(calls)
  }

  event(event: TurnEvent): void {
    this.#printer.event(event)
  }

  note(line: string): void {
    this.#screen.say(line)
  }

  end(): void {
    this.#printer.stop()
  }
}

const PROGRESS_EVERY_MS = 1000

/** For programs and pipes: text and lines, in their order. */
class LinePrinter implements RunPrinter {
  readonly #options: RunPrinterOptions
  readonly #calls = new Map<string, { readonly tool: string; readonly at: number }>()
  readonly #hearing: Hearing = {
    'model.start': ({ path }) => {
      if (path === undefined) this.#streamed = false
    },
    'text.delta': ({ path, data }) => {
      if (path === undefined) this.#text(data.text)
    },
    'model.end': ({ path, data }) => {
      this.know(data.content.filter((part) => part.type === 'tool-call'))
      if (path === undefined && !this.#streamed)
        for (const part of data.content) if (part.type === 'text') this.#text(part.text)
      this.#endLine()
      this.#sayRetry(data.error ?? {})
    },
    'tool.start': ({ data: { callId, tool, args } }) => {
      this.#calls.set(callId, { tool, at: Date.now() })
      this.note(this.#options.errorStyle.dim(`→ ${`${tool} ${argumentsText(args)}`.trim()}`))
    },
    'tool.progress': ({ data: { callId, tool, progress } }) => {
      const now = Date.now()
      if (now - (this.#toldAt.get(callId) ?? 0) < PROGRESS_EVERY_MS) return
      this.#toldAt.set(callId, now)
      this.note(this.#options.errorStyle.dim(`· ${tool} ${progressText(progress)}`))
    },
    'tool.end': ({ data }) => {
      const { tool, at } = this.#calls.get(data.callId) ?? { tool: 'call', at: Date.now() }
      const end = { ...data, tool, args: null, tookMs: Date.now() - at }
      this.note(callLines(end, this.#options.errorStyle, this.#columns))
    },
    warning: ({ data }) => this.note(this.#options.errorStyle.yellow(`! ${oneLine(data.message)}`)),
  }
  /** When progress was last told, by call: often enough is enough. */
  readonly #toldAt = new Map<string, number>()
  #streamed = false
  #isMidLine = false

  constructor(options: RunPrinterOptions) {
    this.#options = options
  }

  start(): void {}

  know(calls: readonly KnownCall[]): void {
    for (const { callId, tool } of calls) this.#calls.set(callId, { tool, at: Date.now() })
  }

  event(event: TurnEvent): void {
    const hear = this.#hearing[event.type] as ((event: TurnEvent) => void) | undefined
    hear?.(event)
  }

  note(line: string): void {
    this.#endLine()
    this.#options.stderr.write(`${line}\n`)
  }

  end(): void {
    this.#endLine()
  }

  #text(text: string): void {
    const { stdout } = this.#options
    const shown = stdout.isTTY ? clean(text) : text
    if (shown === '') return
    this.#streamed = true
    stdout.write(shown)
    this.#isMidLine = !shown.endsWith('\n')
  }

  #endLine(): void {
    if (this.#isMidLine) this.#options.stdout.write('\n')
    this.#isMidLine = false
  }

  #sayRetry({ message, next }: { readonly message?: Json; readonly next?: Json }): void {
    if (typeof message === 'string' && next !== 'fail')
      this.note(this.#options.errorStyle.yellow(`! ${oneLine(message)} Trying again.`))
  }

  get #columns(): number {
    const { stderr } = this.#options
    return stderr.isTTY ? Math.max(20, stderr.columns || 80) : Number.POSITIVE_INFINITY
  }
}
