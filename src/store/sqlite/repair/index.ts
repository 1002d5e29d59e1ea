/** `holdfast/sqlite/repair`: finds damage in a SQLite file, and copies intact data into a new one. */
export type { Problem, StoreCheck } from './check.ts'
export { checkSqlite } from './check.ts'
export type { SalvagedConversation, SalvageReport } from './salvage.ts'
export { salvageSqlite } from './salvage.ts'
