/** Opens a SQLite store in a child process of the contract suite: the `worker` module of its harness. */
import { type SqliteStore, type SqliteStoreOptions, sqliteStore } from '../../src/store/sqlite/index.ts'

/** The argument is a path and the options as JSON. */
export function open(argument: string): SqliteStore {
  const [path, options] = JSON.parse(argument) as [string, SqliteStoreOptions]
  return sqliteStore(path, options)
}
