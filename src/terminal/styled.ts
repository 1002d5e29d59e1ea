/**
 * Printable text: visible characters and codes from this file, and nothing else. Every text is escaped on its way in, so
 * no caller can forget to. A terminal obeys only codes that are made here.
 */
import { visible, visibleLines } from './visible.ts'

export const ESC = '\x1b'

/** A code that a terminal obeys. Colours are left out of an output without colours. */
class Code {
  readonly text: string
  readonly isColour: boolean

  constructor(text: string, isColour = false) {
    this.text = text
    this.isColour = isColour
  }
}

type Part = string | Code

export class Styled {
  readonly #parts: readonly Part[]

  /** The caller has escaped the texts. */
  private constructor(parts: readonly Part[]) {
    this.#parts = parts
  }

  /** Text of several lines: keeps line breaks and tabs. */
  static lines(text: string): Styled {
    return new Styled([visibleLines(text)])
  }

  static code(text: string): Styled {
    if (!CODES.test(text)) throw new Error('This is no code of the gate.')
    return new Styled([new Code(text)])
  }

  static joined(pieces: readonly Styled[], separator?: Styled): Styled {
    const between = separator === undefined ? [] : separator.#parts
    return new Styled(
      pieces.flatMap((piece, at) => (at === 0 ? piece.#parts : [...between, ...piece.#parts])),
    )
  }

  coloured(on: number, off: number): Styled {
    if (this.isEmpty) return this
    return new Styled([new Code(`\x1b[${on}m`, true), ...this.#parts, new Code(`\x1b[${off}m`, true)])
  }

  get isEmpty(): boolean {
    return this.#parts.every((part) => part === '')
  }

  /** For the output that prints it only. */
  rendered(colours: boolean): string {
    return this.#parts
      .map((part) => (typeof part === 'string' ? part : part.isColour && !colours ? '' : part.text))
      .join('')
  }

  /** Without codes. */
  toString(): string {
    return this.#parts.filter((part) => typeof part === 'string').join('')
  }
}

/** The codes for the cursor and the lines that exist; colours are made by `coloured`. */
const CODES = new RegExp(`^(?:\\r|${ESC}\\[(?:\\d+A|[JK]|\\?(?:25|7|2004)[hl]))$`)

/** A literal text with values in it. A value stays on its line: its breaks and tabs are escaped. */
export function styled(
  words: TemplateStringsArray,
  ...values: readonly (string | number | Styled)[]
): Styled {
  return Styled.joined(
    words.flatMap((word, at) => {
      const value = values[at]
      const piece = value instanceof Styled ? value : Styled.lines(visible(String(value ?? '')))
      return [Styled.lines(word), piece]
    }),
  )
}

/** Text of several lines, such as a reply: line breaks and tabs stay. */
export function prose(text: string): Styled {
  return Styled.lines(text)
}

/** Pieces with line breaks between them. */
export function joinLines(lines: readonly Styled[]): Styled {
  return Styled.joined(lines, Styled.lines('\n'))
}

export type Paint = (text: string | Styled) => Styled

function paint(on: number, off: number): Paint {
  return (text) => (text instanceof Styled ? text : styled`${text}`).coloured(on, off)
}

export const bold: Paint = paint(1, 22)
export const dim: Paint = paint(2, 22)
export const red: Paint = paint(31, 39)
export const green: Paint = paint(32, 39)
export const yellow: Paint = paint(33, 39)
export const cyan: Paint = paint(36, 39)

export const NOTHING: Styled = prose('')
export const LINE_START: Styled = Styled.code('\r')
export const ERASE_BELOW: Styled = Styled.code('\x1b[J')
export const ERASE_LINE_END: Styled = Styled.code('\x1b[K')
export const HIDE_CURSOR: Styled = Styled.code('\x1b[?25l')
export const SHOW_CURSOR: Styled = Styled.code('\x1b[?25h')
/** The terminal cuts a line that is too long instead of wrapping it. */
export const WRAP_OFF: Styled = Styled.code('\x1b[?7l')
export const WRAP_ON: Styled = Styled.code('\x1b[?7h')
/** Turns marks around a paste on and off. */
export const PASTE_MARKS_ON: Styled = Styled.code('\x1b[?2004h')
export const PASTE_MARKS_OFF: Styled = Styled.code('\x1b[?2004l')

export function cursorUp(rows: number): Styled {
  return rows > 0 ? Styled.code(`\x1b[${Math.floor(rows)}A`) : NOTHING
}
