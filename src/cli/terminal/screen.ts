/**
 * The lower end of a terminal: permanent text, and below it a few live lines. A change is drawn in one write over the old
 * lines, so nothing flickers. It does not know the meaning of the lines.
 */
import {
  cursorUp,
  ERASE_BELOW,
  ERASE_LINE_END,
  HIDE_CURSOR,
  joinLines,
  LINE_START,
  NOTHING,
  prose,
  SHOW_CURSOR,
  type Styled,
  styled,
  VisibleStream,
  WRAP_OFF,
  WRAP_ON,
} from 'holdfast/terminal'
import { WordWrap, wrapText } from './word-wrap.ts'

export interface ScreenOutput {
  readonly columns?: number | undefined
  readonly rows?: number | undefined
  write(text: Styled): unknown
}

const NARROWEST = 10

export class Screen {
  readonly #output: ScreenOutput
  readonly #piece = new VisibleStream()
  #live: readonly Styled[] = []
  #wrap: WordWrap | undefined
  /** Line breaks at the end of the streamed text, held back: a reply must not end with blank lines. */
  #breaks = ''
  #isHidden = false

  constructor(output: ScreenOutput) {
    this.#output = output
  }

  get columns(): number {
    // Some terminals report zero columns.
    return Math.max(NARROWEST, this.#output.columns || 80)
  }

  get rows(): number {
    return this.#output.rows || 24
  }

  /** Prints permanent prose, wrapped between words. */
  printText(text: string, paint: (line: string) => Styled = (line) => styled`${line}`): void {
    this.print(joinLines(wrapText(text, this.columns).map(paint)))
  }

  /** Prints permanent lines. Streamed text ends before them. */
  print(text: Styled): void {
    const end = this.#endText()
    const live = this.#live
    this.#output.write(styled`${end}${this.#erased()}${text}\n`)
    this.#draw(live)
  }

  /** Prints text as it arrives, wrapped between words. The live lines are hidden until it ends. */
  stream(text: string): void {
    this.#add(this.#piece.add(text))
  }

  #add(text: string): void {
    if (text === '') return
    const erased = this.#erased()
    this.#wrap ??= new WordWrap(() => this.columns)
    const whole = this.#breaks + (this.#wrap.isAtStart && this.#breaks === '' ? text.trimStart() : text)
    const kept = whole.trimEnd()
    this.#breaks = whole.slice(kept.length)
    this.#output.write(styled`${erased}${this.#showCursor()}${prose(this.#wrap.add(kept))}`)
  }

  get isStreaming(): boolean {
    return this.#wrap !== undefined
  }

  /** Shows the held back end of the streamed text when the next piece is late. */
  settle(): void {
    this.#output.write(prose(this.#wrap?.flush() ?? ''))
  }

  endStream(): void {
    this.#output.write(this.#endText())
  }

  /**
   * Replaces the live lines; an empty list removes them. Not shown while text is streamed. Shows the last ones that fit,
   * below one free row: a line that has left the screen cannot be erased, and some terminals keep a screen that is erased whole.
   */
  setLive(lines: readonly Styled[]): void {
    if (this.isStreaming) return
    if (lines.length === 0) this.#output.write(styled`${this.#erased()}${this.#showCursor()}`)
    else this.#draw(lines.slice(-Math.max(1, this.rows - 1)))
  }

  /** In one write, without wrapping: a terminal that measures characters otherwise must not break a line. */
  #draw(lines: readonly Styled[]): void {
    if (lines.length === 0 || same(lines, this.#live)) return
    const start = this.#live.length > 0 ? styled`${LINE_START}${cursorUp(this.#live.length - 1)}` : NOTHING
    const rest = this.#live.length > lines.length ? ERASE_BELOW : NOTHING
    const hide = this.#isHidden ? NOTHING : HIDE_CURSOR
    this.#isHidden = true
    const drawn = joinLines(lines.map((line) => styled`${line}${ERASE_LINE_END}`))
    this.#output.write(styled`${hide}${start}${WRAP_OFF}${drawn}${WRAP_ON}${rest}`)
    this.#live = lines
  }

  #erased(): Styled {
    const { length } = this.#live
    this.#live = []
    return length === 0 ? NOTHING : styled`${LINE_START}${cursorUp(length - 1)}${ERASE_BELOW}`
  }

  #showCursor(): Styled {
    if (!this.#isHidden) return NOTHING
    this.#isHidden = false
    return SHOW_CURSOR
  }

  #endText(): Styled {
    this.#add(this.#piece.end())
    if (this.#wrap === undefined) return NOTHING
    const rest = this.#wrap.flush()
    const end = this.#wrap.isAtStart ? rest : `${rest}\n`
    this.#wrap = undefined
    this.#breaks = ''
    return prose(end)
  }
}

function same(a: readonly Styled[], b: readonly Styled[]): boolean {
  return a.length === b.length && a.every((line, index) => line.rendered(true) === b[index]?.rendered(true))
}
