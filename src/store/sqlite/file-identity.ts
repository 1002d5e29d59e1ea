/** Checks that a path still leads to the opened files: SQLite keeps writing to files that have lost their name. */
import { closeSync, openSync, readlinkSync, realpathSync, statSync } from 'node:fs'

export class FileIdentity {
  readonly #database: NamedFile
  readonly #log: NamedFile

  /** Records an open database and its log. */
  constructor(path: string) {
    const real = realpathSync(path)
    this.#database = fileByNumber(real)
    this.#log = fileByLink(`${real}-wal`) ?? fileByNumber(`${real}-wal`)
  }

  /** Two system calls, a twentieth of a synced commit. */
  isInPlace(): boolean {
    return this.#database.isInPlace() && this.#log.isInPlace()
  }

  close(): void {
    this.#database.close()
    this.#log.close()
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

const NOWHERE = { dev: -1, ino: -1 }

function idOf(path: string): { readonly dev: number; readonly ino: number } {
  return statSync(path, { throwIfNoEntry: false }) ?? NOWHERE
}
