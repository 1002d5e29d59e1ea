/**
 * Inspects a write-ahead log before SQLite does. After a crash SQLite applies the log up to the first broken frame and
 * silently drops the rest, which is right for an interrupted write and wrong for a damaged log: acknowledged commits
 * would vanish, and the next write would destroy the evidence.
 *
 * A broken header is damage with every setting: SQLite syncs the header of a new log before the first frame, with FULL
 * and with NORMAL, and never writes zeros there. A log of zeros alone is what a file system may leave of one that was
 * never synced, so it has no commits.
 */
import { closeSync, openSync, readSync } from 'node:fs'
import { endianness } from 'node:os'

const HEADER = 32
const FRAME_HEADER = 24
const FRAMES_AT_ONCE = 128
const ZEROS_AT_ONCE = 65_536
const MAGIC = 0x377f0682

/** Contents of a log. `lost`: commits after the first broken frame that belong to the same run of the log. */
export interface LogState {
  readonly frames: number
  readonly lost: number
  readonly headerBroken: boolean
}

export function inspectLog(path: string): LogState {
  const nothing = { frames: 0, lost: 0, headerBroken: false }
  const file = tryOpen(path)
  if (file === undefined) return nothing
  try {
    for (let seen = nothing as LogState; ; ) {
      const header = readAt(file, 0, HEADER)
      if (header.length < HEADER || (isZero(header) && isZeroFrom(file, HEADER))) return nothing
      const state = scan(file, header)
      const sound = state.lost === 0 && !state.headerBroken
      // Another process may be writing, or may have restarted the log; real damage stays the same.
      if (readAt(file, 0, HEADER).equals(header) && (sound || isSame(state, seen))) return state
      seen = state
    }
  } finally {
    closeSync(file)
  }
}

function scan(file: number, header: Buffer): LogState {
  const magic = header.readUInt32BE(0)
  const sum = new Sum(magic === MAGIC)
  sum.add(header, 0, 24)
  if ((magic & ~1) >>> 0 !== MAGIC || !sum.isAt(header, 24))
    return { frames: 0, lost: 0, headerBroken: readAt(file, HEADER, FRAME_HEADER).length > 0 }
  return scanFrames(file, header, sum)
}

/** Reads large pieces into one buffer: reading single frames takes longer than summing them. */
function scanFrames(file: number, header: Buffer, sum: Sum): LogState {
  const size = FRAME_HEADER + header.readUInt32BE(8)
  const memory = Buffer.allocUnsafeSlow(size * FRAMES_AT_ONCE)
  let [frames, lost, isBroken] = [0, 0, false]
  for (let at = HEADER; ; at += memory.length) {
    const end = readSync(file, memory, 0, memory.length, at)
    for (let from = 0; from + size <= end; from += size) {
      const isCurrent = memory.compare(header, 16, 24, from + 8, from + 16) === 0
      if (!isBroken) {
        sum.add(memory, from, from + 8)
        sum.add(memory, from + FRAME_HEADER, from + size)
        isBroken = !isCurrent || !sum.isAt(memory, from + 16)
      }
      if (!isBroken) frames += 1
      else if (isCurrent && memory.readUInt32BE(from + 4) > 0) lost += 1
    }
    if (end < memory.length) return { frames, lost, headerBroken: false }
  }
}

function isSame(a: LogState, b: LogState): boolean {
  return a.frames === b.frames && a.headerBroken === b.headerBroken && a.lost > 0 === b.lost > 0
}

/** SQLite's log checksum, over 32-bit numbers in the byte order of the log. */
class Sum {
  readonly #isLittle: boolean
  #first = 0
  #second = 0

  constructor(isLittle: boolean) {
    this.#isLittle = isLittle
  }

  add(bytes: Buffer, from: number, to: number): void {
    const { buffer, byteOffset } = this.#isLittle === IS_LITTLE_HOST ? bytes : swapped(bytes, from, to)
    const start = buffer === bytes.buffer ? byteOffset + from : byteOffset
    const words = new Int32Array(buffer, start, (to - from) / 4)
    let [first, second] = [this.#first, this.#second]
    for (let i = 0; i < words.length; i += 2) {
      first = (first + (words[i] as number) + second) | 0
      second = (second + (words[i + 1] as number) + first) | 0
    }
    this.#first = first
    this.#second = second
  }

  isAt(bytes: Buffer, at: number): boolean {
    return bytes.readInt32BE(at) === this.#first && bytes.readInt32BE(at + 4) === this.#second
  }
}

const IS_LITTLE_HOST = endianness() === 'LE'

function swapped(bytes: Buffer, from: number, to: number): Buffer {
  return Buffer.concat([bytes.subarray(from, to)]).swap32()
}

function isZero(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 0)
}

function isZeroFrom(file: number, start: number): boolean {
  for (let at = start; ; at += ZEROS_AT_ONCE) {
    const bytes = readAt(file, at, ZEROS_AT_ONCE)
    if (!isZero(bytes)) return false
    if (bytes.length < ZEROS_AT_ONCE) return true
  }
}

function readAt(file: number, at: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(file, bytes, 0, length, at))
}

function tryOpen(path: string): number | undefined {
  try {
    return openSync(path, 'r')
  } catch {
    return undefined
  }
}
