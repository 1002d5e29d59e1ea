/**
 * The lower end of a terminal: text that stays, and below it a few lines that change until something is over. Whatever
 * changes is drawn in one write over what was there, so nothing flickers. It does not know what the lines are about.
 */
import { WordWrap, wrapText } from './word-wrap.ts'

export interface Output {
  readonly columns?: number | undefined
  write(text: string): unknown
}

const HIDE_CURSOR = '\x1b[?25l'
const SHOW_CURSOR = '\x1b[?25h'
const NARROWEST = 10

export class Screen {
  readonly #output: Output
  #live: readonly string[] = []
  #wrap: WordWrap | undefined
  /** Line breaks at the end of the streamed text, held back: a blank line at the end of a reply says nothing. */
  #breaks = ''
  #isHidden = false

  constructor(output: Output) {
    this.#output = output
  }

  get columns(): number {
    // Some terminals say that they have none.
    return Math.max(NARROWEST, this.#output.columns || 80)
  }

  /** Prose that stays, broken between words. */
  tell(text: string, paint: (line: string) => string = (line) => line): void {
    this.say(wrapText(text, this.columns).map(paint).join('\n'))
  }

  /** Whole lines that stay. What is being streamed ends before them. */
  say(text: string): void {
    const end = this.#endText()
    const live = this.#live
    this.#output.write(`${end}${this.#erased()}${text}\n`)
    this.#draw(live)
  }

  /** Text as it arrives, broken between words. The changing lines go away until it has ended. */
  stream(text: string): void {
    const erased = this.#erased()
    this.#wrap ??= new WordWrap(() => this.columns)
    const whole = this.#breaks + (this.#wrap.isAtStart && this.#breaks === '' ? text.trimStart() : text)
    const kept = whole.trimEnd()
    this.#breaks = whole.slice(kept.length)
    const out = erased + this.#showCursor() + this.#wrap.add(kept)
    if (out !== '') this.#output.write(out)
  }

  get isStreaming(): boolean {
    return this.#wrap !== undefined
  }

  /** Shows what is held back of the streamed text: more is long in coming. */
  settle(): void {
    const rest = this.#wrap?.flush() ?? ''
    if (rest !== '') this.#output.write(rest)
  }

  endStream(): void {
    const end = this.#endText()
    if (end !== '') this.#output.write(end)
  }

  /** The lines that change; none to take them away. Not shown while text is being streamed. */
  setLive(lines: readonly string[]): void {
    if (this.isStreaming) return
    if (lines.length === 0) {
      const erased = this.#erased() + this.#showCursor()
      if (erased !== '') this.#output.write(erased)
    } else this.#draw(lines)
  }

  #draw(lines: readonly string[]): void {
    if (lines.length === 0 || same(lines, this.#live)) return
    const up = this.#live.length > 1 ? `\x1b[${this.#live.length - 1}A` : ''
    const start = this.#live.length > 0 ? `\r${up}` : ''
    const rest = this.#live.length > lines.length ? '\x1b[J' : ''
    const hide = this.#isHidden ? '' : HIDE_CURSOR
    this.#isHidden = true
    this.#output.write(`${hide}${start}${lines.map((line) => `${line}\x1b[K`).join('\n')}${rest}`)
    this.#live = lines
  }

  #erased(): string {
    const { length } = this.#live
    this.#live = []
    return length === 0 ? '' : `\r${length > 1 ? `\x1b[${length - 1}A` : ''}\x1b[J`
  }

  #showCursor(): string {
    if (!this.#isHidden) return ''
    this.#isHidden = false
    return SHOW_CURSOR
  }

  #endText(): string {
    if (this.#wrap === undefined) return ''
    const rest = this.#wrap.flush()
    const end = this.#wrap.isAtStart ? rest : `${rest}\n`
    this.#wrap = undefined
    this.#breaks = ''
    return end
  }
}

function same(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((line, index) => line === b[index])
}
