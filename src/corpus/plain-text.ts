/** Text files, Markdown among them, and the cleaning that the text of every page gets. */
import { DocumentError, type ParsedDocument } from './parser.ts'

const MARKS: readonly (readonly [bytes: readonly number[], encoding: string])[] = [
  [[0xef, 0xbb, 0xbf], 'utf-8'],
  [[0xff, 0xfe], 'utf-16le'],
  [[0xfe, 0xff], 'utf-16be'],
]

/** By its byte order mark, else as UTF-8, else as `fallback`. Throws for bytes that are no text. */
export function decodeText(bytes: Uint8Array, fallback = 'windows-1252'): string {
  const marked = MARKS.find(([mark]) => mark.every((byte, at) => bytes[at] === byte))
  if (marked !== undefined) return new TextDecoder(marked[1]).decode(bytes)
  if (bytes.subarray(0, 8192).includes(0))
    throw new DocumentError('malformed', 'The file is no text: it has zero bytes.')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch {
    return new TextDecoder(fallback).decode(bytes)
  }
}

// Both begin with the run of blanks: from each of its places, a long run would take the square of its length.
const BLANKS_AT_LINE_END = /(?<![^\S\n])[^\S\n]+(?=\n|$)/g
const CLOSING_SIGNS = /(?<!\s)\s+#+\s*$/

/** Composed characters, `\n` as the line end, no control characters, no spaces at line ends, at most one empty line. */
export function cleanText(text: string): string {
  return text
    .toWellFormed()
    .normalize('NFC')
    .replaceAll(/\r\n?|[\u2028\u2029\v\f]/g, '\n')
    .replaceAll(/[^\P{Cc}\n]|[\u00AD\u200B\uFEFF]/gu, (character) => (character === '\t' ? ' ' : ''))
    .replaceAll(BLANKS_AT_LINE_END, '')
    .replaceAll(/\n{3,}/g, '\n\n')
}

export function parseText(bytes: Uint8Array): ParsedDocument {
  return { pages: [decodeText(bytes)], isPaged: false }
}

/** Begins with a field: a rule at the beginning of a text is no metadata. */
const FRONT_MATTER = /^---\n(?=[\w.-]+:\s)([^]*?)\n---(?:\n|$)/
const TITLE_FIELD = /^title:[^\S\n]*(?:"([^"\n]+)"|'([^'\n]+)'|(\S[^\n]*))$/m
const HEADING = /^#[^\S\n]+(\S[^\n]*)$/m

/** The text stays as it is written, so that a quote can be found in the file. */
export function parseMarkdown(bytes: Uint8Array): ParsedDocument {
  const text = decodeText(bytes).replaceAll('\r\n', '\n')
  const matter = FRONT_MATTER.exec(text)
  const field = TITLE_FIELD.exec(matter?.[1] ?? '')
  const body = text.slice(matter?.[0].length ?? 0)
  const title = field?.[1] ?? field?.[2] ?? field?.[3] ?? HEADING.exec(body)?.[1]?.replace(CLOSING_SIGNS, '')
  return { ...(title === undefined ? {} : { title }), pages: [body], isPaged: false }
}
