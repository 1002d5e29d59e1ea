/** The matches of a search, collected from the records of `rg --json` in bounded memory. Reads no files. */
import { isUtf8 } from 'node:buffer'

/** Matching lines that are kept: of all files, and of one. */
const MOST_MATCHES = 200
const MOST_OF_FILE = 20
/** Bytes of lines that are kept. */
const MOST_BYTES = 40_000
/** Bytes of one line. A longer one is cut around its first match. */
const MOST_LINE_BYTES = 400

/** The part of a line that is shown. */
export interface FoundLine {
  readonly number: number
  readonly isMatch: boolean
  readonly bytes: Buffer
  /** Where `bytes` begins in the file, after a byte order mark, as UTF-8. */
  readonly offset: number
  readonly cutBefore: boolean
  readonly cutAfter: boolean
}

export interface FileMatches {
  /** From the folder that was searched. */
  readonly path: string
  /** False: `path` has replacement characters and leads nowhere. */
  readonly isUtf8: boolean
  /** All matching lines, also those that are not in `lines`. */
  matches: number
  readonly lines: FoundLine[]
}

/** Lines of context before and after each match. */
export const CONTEXT_LINES = 1

export class SearchMatches {
  readonly #found: FileMatches[] = []
  #matches = 0
  #files = 0
  #tooLong = 0
  #isComplete = false
  #kept = 0
  #keptBytes = 0
  #keptOfFile = 0
  /** The file of the last record; undefined once nothing more is kept. */
  #file: FileMatches | undefined
  /** The context before the next match. */
  #before: FoundLine | undefined

  get found(): readonly FileMatches[] {
    return this.#found
  }

  /** All matching lines. */
  get matches(): number {
    return this.#matches
  }

  /** All files with matches. */
  get files(): number {
    return this.#files
  }

  /** Matching lines that are not kept because of their length. */
  get tooLong(): number {
    return this.#tooLong
  }

  /** Ripgrep has reached its end. */
  get isComplete(): boolean {
    return this.#isComplete
  }

  /** Adds a record of `rg --json`, or the beginning of one. */
  add(bytes: Buffer): void {
    const type = TYPES.get(bytes.subarray(0, TYPE_LENGTH).toString('latin1'))
    if (type === undefined) this.#isComplete ||= isSummary(bytes)
    else if (type === 'begin') this.#begin(bytes)
    else if (type === 'match') this.#addMatch(bytes)
    else if (type === 'context' && this.#file !== undefined) this.#addContext(this.#file, bytes)
  }

  #begin(bytes: Buffer): void {
    this.#files += 1
    this.#before = undefined
    this.#keptOfFile = 0
    this.#file = this.#isFull() ? undefined : fileOf(bytes)
    if (this.#file !== undefined) this.#found.push(this.#file)
  }

  #addMatch(bytes: Buffer): void {
    const before = this.#before
    this.#before = undefined
    this.#matches += 1
    const file = this.#file
    if (file === undefined) return
    file.matches += 1
    if (this.#isFull() || this.#keptOfFile >= MOST_OF_FILE) return
    const line = lineOf(bytes, true)
    if (line === undefined) {
      this.#tooLong += 1
      return
    }
    if (before !== undefined) this.#keep(file, before)
    this.#kept += 1
    this.#keptOfFile += 1
    this.#keep(file, line)
  }

  /** Context is kept if the match before it is, or the one after it. */
  #addContext(file: FileMatches, bytes: Buffer): void {
    const line = lineOf(bytes, false)
    if (line === undefined) return
    const last = file.lines.at(-1)
    if (last?.isMatch && line.number <= last.number + CONTEXT_LINES) this.#keep(file, line)
    else this.#before = line
  }

  #keep(file: FileMatches, line: FoundLine): void {
    file.lines.push(line)
    this.#keptBytes += line.bytes.length
  }

  #isFull(): boolean {
    return this.#kept >= MOST_MATCHES || this.#keptBytes >= MOST_BYTES
  }
}

/** The beginnings of records: the type is their first field. */
const TYPES: ReadonlyMap<string, string> = new Map(
  ['begin', 'match', 'context', 'end'].map((type) => [`{"type":"${type}"`.slice(0, 13), type]),
)
const TYPE_LENGTH = 13

/** A text, or base64 where it is not valid UTF-8. */
type RgText = { readonly text: string } | { readonly bytes: string }

interface LineData {
  readonly lines: RgText
  readonly line_number: number
  readonly absolute_offset: number
}

/** The last record. Its fields come in another order. */
function isSummary(bytes: Buffer): boolean {
  try {
    return (JSON.parse(bytes.toString('utf8')) as { readonly type?: unknown }).type === 'summary'
  } catch {
    return false
  }
}

function bytesOf(text: RgText): Buffer {
  return 'text' in text ? Buffer.from(text.text) : Buffer.from(text.bytes, 'base64')
}

function fileOf(record: Buffer): FileMatches {
  const { data } = JSON.parse(record.toString('utf8')) as { readonly data: { readonly path: RgText } }
  const bytes = bytesOf(data.path)
  return {
    path: bytes.toString('utf8').replace(/^\.\//, ''),
    isUtf8: isUtf8(bytes),
    matches: 0,
    lines: [],
  }
}

/** Comes after the line. Quotes inside of texts are escaped, so no text contains it. */
const SUBMATCHES = ',"submatches":['
const FIRST_START = /\},"start":(\d+)/

/** Undefined if the record was cut before its line ended. A list of many submatches may be cut. */
function lineOf(record: Buffer, isMatch: boolean): FoundLine | undefined {
  const end = record.indexOf(SUBMATCHES)
  if (end === -1) return undefined
  const { data } = JSON.parse(`${record.toString('utf8', 0, end)}}}`) as { readonly data: LineData }
  const whole = withoutEnd(bytesOf(data.lines))
  const start = FIRST_START.exec(record.toString('latin1', end))?.[1]
  const [from, to] = windowOf(whole, Number(start ?? 0))
  return {
    number: data.line_number,
    isMatch,
    // A copy: a part of the record would keep the whole record in memory.
    bytes: Buffer.from(whole.subarray(from, to)),
    offset: data.absolute_offset + from,
    cutBefore: from > 0,
    cutAfter: to < whole.length,
  }
}

function withoutEnd(line: Buffer): Buffer {
  const end = line.at(-1) === 0x0a ? line.length - 1 : line.length
  return line.subarray(0, line[end - 1] === 0x0d ? end - 1 : end)
}

/** The part of a line around a match, from one character's beginning to another's. */
function windowOf(line: Buffer, at: number): [number, number] {
  if (line.length <= MOST_LINE_BYTES) return [0, line.length]
  const from = Math.max(0, Math.min(at - MOST_LINE_BYTES / 4, line.length - MOST_LINE_BYTES))
  return [characterAt(line, from), characterAt(line, from + MOST_LINE_BYTES)]
}

/** The beginning of the character that the byte at `index` belongs to. */
function characterAt(bytes: Buffer, index: number): number {
  let start = index
  while (start > 0 && start > index - 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start -= 1
  return start
}
