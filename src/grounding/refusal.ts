/**
 * The texts for a call that does not run as it is: the refusal for the model, with the reason and the next step, and the
 * question for the person, with its options. Knows nothing of delivery.
 */
import { defined, type Json, type JsonObject } from '../protocol/index.ts'
import type { Entity } from './entity.ts'
import type { AskedId, RefusalReason, Refused } from './judge-id.ts'
import { calledIn, type WordsOptions, wordsFor } from './prompt-blocks.ts'
import { type Candidate, chosenOption, optionTexts } from './readings.ts'
import { parentText } from './references.ts'
import type { NearMatches } from './suggestions.ts'

/** One refused id. `next` is the advice as data: ids to use, a tool to call, or to ask the person. */
export interface Refusal {
  readonly path: string
  readonly entity: string
  readonly given: Json
  readonly reason: RefusalReason
  readonly active?: Candidate
  readonly near?: readonly Candidate[]
  /** The entity that the id belongs to. */
  readonly kindOf?: string
  /** The argument of this tool that takes ids of `kindOf`. */
  readonly argument?: string
  /** Its actual parent, where another one is expected. */
  readonly parent?: Candidate
  readonly next: NextStep
  /** The same in words. */
  readonly text: string
}

export interface NextStep {
  /**
   * Use the one of `ids`, call `tool`, call once for each of `ids`, or ask the person, which of `ids` if there are some.
   */
  readonly do: 'use' | 'lookup' | 'one-by-one' | 'ask'
  readonly ids?: readonly string[]
  readonly tool?: string
}

interface RefusalInput {
  readonly verdict: Refused
  readonly entity: Entity
  readonly path: string
  readonly given: Json
  readonly near: NearMatches
  /** The argument that takes ids of its actual entity. */
  readonly argument?: string
  /** The lookup tool of this entity. */
  readonly lookup?: string
}

export function refusalOf(input: RefusalInput): Refusal {
  const { verdict, path, given, near, argument } = input
  const list = verdict.named ?? near.near
  return {
    path,
    entity: verdict.entity,
    given,
    reason: verdict.reason,
    ...defined({ active: verdict.active }),
    ...(list.length === 0 ? {} : { near: list }),
    ...defined({ kindOf: verdict.kindOf, argument }),
    ...(verdict.parent === undefined ? {} : { parent: verdict.parent.own }),
    next: nextStep(input),
    text: [reasonText(input), activeText(input), nearText(list), adviceText(input)]
      .filter((sentence) => sentence !== '')
      .join(' '),
  }
}

/** The output of a call that was not run. */
export function refusalOutput(refusals: readonly Refusal[]): JsonObject {
  const [first, ...others] = refusals.map(refusalJson)
  return {
    error: 'ungrounded',
    message: `Nothing was done. ${refusalText(refusals)}`,
    ...first,
    ...(others.length === 0 ? {} : { also: others }),
  }
}

/** The refusals in words, for a refused call or for a warning. */
export function refusalText(refusals: readonly Refusal[]): string {
  return refusals.map(({ path, text }) => (path === '' ? text : `${path}: ${text}`)).join(' ')
}

function refusalJson(refusal: Refusal): JsonObject {
  const { path, entity, given, reason, kindOf, argument, parent, active, near, next } = refusal
  return {
    reason,
    entity,
    path,
    given,
    ...defined({ kindOf, argument }),
    ...(parent === undefined ? {} : { parent: { ...parent } }),
    ...(active === undefined ? {} : { active: { ...active } }),
    ...(near === undefined ? {} : { near: near.map((each) => ({ ...each })) }),
    next: { ...next },
  }
}

function nextStep({ verdict, near, lookup }: RefusalInput): NextStep {
  const tool = lookup === undefined ? {} : { tool: lookup }
  const ids = (list: readonly Candidate[]): readonly string[] => list.map(({ id }) => id)
  if (verdict.reason === 'several' && verdict.named !== undefined)
    return { do: verdict.isUnclear ? 'ask' : 'one-by-one', ids: ids(verdict.named) }
  if (verdict.reason === 'not-active' && verdict.active !== undefined)
    return { do: 'use', ids: [verdict.active.id], ...tool }
  if (near.best !== undefined) return { do: 'use', ids: [near.best.id], ...tool }
  const which = near.near.length === 0 ? {} : { ids: ids(near.near) }
  return lookup === undefined ? { do: 'ask', ...which } : { do: 'lookup', ...tool }
}

function reasonText({ verdict, entity, given, argument }: RefusalInput): string {
  const value =
    typeof given === 'string' ? JSON.stringify(given.slice(0, 80)) : JSON.stringify(given).slice(0, 80)
  const noun = nounOf(entity)
  return {
    unknown: `${value} is no ${noun} id that any tool has shown or the person has given.`,
    expired: `${value} was seen too long ago to still count.`,
    'not-active': `${value} is another ${noun} than the active one, and nobody has spoken of it since that was chosen.`,
    'wrong-kind': `${value} is the id of a ${verdict.kindOf ?? 'different kind'}, not of a ${noun}.${argument === undefined ? '' : ` It belongs in ${argument}.`}`,
    'wrong-parent': `${value} belongs to ${verdict.parent === undefined ? 'something else' : parentText(verdict.parent)}.`,
    several: `${value} may be more than one ${noun}, and one is wanted here.`,
  }[verdict.reason]
}

function activeText({ verdict, entity }: RefusalInput): string {
  return verdict.active === undefined ? '' : `The active ${nounOf(entity)} is ${shown(verdict.active)}.`
}

function nearText(near: readonly Candidate[]): string {
  return near.length === 0 ? '' : `Known: ${near.map(shown).join(', ')}.`
}

function adviceText({ verdict, entity, near, lookup }: RefusalInput): string {
  const noun = nounOf(entity)
  const find = lookup === undefined ? `ask the person which ${noun} is meant` : `call ${lookup} to find it`
  if (verdict.isUnclear) return `Ask the person which ${noun} is meant, then use its id.`
  if (verdict.reason === 'several') return 'Call once for each, with its id.'
  if (verdict.reason === 'not-active' && verdict.active !== undefined)
    return `Use ${verdict.active.id}, or if another ${noun} is meant, ${find} first.`
  if (near.best !== undefined) return `Use ${near.best.id} if it is meant, else ${find}. Never make up an id.`
  return `${find.charAt(0).toUpperCase()}${find.slice(1)}. Never make up an id.`
}

function shown({ id, label }: Candidate): string {
  return label === undefined ? id : `${label} (${id})`
}

function nounOf({ name, called }: Entity): string {
  return called['en']?.one ?? name
}

/** Fits a request of the kind `choice`. */
export interface Question {
  readonly kind: 'choice'
  /** The path in the arguments; it tells the questions of one call apart. */
  readonly name: string
  readonly prompt: string
  readonly options: readonly string[]
}

/** Each option is the label with its detail, or with the id where that is needed to tell it apart. */
export function questionOf(question: AskedId, entity: Entity, options: WordsOptions = {}): Question {
  return {
    kind: 'choice',
    name: question.path,
    prompt: wordsFor(options).which(calledIn(entity, options.language)),
    options: optionTexts(question.options),
  }
}

/** The id that an answer names: by the text of an option, by an id, or by an unambiguous label. */
export function answeredId(question: Pick<AskedId, 'options'>, answer: Json | undefined): string | undefined {
  const exact = chosenOption(question.options, answer)
  if (exact !== undefined) return exact.id
  const named = question.options.filter(({ label }) => label !== undefined && label === answer)
  return named.length === 1 ? named[0]?.id : undefined
}
