/**
 * Looks at a write-ahead log before SQLite does. After a crash SQLite applies the log up to the first frame that is
 * broken and drops the rest without a word, which is right for a write that was cut short and wrong for a damaged
 * log: then commits that were acknowledged would vanish, and the next write would destroy the evidence.
 */
import { closeSync, openSync, readSync } from 'node:fs'

const HEADER = 32
const FRAME_HEADER = 24
const MAGIC = 0x377f0682

/** What a log holds. `lost`: commits after the first broken frame that belong to the same run of the log. */
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
      if (header.length < HEADER || header.every((byte) => byte === 0)) return nothing
      const state = scan(file, header)
      const sound = state.lost === 0 && !state.headerBroken
      // Another process may be writing, or may have begun the log anew; what is broken stays the same.
      if (readAt(file, 0, HEADER).equals(header) && (sound || isSame(state, seen))) return state
      seen = state
    }
  } finally {
    closeSync(file)
  }
}

function scan(file: number, header: Buffer): LogState {
  const magic = header.readUInt32BE(0)
  const little = magic === MAGIC
  const size = header.readUInt32BE(8)
  let sum = checksum(header.subarray(0, 24), [0, 0], little)
  if ((magic & ~1) >>> 0 !== MAGIC || !isAt(header, 24, sum))
    return { frames: 0, lost: 0, headerBroken: readAt(file, HEADER, FRAME_HEADER).length > 0 }
  let frames = 0
  let lost = 0
  let broken = false
  for (let at = HEADER; ; at += FRAME_HEADER + size) {
    const frame = readAt(file, at, FRAME_HEADER + size)
    if (frame.length < FRAME_HEADER + size) return { frames, lost, headerBroken: false }
    const current = frame.subarray(8, 16).equals(header.subarray(16, 24))
    if (!broken) {
      sum = checksum(frame.subarray(FRAME_HEADER), checksum(frame.subarray(0, 8), sum, little), little)
      broken = !current || !isAt(frame, 16, sum)
    }
    if (!broken) frames += 1
    else if (current && frame.readUInt32BE(4) > 0) lost += 1
  }
}

function isSame(a: LogState, b: LogState): boolean {
  return a.frames === b.frames && a.headerBroken === b.headerBroken && a.lost > 0 === b.lost > 0
}

type Sum = readonly [number, number]

function checksum(bytes: Buffer, [a, b]: Sum, little: boolean): Sum {
  const words = new DataView(bytes.buffer, bytes.byteOffset, bytes.length)
  let [first, second] = [a, b]
  for (let i = 0; i < bytes.length; i += 8) {
    first = (first + words.getUint32(i, little) + second) >>> 0
    second = (second + words.getUint32(i + 4, little) + first) >>> 0
  }
  return [first, second]
}

function isAt(bytes: Buffer, at: number, [first, second]: Sum): boolean {
  return bytes.readUInt32BE(at) === first && bytes.readUInt32BE(at + 4) === second
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
