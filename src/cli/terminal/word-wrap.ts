/**
 * Wraps text between words as it arrives, in pieces of any size. A word is held back until its end is known. Code between
 * fences is not wrapped, so that it can be copied.
 */
import { visibleLines } from 'holdfast/terminal'
import { graphemesOf, widthOf } from './text.ts'

/** A whole text as lines. */
export function wrapText(text: string, columns: number): string[] {
  const wrap = new WordWrap(() => columns)
  return (wrap.add(visibleLines(text)) + wrap.flush()).split('\n')
}

export class WordWrap {
  readonly #columns: () => number
  #column = 0
  /** The word that has no end yet, and the spaces before it. */
  #word = ''
  #spaces = ''
  /** The line so far, to see fences. */
  #line = ''
  #isCode = false
  /** The start of a word longer than a line was written. */
  #isMidWord = false

  /** @param columns the current width of the screen */
  constructor(columns: () => number) {
    this.#columns = columns
  }

  /** True if the cursor is at the start of a line, with nothing held back. */
  get isAtStart(): boolean {
    return this.#column === 0 && this.#word === ''
  }

  /** Returns the text to write now. @param text visible; a tab becomes two spaces */
  add(text: string): string {
    let out = ''
    for (const piece of text.replaceAll('\t', '  ').split(/(\n|[ ]+)/)) {
      if (piece === '') continue
      if (piece === '\n') out += this.#break()
      else if (piece.startsWith(' ')) out += this.#space(piece)
      else this.#word += piece
      if (this.#isCode) out += this.flush()
      else if (this.#isLong()) {
        out += this.flush()
        this.#isMidWord = true
      }
    }
    return out
  }

  /** Returns the held back word, which is complete. */
  flush(): string {
    const word = this.#word
    const spaces = this.#spaces
    this.#word = ''
    this.#spaces = ''
    this.#line += spaces + word
    if (this.#isCode) {
      this.#column += widthOf(word) + spaces.length
      return spaces + word
    }
    if (word === '') return ''
    if (this.#isMidWord) return this.#fill(word)
    const width = widthOf(word)
    if (this.#column + spaces.length + width <= this.#columns() || this.#column === 0)
      return this.#fill(this.#column === 0 && width > this.#columns() ? word : spaces + word)
    this.#column = 0
    return `\n${this.#fill(word)}`
  }

  /** A word that is longer than a line is broken where the line ends. */
  #fill(word: string): string {
    const columns = Math.max(1, this.#columns())
    const wordWidth = widthOf(word)
    if (this.#column + wordWidth <= columns) {
      this.#column += wordWidth
      return word
    }
    let out = ''
    for (const { segment, width } of graphemesOf(word)) {
      const isFull = this.#column > 0 && this.#column + width > columns
      if (isFull) this.#column = 0
      out += isFull ? `\n${segment}` : segment
      this.#column += width
    }
    return out
  }

  #space(spaces: string): string {
    const out = this.flush()
    this.#isMidWord = false
    this.#spaces += spaces
    return out
  }

  #break(): string {
    const out = this.flush()
    if (/^\s*```/.test(this.#line)) this.#isCode = !this.#isCode
    this.#line = ''
    this.#spaces = ''
    this.#column = 0
    this.#isMidWord = false
    return `${out}\n`
  }

  #isLong(): boolean {
    return this.#word.length > this.#columns() * 2
  }
}
