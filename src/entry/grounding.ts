/** `holdfast/grounding`: entities, the marks of ids in tools, lookups, and the values that a person has chosen. */
export type {
  Called,
  Candidate,
  Entity,
  EntityMark,
  EntityOptions,
  GroundedTool,
  GroundingPolicy,
  GroundingWords,
  LookupOptions,
  LookupResult,
  RowFields,
  RowMapping,
  RulesContext,
  Search,
  SelectionDetails,
  ToolMapping,
} from '../grounding/index.ts'
export { entity, grounded, lookupTool } from '../grounding/index.ts'
export type { ActiveValue, ChosenBy, Ground, GroundSource, Selection, Sighting } from '../protocol/index.ts'
export type { ToolGrounding } from '../tool/index.ts'
export type { GroundingOptions } from '../turn/index.ts'
