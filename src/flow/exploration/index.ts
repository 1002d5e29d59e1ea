/** Exploration: walks a folder, reads what is worth reading, and writes a report. */

export type { FlowEnd, FlowOptions } from '../run-flow.ts'
export type { ExplorationOptions, ExplorationPreview, ExplorationResults } from './exploration.ts'
export { exploration } from './exploration.ts'
export type { ExploredFile, FileCategory, SizeTier } from './inventory.ts'
