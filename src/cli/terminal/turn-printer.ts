/**
 * A turn as a person sees it: its text as it is written, a line for each call, and while something takes time, what it
 * is and for how long. It prints events and starts nothing.
 */
import type { Json, TurnEvent, TurnOutcome } from 'holdfast'
import { cyan, dim, type Paint, red, type Styled, styled, yellow } from '../gate/styled.ts'
import { argumentsText, callLines, callRows, progressText, toolText } from './call-line.ts'
import { ResultLine } from './result-line.ts'
import type { Screen } from './screen.ts'
import { cut, cutStart, oneLine, spanText, widthOf } from './text.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const TICK_MS = 100
const SILENCE_MS = 200
const MOST_LINES = 6

export interface PrinterOptions {
  readonly screen: Screen
  readonly now: () => number
  /** What was typed while the turn ran, to be shown below. */
  readonly typed?: () => string
  /** Messages that wait for the turn to end. */
  readonly waiting?: () => readonly string[]
}

/** What is done about an event; those that nobody needs to see are left out. */
export type Hearing = {
  readonly [T in TurnEvent['type']]?: (event: Extract<TurnEvent, { readonly type: T }>) => void
}

/** A call as the model asked for it. */
export interface KnownCall {
  readonly callId: string
  readonly tool: string
  readonly args: Json
}

interface RunningCall {
  readonly tool: string
  readonly args: Json
  readonly startedAt: number
  readonly depth: number
  progress?: string
}

export class TurnPrinter {
  readonly #options: PrinterOptions
  readonly #calls = new Map<string, RunningCall>()
  readonly #known = new Map<string, Omit<KnownCall, 'callId'>>()
  readonly #result = new ResultLine({
    call: (call) => this.#options.screen.say(callLines(call, this.#options.screen.columns)),
    text: (text) => this.#stream(text),
  })
  readonly #hearing: Hearing = {
    'model.start': ({ path }) => {
      if (path === undefined) this.#streamed = false
      this.#begin('thinking')
    },
    'text.delta': ({ path, data }) => {
      if (path !== undefined) return
      this.#streamed = true
      this.#result.stream(data.text)
    },
    'call.delta': ({ path, data }) => {
      if (path !== undefined) return
      this.#result.release()
      this.#options.screen.endStream()
      this.#doing = `calling ${toolText(data.tool)}`
    },
    'model.end': (event) => this.#endReply(event),
    'tool.start': ({ path, data: { callId, tool, args } }) => {
      this.#result.release()
      this.#options.screen.endStream()
      this.#calls.set(callId, { tool, args, startedAt: this.#options.now(), depth: path?.length ?? 0 })
    },
    'tool.progress': ({ data: { callId, progress } }) => {
      const call = this.#calls.get(callId)
      if (call !== undefined) call.progress = progressText(progress)
    },
    'tool.end': (event) => this.#endCall(event),
    warning: ({ data }) => this.#say(`! ${oneLine(data.message)}`, yellow),
  }
  #since: number
  #doing = 'thinking'
  #streamed = false
  #streamedAt = 0
  #frame = 0
  #notice = ''
  #timer: NodeJS.Timeout | undefined

  constructor(options: PrinterOptions) {
    this.#options = options
    this.#since = options.now()
  }

  /** Calls that were asked for in an earlier turn. */
  know(calls: readonly KnownCall[]): void {
    for (const { callId, tool, args } of calls) this.#known.set(callId, { tool, args })
  }

  start(): void {
    this.#timer = setInterval(() => this.tick(), TICK_MS)
    this.tick()
  }

  /** A line below what runs, until it is over. */
  announce(notice: string): void {
    this.#notice = notice
    this.tick()
  }

  event(event: TurnEvent): void {
    const hear = this.#hearing[event.type] as ((event: TurnEvent) => void) | undefined
    hear?.(event)
    this.tick()
  }

  /** Takes the changing lines away and says how it ended, if that is worth a line. */
  end(outcome: TurnOutcome): void {
    this.stop()
    const { reason, error, limit } = outcome
    if (reason === 'failed') this.#say(`✗ ${oneLine(error?.message ?? 'The turn failed.')}`, red)
    if (reason === 'cancelled') this.#say('— cancelled', dim)
    if (reason === 'max-iterations' || reason === 'limit')
      this.#say(`— stopped by the limit on ${limit ?? 'iterations'}; /continue goes on`, yellow)
  }

  stop(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#result.release()
    this.#options.screen.endStream()
    this.#options.screen.setLive([])
  }

  tick(): void {
    if (this.#timer === undefined) return
    this.#frame = (this.#frame + 1) % FRAMES.length
    const { screen, now } = this.#options
    if (screen.isStreaming && now() - this.#streamedAt > SILENCE_MS) screen.settle()
    screen.setLive(this.lines())
  }

  /** What changes: a line for each call that runs, or for the model, and what was typed meanwhile. */
  lines(): Styled[] {
    const { screen, now, typed, waiting } = this.#options
    const columns = screen.columns - 1
    const spinner = cyan(FRAMES[this.#frame] ?? '')
    const line = (text: string, rest: string, depth = 0) => {
      const indent = '  '.repeat(depth)
      const shown = cut(text, columns - 2 - indent.length)
      const room = columns - 2 - indent.length - widthOf(shown)
      return styled`${indent}${spinner} ${shown}${dim(cut(rest, room))}`
    }
    const at = now()
    const calls = [...this.#calls.values()].map(({ tool, args, startedAt, progress, depth }) => {
      const what = progress ?? argumentsText(args)
      return line(toolText(tool), `  ${spanText(at - startedAt)}${what === '' ? '' : `  ${what}`}`, depth)
    })
    const more = calls.length - MOST_LINES
    const doing = calls.slice(0, MOST_LINES)
    if (more > 0) doing.push(dim(`  and ${more} more`))
    const alone = [line(this.#doing, `  ${spanText(at - this.#since)}`)]
    const text = typed?.() ?? ''
    const { call } = this.#result
    return [
      ...(call === undefined ? [] : callRows(call, columns)),
      ...(calls.length > 0 ? doing : alone),
      ...(this.#notice === '' ? [] : [dim(cut(`  ${this.#notice}`, columns))]),
      ...(waiting?.() ?? []).map((message) => dim(cut(`» ${oneLine(message)}`, columns))),
      ...(text === '' ? [] : [styled`${dim('›')} ${cutStart(oneLine(text), columns - 2)}`]),
    ]
  }

  #begin(doing: string): void {
    this.#doing = doing
    this.#since = this.#options.now()
  }

  #endReply({ path, data }: Extract<TurnEvent, { type: 'model.end' }>): void {
    const { screen } = this.#options
    this.know(data.content.filter((part) => part.type === 'tool-call'))
    if (path === undefined && !this.#streamed)
      for (const part of data.content) if (part.type === 'text') this.#result.stream(part.text)
    if (path === undefined) {
      this.#result.release()
      screen.endStream()
    }
    const { message, next } = data.error ?? {}
    if (typeof message === 'string' && next !== 'fail')
      this.#say(`! ${oneLine(message)} Trying again.`, yellow)
    this.#begin('working')
  }

  #endCall({ data, path }: Extract<TurnEvent, { type: 'tool.end' }>): void {
    const { now } = this.#options
    const call = this.#calls.get(data.callId)
    this.#calls.delete(data.callId)
    const started = call === undefined ? {} : { tookMs: now() - call.startedAt }
    const { tool = 'call', args = null } = call ?? this.#known.get(data.callId) ?? {}
    const shown = { tool, args, depth: path?.length ?? 0 }
    this.#result.end({ ...data, ...shown, ...started })
    this.#begin('working')
  }

  #stream(text: string): void {
    this.#streamedAt = this.#options.now()
    this.#options.screen.stream(text)
  }

  #say(text: string, paint: Paint): void {
    this.#result.release()
    this.#options.screen.tell(text, paint)
  }
}
