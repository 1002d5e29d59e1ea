/** `holdfast/import`: histories of other frameworks, read, repaired and added to a journal. */
export { importContext } from '../agent/index.ts'
export type { Imported, ImportFormat, ImportOptions, ImportReceipt, ImportRequest } from '../journal/index.ts'
export { importMessages } from '../journal/index.ts'
export type { Repair } from '../protocol/index.ts'
