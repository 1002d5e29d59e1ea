/** The SQLite of Node, loaded when a corpus is opened. */
import { createRequire } from 'node:module'
import type * as Sqlite from 'node:sqlite'
import { HoldfastError } from '../../protocol/index.ts'

export type DatabaseSync = Sqlite.DatabaseSync

export function loadSqlite(): typeof Sqlite {
  try {
    return createRequire(import.meta.url)('node:sqlite') as typeof Sqlite
  } catch (cause) {
    throw new HoldfastError('missing-package', {
      message: `sqliteCorpus() needs Node 22.18 or newer, which has SQLite built in, and this is Node ${process.versions.node}. Install a newer one from https://nodejs.org`,
      details: { node: process.versions.node },
      cause,
    })
  }
}
