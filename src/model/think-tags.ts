/** Splits a text that begins with `<think>…</think>`, as local models write it, into reasoning and text. */

export interface Piece {
  readonly type: 'text' | 'reasoning'
  readonly text: string
}

const TAGS = ['think', 'thinking', 'reasoning']
const OPENING = TAGS.map((tag) => `<${tag}>`)

/**
 * One block of text. Characters that may belong to a tag are held until it is known. A tag counts only at the start of the
 * text, so an answer may speak of tags; reasoning without an end stays reasoning.
 */
export class ThinkTags {
  #state: 'start' | 'reasoning' | 'after' | 'text' = 'start'
  #held = ''
  /** Before the first other character. Kept apart: a model can repeat blanks for a long time, and each is read once. */
  #blanks = ''
  #closing = ''

  /** True once all that follows is text. */
  get isText(): boolean {
    return this.#state === 'text'
  }

  add(delta: string): Piece[] {
    if (this.#state === 'text') return piece('text', delta)
    this.#held += delta
    return this.#read()
  }

  /** The characters that are held, once no more can come. */
  end(): Piece[] {
    const rest = this.#blanks + this.#held
    this.#blanks = ''
    this.#held = ''
    return piece(this.#state === 'reasoning' ? 'reasoning' : 'text', rest)
  }

  #read(): Piece[] {
    if (this.#state === 'start') this.#readStart()
    if (this.#state === 'reasoning') return this.#readReasoning()
    if (this.#state === 'after') this.#readAfter()
    return this.#state === 'text' ? this.#release('text', this.#held.length) : []
  }

  #readStart(): void {
    const begin = this.#held.trimStart()
    this.#blanks += this.#held.slice(0, this.#held.length - begin.length)
    this.#held = begin
    const lower = lowered(begin)
    const tag = OPENING.find((opening) => lower.startsWith(opening))
    if (tag !== undefined) {
      this.#state = 'reasoning'
      this.#blanks = ''
      this.#held = begin.slice(tag.length)
      this.#closing = tag.replace('<', '</')
    } else if (!OPENING.some((opening) => opening.startsWith(lower))) {
      this.#state = 'text'
      this.#held = this.#blanks + begin
      this.#blanks = ''
    }
  }

  #readReasoning(): Piece[] {
    const lower = lowered(this.#held)
    const end = lower.indexOf(this.#closing)
    if (end < 0) return this.#release('reasoning', this.#held.length - tailOf(lower, this.#closing))
    const reasoning = piece('reasoning', this.#held.slice(0, end))
    this.#held = this.#held.slice(end + this.#closing.length)
    this.#state = 'after'
    return [...reasoning, ...this.#read()]
  }

  /** The blank lines between a tag and the answer belong to neither. */
  #readAfter(): void {
    this.#held = this.#held.trimStart()
    if (this.#held !== '') this.#state = 'text'
  }

  #release(type: Piece['type'], length: number): Piece[] {
    const text = this.#held.slice(0, length)
    this.#held = this.#held.slice(length)
    return piece(type, text)
  }
}

function piece(type: Piece['type'], text: string): Piece[] {
  return text === '' ? [] : [{ type, text }]
}

/** In lower case, at the same positions: other letters than those of tags may become longer. */
function lowered(text: string): string {
  return text.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase())
}

/** The length of the longest end of `text` that may begin `tag`. */
function tailOf(text: string, tag: string): number {
  let length = Math.min(tag.length - 1, text.length)
  while (length > 0 && !tag.startsWith(text.slice(-length))) length -= 1
  return length
}
