/** The SQLite of Node. On an older Node without it, importing this file throws an error with the version to install. */
import { createRequire } from 'node:module'
import type * as Sqlite from 'node:sqlite'
import { HoldfastError } from '../../protocol/index.ts'

/** Not a static import: that would fail before our error message. */
function load(): typeof Sqlite {
  try {
    return createRequire(import.meta.url)('node:sqlite') as typeof Sqlite
  } catch (cause) {
    throw new HoldfastError('missing-package', {
      message: `holdfast/sqlite needs Node 22.18 or newer, which has SQLite built in, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org`,
      details: { node: process.versions.node },
      cause,
    })
  }
}

const sqlite: typeof Sqlite = load()

export const DatabaseSync: typeof Sqlite.DatabaseSync = sqlite.DatabaseSync
export const backup: typeof Sqlite.backup = sqlite.backup
export type DatabaseSync = Sqlite.DatabaseSync
