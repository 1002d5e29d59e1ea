/** From the text of a page to passages: whole sentences where they fit, with a small overlap. Knows no document. */
import { HoldfastError } from '../protocol/index.ts'

/** Offsets in the text of a page. */
export interface Chunk {
  readonly start: number
  readonly end: number
}

/** Cuts a page into passages. It gets one page at a time, so no passage crosses a page. */
export interface Chunker {
  /** Changes whenever the same page would be cut differently: documents are then indexed again. */
  readonly id: string
  /** In order of their start. A page without text has none. */
  chunk(page: string): readonly Chunk[]
}

export interface SentenceChunkerOptions {
  /** The most characters of a passage. Default: 512. */
  readonly size?: number
  /** The most characters that two passages share. Default: 50. */
  readonly overlap?: number
}

const SIZE = 512
const OVERLAP = 50
const SMALLEST_SIZE = 16

/** Passages end with a sentence if one ends in them, else between two words, else anywhere but inside a character. */
export function sentenceChunker({ size = SIZE, overlap = OVERLAP }: SentenceChunkerOptions = {}): Chunker {
  checkSizes(size, overlap)
  return { id: `sentences-1:${size}:${overlap}`, chunk: (page) => chunkPage(page, size, overlap) }
}

function checkSizes(size: number, overlap: number): void {
  const isValid =
    Number.isSafeInteger(size) &&
    size >= SMALLEST_SIZE &&
    Number.isSafeInteger(overlap) &&
    overlap >= 0 &&
    overlap <= size / 2
  if (isValid) return
  throw new HoldfastError('invalid-option', {
    message: `size must be a whole number from ${SMALLEST_SIZE} on, and overlap one from 0 to half of size, not ${size} and ${overlap}.`,
    details: { option: 'size' },
  })
}

function chunkPage(page: string, size: number, overlap: number): readonly Chunk[] {
  const cut = (start: number): Chunk => ({ start, end: trimEnd(page, start, endOf(page, start, size)) })
  const chunks: Chunk[] = []
  for (let next = skipSpace(page, 0); next < page.length; ) {
    const before = chunks.at(-1)
    const shared = before && cut(overlapStart(page, { ...before, next, overlap }))
    // A passage with an overlap may end too early to bring anything new.
    const chunk = shared !== undefined && shared.end > next ? shared : cut(next)
    chunks.push(chunk)
    next = skipSpace(page, chunk.end)
  }
  return chunks
}

function endOf(page: string, start: number, size: number): number {
  if (page.length - start <= size) return page.length
  const window = page.slice(start, start + size)
  // The next character decides whether the last word and the last sentence are whole.
  const end = sentenceEnd(window) ?? wordEnd(page.slice(start, start + size + 1))
  return start + (end ?? characterEnd(window))
}

const SENTENCES = new Intl.Segmenter('und', { granularity: 'sentence' })

/** A single line break is part of a sentence: files and PDFs break lines anywhere. An empty line ends a paragraph. */
function sentenceEnd(window: string): number | undefined {
  const flat = window.replaceAll(/(?<!\n[^\S\n]*)\r?\n(?![^\S\n]*\r?\n)/g, (gap) => ' '.repeat(gap.length))
  let last: number | undefined
  for (const { index, segment } of SENTENCES.segment(flat)) {
    // The last segment goes on behind the window.
    if (index + segment.length === flat.length) break
    if (segment.trim() !== '') last = index + segment.trimEnd().length
  }
  return last
}

function wordEnd(window: string): number | undefined {
  const found = /^.*\S(?=\s)/su.exec(window)
  return found === null ? undefined : found[0].length
}

/** Without half of a surrogate pair. */
function characterEnd(window: string): number {
  const isHalf = /[\uD800-\uDBFF]$/.test(window)
  return isHalf ? window.length - 1 : window.length
}

interface Cut {
  readonly start: number
  readonly end: number
  /** The start of a passage without an overlap. */
  readonly next: number
  readonly overlap: number
}

/** The first word that begins in the last characters of the passage before. */
function overlapStart(page: string, { start, end, next, overlap }: Cut): number {
  const from = Math.max(start + 1, end - overlap)
  const word = /(?<=\s)\S/u.exec(page.slice(from - 1, next))
  return word === null ? next : from - 1 + word.index
}

function skipSpace(page: string, from: number): number {
  const space = /\S/gu
  space.lastIndex = from
  return space.exec(page)?.index ?? page.length
}

function trimEnd(page: string, start: number, end: number): number {
  return start + page.slice(start, end).trimEnd().length
}
