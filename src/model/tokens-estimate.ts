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
  /** The first character. */
  readonly code: number
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
    tokens += COSTS[kind]({
      kind,
      length: end - at,
      code: text.charCodeAt(at),
      before,
      after: kindAt(text, end),
    })
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
  letter: ({ length, code }) => length * (LETTERS[code >> 7] ?? 1) + 0.2,
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

/** Tokens of a letter, by blocks of 128 characters: a tokenizer knows few words of some scripts, and cuts others into bytes. */
const SCRIPTS: readonly (readonly [block: number, tokens: number])[] = [
  [0x300, 0.4], // Greek
  [0x400, 0.34], // Cyrillic, Armenian
  [0x580, 0.44], // Hebrew
  [0x600, 0.36], // Arabic
  [0x700, 2.2],
  [0x900, 0.34], // Devanagari
  [0x980, 0.36], // Bengali
  [0xa00, 0.53], // Gurmukhi
  [0xa80, 0.39], // Gujarati
  [0xb00, 1.15], // Odia
  [0xb80, 0.34], // Tamil
  [0xc00, 0.53], // Telugu
  [0xc80, 0.38], // Kannada, Malayalam
  [0xd80, 0.6], // Sinhala
  [0xe00, 0.49], // Thai
  [0xe80, 1.95], // Lao
  [0xf00, 1.55], // Tibetan
  [0x1000, 0.57], // Burmese
  [0x1080, 0.32], // Georgian
  [0x1100, 2.3], // Ethiopic
  [0x1380, 3.2],
  [0x1780, 0.64], // Khmer
  [0x1800, 3.2],
  [0x1e00, 0.28], // Vietnamese
  [0x1f00, 1.1], // polytonic Greek
]

const LETTERS: readonly number[] = Array.from(
  { length: 64 },
  (_, block) => SCRIPTS.findLast(([first]) => first <= block * 128)?.[1] ?? 0,
)

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
