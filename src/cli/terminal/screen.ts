/**
 * The lower end of a terminal: text that stays, and below it a few lines that change until something is over. Whatever
 * changes is drawn in one write over what was there, so nothing flickers. It does not know what the lines are about.
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
  WRAP_OFF,
  WRAP_ON,
} from '../gate/styled.ts'
import { VisibleStream } from '../gate/visible.ts'
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
  /** Line breaks at the end of the streamed text, held back: a blank line at the end of a reply says nothing. */
  #breaks = ''
  #isHidden = false

  constructor(output: ScreenOutput) {
    this.#output = output
  }

  get columns(): number {
    // Some terminals say that they have none.
    return Math.max(NARROWEST, this.#output.columns || 80)
  }

  get rows(): number {
    return this.#output.rows || 24
  }

  /** Prose that stays, broken between words. */
  tell(text: string, paint: (line: string) => Styled = (line) => styled`${line}`): void {
    this.say(joinLines(wrapText(text, this.columns).map(paint)))
  }

  /** Whole lines that stay. What is being streamed ends before them. */
  say(text: Styled): void {
    const end = this.#endText()
    const live = this.#live
    this.#output.write(styled`${end}${this.#erased()}${text}\n`)
    this.#draw(live)
  }

  /** Text as it arrives, broken between words. The changing lines go away until it has ended. */
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

  /** Shows what is held back of the streamed text: more is long in coming. */
  settle(): void {
    this.#output.write(prose(this.#wrap?.flush() ?? ''))
  }

  endStream(): void {
    this.#output.write(this.#endText())
  }

  /** The lines that change; none to take them away. Not shown while text is being streamed. */
  setLive(lines: readonly Styled[]): void {
    if (this.isStreaming) return
    if (lines.length === 0) this.#output.write(styled`${this.#erased()}${this.#showCursor()}`)
    else this.#draw(lines)
  }

  /** In one write, and with each on one line: a terminal that counts characters otherwise must not break them. */
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
