/** What the parts of a decision about one id tell each other. */
import type { ActiveValue, GroundSource } from '../protocol/index.ts'
import type { Entity } from './entity.ts'
import type { Judging, Seen } from './facts.ts'

/** A thing as a person or a model is shown it. */
export interface Candidate {
  readonly id: string
  readonly label?: string
  readonly parent?: string
}

/** The entity that is decided about. */
export interface Case {
  readonly entity: Entity
  /** Unexpired. */
  readonly active: ActiveValue | undefined
  /** What was chosen until it expired. */
  readonly lapsed: ActiveValue | undefined
  readonly judging: Judging
}

/** A thing that a value may mean, and why. */
export interface Reading {
  readonly thing: Candidate
  readonly source: GroundSource
  readonly seq?: number
}

/** Whether a word is one for things of another kind. */
export function isOtherNoun({ entity, judging }: Case, word: string): boolean {
  const isNoun = ({ nouns: { one, many } }: Entity): boolean => one.has(word) || many.has(word)
  return !isNoun(entity) && [...judging.entities.values()].some(isNoun)
}

export function candidate({ id, label, parent }: Candidate): Candidate {
  return { id, ...(label === undefined ? {} : { label }), ...(parent === undefined ? {} : { parent }) }
}

export function readingOf(seen: Seen, source: GroundSource): Reading {
  return { thing: candidate(seen), source, ...(seen.seq === undefined ? {} : { seq: seen.seq }) }
}

/** Each thing once, by its first reading. */
export function distinct<T extends { readonly thing: Candidate }>(readings: readonly T[]): readonly T[] {
  return readings.filter(({ thing }, at) => readings.findIndex((other) => other.thing.id === thing.id) === at)
}

/** A thing in words that only it has. */
export function optionText({ id, label }: Candidate): string {
  return label === undefined ? id : `${label} (${id})`
}
