/** What the parts of a decision about one id tell each other. */
import type { GroundSource } from '../protocol/index.ts'
import type { Entity } from './entity.ts'
import type { Chosen, Judging, Seen } from './facts.ts'

/** A thing as a person or a model is shown it. */
export interface Candidate {
  readonly id: string
  readonly label?: string
  readonly detail?: string
  readonly parent?: string
}

/** The entity that is decided about. */
export interface Case {
  readonly entity: Entity
  /** Unexpired. */
  readonly active: Chosen | undefined
  /** What was chosen until it expired. */
  readonly lapsed: Chosen | undefined
  readonly judging: Judging
}

/** A thing that a value may mean, and why. */
export interface Reading {
  readonly thing: Candidate
  readonly source: GroundSource
  /** When it was shown or said. */
  readonly at?: number
  readonly seq?: number
  /** The person wrote it in this turn. */
  readonly isSaidNow?: true
}

/** Whether two ids are the same one, in the normal form of their entity. */
export function isSameId({ normal }: Pick<Entity, 'normal'>, a: string, b: string): boolean {
  return a === b || (normal !== undefined && normal(a) === normal(b))
}

/** Whether a word is one for things of this kind. */
export function isNounOf({ nouns: { one, many } }: Pick<Entity, 'nouns'>, word: string): boolean {
  return one.has(word) || many.has(word)
}

/** Whether a word is one for things of another kind that could have this id, or this place in a list. */
export function isOtherNoun({ entity, judging }: Case, word: string, id: string): boolean {
  const isPlace = /^#?\d{1,4}$/.test(id)
  const couldHave = ({ pattern }: Entity): boolean => isPlace || pattern === undefined || pattern.test(id)
  return (
    !isNounOf(entity, word) &&
    [...judging.entities.values()].some((other) => isNounOf(other, word) && couldHave(other))
  )
}

export function candidate({ id, label, detail, parent }: Candidate): Candidate {
  return {
    id,
    ...(label === undefined ? {} : { label }),
    ...(detail === undefined ? {} : { detail }),
    ...(parent === undefined ? {} : { parent }),
  }
}

export function readingOf(seen: Seen, source: GroundSource): Reading {
  const { at, seq } = seen
  return { thing: candidate(seen), source, at, ...(seq === undefined ? {} : { seq }) }
}

/** Each thing once, by its first reading. */
export function distinct<T extends { readonly thing: Candidate }>(readings: readonly T[]): readonly T[] {
  const first = new Map<string, T>()
  for (const one of readings) if (!first.has(one.thing.id)) first.set(one.thing.id, one)
  return first.size === readings.length ? readings : [...first.values()]
}

/** A thing in words that only it has. */
export function optionText({ id, label }: Candidate): string {
  return label === undefined ? id : `${label} (${id})`
}

/** Things to choose from, in words that people know: label and detail. The id is there only where these are not enough. */
export function optionTexts(options: readonly Candidate[]): readonly string[] {
  const named = options.map(({ label, detail }) => label && detail && `${label} (${detail})`)
  return options.map((option, at) => {
    const text = named[at]
    const isOnly = text !== undefined && named.indexOf(text) === named.lastIndexOf(text)
    return isOnly ? text : optionText(option)
  })
}

/** The option that an answer names, by its text or its id. */
export function chosenOption(options: readonly Candidate[], answer: unknown): Candidate | undefined {
  const texts = optionTexts(options)
  return options.find(
    (option, at) => texts[at] === answer || option.id === answer || optionText(option) === answer,
  )
}
