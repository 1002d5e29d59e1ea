/** A set of tools that wordings are played on. */
import type { Entity } from '../../../src/entry/grounding.ts'
import type { Tool } from '../../../src/index.ts'

export interface WordingSet {
  readonly tools: readonly Tool[]
  readonly entities?: readonly Entity[]
  /** Tools that only look: they may be called on the way to what is expected. */
  readonly looks: readonly string[]
}
