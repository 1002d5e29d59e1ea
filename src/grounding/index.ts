/** Grounding: no invented id reaches a tool. Entities, where their ids are, whether they are good, and what prompts say of them. */

export type { Above } from './above.ts'
export { judgeBelow, stricter, strictest } from './above.ts'
export type { Candidate } from './case.ts'
export { durationMs } from './duration.ts'
export type {
  Called,
  Entities,
  Entity,
  EntityMark,
  EntityOptions,
  GroundingPolicy,
  SelectionDetails,
} from './entity.ts'
export { entity, entityMap } from './entity.ts'
export type { AskedAnswer, Chosen, Facts, Judging, Said, Seen, ShownList } from './facts.ts'
export { activeIds, isExpired, saidIn } from './facts.ts'
export type { Converted, Guarded, GuardedCall } from './guard-call.ts'
export { guardCall, isStillGrounded } from './guard-call.ts'
export type { Handles } from './handles.ts'
export { handleTable } from './handles.ts'
export type { AskedId, Judgement } from './judge.ts'
export { judgeCall } from './judge.ts'
export type { Asking, Passed, RefusalReason, Refused, Verdict } from './judge-id.ts'

export type { LookupOptions, LookupResult, Search } from './lookup-tool.ts'
export { lookupTool } from './lookup-tool.ts'
export type { RowMapping, ToolMapping } from './map-tool.ts'
export { grounded } from './map-tool.ts'
export type { FoundId, Path } from './marks.ts'
export { entitiesIn, idsIn, placeText, withIds, withoutMarks } from './marks.ts'
export type { MemoryFactsOptions, SightingBatch } from './memory-facts.ts'
export { MemoryFacts } from './memory-facts.ts'
export type { NearMatches } from './near.ts'
export { nearMatches } from './near.ts'
export type { OutputFilter, OutputFilterOptions, StreamFilter } from './output-filter.ts'
export { outputFilter } from './output-filter.ts'
export type { Question } from './question.ts'
export { answeredId, questionOf } from './question.ts'
export type { NextStep, Refusal } from './refusal.ts'
export { refusalText } from './refusal.ts'
export type { RowField, RowFields } from './rows.ts'
export type { Selecting } from './selecting.ts'
export {
  expiresAt,
  isPersonal,
  newlyChosen,
  personal,
  unexpired,
  withPersonal,
  withSelections,
} from './selecting.ts'
export type { StateBlockOptions } from './state-block.ts'
export { activeLabels, MOST_ACTIVE, stateBlock } from './state-block.ts'
export { withTextIds } from './text-ids.ts'
export type { GroundedTool, Shown } from './tool-grounding.ts'
export { checkedThing, checkMarkedEntities, lookupsOf, shownBy } from './tool-grounding.ts'
export type { ToolMemoryOptions, ToolTurn } from './tool-memory.ts'
export { toolMemoryBlock } from './tool-memory.ts'
export type { GroundingWords, WordsOptions } from './words.ts'
export { groundingRules } from './words.ts'
