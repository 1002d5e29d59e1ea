/** Parts of things: whether one belongs to what the call or the state says it does. */
import { type Candidate, type Case, candidate, isSameId, optionText } from './case.ts'
import type { Entity } from './entity.ts'
import { activeIds, type ChosenAt, chosenAt, isExpired } from './facts.ts'
import { comparable } from './readings.ts'
import { namedByLabel, writtenNow } from './references.ts'

/** What a part belongs to, and what it should belong to instead. */
export interface OtherParent {
  /** The kind of both. */
  readonly entity: Entity
  readonly own: Candidate
  readonly wanted: readonly Candidate[]
  /** When `wanted` was chosen; undefined if it stands in the same call. */
  readonly since?: ChosenAt
}

/**
 * The nearest thing above that the call names or that is chosen, if the part is of another one. Undefined if it is not, or
 * if that cannot be known because no tool has said what it is a part of.
 */
export async function otherParent(thing: Candidate, about: Case): Promise<OtherParent | undefined> {
  const { facts, now, beside } = about.judging
  if (about.entity.parent === undefined) return undefined
  let own = thing.parent ?? (await facts.seen(about.entity.name, thing.id))?.parent
  for (
    let above: Entity | undefined = about.entity.parent;
    above && own !== undefined;
    above = above.parent
  ) {
    const entity: Entity = above
    const id = own
    const seen = await facts.seen(entity.name, id)
    const named = async (ids: readonly string[]) =>
      Promise.all(ids.map(async (each) => candidate((await facts.seen(entity.name, each)) ?? { id: each })))
    const isIn = (ids: readonly string[]): boolean => ids.some((each) => isSameId(entity, each, id))
    const called = beside?.(entity.name) ?? []
    if (called.length > 0)
      return isIn(called)
        ? undefined
        : { entity, own: candidate(seen ?? { id }), wanted: await named(called) }
    const active = await facts.active(entity.name)
    if (active !== undefined && !isExpired(active, entity, now)) {
      if (isIn(activeIds(active))) return undefined
      const wanted = active.ids === undefined ? [candidate(active)] : await named(activeIds(active))
      return { entity, own: candidate(seen ?? { id }), wanted, since: chosenAt(active) }
    }
    own = seen?.parent
  }
  return undefined
}

/**
 * Whether the person means a part of something else than what is chosen, by words of this turn: its own id, the name or id
 * of what it belongs to, or its own name where tools have shown parts of what is chosen and none is called so.
 */
export async function isOtherMeant(thing: Candidate, other: OtherParent, about: Case): Promise<boolean> {
  if (writtenNow(thing.id, about) !== undefined) return true
  const above: Case = { ...about, entity: other.entity, active: undefined, lapsed: undefined }
  if (writtenNow(other.own.id, above) !== undefined) return true
  if ((await namedByLabel(other.own, above)).verdict === 'yes') return true
  if ((await namedByLabel(thing, about)).verdict !== 'yes') return false
  const shown = (await comparable(about)) ?? []
  return shown.some(({ thing: { parent } }) => other.wanted.some(({ id }) => id === parent))
}

/** As a refusal says it. */
export function parentText({ entity, own, wanted }: OtherParent): string {
  const noun = entity.called['en']?.one ?? entity.name
  return `${noun} ${optionText(own)}, not to ${wanted.map(optionText).join(' or ')}`
}
