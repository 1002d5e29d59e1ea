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
 * `[Current state - Source of truth]`, then a line for each: `Active project: Champigny (ID: abc-123)`. Parents come
 * first; what has expired is not there. Undefined if nothing is left.
 */
export function stateBlock(active: readonly ActiveValue[], options: StateBlockOptions): string | undefined {
  const { entities, now } = options
  const values = unexpired(active, entities, now).toSorted(
    (a, b) => depthOf(entities.get(a.entity)) - depthOf(entities.get(b.entity)),
  )
  if (values.length === 0) return undefined
  return [`[${wordsFor(options).stateHeading}]`, ...values.map((value) => line(value, options))].join('\n')
}

const MOST_IDS = 10

function line(value: ActiveValue, options: StateBlockOptions): string {
  const { entities, language, handle = (_, id) => id } = options
  const words = wordsFor(options)
  const entity = entities.get(value.entity) ?? undeclared(value.entity)
  const all = activeIds(value)
  const ids = all.slice(0, MOST_IDS).map((id) => plainLine(handle(value.entity, id), 80))
  const rest = all.length > MOST_IDS ? `, ${words.more(all.length - MOST_IDS)}` : ''
  const what = `${all.length > 1 ? 'IDs' : 'ID'}: ${ids.join(', ')}${rest}`
  const title = capital(words.active(calledIn(entity, language)))
  return value.label === undefined ? `${title}: ${what}` : `${title}: ${plainLine(value.label, 60)} (${what})`
}

function depthOf(entity: Entity | undefined): number {
  let depth = 0
  for (let above = entity?.parent; above !== undefined; above = above.parent) depth++
  return depth
}
