/** `holdfast/sqlite/repair`: looks for damage in a SQLite file, and copies what is intact into a new one. */
export type { Problem, StoreCheck } from './check.ts'
export { checkSqlite } from './check.ts'
export type { SalvagedConversation, SalvageReport } from './salvage.ts'
export { salvageSqlite } from './salvage.ts'
