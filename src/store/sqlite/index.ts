/** `holdfast/sqlite`: journals in a SQLite file. */
export type { Problem, StoreCheck } from './check.ts'
export { checkSqlite } from './check.ts'
export type { SalvagedConversation, SalvageReport } from './salvage.ts'
export { salvageSqlite } from './salvage.ts'
export type { SqliteStore, SqliteStoreOptions } from './sqlite-store.ts'
export { sqliteStore } from './sqlite-store.ts'
