/**
 * Appends whole lines to a file that is rotated by size: `NAME.log`, `NAME.log.1`, and so on. Several processes may
 * append to one file; if two of them rotate at once, a file is shorter than it could be.
 */
import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { inFolder, noFollow } from './log-folder.ts'
import { flushLogs, type PendingFile, writeSoon } from './pending-writes.ts'

export interface FileBounds {
  /** The most bytes of one file. */
  readonly maxBytes: number
  /** The most files, the current one included. */
  readonly maxFiles: number
}

export interface LogTarget {
  readonly path: string
  readonly bounds: FileBounds
}

const MOST_PENDING = 10_000

/** Files with lines that are not written yet, by path: agents of one name share a file. */
const files = new Map<string, LogFile>()

class LogFile implements PendingFile {
  readonly #target: LogTarget
  readonly lines: (() => string)[] = []

  constructor(target: LogTarget) {
    this.#target = target
  }

  get folder(): string {
    return dirname(this.#target.path)
  }

  readonly write = (): void => {
    const { path, bounds } = this.#target
    files.delete(path)
    appendLines(
      path,
      this.lines.map((line) => line()),
      bounds,
    )
  }
}

/** Adds a line, which is made when it is written. */
export function addLine(target: LogTarget, line: () => string): void {
  const file = files.get(target.path) ?? new LogFile(target)
  file.lines.push(line)
  if (file.lines.length === 1) {
    files.set(target.path, file)
    writeSoon(file)
  }
  if (file.lines.length >= MOST_PENDING) flushLogs()
}

export function appendLines(path: string, lines: readonly string[], bounds: FileBounds): void {
  const folder = dirname(path)
  for (let rest = lines; rest.length > 0; ) {
    const size = statSync(path, { throwIfNoEntry: false })?.size ?? 0
    const fitting = countFitting(rest, bounds.maxBytes - size)
    if (fitting === 0 && size > 0) {
      rotate(path, bounds.maxFiles)
      continue
    }
    const count = Math.max(1, fitting)
    inFolder(folder, () => append(path, `${rest.slice(0, count).join('\n')}\n`))
    rest = rest.slice(count)
  }
}

function countFitting(lines: readonly string[], bytes: number): number {
  let left = bytes
  const over = lines.findIndex((line) => (left -= Buffer.byteLength(line) + 1) < 0)
  return over < 0 ? lines.length : over
}

const APPEND = constants.O_RDWR | constants.O_APPEND | constants.O_CREAT

function append(path: string, text: string): void {
  const fd = openSync(path, APPEND | noFollow(dirname(path)), 0o600)
  try {
    appendFileSync(fd, endsInLine(fd) ? text : `\n${text}`)
  } finally {
    closeSync(fd)
  }
}

/** False after a line that was written in part, by a full disk or a process that died. */
function endsInLine(fd: number): boolean {
  const { size } = fstatSync(fd)
  const last = Buffer.alloc(1)
  return size === 0 || readSync(fd, last, 0, 1, size - 1) === 0 || last[0] === 0x0a
}

function rotate(path: string, maxFiles: number): void {
  if (maxFiles < 2) return rmSync(path, { force: true })
  for (let older = Math.floor(maxFiles) - 1; older > 1; older--)
    move(`${path}.${older - 1}`, `${path}.${older}`)
  move(path, `${path}.1`)
}

/** Another process may have moved it. */
function move(from: string, to: string): void {
  try {
    renameSync(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
}
