/**
 * A range of lines of an open file, found while the file streams by, up to a bound: at most the range is in memory. A file
 * can be larger than any disk, because its holes take no room.
 */
import { createHash } from 'node:crypto'
import type { FileHandle } from 'node:fs/promises'

export interface RangeOptions {
  /** The lines to skip. */
  readonly offset: number
  /** The most lines to take. */
  readonly limit: number
  /** The most bytes to take. A character that does not fit is left out as a whole. */
  readonly limitBytes: number
  readonly signal: AbortSignal
}

export interface TextRange {
  readonly bytes: Uint8Array
  /** Lines that were taken, the last of them perhaps not to its end. */
  readonly lines: number
  /** The bytes before the range. */
  readonly skipped: number
  /** In the bytes that were read. */
  readonly totalLines: number
  readonly totalBytes: number
  /** Less than `totalBytes` if reading stopped at the bound. */
  readonly bytesRead: number
  /** Of the whole content; undefined if reading stopped before its end. */
  readonly hash: string | undefined
  /** The first bytes of the file. */
  readonly start: Uint8Array
}

const CHUNK = 64 * 1024
const MOST_READ_BYTES = 256 * 1024 * 1024
const NEWLINE = 0x0a
/** Enough to see whether it is text. */
const START = 8 * 1024

export async function readRange(handle: FileHandle, options: RangeOptions): Promise<TextRange> {
  const hash = createHash('sha256')
  const range = new Range(options)
  const buffer = Buffer.alloc(CHUNK)
  let start: Uint8Array = Buffer.alloc(0)
  for (let position = 0; ; ) {
    options.signal.throwIfAborted()
    const { bytesRead } = await handle.read(buffer, 0, CHUNK, position)
    if (bytesRead === 0) {
      const end = range.end()
      return { ...end, totalBytes: end.bytesRead, hash: hash.digest('hex'), start }
    }
    const chunk = buffer.subarray(0, bytesRead)
    if (position === 0) start = Uint8Array.from(chunk.subarray(0, START))
    hash.update(chunk)
    range.add(chunk)
    position += bytesRead
    if (position < MOST_READ_BYTES) continue
    const { size } = await handle.stat()
    if (size > position) return { ...range.end(), totalBytes: size, hash: undefined, start }
  }
}

class Range {
  readonly #options: RangeOptions
  readonly #taken: Buffer[] = []
  #bytes = 0
  #skipped = 0
  /** Line breaks so far. */
  #breaks = 0
  #total = 0
  #last = NEWLINE
  #isFull = false

  constructor(options: RangeOptions) {
    this.#options = options
  }

  add(chunk: Buffer): void {
    const { offset, limit } = this.#options
    let from = 0
    while (from < chunk.length) {
      const found = chunk.indexOf(NEWLINE, from)
      const to = found === -1 ? chunk.length : found + 1
      if (this.#breaks < offset) this.#skipped += to - from
      else if (this.#breaks < offset + limit) this.#take(chunk.subarray(from, to))
      if (found !== -1) this.#breaks += 1
      from = to
    }
    this.#total += chunk.length
    this.#last = chunk[chunk.length - 1] ?? NEWLINE
  }

  end(): Omit<TextRange, 'hash' | 'start' | 'totalBytes'> {
    const joined = Buffer.concat(this.#taken)
    const bytes = this.#isFull ? joined.subarray(0, wholeCharacters(joined)) : joined
    const totalLines = this.#breaks + (this.#last === NEWLINE ? 0 : 1)
    return {
      bytes,
      lines: linesIn(bytes),
      skipped: this.#skipped,
      totalLines,
      bytesRead: this.#total,
    }
  }

  #take(part: Buffer): void {
    const room = this.#options.limitBytes - this.#bytes
    if (this.#isFull || part.length === 0) return
    this.#isFull = part.length > room
    const taken = part.subarray(0, room)
    // A copy: the buffer is used again.
    this.#taken.push(Buffer.from(taken))
    this.#bytes += taken.length
  }
}

/** The length without a UTF-8 character that is cut off at the end. */
export function wholeCharacters(bytes: Uint8Array): number {
  const { length } = bytes
  for (let back = 1; back <= Math.min(4, length); back++) {
    const byte = bytes[length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const needed = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return needed > back ? length - back : length
  }
  return length
}

/** Lines in a text, the last one with or without a line break. */
export function linesIn(bytes: Uint8Array): number {
  let breaks = 0
  for (let at = bytes.indexOf(NEWLINE); at !== -1; at = bytes.indexOf(NEWLINE, at + 1)) breaks += 1
  return breaks + (bytes.length === 0 || bytes[bytes.length - 1] === NEWLINE ? 0 : 1)
}

/** `1 line`, `2 lines`. */
export function counted(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
