/** Grounding: no invented id reaches a tool. Entities, the ids in arguments, their judgement, and the blocks in prompts. */

export type { SelectionContext } from './active-values.ts'
export {
  expiresAt,
  isPersonal,
  newlyChosen,
  personal,
  unexpired,
  withPersonal,
  withSelections,
} from './active-values.ts'
export type {
  Called,
  Entities,
  Entity,
  EntityMark,
  EntityOptions,
  GroundingPolicy,
  SelectionDetails,
} from './entity.ts'
export { durationMs, entity, entityMap } from './entity.ts'
export type {
  AskedAnswer,
  Chosen,
  Facts,
  JudgeContext,
  MemoryFactsOptions,
  PersonWords,
  Seen,
  ShownList,
  SightingBatch,
} from './facts.ts'
export { activeIds, isExpired, MemoryFacts, saidIn } from './facts.ts'
export type { Converted, Guarded, GuardedCall } from './guard-call.ts'
export { guardCall, isStillGrounded } from './guard-call.ts'
export type { Handles } from './handles.ts'
export { handleTable, withTextIds } from './handles.ts'
export type { Above, Judgement } from './judge.ts'
export { judgeBelow, judgeCall, stricter, strictest } from './judge.ts'
export type { AskedId, AskVerdict, Passed, RefusalReason, Refused, Verdict } from './judge-id.ts'
export type { LookupOptions, LookupResult, Search } from './lookup-tool.ts'
export { lookupTool } from './lookup-tool.ts'
export type { FoundId, Path } from './marks.ts'
export { entitiesIn, idsIn, placeText, withIds, withoutMarks } from './marks.ts'
export type { OutputFilter, OutputFilterOptions, StreamFilter } from './output-filter.ts'
export { outputFilter } from './output-filter.ts'
export type {
  GroundingWords,
  RulesContext,
  StateBlockOptions,
  ToolMemoryOptions,
  ToolTurn,
  WordsOptions,
} from './prompt-blocks.ts'
export {
  activeLabels,
  groundingRules,
  MOST_ACTIVE,
  MOST_MEMORY_TURNS,
  stateBlock,
  toolMemoryBlock,
} from './prompt-blocks.ts'
export type { Candidate } from './readings.ts'
export type { NextStep, Question, Refusal } from './refusal.ts'
export { answeredId, questionOf, refusalText } from './refusal.ts'
export type { RowField, RowFields } from './rows.ts'
export type { NearMatches } from './suggestions.ts'
export { nearMatches } from './suggestions.ts'
export type { GroundedTool, RowMapping, ShownThings, ToolMapping } from './tool-grounding.ts'
export { checkedThing, checkMarkedEntities, grounded, lookupsOf, shownBy } from './tool-grounding.ts'
