/** `holdfast/operate`: for operators and hosts: stuck conversations, history, views, and turns without an agent. */
export type {
  AgentMetadata,
  AppendedMessage,
  ArtifactStore,
  CancelOptions,
  DriveResult,
  ListedGrant,
  MessageStore,
  ShutdownOptions,
  StateStore,
  StuckConversation,
  StuckQuery,
  TurnStep,
  Views,
} from '../agent/index.ts'
export {
  GRANTS_CONTEXT,
  listGrants,
  listStuck,
  revokeGrants,
  STATE_CONTEXT,
  settleCall,
  takeOver,
  viewsOf,
} from '../agent/index.ts'
export type { Ids, Timer, WaitOptions } from '../base/index.ts'
export { clearContext, forkContext, pruneContext, recreateContext } from '../journal/index.ts'
export { nearestName } from '../protocol/index.ts'
export type {
  BlobPort,
  CompactionReceipt,
  RunTurnOptions,
  RunTurnResult,
  TurnConfig,
  TurnInfo,
} from '../turn/index.ts'
export { runTurn } from '../turn/index.ts'
