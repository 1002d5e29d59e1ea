/** The question to a person which of several things is meant, and what an answer means. How people are reached is not known here. */
import type { Json } from '../protocol/index.ts'
import { chosenOption, optionTexts } from './case.ts'
import type { Entity } from './entity.ts'
import type { AskedId } from './judge.ts'
import { calledIn, type WordsOptions, wordsFor } from './words.ts'

/** Fits a request of the kind `choice`. */
export interface Question {
  readonly kind: 'choice'
  /** The place in the arguments; it tells the questions of one call apart. */
  readonly name: string
  readonly prompt: string
  readonly options: readonly string[]
}

/** Each option is the label with its detail, or with the id where that is needed to tell it apart. */
export function questionOf(asked: AskedId, entity: Entity, options: WordsOptions = {}): Question {
  return {
    kind: 'choice',
    name: asked.path,
    prompt: wordsFor(options).which(calledIn(entity, options.language)),
    options: optionTexts(asked.options),
  }
}

/** The id that an answer names: by the text of an option, by an id, or by a label that only one of them has. */
export function answeredId(asked: Pick<AskedId, 'options'>, answer: Json | undefined): string | undefined {
  const exact = chosenOption(asked.options, answer)
  if (exact !== undefined) return exact.id
  const named = asked.options.filter(({ label }) => label !== undefined && label === answer)
  return named.length === 1 ? named[0]?.id : undefined
}
