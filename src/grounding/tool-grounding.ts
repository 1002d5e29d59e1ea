/** What a tool says about ids beside what its schema says: which things its output shows, and which it chooses. */
import { HoldfastError, type Json, quote, type Selection, type Sighting } from '../protocol/index.ts'
import { markNames, type Tool, type ToolGrounding, thrownText } from '../tool/index.ts'
import { type Entities, readMark } from './entity.ts'
import { textOf, withRowProblems } from './rows.ts'

export interface GroundedTool<In = unknown, Out = unknown> extends Tool<In, Out> {
  readonly grounding: ToolGrounding
}

/** What a result showed and chose. `problem`: why that could not be found out; the result stands all the same. */
export interface Shown {
  readonly seen: readonly Sighting[]
  readonly selects: readonly Selection[]
  readonly problem?: string
}

/** Never throws: what a tool did cannot be undone because its output was not understood. */
export function shownBy(
  tool: Tool,
  { output, input }: { readonly output: Json; readonly input?: unknown },
): Shown {
  const { grounding } = tool
  try {
    const { result, problems } = withRowProblems(() => grounding?.seen?.(output, input) ?? [])
    const seen = result.map(checkedThing)
    const selects = (grounding?.selects?.(output, input) ?? []).map(checkedThing)
    const isMissed = grounding?.seen !== undefined && seen.length === 0 && isRows(output)
    if (!isMissed && problems.length === 0) return { seen, selects }
    const why = problems.length === 0 ? 'none of them showed an id' : problems.join('; ')
    const problem = `${tool.name} returned rows, and ${why}. Check the names of the fields that it reads ids from.`
    return { seen, selects, problem }
  } catch (error) {
    const why = thrownText(error)
    return { seen: [], selects: [], problem: `What ${tool.name} returned could not be read: ${why}` }
  }
}

function isRows(output: Json): boolean {
  return (
    Array.isArray(output) &&
    output.length > 0 &&
    output.every((row) => typeof row === 'object' && row !== null)
  )
}

/** A sighting or a selection whose ids and labels are texts. Programs without types may give anything, and it is stored. */
export function checkedThing<T extends Sighting | Selection>(given: T): T {
  const { entity } = (given ?? {}) as Partial<T>
  if (typeof entity !== 'string')
    throw invalidThing(
      'a sighting or a selection must have the name of its entity; make it with rows() or select()',
    )
  const texts = Object.entries(given).map(([name, value]): [string, unknown] => [
    name,
    checkedField(name, value),
  ])
  return Object.fromEntries(texts.filter(([, value]) => value !== undefined)) as T
}

function checkedField(name: string, value: unknown): unknown {
  const texts: unknown[] = Array.isArray(value) ? value.map(textOf) : [textOf(value)]
  if (value === undefined || value === '') return undefined
  if (texts.includes(undefined) && !(name === 'labels' && Array.isArray(value)))
    throw invalidThing(`\`${name}\` must be a text or a number`)
  return Array.isArray(value) ? texts.map((text) => text ?? '') : texts[0]
}

function invalidThing(why: string): HoldfastError {
  return new HoldfastError('invalid-option', { message: `${why}.` })
}

/** Throws `invalid-option` if a tool has a mark of an entity that is not there. */
export function checkMarkedEntities(tools: readonly Tool[], entities: Entities): void {
  for (const { name, parameters } of tools) {
    const names = markNames(parameters).map((mark) => readMark(mark).entity)
    const strange = names.find((each) => !entities.has(each))
    if (strange === undefined) continue
    throw new HoldfastError('invalid-option', {
      message: `Tool ${quote(name)} has a mark of the entity ${quote(strange)}, which is none of the agent's entities. Add it to \`entities\`.`,
      details: { tool: name, entity: strange },
    })
  }
}

/** For each entity the first tool that finds its things, for `Judging.lookups`: a `lookupTool`, or the one that it names. */
export function lookupsOf(
  tools: readonly Tool[],
  entities: ReadonlyMap<string, { readonly lookup?: string }> = new Map(),
): Readonly<Record<string, string>> {
  const found: Record<string, string> = {}
  for (const tool of tools) {
    const entity = tool.grounding?.lookup
    if (entity !== undefined) found[entity] ??= tool.name
  }
  for (const [name, { lookup }] of entities)
    if (lookup !== undefined && tools.some((tool) => tool.name === lookup)) found[name] ??= lookup
  return found
}
