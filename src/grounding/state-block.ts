/** Layer 1 of a prompt: what is chosen, under a heading that says that it counts. Nothing chosen, no block. */
import type { ActiveValue } from '../protocol/index.ts'
import { type Entities, type Entity, undeclared } from './entity.ts'
import { activeIds } from './facts.ts'
import { plainLine } from './plain-line.ts'
import { unexpired } from './selecting.ts'
import { calledIn, capital, type WordsOptions, wordsFor } from './words.ts'

export interface StateBlockOptions extends WordsOptions {
  readonly entities: Entities
  readonly now: number
  /** What stands for an id, if ids are not to be shown as they are. */
  readonly handle?: (entity: string, id: string) => string
}

/**
 * `[Current state - Source of truth]`, then a line for each entity: `Active project: Champigny (ID: abc-123)`, or of several
 * `Active project: Champigny (ID: abc-123), Bureau (ID: def-456)`. Parents come first; expired values are left out.
 * Undefined if nothing is left.
 */
export function stateBlock(active: readonly ActiveValue[], options: StateBlockOptions): string | undefined {
  const { entities, now } = options
  const values = unexpired(active, entities, now).toSorted(
    (a, b) => depthOf(entities.get(a.entity)) - depthOf(entities.get(b.entity)),
  )
  if (values.length === 0) return undefined
  return [`[${wordsFor(options).stateHeading}]`, ...values.map((value) => line(value, options))].join('\n')
}

/** The state block names this many of the things of one entity. */
export const MOST_ACTIVE = 10

function line(value: ActiveValue, options: StateBlockOptions): string {
  const { entities, language, handle = (_, id) => id } = options
  const words = wordsFor(options)
  const entity = entities.get(value.entity) ?? undeclared(value.entity)
  const [ids, labels] = [activeIds(value), activeLabels(value)]
  const shown = ids.slice(0, MOST_ACTIVE).map((id) => ({
    id: plainLine(handle(value.entity, id), 80),
    label: labels.get(id),
  }))
  const rest = ids.length > MOST_ACTIVE ? `, ${words.more(ids.length - MOST_ACTIVE)}` : ''
  const title = capital(words.active(calledIn(entity, language)))
  if (ids.length === 1 || labels.size > 0) return `${title}: ${shown.map(thing).join(', ')}${rest}`
  const together = `IDs: ${shown.map(({ id }) => id).join(', ')}${rest}`
  return `${title}: ${value.label === undefined ? together : `${plainLine(value.label, 60)} (${together})`}`
}

function thing({ id, label }: { readonly id: string; readonly label: string | undefined }): string {
  return label === undefined ? `ID: ${id}` : `${plainLine(label, 60)} (ID: ${id})`
}

/** The labels of the things that are chosen, by id, as far as they were given. */
export function activeLabels({ id, ids = [id], label, labels }: ActiveValue): ReadonlyMap<string, string> {
  if (ids.length < 2) return new Map(label === undefined ? [] : [[id, label]])
  const known = ids.map((each, at): [string, string] => [each, labels?.[at] ?? ''])
  return new Map(known.filter(([, name]) => name !== ''))
}

function depthOf(entity: Entity | undefined): number {
  let depth = 0
  for (let above = entity?.parent; above !== undefined; above = above.parent) depth++
  return depth
}
