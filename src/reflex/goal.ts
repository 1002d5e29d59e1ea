/** What a person wants, what is done for it next, and what is known on the way. */
import type { Json, JsonObject } from '../protocol/index.ts'
import type { Done } from './conversation.ts'
import type { Things } from './knowledge.ts'
import type { Profile } from './match.ts'
import type { Row } from './results.ts'
import type { Param } from './schema.ts'

/** Something that the person wants, as far as it is settled. */
export interface Goal {
  readonly text: string
  readonly tool: Profile
  readonly preset: JsonObject
}

export interface Call {
  readonly tool: string
  readonly args: JsonObject
}

/** What a question was about, so that the next message can be understood as its answer. */
export type Pending =
  | { readonly of: 'tool'; readonly text: string; readonly tools: readonly Profile[] }
  | { readonly of: 'param'; readonly goal: Goal; readonly param: Param; readonly options: readonly Json[] }
  | { readonly of: 'row'; readonly goal: Goal; readonly param: Param; readonly rows: readonly Row[] }

export type Step =
  | { readonly kind: 'call'; readonly calls: readonly Call[] }
  | { readonly kind: 'ask'; readonly text: string; readonly pending: Pending }

export interface Situation {
  readonly profiles: readonly Profile[]
  readonly things: Things
  /** What was called in this turn. */
  readonly calls: readonly Done[]
}
