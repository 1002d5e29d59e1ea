/** Text of models and tools as a person can trust it: invisible and reordering characters are shown by their codes. */
import { isObject, type Json } from './types.ts'

/** Controls but tab and line feed, zero-width characters, and those that reorder a line. */
const INVISIBLE =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: these are what is looked for
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u00AD\u061C\u180E\u200B-\u200F\u2028-\u202E\u2060-\u2069\uFEFF\uFFF9-\uFFFB]|[\u{E0000}-\u{E007F}]/gu

export function visible(text: string): string {
  return text.replace(/\r\n/g, '\n').replace(INVISIBLE, (each) => {
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
