/**
 * What the gate promises, written a second time by code points and without the gate's code: which characters may be
 * printed, and how the others are written.
 */

type Range = readonly [first: number, last: number]

/** Characters that are never printed as they are. Line breaks and tabs are left to the caller. */
const ESCAPED: readonly Range[] = [
  [0x00, 0x1f],
  [0x7f, 0x9f],
  [0xad, 0xad],
  [0x34f, 0x34f],
  [0x61c, 0x61c],
  [0x115f, 0x1160],
  [0x17b4, 0x17b5],
  [0x180b, 0x180f],
  [0x200b, 0x200f],
  [0x2028, 0x202e],
  [0x2060, 0x206f],
  [0x3164, 0x3164],
  [0xd800, 0xdfff],
  [0xfe00, 0xfe0f],
  [0xfeff, 0xfeff],
  [0xffa0, 0xffa0],
  [0xfff0, 0xfffb],
  [0xe0000, 0xe0fff],
]

/** The only texts in which such a character stays: emoji, whole or in pieces of a stream, and a Persian word. */
const KEPT = ['👍🏽', '👩‍👩‍👧', '👩‍👩', '👩‍👧', 'ی‌خ', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', 'می‌خواهم']
const MOST_MARKS = 8

/** The text as the gate should print it, with its line breaks and tabs. */
export function reference(text: string): string {
  let out = ''
  let marks = 0
  const rest = text.replaceAll('\r\n', '\n')
  for (let at = 0; at < rest.length; ) {
    const kept = KEPT.find((each) => rest.startsWith(each, at))
    if (kept !== undefined) {
      out += kept
      at += kept.length
      marks = 0
      continue
    }
    const code = rest.codePointAt(at) ?? 0
    const char = String.fromCodePoint(code)
    at += char.length
    marks = code >= 0x300 && code < 0x370 ? marks + 1 : 0
    const isEscaped = (char !== '\n' && char !== '\t' && isObeyed(code)) || marks > MOST_MARKS
    out += isEscaped ? `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>` : char
  }
  return out
}

function isObeyed(code: number): boolean {
  return ESCAPED.some(([first, last]) => code >= first && code <= last)
}

/** Codes that the terminal itself prints: colours, the cursor, erasing, and what the line editor of Node draws. */
const ESC = '\u001b'
const OWN_CODES = new RegExp(`${ESC}\\[(?:\\d{1,2}m|\\d*[ABCDGJK]|\\?(?:25|7|2004)[hl])|\\r`, 'g')

/** Characters of an output that no output may have, after the codes that are ours. */
export function leaks(output: string): string[] {
  const plain = KEPT.reduce((text, kept) => text.replaceAll(kept, ''), output.replaceAll(OWN_CODES, ''))
  return Array.from(plain)
    .filter((char) => char !== '\n' && char !== '\t' && isObeyed(char.codePointAt(0) ?? 0))
    .map((char) => `U+${(char.codePointAt(0) ?? 0).toString(16)}`)
}
