/**
 * Foreign text as visible characters. Every character that a terminal obeys, that hides, or that changes how others are
 * seen is written as `<U+001B>`. The result holds none of them, so escaping it again changes nothing.
 *
 * Escaped: controls (C0, DEL, C1), format characters (bidi, zero-width, tags), line and paragraph separators, lone
 * surrogates, characters without a glyph, and more combining marks on one letter than any script has.
 * Kept: emoji with their joiners, joiners between letters of scripts that need them, selectors of ideographs.
 */

const MOST_MARKS = 8
const PICTURE = String.raw`\p{ExtPict}[\p{EMod}\u{FE0E}\u{FE0F}]?`
const JOINING =
  '[' +
  ['Arab', 'Syrc', 'Mong', 'Deva', 'Beng', 'Guru', 'Gujr', 'Orya', 'Taml', 'Telu', 'Knda', 'Mlym', 'Sinh']
    .concat('Khmr', 'Mymr')
    .map((script) => `\\p{sc=${script}}`)
    .join('') +
  ']'
/** Format characters with a glyph: signs over numbers and verses. */
const SEEN_FORMATS = String.raw`[\u{600}-\u{605}\u{6DD}\u{70F}\u{890}\u{891}\u{8E2}\u{110BD}\u{110CD}]`

const KEPT = [
  `${PICTURE}(?:\\u{200D}${PICTURE}){1,7}`,
  String.raw`\p{RGI_Emoji}`,
  PICTURE,
  `(?<=${JOINING})[\\u{200C}\\u{200D}](?=[\\p{L}\\p{M}])`,
  String.raw`(?<=\p{Ideographic})[\u{FE00}-\u{FE02}\u{E0100}-\u{E01EF}]`,
].join('|')
const UNSEEN = String.raw`[[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{DI}]--${SEEN_FORMATS}]`
/** Made when it is needed: it takes longer to make than the rest of this room. */
const characters = lazily(() => new RegExp(`(${KEPT})|${UNSEEN}|(?<=\\p{M}{${MOST_MARKS}})\\p{M}`, 'gv'))

/** Characters that need no look at their neighbours: ASCII, Latin, usual punctuation and currencies. For speed only. */
const PLAIN = String.raw`\x20-\x7e\xa1-\xac\xae-\u02ff\u2010-\u2027\u2030-\u205e\u20a0-\u20bf`
const PLAIN_LINE = new RegExp(`^[${PLAIN}]*$`)
const PLAIN_LINES = new RegExp(`^[${PLAIN}\\n\\t]*$`)

/** Text for one line: line breaks and tabs are escaped, too. */
export function visible(text: string): string {
  return PLAIN_LINE.test(text) ? text : escaped(text, '')
}

/** Text of several lines: line breaks and tabs stay. */
export function visibleLines(text: string): string {
  return PLAIN_LINES.test(text) ? text : escaped(text.replaceAll('\r\n', '\n'), '\n\t')
}

function escaped(text: string, allowed: string): string {
  return text.replace(characters(), (char: string, kept: string | undefined) =>
    kept !== undefined || allowed.includes(char) ? char : codeOf(char),
  )
}

function codeOf(char: string): string {
  return `<U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}>`
}

/** Typed or pasted text without the same characters: the visible text must equal the sent text. */
export function typeable(text: string, allowed = ''): string {
  return text.replace(characters(), (char: string, kept: string | undefined) =>
    kept !== undefined || allowed.includes(char) ? char : '',
  )
}

/** A JSON text in which the same characters stand as `\u001b`. It parses to the same value. */
export function visibleJson(json: string): string {
  return json.replace(characters(), (char: string, kept: string | undefined) =>
    kept !== undefined || char === '\n' ? char : unitsOf(char),
  )
}

function unitsOf(char: string): string {
  return char
    .split('')
    .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
    .join('')
}

const DEEPEST = 100

/** A JSON value on one line, its texts and names escaped before they are quoted. No name is left out. */
export function visibleValue(value: unknown, depth = 0): string {
  if (typeof value === 'string') return JSON.stringify(visible(value))
  if (typeof value !== 'object' || value === null) return visible(String(value))
  if (depth > DEEPEST) return '…'
  if (Array.isArray(value)) return `[${value.map((each) => visibleValue(each, depth + 1)).join(',')}]`
  const fields = Object.entries(value).map(
    ([name, inner]) => `${visibleValue(name)}:${visibleValue(inner, depth + 1)}`,
  )
  return `{${fields.join(',')}}`
}

const MOST_HELD = 32
/**
 * The end of a piece that may belong to a character of the next one: half a pair, a carriage return, emoji, joiners, an
 * ideograph whose selector may follow.
 */
const unfinished = lazily(
  () =>
    new RegExp(
      `\\p{Ideographic}?(?:\\r|[\\p{Cs}\\p{ExtPict}\\p{EMod}\\p{RI}\\p{M}\\u{200C}\\u{200D}\\u{FE0E}\\u{FE0F}\\u{E0020}-\\u{E007F}]|${JOINING}){0,${MOST_HELD}}$`,
      'v',
    ),
)

/** Text that arrives in pieces, which may end in the middle of a character. */
export class VisibleStream {
  #held = ''

  /** The lines so far, without an end that the next piece may complete. */
  add(piece: string): string {
    const text = this.#held + piece
    const end = endOf(text)
    const at = text.length - (unfinished().exec(end)?.[0].length ?? 0)
    this.#held = text.slice(at)
    return visibleLines(text.slice(0, at))
  }

  end(): string {
    const rest = this.#held
    this.#held = ''
    return visibleLines(rest)
  }
}

/** Enough of the end to find an unfinished character, and no half of a pair. */
function endOf(text: string): string {
  const end = text.slice(-2 * MOST_HELD)
  return /^[\udc00-\udfff]/.test(end) ? end.slice(1) : end
}

function lazily<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined
  return () => (made ??= { value: make() }).value
}
