/**
 * Captures the output of tools, configs and libraries, printed with `console.log` or to a stream of the process. Each
 * line goes to standard error, or to the part that draws the screen at that time.
 */
import { StringDecoder } from 'node:string_decoder'
import { prose, type Styled } from 'holdfast/terminal'

type Show = (line: Styled) => void

/** The captured part of a Node stream. */
export interface ForeignStream {
  write(chunk: unknown, ...rest: unknown[]): unknown
  /** Writes around `write`, and would leave the terminal without its stream. */
  end(...rest: unknown[]): unknown
}

const LONGEST_LINE = 64 * 1024

export class ForeignText {
  readonly #ends: (() => void)[] = []
  #show: Show

  /** @param show prints a line while no `showBy` is active */
  constructor(show: Show) {
    this.#show = show
  }

  /** Sends lines to `show` until the returned function is called. */
  showBy(show: Show): () => void {
    const before = this.#show
    this.#show = show
    return () => {
      if (this.#show === show) this.#show = before
    }
  }

  /** Captures all later writes to the stream. */
  take(stream: ForeignStream): void {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    const print = (line: string) => this.#show(prose(line))
    this.#ends.push(() => {
      if (rest !== '') print(rest)
      rest = ''
    })
    // The console colours its output for a terminal, and the gate would print colour codes as text.
    Object.assign(stream, { getColorDepth: () => 1, hasColors: () => false })
    stream.write = (chunk: unknown, ...more: unknown[]): true => {
      const lines = (rest + decoder.write(bytesOf(chunk, more[0]))).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) print(line.replace(/\r$/, ''))
      if (rest.length > LONGEST_LINE) {
        print(rest)
        rest = ''
      }
      const done = more.find((each) => typeof each === 'function')
      if (done !== undefined) process.nextTick(done)
      return true
    }
    stream.end = (...last: unknown[]): ForeignStream => {
      const [chunk, ...more] = typeof last[0] === 'function' ? ['', ...last] : last
      stream.write(chunk ?? '', ...more)
      return stream
    }
  }

  /** Shows a whole text, such as a warning. */
  print(text: string): void {
    for (const line of text.split('\n')) this.#show(prose(line))
  }

  /** Shows lines that have no line break yet. */
  end(): void {
    for (const end of this.#ends) end()
  }
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer {
  if (chunk instanceof Uint8Array) return Buffer.from(chunk)
  return Buffer.from(String(chunk), typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
}
