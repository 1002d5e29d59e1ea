/** SEARCH/REPLACE blocks: from text to blocks, and from one content to the next. Pure; knows no files. */
import { nearestText } from './nearest-text.ts'

export interface Block {
  readonly search: string
  readonly replace: string
  /** REPLACE has no line at all: the text is deleted, with its line break if it is whole lines. */
  readonly isDeletion: boolean
}

export interface Replaced {
  readonly content: string
  /** For each block: how often its text occurs from where it was looked for, up to 100. The first was replaced. */
  readonly occurrences: readonly number[]
}

/** The blocks cannot be used, and nothing may be written. The message says which one, and why. */
class BlockError extends Error {
  constructor(block: number, sentence: string) {
    super(`Nothing was written. Block ${block}: ${sentence}`)
    this.name = 'BlockError'
  }
}

const FORMAT = `Use this format, each marker alone on its line:
------- SEARCH
the exact text to find
=======
the text to replace it with
+++++++ REPLACE`

type Marker = 'search' | 'divider' | 'replace'

function markerOf(line: string): Marker | undefined {
  if (/^(-{7}|<{7}) SEARCH\s*$/.test(line)) return 'search'
  if (/^={7}\s*$/.test(line)) return 'divider'
  return /^(\+{7}|>{7}) REPLACE\s*$/.test(line) ? 'replace' : undefined
}

/** A marker with a mistake in it would otherwise end up in the file. */
function isAlmostMarker(line: string): boolean {
  return markerOf(line) === undefined && /^\s*([-<]{3,}\s*SEARCH|[+>]{3,}\s*REPLACE)\b\W*$/i.test(line)
}

export function parseBlocks(diff: string): readonly Block[] {
  const parser = new Parser()
  for (const line of (isCrlf(diff) ? withLf(diff) : diff).split('\n')) parser.read(line)
  return parser.end()
}

class Parser {
  readonly #blocks: Block[] = []
  #state: 'outside' | 'search' | 'replace' = 'outside'
  #search: string[] = []
  #replace: string[] = []

  read(line: string): void {
    const marker = markerOf(line)
    if (isAlmostMarker(line)) throw this.#wrong(`${JSON.stringify(line)} is almost a marker. ${FORMAT}`)
    if (this.#state === 'outside') this.#readOutside(line, marker)
    else if (this.#state === 'search') this.#readSearch(line, marker)
    else this.#readReplace(line, marker)
  }

  end(): readonly Block[] {
    if (this.#state === 'search') throw this.#wrong(`it has no "=======" and no "+++++++ REPLACE". ${FORMAT}`)
    if (this.#state === 'replace') throw this.#wrong(`it does not end with "+++++++ REPLACE". ${FORMAT}`)
    if (this.#blocks.length === 0) throw this.#wrong(`there is none. ${FORMAT}`)
    return this.#blocks
  }

  #readOutside(line: string, marker: Marker | undefined): void {
    if (marker === 'search') this.#state = 'search'
    else if (line.trim() !== '')
      throw this.#wrong(
        `"------- SEARCH" was expected instead of ${JSON.stringify(line.slice(0, 200))}. ${FORMAT}`,
      )
  }

  #readSearch(line: string, marker: Marker | undefined): void {
    if (marker === undefined) this.#search.push(line)
    else if (marker === 'divider') this.#state = 'replace'
    else throw this.#wrong(`"=======" is missing before ${JSON.stringify(line)}. ${FORMAT}`)
  }

  #readReplace(line: string, marker: Marker | undefined): void {
    if (marker === undefined) this.#replace.push(line)
    else if (marker === 'replace') this.#endBlock()
    else if (marker === 'search') throw this.#wrong(`"+++++++ REPLACE" is missing. ${FORMAT}`)
    else
      throw this.#wrong(
        'it has two lines "=======", so it is not clear where REPLACE begins. Leave that line out of both parts, or write the whole file with write_to_file.',
      )
  }

  #endBlock(): void {
    const search = this.#search.join('\n')
    if (search === '')
      throw this.#wrong('SEARCH is empty. Give the text to find, or write the whole file with write_to_file.')
    this.#blocks.push({ search, replace: this.#replace.join('\n'), isDeletion: this.#replace.length === 0 })
    this.#search = []
    this.#replace = []
    this.#state = 'outside'
  }

  #wrong(sentence: string): BlockError {
    return new BlockError(this.#blocks.length + 1, sentence)
  }
}

/** Each block replaces the first occurrence after the one before it. All of them apply, or none. */
export function applyBlocks(content: string, blocks: readonly Block[]): Replaced {
  const hasCrlf = isCrlf(content)
  const adapted = (text: string): string => (hasCrlf ? text.replaceAll(/\r?\n/g, '\r\n') : text)
  const parts: string[] = []
  const occurrences: number[] = []
  let from = 0
  for (const [index, { search, replace, isDeletion }] of blocks.entries()) {
    const wanted = adapted(search)
    const at = content.indexOf(wanted, from)
    if (at === -1) throw notFound({ content, wanted, index, from })
    const end = at + wanted.length
    parts.push(content.slice(from, at), adapted(replace))
    occurrences.push(countOf(content, wanted, from))
    from = isDeletion ? afterLine(content, at, end) : end
  }
  return { content: parts.join('') + content.slice(from), occurrences }
}

/** Every line break is CRLF, and there is one. */
function isCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(^|[^\r])\n/.test(text)
}

/** Behind the line break after whole lines; `end` if it is a part of a line. */
function afterLine(content: string, at: number, end: number): number {
  // A byte order mark is no part of the first line.
  const start = content.startsWith('\uFEFF') ? 1 : 0
  if (at > start && content[at - 1] !== '\n') return end
  if (content.startsWith('\r\n', end)) return end + 2
  return content[end] === '\n' ? end + 1 : end
}

/** Thousands of blocks with a short text that fills the file would count for minutes. */
export const MOST_COUNTED = 100

function countOf(content: string, wanted: string, from: number): number {
  let count = 0
  for (let at = from; count < MOST_COUNTED; at += wanted.length) {
    at = content.indexOf(wanted, at)
    if (at === -1) break
    count += 1
  }
  return count
}

function withLf(text: string): string {
  return text.replaceAll('\r\n', '\n')
}

interface Missing {
  readonly content: string
  readonly wanted: string
  readonly index: number
  /** The end of the block before. */
  readonly from: number
}

function notFound({ content, wanted, index, from }: Missing): BlockError {
  const before = content.indexOf(wanted)
  if (before !== -1)
    return new BlockError(
      index + 1,
      `its SEARCH occurs only before the end of block ${index}${before + wanted.length > from ? ', which it overlaps' : ''}. Give the blocks in the order of the file, without overlap.`,
    )
  if (withLf(content).includes(withLf(wanted)))
    return new BlockError(
      index + 1,
      'its SEARCH occurs, but with other line breaks (CRLF or LF). Search for single lines, in a block each, or write the whole file with write_to_file.',
    )
  return new BlockError(
    index + 1,
    `its SEARCH does not occur in the file. It must match exactly, with all spaces. ${nearestText(content, wanted)}`,
  )
}
