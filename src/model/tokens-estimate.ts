/**
 * Estimates tokens without a tokenizer: by rules per kind of character, because four characters a token is far off for
 * anything but English. Errs on the high side. The rules were fitted to a tokenizer; `tokens.test.ts` checks them against
 * it.
 */

/** `dense`: a character is a word or a syllable. `letter`: of the other scripts that are not Latin. */
type Kind =
  | 'small'
  | 'capital'
  | 'accented'
  | 'digit'
  | 'blank'
  | 'line'
  | 'mark'
  | 'dense'
  | 'hangul'
  | 'letter'
  | 'other'

interface Stretch {
  readonly kind: Kind
  readonly length: number
  readonly before: Kind
  readonly after: Kind
}

/** The usual error for texts of one kind. */
const MARGIN = 1.05

export function estimateText(text: string): number {
  let tokens = 0
  let before: Kind = 'line'
  for (let at = 0; at < text.length; ) {
    const kind = kindAt(text, at)
    const end = endOf(text, at, kind)
    tokens += COSTS[kind]({ kind, length: end - at, before, after: kindAt(text, end) })
    before = kind
    at = end
  }
  return Math.ceil(tokens * MARGIN)
}

/** A capital begins a word, as in the middle of camelCase. */
function endOf(text: string, start: number, kind: Kind): number {
  let end = start + 1
  while (end < text.length && kindAt(text, end) === kind) end++
  if (kind === 'capital') while (end < text.length && kindAt(text, end) === 'small') end++
  return end
}

const COSTS: { readonly [K in Kind]: (stretch: Stretch) => number } = {
  small: word,
  capital: word,
  accented: ({ length }) => length * 0.7,
  digit: ({ length, before }) => Math.ceil(length / 3) + (before === 'blank' ? 0.9 : 0),
  // One blank goes with the word after it.
  blank: ({ length }) => (length > 1 ? 1 : 0),
  line: ({ before }) => (before === 'mark' ? 0.3 : 1),
  mark: ({ length, after }) => (length > 1 ? 1 + (length - 2) * 0.3 : isLatin(after) ? 0.7 : 0.95),
  dense: ({ length }) => length * 0.76,
  hangul: ({ length }) => length * 0.6,
  letter: ({ length }) => length * 0.28 + 0.2,
  other: ({ length }) => length,
}

/** Letters glued to digits or other words are a key, an id or base64, not a word that a tokenizer knows. */
function word({ length, before, after }: Stretch): number {
  const isGlued = (before === 'digit' || isLatin(before)) && after !== 'blank'
  if (isGlued) return length <= 2 ? 1 : length * 0.48
  return length <= 6 ? 1 : 1 + (length - 6) * 0.13
}

function isLatin(kind: Kind): boolean {
  return kind === 'small' || kind === 'capital' || kind === 'accented'
}

const ASCII: readonly Kind[] = Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (/[a-z]/.test(character)) return 'small'
  if (/[A-Z]/.test(character)) return 'capital'
  if (/[0-9]/.test(character)) return 'digit'
  if (/[\n\r]/.test(character)) return 'line'
  return /\s/.test(character) ? 'blank' : 'mark'
})

/** By Unicode blocks. The end of a text counts as the end of a line. */
function kindAt(text: string, at: number): Kind {
  if (at >= text.length) return 'line'
  const code = text.charCodeAt(at)
  const ascii = ASCII[code]
  if (ascii !== undefined) return ascii
  if (code < 0x250) return code >= 0xc0 ? 'accented' : 'other'
  if (code >= 0x370 && code < 0x2000) return 'letter'
  if ((code >= 0x2e80 && code < 0xa000) || (code >= 0xff00 && code < 0xfff0)) return 'dense'
  return code >= 0xac00 && code < 0xd7b0 ? 'hangul' : 'other'
}
