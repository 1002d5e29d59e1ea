/**
 * The line of a call that ended well, held back until the reply begins: a result that the reply repeats is printed once,
 * in the reply. It does not know how lines are printed.
 */
import { type CallEnd, resultText } from './call-line.ts'
import { oneLine } from './text.ts'

interface Printer {
  readonly call: (call: CallEnd) => void
  readonly text: (text: string) => void
}

export class ResultLine {
  readonly #print: Printer
  #call: CallEnd | undefined
  #text = ''

  constructor(print: Printer) {
    this.#print = print
  }

  /** The call whose line is not printed yet. */
  get call(): CallEnd | undefined {
    return this.#call
  }

  /** Holds the line of this call; one that did not end well is printed at once. */
  end(call: CallEnd): void {
    this.release()
    if (call.status === 'ok') this.#call = call
    else this.#print.call(call)
  }

  /** A piece of the reply. */
  stream(text: string): void {
    this.#text += text
    if (this.#call === undefined || comparison(this.#text, this.#call) !== 'undecided') this.release()
  }

  /** Prints the held line: nothing follows that could repeat the result. */
  release(): void {
    const call = this.#call
    const text = this.#text
    this.#call = undefined
    this.#text = ''
    if (call !== undefined) this.#print.call(repeats(text, call) ? { ...call, isRepeated: true } : call)
    if (text !== '') this.#print.text(text)
  }
}

/** True if a text begins with the result of a call. */
export function repeats(text: string, call: CallEnd): boolean {
  return oneLine(text) === resultText(call) || comparison(text, call) === 'repeated'
}

function comparison(text: string, call: CallEnd): 'repeated' | 'different' | 'undecided' {
  const result = resultText(call)
  const reply = oneLine(text)
  if (result === '') return 'different'
  if (reply.length <= result.length) return result.startsWith(reply) ? 'undecided' : 'different'
  const isWhole = reply.startsWith(result) && !/^[\p{L}\p{N}]/u.test(reply.slice(result.length))
  return isWhole ? 'repeated' : 'different'
}
