/** How text sits on a screen: what may be shown, how wide it is, and how it is cut to fit. */

/** Characters that move the cursor, ring, hide or turn others around. Line breaks and tabs are meant. */
const UNSHOWN = /[\p{Cc}\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu

/**
 * Text from models, tools and files, without anything that a terminal would obey. Of a colour code only the escape goes:
 * it may come in pieces, and what is left shows that something was there.
 */
export function clean(text: string): string {
  return text
    .replaceAll('\r\n', '\n')
    .replace(UNSHOWN, (char) => (char === '\n' ? '\n' : char === '\t' ? '  ' : ''))
}

/** The same on one line. */
export function oneLine(text: string): string {
  return clean(text).replace(/\s+/g, ' ').trim()
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u
const PLAIN = /^[\x20-\x7e]*$/

/** Columns that a text without line breaks takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let width = 0
  for (const { segment } of graphemes.segment(text)) width += widthOfGrapheme(segment)
  return width
}

function widthOfGrapheme(segment: string): number {
  if (/^\p{M}+$/u.test(segment) || segment === '\u200b') return 0
  return WIDE.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}

/** The start of the text that fits, with `…` where something is left out. */
export function cut(text: string, columns: number): string {
  if (columns <= 0) return ''
  if (widthOf(text) <= columns) return text
  return `${startOf(text, columns - 1)}…`
}

/** The end of the text that fits. */
export function cutStart(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text
  const kept: string[] = []
  let width = 1
  for (const segment of [...graphemes.segment(text)].reverse().map((each) => each.segment)) {
    width += widthOfGrapheme(segment)
    if (width > columns) break
    kept.unshift(segment)
  }
  return `…${kept.join('')}`
}

/** As much of the start as fits into so many columns. */
export function startOf(text: string, columns: number): string {
  let width = 0
  let start = ''
  for (const { segment } of graphemes.segment(text)) {
    width += widthOfGrapheme(segment)
    if (width > columns) break
    start += segment
  }
  return start
}

export function padEnd(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

/** How long something took or takes. */
export function spanText(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`
    : `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`
}
