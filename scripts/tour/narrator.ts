/**
 * Prints the tour: headings, typed lines, turns as the chat shows them, and claims. It waits while people read, and stops
 * waiting when the tour is left.
 */
import { setTimeout as wait } from 'node:timers/promises'
import type { RequestData, Store, Turn, TurnEvent, TurnOutcome } from 'holdfast'
import type { Entry, EntryData } from 'holdfast/journal'
import { requestSource } from '../../src/cli/request-source.ts'
import { optionLines, questionOf } from '../../src/cli/terminal/question-lines.ts'
import { Screen } from '../../src/cli/terminal/screen.ts'
import { type KnownCall, TurnPrinter } from '../../src/cli/terminal/turn-printer.ts'
import { wrapText } from '../../src/cli/terminal/word-wrap.ts'
import {
  bold,
  cyan,
  dim,
  green,
  joinLines,
  NOTHING,
  type Output,
  red,
  styled,
  yellow,
} from '../../src/terminal/index.ts'
import type { Claim } from './claims.ts'
import { KEY } from './tour-context.ts'

/** Milliseconds at pace 1. */
const PACE = { letter: 22, sent: 250, event: 120, question: 900, claim: 1500 }
const WIDEST = 100

export interface NarratorOptions {
  readonly out: Output
  /** 1 for people, 0 for programs. */
  readonly pace: number
  /** Aborts when the person skips the tour. */
  readonly signal: AbortSignal
}

/** A claim of the tour does not hold. */
export class FalseClaim extends Error {}

export class Narrator {
  readonly #out: Output
  readonly #pace: number
  readonly #signal: AbortSignal
  readonly #screen: Screen

  constructor({ out, pace, signal }: NarratorOptions) {
    this.#out = out
    this.#pace = pace
    this.#signal = signal
    this.#screen = new Screen({
      get columns() {
        return Math.min(out.columns || 80, WIDEST)
      },
      get rows() {
        return out.rows
      },
      write: (text) => out.write(text),
    })
  }

  title(text: string): void {
    this.#screen.printText(text, bold)
  }

  printText(text: string): void {
    this.#screen.printText(text)
  }

  aside(text: string): void {
    this.#screen.printText(text, dim)
  }

  heading(title: string): void {
    this.#screen.print(NOTHING)
    this.#screen.print(bold(title))
  }

  warn(text: string): void {
    this.#screen.printText(text, yellow)
  }

  alarm(text: string): void {
    this.#screen.printText(text, (line) => red(bold(line)))
  }

  /** A line as if the person typed it. */
  async type(text: string): Promise<void> {
    this.#out.write(styled`${cyan('›')} `)
    for (const letter of text) {
      this.#out.write(bold(letter))
      await this.#wait(PACE.letter)
    }
    this.#out.write(styled`\n`)
    await this.#wait(PACE.sent)
  }

  /** A turn of this process, as the chat shows it. */
  async turn(turn: Turn): Promise<TurnOutcome> {
    await this.#print(turn)
    const outcome = await turn.outcome
    if (outcome.reason === 'failed')
      this.#screen.printText(`✗ ${outcome.error?.message ?? 'The turn failed.'}`, red)
    return outcome
  }

  /** The entries of another process, read from the journal; `before` has the earlier requested calls. */
  async follow(entries: AsyncIterable<Entry>, before: readonly Entry[]): Promise<void> {
    const calls = before.flatMap(({ type, data }) =>
      type === 'tool.start' ? [data as unknown as EntryData['tool.start']] : [],
    )
    await this.#print(entries as AsyncIterable<unknown> as AsyncIterable<TurnEvent>, calls)
  }

  async #print(events: AsyncIterable<TurnEvent>, known: readonly KnownCall[] = []): Promise<void> {
    const printer = new TurnPrinter({ screen: this.#screen, now: () => performance.now() })
    printer.addCalls(known)
    if (this.#out.isTTY) printer.start()
    try {
      for await (const event of events) {
        printer.event(event)
        if (event.type === 'tool.end') await this.#wait(PACE.event)
      }
    } finally {
      printer.stop()
    }
  }

  /** A request as the chat shows it, read from the journal. */
  async question(request: RequestData, store: Store): Promise<void> {
    const asked = await requestSource(store, KEY, request)
    const { lines } = questionOf(request, asked, this.#screen)
    this.#screen.print(joinLines([...lines, ...optionLines(request, this.#screen.columns)]))
    await this.#wait(PACE.question)
  }

  /** Prints a claim; throws `FalseClaim` if it does not hold. */
  async claim({ holds, head, because }: Claim): Promise<void> {
    const paint = holds ? green : red
    const [first = '', ...rest] = wrapText(`${head}: ${because}`, this.#screen.columns - 2)
    const lines = [
      styled`${paint(holds ? '●' : '✗')} ${paint(bold(first.slice(0, head.length)))}${first.slice(head.length)}`,
      ...rest.map((line) => styled`  ${line}`),
    ]
    this.#screen.print(joinLines(lines))
    if (!holds) throw new FalseClaim(head)
    await this.#wait(PACE.claim)
  }

  /** Time to see something happen. */
  pause(ms: number): Promise<void> {
    return this.#wait(ms)
  }

  async #wait(ms: number): Promise<void> {
    this.#signal.throwIfAborted()
    if (this.#pace > 0) await wait(ms * this.#pace, undefined, { signal: this.#signal })
  }
}
