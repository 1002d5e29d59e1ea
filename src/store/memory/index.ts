/** The store in the memory of one process. */
export type { MemoryStoreOptions } from './memory-store.ts'
export { memoryStore } from './memory-store.ts'
