/** The front door. */
export type { Clock, Ids, Liveness } from './base/index.ts'
export { processIdentity, systemClock, systemIds } from './base/index.ts'
export type { Session } from './journal/index.ts'
export {
  fold,
  forkContext,
  loadSession,
  newSession,
  pruneContext,
  readWindow,
  saveSession,
  transcript,
} from './journal/index.ts'
export type {
  ContextKey,
  Entry,
  EntryData,
  ErrorCode,
  Json,
  JsonObject,
  Message,
  NewEntry,
  NewInboxEntry,
  Owner,
  Principal,
} from './protocol/index.ts'
export { childKey, contextKey, HoldfastError, LOCAL_OWNER } from './protocol/index.ts'
export type { AppendRequest, Derivation, Head, Receipt, Store } from './store/index.ts'
export { persist } from './store/index.ts'
export type { MemoryStoreOptions } from './store/memory/index.ts'
export { memoryStore } from './store/memory/index.ts'
