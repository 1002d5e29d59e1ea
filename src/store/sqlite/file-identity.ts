/**
 * Checks that a path still leads to the opened files: SQLite keeps writing to files that have lost their name. The
 * shared memory (`-shm`) holds the write lock and the index of the log: without its name, the next process to open the
 * database makes another, and both write to one log.
 */
import { closeSync, existsSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'

export class FileIdentity {
  readonly path: string
  readonly #database: NamedFile
  readonly #log: NamedFile
  readonly #sharedMemory: NamedFile

  /** Records an open database, its log and its shared memory. */
  constructor(path: string) {
    this.path = realpathSync(path)
    this.#database = fileByNumber(this.path)
    this.#log = fileByLink(`${this.path}-wal`) ?? fileByNumber(`${this.path}-wal`)
    this.#sharedMemory = mappedFile(this.path)
  }

  /** Three system calls, of one to two microseconds each. */
  isInPlace(): boolean {
    return this.#database.isInPlace() && this.#log.isInPlace() && this.#sharedMemory.isInPlace()
  }

  /** False if another process may have the write lock as well: a commit could overwrite its commits. */
  isLockShared(): boolean {
    return this.#sharedMemory.isInPlace()
  }

  /** True if the log may hold commits that this process does not know of, and must outlive its connections. */
  isLogForeign(): boolean {
    return !this.isLockShared() && this.#database.isInPlace() && existsSync(`${this.path}-wal`)
  }

  close(): void {
    this.#database.close()
    this.#log.close()
    this.#sharedMemory.close()
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
  const { dev, ino } = idOf(path)
  return {
    isInPlace: () => {
      const now = idOf(path)
      return now.ino === ino && now.dev === dev
    },
    close: () => {},
  }
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

const NOWHERE = { dev: -1, ino: -1 }

function idOf(path: string): { readonly dev: number; readonly ino: number } {
  return statSync(path, { throwIfNoEntry: false }) ?? NOWHERE
}
