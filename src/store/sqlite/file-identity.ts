/** Checks that a path still leads to the opened files: SQLite keeps writing to files that have lost their name. */
import { realpathSync, statSync } from 'node:fs'

export class FileIdentity {
  readonly #files: readonly { readonly path: string; readonly dev: number; readonly ino: number }[]

  /** Records an open database and its log. */
  constructor(path: string) {
    const real = realpathSync(path)
    this.#files = [real, `${real}-wal`].map((file) => ({ path: file, ...idOf(file) }))
  }

  /** Two system calls: under a fiftieth of a synced commit. */
  isInPlace(): boolean {
    for (const { path, dev, ino } of this.#files) {
      const now = idOf(path)
      if (now.ino !== ino || now.dev !== dev) return false
    }
    return true
  }
}

const NOWHERE = { dev: -1, ino: -1 }

function idOf(path: string): { readonly dev: number; readonly ino: number } {
  return statSync(path, { throwIfNoEntry: false }) ?? NOWHERE
}
