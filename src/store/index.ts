/** The Store port and the rules that all stores share; `entry/store.ts` chooses what authors of stores get. */
export { checkStore, requireStore } from './check-store.ts'
export type { Derivation, TurnRange } from './derive.ts'
export {
  artifactChanges,
  artifactKey,
  changesPrefix,
  checkedRows,
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
export type { CutValue, Encoded, EncodedData } from './encode.ts'
export { checksum, decode, encode, encodeRequest, hashOf, inboxDigest } from './encode.ts'
export { advanceHead, newHead } from './head.ts'
export type { ForkFacts, PruneFacts, RecreateFacts } from './history.ts'
export {
  baseEntry,
  checkUnused,
  forkEntry,
  forkHead,
  forkReceipt,
  headFrom,
  isForkedBelow,
  isSubConversation,
  KEPT_SNAPSHOTS,
  outlivesPrune,
  recreatedHead,
  recreateEntry,
  sameHead,
  tombstone,
} from './history.ts'
export type { LeaseJudge } from './lease.ts'
export { isDue, isOwned } from './lease.ts'
export type { BaseMark, ForkLink, Lineage, ReadPart, Segment } from './lineage.ts'
export { lineageOf, segmentsIn } from './lineage.ts'
export type { PersistOptions } from './persist.ts'
export { persist, persistLease } from './persist.ts'
export type {
  AppendRequest,
  EraseOptions,
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
  ScanQuery,
  Snapshot,
  SnapshotQuery,
  Store,
  WatchOptions,
} from './port.ts'
export type { Bounds, ListCursor } from './query.ts'
export {
  boundsOf,
  byCodePoint,
  byContextKey,
  bytesOf,
  checkErase,
  checkList,
  checkLookup,
  checkRead,
  checkScan,
  checkWatch,
  fromCursor,
  limitOf,
  MAX_LIMIT,
  requestOf,
  toCursor,
} from './query.ts'
export type { AppendDecision, AppendFacts, DecideOptions, InboxFact, StampedEntry } from './rules.ts'
export {
  begunAnew,
  checkParent,
  checkRequest,
  decideAppend,
  epochOf,
  erased,
  isOfErased,
  missingBlob,
  owned,
  refuseRenewal,
} from './rules.ts'
export type { Watch, WatchSource } from './watch.ts'
export { isWatchOver, Notifier, watchEntries } from './watch.ts'
