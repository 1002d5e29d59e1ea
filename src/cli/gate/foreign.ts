/**
 * The output of tools, configs and libraries, printed with `console.log` or to a stream of the process. It is taken line
 * by line and shown where it disturbs nothing: on standard error, or by the part that draws the screen at that time.
 */
import { StringDecoder } from 'node:string_decoder'
import { prose, type Styled } from './styled.ts'

type Show = (line: Styled) => void

/** The part of a Node stream that is taken over. */
export interface ForeignStream {
  write(chunk: unknown, ...rest: unknown[]): unknown
}

const LONGEST_LINE = 64 * 1024

export class ForeignText {
  readonly #ends: (() => void)[] = []
  #show: Show

  /** @param show what is done with a line while nobody else shows it */
  constructor(show: Show) {
    this.#show = show
  }

  /** From now on this one shows the lines, until it is called off. */
  showBy(show: Show): () => void {
    const before = this.#show
    this.#show = show
    return () => {
      if (this.#show === show) this.#show = before
    }
  }

  /** Takes what others write to the stream from now on. */
  take(stream: ForeignStream): void {
    const decoder = new StringDecoder('utf8')
    let rest = ''
    const say = (line: string) => this.#show(prose(line))
    this.#ends.push(() => {
      if (rest !== '') say(rest)
      rest = ''
    })
    // The console colours what it prints to a terminal, and here colours would be seen as text.
    Object.assign(stream, { getColorDepth: () => 1, hasColors: () => false })
    stream.write = (chunk: unknown, ...more: unknown[]): true => {
      const lines = (rest + decoder.write(bytesOf(chunk, more[0]))).split('\n')
      rest = lines.pop() ?? ''
      for (const line of lines) say(line.replace(/\r$/, ''))
      if (rest.length > LONGEST_LINE) {
        say(rest)
        rest = ''
      }
      const done = more.find((each) => typeof each === 'function')
      if (done !== undefined) process.nextTick(done)
      return true
    }
  }

  /** A whole text, such as a warning. */
  say(text: string): void {
    for (const line of text.split('\n')) this.#show(prose(line))
  }

  /** Shows lines that have no end. */
  end(): void {
    for (const end of this.#ends) end()
  }
}

function bytesOf(chunk: unknown, encoding: unknown): Buffer {
  if (chunk instanceof Uint8Array) return Buffer.from(chunk)
  return Buffer.from(String(chunk), typeof encoding === 'string' ? (encoding as BufferEncoding) : 'utf8')
}
