/**
 * Measures and cuts text for a screen. Text is escaped before it is measured, because that is how it will be printed.
 */
import { visible } from 'holdfast/terminal'

/** Text of several lines on one: each run of breaks, tabs and spaces becomes a space. */
export function oneLine(text: string): string {
  return visible(trimBlank(text.replaceAll('\r\n', '\n').replace(/[\n\t ]+/g, ' ')))
}

/** The line after a failed attempt that is followed by another. Messages of the network end without a period. */
export function retryText(message: string): string {
  const text = oneLine(message)
  return `! ${text}${/[.!?…]$/.test(text) ? '' : '.'} Trying again.`
}

/** `1 turn`, `2 turns`. */
export function counted(count: number, one: string, many: string = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** Without breaks, tabs and spaces around it. */
export function trimBlank(text: string): string {
  return text.replace(/^[\n\t ]+/, '').replace(/(?<![\n\t ])[\n\t ]+$/, '')
}

const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' })
const WIDE =
  /\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\u303e\u3041-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6]|[\u{20000}-\u{3fffd}]/u
const PLAIN = /^[\x20-\x7e]*$/

/** Columns that a text of one line takes. */
export function widthOf(text: string): number {
  if (PLAIN.test(text)) return text.length
  let sum = 0
  for (const { width } of graphemesOf(visible(text))) sum += width
  return sum
}

interface Grapheme {
  readonly segment: string
  /** In columns. */
  readonly width: number
}

/** The characters of a visible text, as a person counts them. */
export function* graphemesOf(text: string): Generator<Grapheme> {
  for (const { segment } of graphemes.segment(text)) yield { segment, width: widthOfGrapheme(segment) }
}

function widthOfGrapheme(segment: string): number {
  if (/^\p{M}+$/u.test(segment) || segment === '\u200b') return 0
  return WIDE.test(segment) || segment.includes('\ufe0f') ? 2 : 1
}

/** The start of the text that fits, with `…` if it was cut. */
export function cut(text: string, columns: number): string {
  if (columns <= 0) return ''
  const shown = visible(text)
  if (widthOf(shown) <= columns) return shown
  return `${startOf(shown, columns - 1)}…`
}

/** The end of the text that fits. */
export function cutStart(text: string, columns: number): string {
  const shown = visible(text)
  if (widthOf(shown) <= columns) return shown
  const kept: string[] = []
  let sum = 1
  for (const { segment, width } of [...graphemesOf(shown)].reverse()) {
    sum += width
    if (sum > columns) break
    kept.unshift(segment)
  }
  return `…${kept.join('')}`
}

/** As much of the start as fits into so many columns. */
function startOf(text: string, columns: number): string {
  let sum = 0
  let start = ''
  for (const { segment, width } of graphemesOf(text)) {
    sum += width
    if (sum > columns) break
    start += segment
  }
  return start
}

/**
 * Rows that no terminal makes longer than `columns`, however it measures: other than ASCII counts twice. Breaks are kept,
 * and nothing but the width decides where else a row ends.
 */
export function hardWrap(text: string, columns: number): string[] {
  return text.split('\n').flatMap((line) => {
    const rows = ['']
    let width = 0
    for (const { segment } of graphemes.segment(line)) {
      const most = PLAIN.test(segment) ? 1 : 2 * Array.from(segment).length
      if (width + most > columns && width > 0) {
        rows.push('')
        width = 0
      }
      rows[rows.length - 1] += segment
      width += most
    }
    return rows
  })
}

export function padEnd(text: string, columns: number): string {
  return visible(text) + ' '.repeat(Math.max(0, columns - widthOf(text)))
}

/** A duration as text. */
export function spanText(ms: number): string {
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)}s`
  const seconds = Math.round(ms / 1000)
  if (seconds < 60) return `${seconds}s`
  const minutes = Math.floor(seconds / 60)
  return minutes < 60
    ? `${minutes}m ${String(seconds % 60).padStart(2, '0')}s`
    : `${Math.floor(minutes / 60)}h ${String(minutes % 60).padStart(2, '0')}m`
}
