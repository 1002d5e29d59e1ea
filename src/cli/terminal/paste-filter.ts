/**
 * Tells what is typed from what is pasted. Terminals that were asked to put marks around a paste do; what is between
 * them is handed on as one text, so that its line breaks are not taken for the Enter key.
 */

const START = '\x1b[200~'
const END = '\x1b[201~'
/** An escape alone is a key; from here on it can only be a mark. */
const SURE = 3

export interface PasteFilterOptions {
  readonly onKeys: (text: string) => void
  readonly onPaste: (text: string) => void
}

export class PasteFilter {
  readonly #options: PasteFilterOptions
  #held = ''
  #pasted: string[] | undefined

  constructor(options: PasteFilterOptions) {
    this.#options = options
  }

  add(chunk: string): void {
    let text = this.#held + chunk
    this.#held = ''
    while (text !== '') {
      const mark = this.#pasted === undefined ? START : END
      const at = text.indexOf(mark)
      const before = at < 0 ? this.#withoutHalfMark(text, mark) : text.slice(0, at)
      this.#pass(before)
      if (at < 0) return
      if (this.#pasted === undefined) this.#pasted = []
      else this.#finish()
      text = text.slice(at + mark.length)
    }
  }

  #pass(text: string): void {
    if (this.#pasted !== undefined) this.#pasted.push(text)
    else if (text !== '') this.#options.onKeys(text)
  }

  #finish(): void {
    const text = this.#pasted?.join('') ?? ''
    this.#pasted = undefined
    this.#options.onPaste(text)
  }

  /** Holds back what may be the first part of a mark. */
  #withoutHalfMark(text: string, mark: string): string {
    const least = this.#pasted === undefined ? SURE : 1
    for (let length = Math.min(mark.length - 1, text.length); length >= least; length--) {
      if (!text.endsWith(mark.slice(0, length))) continue
      this.#held = text.slice(-length)
      return text.slice(0, -length)
    }
    return text
  }
}
