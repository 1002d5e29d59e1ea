/**
 * Prints a turn for a person: its text as it is written, a line for each call, and live lines for running calls with
 * their duration. It prints events and starts nothing.
 */
import type { Json, TurnEvent, TurnOutcome } from 'holdfast'
import { cyan, dim, type Paint, red, type Styled, styled, yellow } from 'holdfast/terminal'
import { failureText } from '../refusal.ts'
import { argumentsText, callLines, callRows, progressText, toolText } from './call-line.ts'
import { ResultLine } from './result-line.ts'
import type { Screen } from './screen.ts'
import { cut, cutStart, oneLine, retryText, spanText, widthOf } from './text.ts'

const FRAMES = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']
const TICK_MS = 100
const SILENCE_MS = 200
const MOST_LINES = 6

export interface PrinterOptions {
  readonly screen: Screen
  readonly now: () => number
  /** The text typed while the turn runs, shown below. */
  readonly typed?: () => string
  /** Messages that wait for the turn to end. */
  readonly waiting?: () => readonly string[]
  /** The origin of a tool that is not the agent's own. */
  readonly originOf?: ((tool: string) => string | undefined) | undefined
}

/** Handlers by event type; other events are not printed. */
export type EventHandlers = {
  readonly [T in TurnEvent['type']]?: (event: Extract<TurnEvent, { readonly type: T }>) => void
}

/** A call as the model requested it. */
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
    call: (call) => this.#options.screen.print(callLines(call, this.#options.screen.columns)),
    text: (text) => this.#stream(text),
  })
  readonly #handlers: EventHandlers = {
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
    warning: ({ data }) => this.#print(`! ${oneLine(data.message)}`, yellow),
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

  /** Adds calls that an earlier turn requested. */
  addCalls(calls: readonly KnownCall[]): void {
    for (const { callId, tool, args } of calls) this.#known.set(callId, { tool, args })
  }

  start(): void {
    this.#timer = setInterval(() => this.tick(), TICK_MS)
    this.tick()
  }

  /** Shows a line below the running calls until the turn ends. */
  announce(notice: string): void {
    this.#notice = notice
    this.tick()
  }

  event(event: TurnEvent): void {
    const handle = this.#handlers[event.type] as ((event: TurnEvent) => void) | undefined
    handle?.(event)
    this.tick()
  }

  /** Removes the live lines and prints the outcome, if it is worth a line. */
  end(outcome: TurnOutcome): void {
    this.stop()
    const { reason, error, limit } = outcome
    if (error?.code === 'nothing-to-continue')
      this.#print('✗ There is nothing to continue. Type a message.', red)
    else if (reason === 'failed') this.#print(`✗ ${oneLine(failureText(error))}`, red)
    if (reason === 'cancelled') this.#print('— cancelled', dim)
    if (reason === 'max-iterations' || reason === 'limit')
      this.#print(`— stopped by the limit on ${limit ?? 'iterations'}; type /continue`, yellow)
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

  /** The live lines: one for each running call, or for the model, and the typed text. */
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
    this.addCalls(data.content.filter((part) => part.type === 'tool-call'))
    if (path === undefined && !this.#streamed)
      for (const part of data.content) if (part.type === 'text') this.#result.stream(part.text)
    if (path === undefined) {
      this.#result.release()
      screen.endStream()
    }
    const { message, next } = data.error ?? {}
    if (typeof message === 'string' && next !== 'fail') this.#print(retryText(message), yellow)
    this.#begin('working')
  }

  #endCall({ data, path }: Extract<TurnEvent, { type: 'tool.end' }>): void {
    const { now } = this.#options
    const call = this.#calls.get(data.callId)
    this.#calls.delete(data.callId)
    const started = call === undefined ? {} : { tookMs: now() - call.startedAt }
    const { tool = 'call', args = null } = call ?? this.#known.get(data.callId) ?? {}
    const shown = { tool, args, depth: path?.length ?? 0, origin: this.#options.originOf?.(tool) }
    this.#result.end({ ...data, ...shown, ...started })
    this.#begin('working')
  }

  #stream(text: string): void {
    this.#streamedAt = this.#options.now()
    this.#options.screen.stream(text)
  }

  #print(text: string, paint: Paint): void {
    this.#result.release()
    this.#options.screen.printText(text, paint)
  }
}
