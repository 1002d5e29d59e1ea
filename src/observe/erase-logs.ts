/**
 * Removes from session files and text logs what the store has erased. Which conversations these are, the store's
 * tombstones say, so a removal that was interrupted is finished by the next one.
 *
 * Other processes may append to a text log and rotate it meanwhile. So its lines are overwritten where they are: no lock
 * is needed, and no line of others can be lost. The text of a line goes first and the word that names its conversation
 * last, so that a line is found again until nothing of it is left.
 */
import { constants } from 'node:fs'
import { type FileHandle, open, readdir, rm } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type ContextKey, checkOptions, contextKey, keyText, type OptionSet } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { noFollow, refuseLinks } from './log-folder.ts'
import { defaultFolders } from './log-options.ts'
import { keyOfPlace } from './log-place.ts'
import { flushLogs } from './pending-writes.ts'
import { sessionKey } from './session-record.ts'

export interface EraseLogsOptions {
  /** Folders that `log` and `sessions` of your agents name, in addition to the default ones. */
  readonly folders?: readonly string[]
}

export interface ErasedLogs {
  /** Session files that were deleted. */
  readonly files: number
  /** Lines of text logs that were overwritten. */
  readonly lines: number
}

const ERASE_LOGS: OptionSet<EraseLogsOptions> = { place: 'eraseLogs()', options: { folders: 'a list' } }

type IsErased = (key: ContextKey) => Promise<boolean>

/**
 * Deletes the session files of conversations that were erased from the store, and overwrites their lines in text logs.
 * Lines that another process has not written yet, for 100 ms at most, are not found.
 */
export async function eraseLogs(
  store: Pick<Store, 'head' | 'path'>,
  options: EraseLogsOptions = {},
): Promise<ErasedLogs> {
  checkOptions(options, ERASE_LOGS)
  flushLogs()
  const isErased = erasedIn(store)
  const folders = [...defaultFolders(store.path), ...(options.folders ?? [])].map((folder) => resolve(folder))
  let [files, lines] = [0, 0]
  for (const folder of new Set(folders)) {
    refuseLinks(folder)
    files += await deleteSessions(folder, isErased)
    lines += await eraseLines(folder, isErased)
  }
  return { files, lines }
}

function erasedIn(store: Pick<Store, 'head'>): IsErased {
  const known = new Map<string, boolean>()
  return async (key) => {
    const name = keyText(key)
    const isErased = known.get(name) ?? (isValid(key) && (await store.head(key))?.status === 'erased')
    known.set(name, isErased)
    return isErased
  }
}

/** False for a name in a file of another program, which no store has. */
function isValid(key: ContextKey): boolean {
  try {
    contextKey(key)
    return true
  } catch {
    return false
  }
}

const SESSION_FILE = /_[-\dT]+\.yaml$/
/** More than the lines that name a conversation can have. */
const HEADER_BYTES = 4096

async function deleteSessions(folder: string, isErased: IsErased): Promise<number> {
  let deleted = 0
  for (const path of await filesIn(folder, SESSION_FILE)) {
    const key = await withFile(path, async (file) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES), 0, HEADER_BYTES, 0)
      return sessionKey(buffer.toString('utf8', 0, bytesRead))
    })
    if (key === undefined || !(await isErased(key))) continue
    await rm(path, { force: true })
    deleted += 1
  }
  return deleted
}

const LOG_FILE = /\.log(?:\.\d+)?$/

const MOST_PASSES = 10

/** Until no file is new: one that was renamed by a rotation meanwhile may have been missed. */
async function eraseLines(folder: string, isErased: IsErased): Promise<number> {
  const read = new Set<string>()
  let lines = 0
  for (let pass = 1, before = -1; pass <= MOST_PASSES && before < read.size; pass++) {
    before = read.size
    for (const path of await filesIn(folder, LOG_FILE))
      await withFile(path, async (file) => {
        const { dev, ino } = await file.stat({ bigint: true })
        const identity = `${dev} ${ino}`
        if (read.has(identity)) return
        read.add(identity)
        lines += await eraseIn(file, isErased)
      })
  }
  return lines
}

/** Bytes of a file, and where the text of the line begins in them. */
interface Span {
  readonly start: number
  readonly text: number
  readonly end: number
}

async function eraseIn(file: FileHandle, isErased: IsErased): Promise<number> {
  const spans: Span[] = []
  let lines = 0
  const known = new Map<string, boolean>()
  const look = async (name: string): Promise<boolean> => {
    const key = keyOfPlace(name)
    const found = key !== undefined && (await isErased(key))
    known.set(name, found)
    return found
  }
  let isLast = false
  for await (const part of partsOf(file))
    for (const { start, end } of linesIn(part.bytes)) {
      const line = part.bytes.subarray(start, end)
      const text = textStart(line)
      const name = text === undefined ? undefined : placeName(line, text)
      if (name === undefined) isLast &&= isContinued(line)
      // Awaited only for a new name: a log has many lines and few conversations.
      else isLast = known.get(name) ?? (await look(name))
      if (!isLast) continue
      if (text !== undefined) lines += 1
      const at = part.start + start
      spans.push({ start: at, text: at + (text ?? 0), end: part.start + end })
    }
  await eraseSpans(file, spans)
  return lines
}

async function eraseSpans(file: FileHandle, spans: readonly Span[]): Promise<void> {
  if (spans.length === 0) return
  for (const { text, end } of spans) await overwrite(file, text, blank(end - text))
  await file.datasync()
  for (const { start, text } of spans) await overwrite(file, start, blank(text - start, ERASED))
}

/** The place of a line without its turn. */
function placeName(line: Buffer, text: number): string {
  return line.toString('utf8', PLACE_START, text).replace(/#\d+/, '')
}

const SPACE = 0x20
const NEWLINE = 0x0a
/** `2026-11-15T10:30:00.000Z INFO  ` comes before the place. */
const LEVEL_START = 25
const PLACE_START = 31

/** Where the text of a line begins, after its place; undefined for one that names no conversation. */
function textStart(line: Buffer): number | undefined {
  if (isContinued(line)) return undefined
  if (line[LEVEL_START - 1] !== SPACE || line[PLACE_START - 1] !== SPACE) return undefined
  if (line[LEVEL_START] === SPACE) return undefined
  const end = line.indexOf(SPACE, PLACE_START)
  const text = end < 0 ? line.length : end
  return text > PLACE_START ? text : undefined
}

/** A line of the stack of the line before; it may be empty but for its indent. */
function isContinued(line: Buffer): boolean {
  return line.length >= 4 && line.subarray(0, 4).every((byte) => byte === SPACE)
}

const ERASED = 'erased'

function blank(length: number, text = ''): Buffer {
  return Buffer.from(text.slice(0, length).padEnd(length))
}

async function overwrite(file: FileHandle, position: number, bytes: Buffer): Promise<void> {
  for (let at = 0; at < bytes.length; )
    at += (await file.write(bytes, at, bytes.length - at, position + at)).bytesWritten
}

const CHUNK_BYTES = 256 * 1024

interface Part {
  readonly start: number
  readonly bytes: Buffer
}

/** Whole lines with their position in the file; the last line may have no end. */
async function* partsOf(file: FileHandle): AsyncGenerator<Part> {
  let start = 0
  let rest = Buffer.alloc(0)
  for (;;) {
    const chunk = Buffer.alloc(CHUNK_BYTES)
    const { bytesRead } = await file.read(chunk, 0, CHUNK_BYTES, start + rest.length)
    if (bytesRead === 0) break
    const bytes = Buffer.concat([rest, chunk.subarray(0, bytesRead)])
    const whole = bytes.lastIndexOf(NEWLINE) + 1
    if (whole > 0) yield { start, bytes: bytes.subarray(0, whole) }
    start += whole
    rest = bytes.subarray(whole)
  }
  if (rest.length > 0) yield { start, bytes: rest }
}

function* linesIn(bytes: Buffer): Generator<{ readonly start: number; readonly end: number }> {
  for (let start = 0; start < bytes.length; ) {
    const newline = bytes.indexOf(NEWLINE, start)
    const end = newline < 0 ? bytes.length : newline
    yield { start, end }
    start = end + 1
  }
}

async function filesIn(folder: string, pattern: RegExp): Promise<readonly string[]> {
  try {
    return (await readdir(folder)).filter((name) => pattern.test(name)).map((name) => join(folder, name))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}

/** Undefined if the file is gone, or is a link that no log is written through. */
async function withFile<T>(path: string, work: (file: FileHandle) => Promise<T>): Promise<T | undefined> {
  let file: FileHandle
  try {
    file = await open(path, constants.O_RDWR | noFollow(join(path, '..')))
  } catch (error) {
    if (['ENOENT', 'ELOOP', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) return undefined
    throw error
  }
  try {
    return await work(file)
  } finally {
    await file.close()
  }
}
