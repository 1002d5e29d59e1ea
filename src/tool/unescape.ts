/**
 * The readings of a text: as it is, and with the escapes of JSON and HTML decoded, one inside the other. Every reading
 * maps its positions back to the text.
 */

export interface Reading {
  readonly text: string
  /** The position in the original text. The end of a reading maps to the start of an unfinished escape, if there is one. */
  readonly place: (at: number) => number
}

/** One way to escape a character. */
interface Style {
  readonly sign: string
  /** Also finds an unfinished escape, at the end of the text or before an ellipsis. */
  readonly pattern: RegExp
  /** An unfinished escape decodes to nothing. */
  readonly decode: (escape: string, match: RegExpExecArray) => string
}

const CONTROLS: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t' }
const ENTITIES: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'" }
const LAST_CODE_POINT = 0x10ffff

const STYLES: readonly Style[] = [
  {
    sign: '\\',
    pattern:
      /\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|(["'\\/bfnrt])|(?:u[0-9A-Fa-f]{0,3}|x[0-9A-Fa-f]?)?(?=$|…|\.\.\.))/g,
    decode: (_, [, unit, byte, char]) => {
      if (char !== undefined) return CONTROLS[char] ?? char
      const code = unit ?? byte
      return code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
    },
  },
  {
    sign: '&',
    pattern:
      /&(?:#x([0-9a-f]{1,6});|#(\d{1,7});|(amp|lt|gt|quot|apos);|(?:#(?:x[0-9a-f]{0,6}|\d{0,7})|[a-z]{0,4})(?=$|…|\.\.\.))/gi,
    decode: (escape, [, hex, decimal, name]) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? escape
      if (hex === undefined && decimal === undefined) return ''
      const code = hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)
      return code > LAST_CODE_POINT ? escape : String.fromCodePoint(code)
    },
  },
]

/** JSON in JSON in HTML, and the like. */
const DEPTH = 3

export function hasEscapes(text: string): boolean {
  return STYLES.some(({ sign }) => text.includes(sign))
}

/** Each style is decoded by itself: a text in JSON may have signs of HTML that belong to it. */
export function* readings(text: string, depth: number = DEPTH): Generator<Reading> {
  yield { text, place: (at) => at }
  if (depth === 0) return
  for (const style of STYLES) {
    const decoded = text.includes(style.sign) ? decode(text, style) : undefined
    if (decoded === undefined) continue
    for (const inner of readings(decoded.text, depth - 1))
      yield { text: inner.text, place: (at) => decoded.place(inner.place(at)) }
  }
}

/** Undefined if the text has no escape of this style. */
function decode(text: string, style: Style): Reading | undefined {
  const ends: number[] = []
  const shifts: number[] = []
  let out = ''
  let from = 0
  for (const match of text.matchAll(style.pattern)) {
    const [escape] = match
    out += text.slice(from, match.index)
    // An unfinished escape has no character: its position is that of its start.
    const next = out.length + 1
    out += style.decode(escape, match)
    from = match.index + escape.length
    ends.push(Math.max(next, out.length))
    shifts.push(from - out.length)
  }
  if (ends.length === 0) return undefined
  const place = (at: number): number => at + (shifts[countUpTo(ends, at) - 1] ?? 0)
  return { text: out + text.slice(from), place }
}

/** How many of the ascending numbers are at most `most`. */
function countUpTo(numbers: readonly number[], most: number): number {
  let low = 0
  let high = numbers.length
  while (low < high) {
    const middle = (low + high) >> 1
    if ((numbers[middle] as number) <= most) low = middle + 1
    else high = middle
  }
  return low
}
