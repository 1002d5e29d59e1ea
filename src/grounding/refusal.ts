/**
 * What a model is told when an id is refused: why, what is chosen, what it may have meant, and what to do next. One
 * refusal has to be enough to do it right.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import type { Candidate } from './case.ts'
import type { Entity } from './entity.ts'
import type { RefusalReason, Refused } from './judge-id.ts'

/** One refused id. `next` is the advice as data: ids to use, a tool to call, or to ask the person. */
export interface Refusal {
  readonly path: string
  readonly entity: string
  readonly given: Json
  readonly reason: RefusalReason
  readonly active?: Candidate
  readonly near?: readonly Candidate[]
  /** The entity that it is an id of. */
  readonly kindOf?: string
  readonly next: NextStep
  /** All of this in words. */
  readonly text: string
}

export interface NextStep {
  /** Use one of `ids`, call `tool`, call once for each of `ids`, or ask the person, which of `ids` if there are some. */
  readonly do: 'use' | 'lookup' | 'one-by-one' | 'ask'
  readonly ids?: readonly string[]
  readonly tool?: string
}

interface Refusing {
  readonly verdict: Refused
  readonly entity: Entity
  readonly path: string
  readonly given: Json
  readonly near: readonly Candidate[]
  /** The tool that finds things of this entity. */
  readonly lookup?: string
}

export function refusalOf(refusing: Refusing): Refusal {
  const { verdict, path, given, near } = refusing
  const list = verdict.named ?? near
  return {
    path,
    entity: verdict.entity,
    given,
    reason: verdict.reason,
    ...(verdict.active === undefined ? {} : { active: verdict.active }),
    ...(list.length === 0 ? {} : { near: list }),
    ...(verdict.kindOf === undefined ? {} : { kindOf: verdict.kindOf }),
    next: nextStep(refusing),
    text: [reasonText(refusing), activeText(refusing), nearText(list), adviceText(refusing)]
      .filter((sentence) => sentence !== '')
      .join(' '),
  }
}

/** As the output of a call that was not run. */
export function refusalOutput(refusals: readonly Refusal[]): JsonObject {
  const [first, ...others] = refusals.map(refusalJson)
  const texts = refusals.map(({ path, text }) => (path === '' ? text : `${path}: ${text}`))
  return {
    error: 'ungrounded',
    message: `Nothing was done. ${texts.join(' ')}`,
    ...first,
    ...(others.length === 0 ? {} : { also: others }),
  }
}

function refusalJson({ path, entity, given, reason, kindOf, active, near, next }: Refusal): JsonObject {
  return {
    reason,
    entity,
    path,
    given,
    ...(kindOf === undefined ? {} : { kindOf }),
    ...(active === undefined ? {} : { active: { ...active } }),
    ...(near === undefined ? {} : { near: near.map((each) => ({ ...each })) }),
    next: { ...next },
  }
}

function nextStep({ verdict, near, lookup }: Refusing): NextStep {
  const tool = lookup === undefined ? {} : { tool: lookup }
  const ids = (list: readonly Candidate[]): readonly string[] => list.map(({ id }) => id)
  if (verdict.reason === 'several' && verdict.named !== undefined)
    return { do: verdict.isUnclear ? 'ask' : 'one-by-one', ids: ids(verdict.named) }
  if (verdict.reason === 'not-active' && verdict.active !== undefined)
    return { do: 'use', ids: [verdict.active.id], ...tool }
  if (verdict.reason === 'unknown' && near.length > 0) return { do: 'use', ids: ids(near), ...tool }
  return lookup === undefined ? { do: 'ask' } : { do: 'lookup', ...tool }
}

function reasonText({ verdict, entity, given }: Refusing): string {
  const what =
    typeof given === 'string' ? JSON.stringify(given.slice(0, 80)) : JSON.stringify(given).slice(0, 80)
  const noun = nounOf(entity)
  return {
    unknown: `${what} is no ${noun} id that any tool has shown or the person has given.`,
    expired: `${what} was seen too long ago to still count.`,
    'not-active': `${what} is another ${noun} than the active one, and nothing in this turn speaks of it.`,
    'wrong-kind': `${what} is the id of a ${verdict.kindOf ?? 'different kind'}, not of a ${noun}.`,
    several: `${what} may be more than one ${noun}, and one is wanted here.`,
  }[verdict.reason]
}

function activeText({ verdict, entity }: Refusing): string {
  return verdict.active === undefined ? '' : `The active ${nounOf(entity)} is ${shown(verdict.active)}.`
}

function nearText(near: readonly Candidate[]): string {
  return near.length === 0 ? '' : `Known: ${near.map(shown).join(', ')}.`
}

function adviceText({ verdict, entity, near, lookup }: Refusing): string {
  const noun = nounOf(entity)
  const find = lookup === undefined ? `ask the person which ${noun} is meant` : `call ${lookup} with its name`
  if (verdict.isUnclear) return `Ask the person which ${noun} is meant, then use its id.`
  if (verdict.reason === 'several') return 'Call once for each, with its id.'
  if (verdict.reason === 'not-active' && verdict.active !== undefined)
    return `Use ${verdict.active.id}, or if another ${noun} is meant, ${find} first.`
  if (verdict.reason === 'unknown' && near.length > 0)
    return `Use one of these ids if it is meant, else ${find}. Never make up an id.`
  return `${find.charAt(0).toUpperCase()}${find.slice(1)}. Never make up an id.`
}

function shown({ id, label }: Candidate): string {
  return label === undefined ? id : `${label} (${id})`
}

function nounOf({ name, called }: Entity): string {
  return called['en']?.one ?? name
}
