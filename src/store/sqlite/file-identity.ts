/** Whether a path still leads to the files that were opened: SQLite goes on writing to files that no longer have a name. */
import { realpathSync, statSync } from 'node:fs'

export class FileIdentity {
  readonly #files: readonly { readonly path: string; readonly dev: number; readonly ino: number }[]

  /** Of a database that is open, and of its log. */
  constructor(path: string) {
    const real = realpathSync(path)
    this.#files = [real, `${real}-wal`].map((file) => ({ path: file, ...idOf(file) }))
  }

  /** Two calls of the system: under a fiftieth of a commit that is synced. */
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
