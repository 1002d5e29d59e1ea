/** The front door. Authors of stores find the rest of the store's words in `holdfast/store`. */
export { processIdentity, systemIds } from './base/index.ts'
export type { Session } from './journal/index.ts'
export {
  clearContext,
  fold,
  forkContext,
  loadSession,
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
export type { AppendRequest, Head, Receipt, Store } from './store/index.ts'
export { persist } from './store/index.ts'
export { memoryStore } from './store/memory/index.ts'
