/** The nouns. This room imports nothing. */
export type { ArtifactChange, ArtifactInfo } from './artifact.ts'
export { artifactInfo } from './artifact.ts'
export type { ContextKey, Owner, Principal } from './context.ts'
export { checkOwner, childKey, contextKey, keyText, LOCAL_OWNER, sameKey } from './context.ts'
export type { Defined } from './defined.ts'
export { defined } from './defined.ts'
export { editDistance } from './edit-distance.ts'
export type { ActiveValue, ChosenBy, Ground, GroundSource, Selection, Sighting } from './entity.ts'
export { ENTITY_MARK, foldedText, normalLabel } from './entity.ts'
export type {
  ChannelKind,
  ChannelKinds,
  Entry,
  EntryData,
  EntryOf,
  EntryType,
  ImportData,
  InputOrigin,
  KnownEntry,
  MessageChanges,
  PhaseChanges,
  Position,
  PromptChanges,
  PromptVersion,
  Repair,
  ReplayClass,
  RequestData,
  SentHashes,
  Splice,
  StopRequest,
  TaskData,
} from './entry.ts'
export { GIVEN, REMOTE_TASK, TASK_METADATA } from './entry.ts'
export { shapeProblem } from './entry-shape.ts'
export { MAX_ENTRY_BYTES, MAX_OUTPUT_BYTES } from './entry-size.ts'
export type { EntryKind, InboxType, TypesThat } from './entry-table.ts'
export { ENTRY_KINDS, ENTRY_TABLE, formatOf, isInboxType } from './entry-table.ts'
export type { ErrorCode, ErrorOptions } from './error.ts'
export { HoldfastError } from './error.ts'
export type {
  DeltaData,
  DeltaEvent,
  DeltaEventOf,
  DeltaType,
  EntryEvent,
  EntryEventOf,
  TurnEvent,
} from './event.ts'
export { DELTA_TYPES, isDelta } from './event.ts'
export { absentFile, fileProblem, filesProblem, fileTitle } from './file.ts'
export type { Grant, GrantScope } from './grant.ts'
export {
  GRANT_SCOPES,
  MAX_PATTERN,
  offeredGrants,
  patternsOf,
  withGrants,
  withoutGrants,
} from './grant.ts'
export type { HookKind, HookName } from './hook-table.ts'
export {
  beforePrompt,
  CLOSING_STEPS,
  HOOK_NAMES,
  HOOK_TABLE,
  hookKind,
  INPUT_HOOKS,
  isAhead,
  isAheadOfModel,
  isRoundReached,
  LAST_BEFORE_TOOLS,
} from './hook-table.ts'
export type { Json, JsonObject } from './json.ts'
export { boundedReplacer, canonical, isDeeperThan, isObject } from './json.ts'
export { isKeyText, KEY_FORM } from './key-text.ts'
export type {
  AssistantMessage,
  AssistantPart,
  FilePart,
  Message,
  ReasoningPart,
  SettledStatus,
  SystemMessage,
  TextPart,
  ToolCallPart,
  ToolMessage,
  ToolResultPart,
  UserContent,
  UserMessage,
} from './message.ts'
export { replyText } from './message.ts'
export { nearestName } from './nearest-name.ts'
export { type NewEntry, type NewInboxEntry, stampEntry } from './new-entry.ts'
export { optionalPackage } from './optional-package.ts'
export type { ForeignNames, OptionRule, OptionRules, OptionSet } from './options.ts'
export { atLeast, checkMs, checkName, checkOptions, invalidOption, shown } from './options.ts'
export type { OutcomeReason, Usage } from './outcome.ts'
export { addUsage, isWaiting, limitText, moreUsage, NO_USAGE } from './outcome.ts'
export {
  idTokens,
  isClientCall,
  ownTexts,
  PERSONS_TYPES,
  personsEntries,
  personsTexts,
  personsWords,
  pickedTexts,
  pickedWords,
  programsContent,
  textOf,
} from './persons-words.ts'
export { quote } from './quote.ts'
export type {
  HookChangeTrace,
  LlmCallTrace,
  NodeExecutionTrace,
  RequestTrace,
  TakeOverTrace,
  ToolExecutionTrace,
  TraceEntry,
  TraceStatus,
  TraceUsage,
  TurnResultTrace,
  UserInputTrace,
  WarningTrace,
} from './trace.ts'
