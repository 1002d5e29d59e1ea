/** The Store port and the rules that all stores share; also `holdfast/store`, for authors of stores. */
export type { Clock, Ids, Liveness } from '../base/index.ts'
export type { Derivation } from './derive.ts'
export {
  artifactChanges,
  artifactKey,
  changesPrefix,
  labelPrefix,
  listingKey,
  mentionPrefix,
  normalPrefix,
  STANDARD_DERIVATIONS,
  seenPrefix,
  thingsPrefix,
  turnKey,
  turnRange,
} from './derive.ts'
export type { Cut, Encoded, EncodedData } from './encode.ts'
export { checksum, decode, encode, encodeRequest, hashOf, inboxDigest } from './encode.ts'
export { advanceHead, headAt, newHead } from './head.ts'
export {
  baseEntry,
  forkEntry,
  forkHead,
  forkReceipt,
  headFrom,
  KEPT_SNAPSHOTS,
  recreatedHead,
  recreateEntry,
  sameHead,
  tombstone,
} from './history.ts'
export type { LeaseJudge } from './lease.ts'
export { isDue, isLapsed, isOwned } from './lease.ts'
export type { BaseMark, Lineage, Link, Segment } from './lineage.ts'
export { clip, lineageOf } from './lineage.ts'
export type { PersistOptions } from './persist.ts'
export { persist } from './persist.ts'
export type {
  AppendRequest,
  ForkRequest,
  Head,
  HeadStatus,
  IndexRow,
  Lease,
  ListPage,
  ListQuery,
  LookupQuery,
  PruneReceipt,
  PruneRequest,
  ReadRange,
  Receipt,
  RecreateRequest,
  Renewal,
  RenewRequest,
  Snapshot,
  SnapshotQuery,
  Store,
  WatchOptions,
} from './port.ts'
export { boundsOf, byCodePoint, fromCursor, limitOf, toCursor } from './query.ts'
export type { Decision, Facts, InboxFact } from './rules.ts'
export {
  begunAnew,
  checkParent,
  checkRequest,
  decideAppend,
  epochOf,
  erased,
  isOfErased,
  missingBlob,
  orphan,
  owned,
  refuseRenewal,
} from './rules.ts'
export { Bell, isOver, watchEntries } from './watch.ts'
