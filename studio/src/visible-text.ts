/** Text of models and tools as a person can trust it: invisible and reordering characters are shown by their codes. */
import { isObject, type Json } from './types.ts'

/** Scripts whose letters need joiners. */
const JOINING = 'Arab Syrc Mong Deva Beng Guru Gujr Orya Taml Telu Knda Mlym Sinh Khmr Mymr'
  .split(' ')
  .map((script) => `\\p{sc=${script}}`)
  .join('')

/** Invisible characters at their place: joiners and selectors of emoji, joiners between letters, selectors of ideographs. */
const KEPT = [
  String.raw`\u200D(?<=\p{ExtPict}[\p{EMod}\uFE0F]?\u200D)(?=\p{ExtPict})`,
  String.raw`[\uFE0E\uFE0F](?<=[\p{ExtPict}\d#*][\uFE0E\uFE0F])`,
  String.raw`[\u200C\u200D](?<=[${JOINING}][\u200C\u200D])(?=[\p{L}\p{M}])`,
  String.raw`[\uFE00-\uFE02\u{E0100}-\u{E01EF}](?<=\p{Ideographic}[\uFE00-\uFE02\u{E0100}-\u{E01EF}])`,
].join('|')

/** Format characters with a glyph: signs over numbers and verses. */
const SEEN = String.raw`[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]`

/** Controls but tab and line feed, format characters, and all that have no glyph or reorder a line. */
const INVISIBLE = new RegExp(String.raw`(${KEPT})|(?![\t\n]|${SEEN})[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{DI}]`, 'gu')

export function visible(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(INVISIBLE, (each, kept: string | undefined) => {
    if (kept !== undefined) return each
    const code = (each.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')
    return `⟨U+${code}⟩`
  })
}

/** A text as it is, and everything else as JSON. */
export function jsonText(value: Json | undefined): string {
  if (value === undefined) return ''
  return visible(typeof value === 'string' ? value : JSON.stringify(value, null, 2))
}

/** One line for a list. */
export function shortText(value: Json | undefined, most = 120): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value ?? null)
  const line = visible(text.slice(0, most * 4).replace(/\s+/g, ' ')).trim()
  return line.length > most ? `${line.slice(0, most - 1)}…` : line
}

/** The reason in the result of a call that was refused or failed. */
export function reasonText(output: Json | undefined): string {
  if (!isObject(output)) return jsonText(output)
  const { message, error, reason } = output
  const found = [message, error, reason].find((each) => typeof each === 'string')
  return found === undefined ? jsonText(output) : jsonText(found)
}
