export type { MemoryStoreOptions } from './memory-store.ts'
export { memoryStore } from './memory-store.ts'
