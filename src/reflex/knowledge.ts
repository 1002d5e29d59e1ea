/** What is known of things at one point of a conversation, and what came of looking for one. */

import type { EntityWords } from '../model/grounding-context.ts'
import type { ActiveValue } from '../protocol/index.ts'
import type { Lexicon } from './lexicon.ts'
import type { Row } from './results.ts'

export interface Things {
  /** Every thing once, as it was seen last; the ones seen last at the end. */
  readonly rows: readonly Row[]
  /** Everything as it was seen, in order, for counting in lists. */
  readonly seen: readonly Row[]
  /** What was spoken of last. */
  readonly focus: Row | undefined
  /** What is known of ids whose kind the schemas name. */
  readonly marked: Marked
  /** How requests are read. */
  readonly lexicon: Lexicon
}

export type Found =
  | { readonly kind: 'filled' }
  | { readonly kind: 'several'; readonly rows: readonly Row[] }
  | { readonly kind: 'none' }
  /** None was named, but this one was spoken of last. */
  | { readonly kind: 'pointed'; readonly row: Row }
  /** One was named that is not there. */
  | { readonly kind: 'missed' }

/** What is known of marked ids at one point of a conversation. */
export interface Marked {
  readonly entities: Readonly<Record<string, EntityWords>>
  readonly lookups: Readonly<Record<string, string>>
  /** By entity, as they were shown, oldest first. */
  readonly rows: ReadonlyMap<string, readonly Row[]>
  readonly active: readonly ActiveValue[]
  /** Kinds of things of which more was shown than is remembered. */
  readonly forgotten: ReadonlySet<string>
  /** The number of the first list of this turn: what a person counts in was there before. */
  readonly now: number
}
