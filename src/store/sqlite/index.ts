/** `holdfast/sqlite`: journals in a SQLite file. */
export type { SqliteStore, SqliteStoreOptions } from './sqlite-store.ts'
export { sqliteStore } from './sqlite-store.ts'
