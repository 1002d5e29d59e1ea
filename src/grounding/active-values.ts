/**
 * Applies selections to the active values: a new value replaces the old one, and a switch of the parent deselects its
 * parts. Knows nothing of storage.
 */
import { type ActiveValue, type ChosenBy, defined, type Selection } from '../protocol/index.ts'
import type { Entities, Entity } from './entity.ts'
import { activeIds, chosenAt, isExpired } from './facts.ts'

export interface SelectionContext {
  readonly entities: Entities
  readonly at: number
  /** The default author of a selection. Default: a program. */
  readonly by?: ChosenBy
  readonly origin?: { readonly contextId: string; readonly seq: number }
}

/** The active values after these selections, parents first. */
export function withSelections(
  active: readonly ActiveValue[],
  selections: readonly Selection[],
  context: SelectionContext,
): readonly ActiveValue[] {
  return selections.reduce((values, selection) => selected(values, selection, context), active)
}

/** The entities that these selections newly select. A tool's selection that leaves the author unchanged is not new. */
export function newlyChosen(
  active: readonly ActiveValue[],
  selections: readonly Selection[],
  author: ChosenBy,
): readonly string[] {
  return selections.flatMap(({ entity, id, ids, by = author }) => {
    const first = id ?? ids?.[0]
    if (first === undefined) return []
    const before = active.find((value) => value.entity === entity)
    const isSame = sameIds(activeIds(before), [...new Set([first, ...(ids ?? [])])])
    return isSame && before !== undefined && keepsAuthorOf(before, by) ? [] : [entity]
  })
}

/** A tool that selects the active thing again does not take the selection from a person or a program. */
function keepsAuthorOf({ by: selectedBy }: ActiveValue, by: ChosenBy): boolean {
  return by === 'tool' && selectedBy !== 'tool'
}

/** The unexpired values. A clock that was set back expires nothing. */
export function unexpired(
  active: readonly ActiveValue[],
  entities: Entities,
  now: number,
): readonly ActiveValue[] {
  return active.filter((value) => {
    const entity = entities.get(value.entity)
    return entity === undefined || !isExpired(value, entity, now)
  })
}

/** When a value expires, as milliseconds since 1970; Infinity if never. */
export function expiresAt({ entity, at }: ActiveValue, entities: Entities): number {
  return at + (entities.get(entity)?.ttlMs ?? Number.POSITIVE_INFINITY)
}

/**
 * True if a value is the person's, not the conversation's. A value with an origin in a conversation cannot be the person's.
 */
export function isPersonal({ entity, origin }: ActiveValue, entities: Entities): boolean {
  return origin === undefined && entities.get(entity)?.scope === 'actor'
}

export function personal(values: readonly ActiveValue[], entities: Entities): readonly ActiveValue[] {
  return values.filter((value) => isPersonal(value, entities))
}

/** The values of a conversation, with the person's own as they are now; a value that only the conversation holds stays. */
export function withPersonal(
  active: readonly ActiveValue[],
  persons: readonly ActiveValue[],
  entities: Entities,
): readonly ActiveValue[] {
  const own = active.filter((value) => !isPersonal(value, entities))
  const others = personal(persons, entities).filter(({ entity }) =>
    own.every((value) => value.entity !== entity),
  )
  return [...others, ...own]
}

function selected(
  values: readonly ActiveValue[],
  selection: Selection,
  context: SelectionContext,
): readonly ActiveValue[] {
  const { entity, parent } = selection
  const { entities } = context
  const before = values.find((value) => value.entity === entity)
  const chosen = chosenValue(selection, before, context)
  const isSame = sameIds(activeIds(before), activeIds(chosen))
  const gone = isSame ? new Set<string>() : partsOf(entity, entities)
  const above = otherParent(values, { entity, parent, entities })
  const kept = values.filter(
    (value) => value.entity !== entity && !gone.has(value.entity) && value.entity !== above,
  )
  return chosen === undefined ? kept : [...kept, chosen]
}

/** A thing that is selected again keeps its label and parent. */
function chosenValue(
  { entity, id, ids, by: selectedBy, ...about }: Selection,
  before: ActiveValue | undefined,
  { at, by: author = 'program', origin }: SelectionContext,
): ActiveValue | undefined {
  const first = id ?? ids?.[0]
  if (first === undefined) return undefined
  const several = ids === undefined || ids.length < 2 ? {} : { ids }
  const known = sameIds(activeIds(before), activeIds({ entity, id: first, ...several, at }))
    ? before
    : undefined
  const by = selectedBy ?? author
  const keepsAuthor = known !== undefined && keepsAuthorOf(known, by)
  const label = about.label ?? known?.label
  const labels = about.labels ?? (known && labelsFor([first, ...(ids ?? [])], known))
  const parent = about.parent ?? known?.parent
  return {
    entity,
    id: first,
    ...several,
    ...defined({ label, labels, parent }),
    at,
    by: keepsAuthor ? (known.by ?? 'program') : by,
    since: keepsAuthor ? chosenAt(known).at : at,
    ...defined({ origin }),
  }
}

/** The labels of a selection in the order of its new ids. */
function labelsFor(ids: readonly string[], known: ActiveValue): readonly string[] | undefined {
  const { labels } = known
  const before = known.ids ?? [known.id]
  if (labels === undefined || labels.length === 0) return labels
  return [...new Set(ids)].map((id) => labels[before.indexOf(id)] ?? '')
}

/** A child of another parent deselects the active parent. */
function otherParent(
  values: readonly ActiveValue[],
  { entity, parent, entities }: { entity: string; parent: string | undefined; entities: Entities },
): string | undefined {
  const above = entities.get(entity)?.parent?.name
  if (above === undefined || parent === undefined) return undefined
  const value = values.find((each) => each.entity === above)
  return value !== undefined && !activeIds(value).includes(parent) ? above : undefined
}

function sameIds(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((id) => b.includes(id))
}

/** All entities below one, at any depth. */
function partsOf(name: string, entities: Entities): ReadonlySet<string> {
  const isBelow = (entity: Entity): boolean => {
    for (let above = entity.parent; above !== undefined; above = above.parent)
      if (above.name === name) return true
    return false
  }
  return new Set([...entities.values()].filter(isBelow).map((entity) => entity.name))
}
