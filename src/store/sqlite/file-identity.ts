/**
 * Checks that a path still leads to the opened files: SQLite keeps writing to files that have lost their name. The
 * shared memory (`-shm`) holds the write lock and the index of the log: without its name, the next process to open the
 * database makes another, and both write to one log.
 */
import { closeSync, existsSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { dirname } from 'node:path'

export class FileIdentity {
  readonly path: string
  readonly #folder: Folder
  readonly #database: NamedFile
  readonly #log: NamedFile
  readonly #sharedMemory: NamedFile

  /** Records an open database, its log and its shared memory. */
  constructor(path: string) {
    this.path = realpathSync(path)
    this.#folder = new Folder(dirname(this.path))
    this.#database = fileByNumber(this.path)
    this.#log = fileByLink(`${this.path}-wal`) ?? fileByNumber(`${this.path}-wal`)
    this.#sharedMemory = mappedFile(this.path)
  }

  /** One system call while the folder is unchanged, four otherwise. */
  isInPlace(): boolean {
    return this.#folder.areInPlace(
      () => this.#database.isInPlace() && this.#log.isInPlace() && this.#sharedMemory.isInPlace(),
    )
  }

  /** False if another process may have the write lock as well: a commit could overwrite its commits. */
  isLockShared(): boolean {
    return this.#sharedMemory.isInPlace()
  }

  /** True if the log may hold commits that this process does not know of, and must outlive its connections. */
  isLogForeign(): boolean {
    try {
      return !this.isLockShared() && this.#database.isInPlace() && existsSync(`${this.path}-wal`)
    } catch {
      // Where no file can be looked at, none can be deleted either.
      return false
    }
  }

  close(): void {
    this.#database.close()
    this.#log.close()
    this.#sharedMemory.close()
  }
}

/** The coarsest clock of a file system: FAT counts in steps of two seconds. */
const COARSEST_CLOCK_MS = 2000

/**
 * A folder, in which no file loses its name without a change of the folder's status (`ctime`). A second change in the
 * same step of the file system's clock leaves no trace, so a status counts once it is older than such a step. Unlike
 * `mtime`, programs that restore files cannot set it back. The root of a FAT volume has no times, which reads as 1970.
 * Windows lets nobody remove a file that is open.
 */
class Folder {
  readonly #path: string
  readonly #id: FileId
  /** The status with which the files were in place. */
  #checked = Number.NaN

  constructor(path: string) {
    this.#path = path
    this.#id = idOf(path)
  }

  areInPlace(check: () => boolean): boolean {
    const now = statSync(this.#path, { throwIfNoEntry: false })
    if (now === undefined || !isSame(now, this.#id)) return false
    if (now.ctimeMs === this.#checked) return true
    const areThere = check()
    const isSettled = now.ctimeMs > 0 && Date.now() - now.ctimeMs > COARSEST_CLOCK_MS
    this.#checked = areThere && isSettled ? now.ctimeMs : Number.NaN
    return areThere
  }
}

interface NamedFile {
  isInPlace(): boolean
  close(): void
}

/**
 * A file by the name that Linux has for an open descriptor. For the log, which every commit writes: once `stat` has read
 * the times of a file, Linux keeps its next times to the nanosecond, and the sync of each write has to store them as
 * well, which takes a quarter longer. SQLite has no locks on the log that closing the descriptor would release.
 * Undefined where there are no such names.
 */
function fileByLink(path: string): NamedFile | undefined {
  if (process.platform !== 'linux') return undefined
  let descriptor: number | undefined
  try {
    descriptor = openSync(path, 'r')
    const opened = descriptor
    const link = `/proc/${process.pid}/fd/${opened}`
    if (readlinkSync(link) === path)
      return { isInPlace: () => readlinkSync(link) === path, close: () => closeSync(opened) }
  } catch {
    // Without /proc, or without a log.
  }
  if (descriptor !== undefined) closeSync(descriptor)
  return undefined
}

function fileByNumber(path: string): NamedFile {
  const id = idOf(path)
  return { isInPlace: () => isSame(idOf(path), id), close: () => {} }
}

/** The shared memory of every open database, by the database: SQLite maps it once for all connections of a process. */
const mappedFiles = new Map<string, { readonly file: NamedFile; users: number }>()

/** Never opened: closing a descriptor would release the locks that SQLite has on the file. */
function mappedFile(database: string): NamedFile {
  const { dev, ino } = idOf(database)
  const key = `${dev} ${ino}`
  const path = `${database}-shm`
  const mapped = mappedFiles.get(key) ?? { file: fileByNumber(path), users: 0 }
  // A file that is read as immutable has no shared memory.
  if (mapped.users === 0 && !existsSync(path)) return mapped.file
  mapped.users += 1
  mappedFiles.set(key, mapped)
  return {
    isInPlace: () => mapped.file.isInPlace(),
    close: () => {
      mapped.users -= 1
      if (mapped.users === 0) mappedFiles.delete(key)
    },
  }
}

interface FileId {
  readonly dev: number
  readonly ino: number
}

const NOWHERE: FileId = { dev: -1, ino: -1 }

function idOf(path: string): FileId {
  return statSync(path, { throwIfNoEntry: false }) ?? NOWHERE
}

function isSame(a: FileId, b: FileId): boolean {
  return a.ino === b.ino && a.dev === b.dev
}
