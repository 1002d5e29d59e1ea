/** Prints a turn for scripts and pipes: its text on standard output, its progress on standard error. */
import type { Json, TurnEvent } from 'holdfast'
import { dim, prose, type Styled, styled, VisibleStream, yellow } from 'holdfast/terminal'
import { FOREIGN, type Outputs } from '../gate/outputs.ts'
import { type Earlier, isEarlier } from '../read-exchanges.ts'
import { argumentsText, callLines, progressText, toolText } from '../terminal/call-line.ts'
import { Screen } from '../terminal/screen.ts'
import { oneLine, retryText } from '../terminal/text.ts'
import { type EventHandlers, type KnownCall, TurnPrinter } from '../terminal/turn-printer.ts'
import { columnsOf } from './context.ts'

/** Prints a turn while it runs. */
export interface RunPrinter {
  /** Adds the journal before this process: its calls were not started now. */
  addEarlier(earlier: Earlier): void
  start(): void
  event(event: TurnEvent): void
  /** Prints a line for people, below the text on the screen. */
  note(line: Styled): void
  end(): void
}

export type OriginOf = ((tool: string) => string | undefined) | undefined

export function runPrinter(outputs: Outputs, originOf: OriginOf): RunPrinter {
  const isTerminal = outputs.out.isTTY && outputs.err.isTTY
  return isTerminal ? new ScreenPrinter(outputs, originOf) : new LinePrinter(outputs, originOf)
}

/** For a person at a terminal: the same as in a chat. */
class ScreenPrinter implements RunPrinter {
  readonly #screen: Screen
  readonly #printer: TurnPrinter
  readonly #endForeign: () => void
  /** A process that ends in mid-turn leaves a visible cursor. */
  readonly #tidyUp = (): void => this.#printer.stop()

  constructor({ out, foreign }: Outputs, originOf: OriginOf) {
    this.#screen = new Screen(out)
    this.#printer = new TurnPrinter({ screen: this.#screen, now: () => performance.now(), originOf })
    this.#endForeign = foreign.showBy((line) => this.#screen.print(styled`${FOREIGN}${line}`))
  }

  start(): void {
    process.once('exit', this.#tidyUp)
    this.#printer.start()
  }

  addEarlier({ calls }: Earlier): void {
    this.#printer.addCalls(calls)
  }

  event(event: TurnEvent): void {
    this.#printer.event(event)
  }

  note(line: Styled): void {
    this.#screen.print(line)
  }

  end(): void {
    process.off('exit', this.#tidyUp)
    this.#endForeign()
    this.#printer.stop()
  }
}

const PROGRESS_EVERY_MS = 1000

/** For programs and pipes: text and lines, in their order. */
class LinePrinter implements RunPrinter {
  readonly #outputs: Outputs
  readonly #originOf: OriginOf
  readonly #piece = new VisibleStream()
  readonly #calls = new Map<string, { readonly tool: string; readonly at: number }>()
  readonly #handlers: EventHandlers = {
    'model.start': ({ path }) => {
      if (path === undefined) this.#streamed = false
    },
    'text.delta': ({ path, data }) => {
      if (path === undefined) this.#text(data.text)
    },
    'model.end': ({ path, data }) => {
      this.#addCalls(data.content.filter((part) => part.type === 'tool-call'))
      if (path === undefined && !this.#streamed)
        for (const part of data.content) if (part.type === 'text') this.#text(part.text)
      this.#endLine()
      this.#noteRetry(data.error ?? {})
    },
    'tool.start': (event) => {
      const { callId, tool, args } = event.data
      this.#calls.set(callId, { tool, at: performance.now() })
      const call = `${toolText(tool)} ${argumentsText(args)}`.trim()
      const isBefore = this.#earlier !== undefined && isEarlier(this.#earlier, event)
      this.note(dim(isBefore ? `· ${call} · started before this command` : `→ ${call}`))
    },
    'tool.progress': ({ data: { callId, tool, progress } }) => {
      const now = performance.now()
      if (now - (this.#progressAt.get(callId) ?? Number.NEGATIVE_INFINITY) < PROGRESS_EVERY_MS) return
      this.#progressAt.set(callId, now)
      this.note(dim(`· ${toolText(tool)} ${progressText(progress)}`))
    },
    'tool.end': ({ data }) => {
      const { tool, at } = this.#calls.get(data.callId) ?? { tool: 'call', at: performance.now() }
      const origin = this.#originOf?.(tool)
      const end = { ...data, tool, origin, args: null, tookMs: performance.now() - at }
      this.note(callLines(end, columnsOf(this.#outputs.err)))
    },
    warning: ({ data }) => this.note(yellow(`! ${oneLine(data.message)}`)),
  }
  /** The time of the last progress line by call, to limit their rate. */
  readonly #progressAt = new Map<string, number>()
  #earlier: Earlier | undefined
  #streamed = false
  #isMidLine = false

  constructor(outputs: Outputs, originOf: OriginOf) {
    this.#outputs = outputs
    this.#originOf = originOf
  }

  start(): void {}

  addEarlier(earlier: Earlier): void {
    this.#earlier = earlier
    this.#addCalls(earlier.calls)
  }

  #addCalls(calls: readonly KnownCall[]): void {
    for (const { callId, tool } of calls) this.#calls.set(callId, { tool, at: performance.now() })
  }

  event(event: TurnEvent): void {
    const handle = this.#handlers[event.type] as ((event: TurnEvent) => void) | undefined
    handle?.(event)
  }

  note(line: Styled): void {
    this.#endLine()
    this.#outputs.err.write(styled`${line}\n`)
  }

  end(): void {
    this.#endLine()
  }

  #text(text: string): void {
    if (text !== '') this.#streamed = true
    this.#print(this.#piece.add(text))
  }

  #print(shown: string): void {
    if (shown === '') return
    this.#outputs.out.write(prose(shown))
    this.#isMidLine = !shown.endsWith('\n')
  }

  #endLine(): void {
    this.#print(this.#piece.end())
    if (this.#isMidLine) this.#outputs.out.write(styled`\n`)
    this.#isMidLine = false
  }

  #noteRetry({ message, next }: { readonly message?: Json; readonly next?: Json }): void {
    if (typeof message === 'string' && next !== 'fail') this.note(yellow(retryText(message)))
  }
}
