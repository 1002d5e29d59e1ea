/**
 * One stream that people or programs read: standard output or standard error. It prints `Styled` text, JSON and the
 * echo of Node's line editor; there is no way to print a plain string.
 */
import { ESC, type Styled } from './styled.ts'
import { visible, visibleJson } from './visible.ts'

/** The part of a Node stream that an output needs. */
export interface OutputStream {
  readonly isTTY?: boolean
  readonly columns?: number
  readonly rows?: number
  /** False once its reader is gone. */
  readonly writable?: boolean
  write(text: string, done?: () => void): unknown
  on(event: string, listener: () => void): unknown
}

/** Codes that node:readline writes: cursor moves, erasing, line ends, and the colours of a prompt. */
const ECHO = new RegExp(`(${ESC}\\[\\d*(?:;\\d*)?[A-DGHJKm]|\\r\\n|\\r|\\n)`)

const LINE_END = new RegExp(`\\n(?:${ESC}\\[[?\\d]*[A-Za-z])*$`)

export class Output {
  readonly #stream: OutputStream
  readonly #write: OutputStream['write']
  readonly #colours: boolean
  #isMidLine = false

  constructor(stream: OutputStream, colours: boolean) {
    this.#stream = stream
    // Bound now: foreign text may replace the stream's own `write` later.
    const write = stream.write.bind(stream)
    this.#write = (text, done) => {
      if (text !== '') this.#isMidLine = !LINE_END.test(text)
      return done === undefined ? write(text) : write(text, done)
    }
    this.#colours = colours
  }

  get isTTY(): boolean {
    return this.#stream.isTTY === true
  }

  /** Nobody reads any more; what is printed is lost. */
  get isClosed(): boolean {
    return this.#stream.writable === false
  }

  get columns(): number | undefined {
    return this.#stream.columns
  }

  get rows(): number | undefined {
    return this.#stream.rows
  }

  write(text: Styled): void {
    const rendered = text.rendered(this.#colours)
    if (rendered !== '') this.#write(rendered)
  }

  /** On a terminal: the next output begins a line. */
  freshLine(): void {
    if (this.isTTY && this.#isMidLine) this.#write('\n')
  }

  /** Prints a value and a line break. It parses to the same value, and holds no character that a terminal obeys. */
  json(value: unknown, indent?: number): void {
    this.#write(`${visibleJson(JSON.stringify(value, undefined, indent))}\n`)
  }

  /** A prompt for the line editor of Node, which passes it to `echo` later. */
  prompt(text: Styled): string {
    return text.rendered(this.#colours)
  }

  /** Prints the output of node:readline. Its line must be `typeable`: codes in it would look like the editor's. */
  echo(drawn: string): void {
    const parts = drawn.split(ECHO).map((part, at) => (at % 2 === 0 ? visible(part) : part))
    this.#write(parts.join(''))
  }

  onResize(listener: () => void): void {
    this.#stream.on('resize', listener)
  }

  /** Resolves when everything was passed to the system. */
  flushed(): Promise<void> {
    return new Promise((done) => {
      this.#write('', () => done())
    })
  }
}
