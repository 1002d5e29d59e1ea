/**
 * The YAML file of one agent's session in this process: turns are appended, and the text is valid after each of them. A
 * file that is too large, or that another program removed or changed, is followed by a new one.
 */
import {
  appendFileSync,
  closeSync,
  constants,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  rmSync,
  statSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import type { ContextKey } from '../protocol/index.ts'
import type { FileBounds } from './log-file.ts'
import { fileNameOf, inFolder, noFollow, refuseLinks } from './log-folder.ts'
import { type PendingFile, writeSoon } from './pending-writes.ts'
import { type RecordedTurn, sessionHeader, sessionTurn } from './session-record.ts'

export interface SessionFileOptions {
  readonly key: ContextKey
  readonly agent: string
  readonly model: string
  readonly folder: string
  /** Of all session files of agents with this name. */
  readonly bounds: FileBounds
}

/** A file is followed by another one when it has this part of all bytes. */
const PART_OF_ONE_FILE = 10
/** The folder is read when this part of a bound may have been used up since the last time. */
const PART_BETWEEN_READS = 20
const APPEND = constants.O_WRONLY | constants.O_APPEND

/** Paths of session files with an open turn, in this process: never deleted. */
const inUse = new Set<string>()
/** Files and bytes that this process has added since it read the folder, by the beginning of the paths. */
const added = new Map<string, { files: number; bytes: number }>()
/** The beginnings for which this process has read the folder. */
const isRead = new Set<string>()

export class SessionFile implements PendingFile {
  readonly #options: SessionFileOptions
  /** The beginning of the paths of this agent's files. */
  readonly #stem: string
  readonly #turns: RecordedTurn[] = []
  #started: number | undefined
  #path: string | undefined
  #size = 0
  #isOpen = false

  constructor(options: SessionFileOptions) {
    this.#options = options
    this.#stem = join(options.folder, `${fileNameOf(options.agent)}_`)
  }

  get folder(): string {
    return this.#options.folder
  }

  /** An input arrived: the file is created, if it is the first one. */
  begin(at: number): void {
    this.#isOpen = true
    if (this.#path !== undefined) inUse.add(this.#path)
    if (this.#started !== undefined) return
    this.#started = at
    writeSoon(this)
  }

  add(turn: RecordedTurn): void {
    this.#turns.push(turn)
    writeSoon(this)
  }

  /** No turn is open any more. */
  rest(): void {
    this.#isOpen = false
    if (this.#path !== undefined) inUse.delete(this.#path)
  }

  readonly write = (): void => {
    const turns = this.#turns.splice(0)
    const texts = turns.map((turn) => sessionTurn(turn))
    const at = turns[0]?.entries[0]?.at ?? 0
    refuseLinks(this.#options.folder)
    try {
      this.#put(texts.join(''), at)
    } catch (error) {
      if (texts.length < 2) throw error
      // A disk that is nearly full may have room for some of them.
      for (const text of texts) this.#put(text, at)
    }
    prune(this.#stem, this.#options.bounds, this.#path)
  }

  #put(text: string, at: number): void {
    if (this.#path !== undefined && (text === '' || this.#append(this.#path, text))) return
    this.#create(text, at)
  }

  /** False if this file is not to be continued. A failed append leaves it as it was. */
  #append(path: string, text: string): boolean {
    const fd = openIfThere(path)
    if (fd === undefined) return this.#leave(path)
    try {
      const isMine = fstatSync(fd).size === this.#size
      if (!isMine || this.#size >= this.#options.bounds.maxBytes / PART_OF_ONE_FILE) return this.#leave(path)
      this.#write(fd, text)
      return true
    } finally {
      closeSync(fd)
    }
  }

  #leave(path: string): false {
    inUse.delete(path)
    this.#path = undefined
    this.#started = undefined
    return false
  }

  #create(text: string, at: number): void {
    this.#started ??= at
    const started = this.#started
    const { key, agent, model, folder } = this.#options
    const { path, fd } = inFolder(folder, () => openNew(`${this.#stem}${stamp(started)}`))
    this.#size = 0
    try {
      this.#write(fd, sessionHeader({ key, agent, model, started }) + text)
    } catch (error) {
      rmSync(path, { force: true })
      throw error
    } finally {
      closeSync(fd)
    }
    this.#path = path
    if (this.#isOpen) inUse.add(path)
    count(this.#stem, { files: 1, bytes: 0 })
  }

  #write(fd: number, text: string): void {
    try {
      appendFileSync(fd, text)
    } catch (error) {
      ftruncateSync(fd, this.#size)
      throw error
    }
    this.#size += Buffer.byteLength(text)
    count(this.#stem, { files: 0, bytes: Buffer.byteLength(text) })
  }
}

function openIfThere(path: string): number | undefined {
  try {
    return openSync(path, APPEND | noFollow(dirname(path)))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw error
  }
}

/** `2026-11-15T10-30-00`: permitted in file names everywhere, and sorted by time. */
function stamp(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replaceAll(':', '-')
}

/** The last numbers that this process has used, by the beginning of the paths: a thousand agents may begin in one second. */
const lastNumbers = new Map<string, number>()
const MOST_NUMBERS = 1000

function openNew(stem: string): { readonly path: string; readonly fd: number } {
  if (lastNumbers.size >= MOST_NUMBERS) lastNumbers.clear()
  for (let number = (lastNumbers.get(stem) ?? 0) + 1; ; number++) {
    const path = `${stem}${number === 1 ? '' : `-${number}`}.yaml`
    try {
      const fd = openSync(path, 'ax', 0o600)
      lastNumbers.set(stem, number)
      return { path, fd }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
  }
}

function count(stem: string, more: { readonly files: number; readonly bytes: number }): void {
  const { files, bytes } = added.get(stem) ?? { files: 0, bytes: 0 }
  added.set(stem, { files: files + more.files, bytes: bytes + more.bytes })
}

/** Deletes the files of this agent that were not written for the longest time, where there are too many. */
function prune(stem: string, bounds: FileBounds, current: string | undefined): void {
  const { files: newFiles, bytes: newBytes } = added.get(stem) ?? { files: 0, bytes: 0 }
  const fewFiles = Math.ceil(bounds.maxFiles / PART_BETWEEN_READS)
  const fewBytes = bounds.maxBytes / PART_BETWEEN_READS
  if (isRead.has(stem) && newFiles < fewFiles && newBytes < fewBytes) return
  isRead.add(stem)
  added.delete(stem)
  let [files, bytes] = [0, 0]
  for (const { path, size } of filesOf(stem)) {
    files += 1
    bytes += size
    const fits = files <= bounds.maxFiles - fewFiles + 1 && bytes <= bounds.maxBytes - fewBytes
    if (!fits && path !== current && !inUse.has(path)) rmSync(path, { force: true })
  }
}

/** The one written last first. */
function filesOf(stem: string): readonly { path: string; size: number; at: number }[] {
  const folder = dirname(stem)
  const paths = readdirSync(folder)
    .map((name) => join(folder, name))
    .filter((path) => path.startsWith(stem) && /^[-\dT]+\.yaml$/.test(path.slice(stem.length)))
  return paths
    .flatMap((path) => {
      const { size, mtimeMs: at } = statSync(path, { throwIfNoEntry: false }) ?? {}
      return size === undefined || at === undefined ? [] : [{ path, size, at }]
    })
    .toSorted((a, b) => b.at - a.at)
}
