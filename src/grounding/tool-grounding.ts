/**
 * The grounding of a tool beside its schema: the sightings and selections of its output. `grounded` adds it to tools
 * without entities, such as those of another program.
 */
import {
  checkOptions,
  ENTITY_MARK,
  HoldfastError,
  invalidOption,
  isObject,
  type Json,
  type JsonObject,
  type OptionSet,
  quote,
  type Selection,
  type Sighting,
  shown,
} from '../protocol/index.ts'
import {
  markNames,
  markProblem,
  refOf,
  type SchemaNode,
  schemaNode,
  type Tool,
  type ToolGrounding,
  thrownText,
} from '../tool/index.ts'
import { type Entities, type Entity, type EntityMark, isEntity, readMark } from './entity.ts'
import { checkFields, type RowFields, sightingsByPlace, textOf, withRowProblems } from './rows.ts'

export interface GroundedTool<In = unknown, Out = unknown> extends Tool<In, Out> {
  readonly grounding: ToolGrounding
}

/** The sightings and selections of a result. `problem`: why they could not be read; the result stands. */
export interface ShownThings {
  readonly seen: readonly Sighting[]
  readonly selects: readonly Selection[]
  readonly problem?: string
}

/** Never throws: an unreadable output does not undo the tool's effect. */
export function shownBy(
  tool: Tool,
  { output, input }: { readonly output: Json; readonly input?: unknown },
): ShownThings {
  const { grounding } = tool
  try {
    const { result, problems } = withRowProblems(() => grounding?.seen?.(output, input) ?? [])
    const seen = result.map(checkedThing).filter(({ id }: Partial<Sighting>) => id !== undefined)
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

/** A sighting or a selection whose ids and labels are texts. Untyped programs may pass anything, and it is stored. */
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

/** Throws `invalid-option` if a tool has a mark of an unknown entity. */
export function checkMarkedEntities(tools: readonly Tool[], entities: Entities): void {
  for (const { name, parameters } of tools) {
    const names = markNames(parameters).map((mark) => readMark(mark).entity)
    const unknownEntity = names.find((each) => !entities.has(each))
    if (unknownEntity === undefined) continue
    throw new HoldfastError('invalid-option', {
      message: `Tool ${quote(name)} has a mark of the entity ${quote(unknownEntity)}, which is none of the agent's entities. Add it to \`entities\`.`,
      details: { tool: name, entity: unknownEntity },
    })
  }
}

/**
 * For each entity the first tool that finds its things, for `JudgeContext.lookups`: a `lookupTool`, or the entity's `lookup`.
 */
export function lookupsOf(
  tools: readonly Tool[],
  entities: ReadonlyMap<string, { readonly lookup?: string }> = new Map(),
): Readonly<Record<string, string>> {
  const found = Object.create(null) as Record<string, string>
  for (const tool of tools) {
    const entity = tool.grounding?.lookup
    if (entity !== undefined) found[entity] ??= tool.name
  }
  for (const [name, { lookup }] of entities)
    if (lookup !== undefined && tools.some((tool) => tool.name === lookup)) found[name] ??= lookup
  return found
}

/** Rows of an output that are things of an entity. */
export interface RowMapping extends RowFields<unknown> {
  readonly entity: Entity
}

export interface ToolMapping<In = unknown, Out = unknown> {
  /** The paths of ids in the input: `projectId`, `items[].taskId`, `byProject.*.taskId`. */
  readonly input?: Readonly<Record<string, EntityMark>>
  /**
   * The sightings of the output: a function, or rows by path: `{ 'projects[]': { entity: project, id: 'id', label: 'name' }
   * }`, several where a row shows several things. The empty path is the output itself.
   */
  readonly returns?: ((output: Out, input: In) => readonly Sighting[]) | RowMappings
  /** As `unmarkedIds` of `defineTool`. */
  readonly unmarkedIds?: 'judge' | 'allow'
  /** The selections of an output. */
  readonly selects?: (output: Out, input: In) => readonly Selection[]
}

const MAPPING: OptionSet<ToolMapping> = {
  place: 'grounded()',
  options: { input: 'an object', returns: null, unmarkedIds: ['judge', 'allow'], selects: 'a function' },
  foreign: { parameters: 'input', output: 'returns', outputs: 'returns' },
}

/**
 * The same tool, with marks in its schema and the grounding of its output. Throws `invalid-option` if the schema lacks a
 * path, and for a mapping that says nothing: a guard on a missing path would guard nothing.
 */
export function grounded<In, Out>(tool: Tool<In, Out>, mapping: ToolMapping<In, Out>): GroundedTool<In, Out> {
  checkMapping(tool, mapping)
  const { input = {}, returns, selects, unmarkedIds } = mapping
  const parameters = Object.entries(input).reduce<JsonObject>((schema, [place, given]) => {
    const mark = entityName(given, { tool: tool.name, place })
    const marked = markedAt(schema, stepsOf(place), { root: schema, mark })
    if (marked === undefined) {
      throw new HoldfastError('invalid-option', {
        message: `The arguments of ${quote(tool.name)} have no ${quote(place)}. Write a place that its schema has, such as projectId or items[].taskId.`,
        details: { tool: tool.name, place },
      })
    }
    return marked
  }, tool.parameters)
  const problem = markProblem(parameters)
  if (problem !== undefined)
    throw new HoldfastError('invalid-option', {
      message: `Tool ${quote(tool.name)} cannot be grounded: ${problem}.`,
      details: { tool: tool.name },
    })
  const seen = typeof returns === 'function' ? returns : returns && rowsBy(returns)
  return Object.freeze({
    ...tool,
    parameters,
    grounding: {
      ...tool.grounding,
      ...(unmarkedIds === 'allow' ? { unmarkedIds } : {}),
      ...(seen === undefined ? {} : { seen: seen as (output: Json, input: unknown) => readonly Sighting[] }),
      ...(selects === undefined
        ? {}
        : { selects: selects as (output: Json, input: unknown) => readonly Selection[] }),
    },
  })
}

function checkMapping(tool: unknown, mapping: unknown): void {
  const { run, parameters } = (tool ?? {}) as Partial<Tool>
  if (typeof run !== 'function' || !isObject(parameters))
    throw invalidOption('grounded()', `needs a tool first, not ${shown(tool)}; make it with defineTool()`)
  checkOptions(mapping, MAPPING)
  const { input, returns, ...others } = mapping as ToolMapping
  if ([input, returns, ...Object.values(others)].every((value) => value === undefined))
    throw invalidOption('grounded()', 'needs `input`, `returns`, `selects` or `unmarkedIds` second')
  checkPlaces('input', input)
  if (typeof returns === 'function' || returns === undefined) return
  if (!isObject(returns as unknown))
    throw invalidOption(
      '`returns` of grounded()',
      `must be a function or rows by place, such as { 'orders[]': { entity: order, id: 'id' } }, not ${shown(returns)}`,
    )
  checkPlaces('returns', returns)
  for (const [place, rows] of Object.entries(returns)) checkRows(`${quote(place)} of grounded()`, rows)
}

function checkPlaces(option: string, value: object | undefined): void {
  if (value !== undefined && Object.keys(value).length === 0)
    throw invalidOption(
      `\`${option}\` of grounded()`,
      'has no place, so it would guard nothing; leave it out',
    )
}

function checkRows(place: string, rows: unknown): void {
  const all = [rows].flat()
  if (all.length === 0) throw invalidOption(place, 'has no rows; leave it out')
  for (const one of all) {
    const { entity, ...fields } = (isObject(one) ? one : {}) as Partial<RowMapping>
    checkFields(place, isObject(one) ? fields : one)
    if (!isEntity(entity))
      throw invalidOption(place, `needs an \`entity\` made by entity(), not ${shown(entity)}`)
  }
}

/** Untyped programs may pass anything; a path without a known entity would be unguarded. */
function entityName(given: unknown, details: { readonly tool: string; readonly place: string }): string {
  const { name, id } = (given ?? {}) as Partial<EntityMark>
  if (typeof name === 'string' && typeof id === 'function') return name
  throw new HoldfastError('invalid-option', {
    message: `${quote(details.place)} of ${quote(details.tool)} must be given one entity, made by entity(). Where an id may be of several entities, mark the schema itself: { 'x-entity': ['a', 'b'] }.`,
    details,
  })
}

/** `items[].taskId` as `items`, `[]`, `taskId`. */
function stepsOf(place: string): readonly string[] {
  return place
    .replaceAll('[]', '.[]')
    .split('.')
    .filter((step) => step !== '')
}

interface MarkTarget {
  readonly root: SchemaNode
  readonly mark: string
}

/** A copy with the mark at the end of the steps, in every alternative that has the path; undefined if none has. */
function markedAt(
  given: Json | undefined,
  steps: readonly string[],
  markTarget: MarkTarget,
): SchemaNode | undefined {
  const schema = schemaNode(given)
  if (schema === undefined) return undefined
  const [step, ...rest] = steps
  if (step === undefined) return { ...schema, [ENTITY_MARK]: markTarget.mark }
  const changes = [
    step === '[]' ? inItems(schema, rest, markTarget) : inProperty(schema, { step, rest }, markTarget),
    ...(['anyOf', 'oneOf', 'allOf'] as const).map((word) =>
      inAlternatives(schema, { word, steps }, markTarget),
    ),
  ].filter((change) => change !== undefined)
  if (changes.length > 0) return Object.assign({}, schema, ...changes) as SchemaNode
  // The target of a reference may be used elsewhere, so a copy is marked.
  const target = typeof schema['$ref'] === 'string' ? refOf(markTarget.root, schema['$ref']) : undefined
  const marked = target && target !== schema ? markedAt(target, steps, markTarget) : undefined
  if (marked === undefined) return undefined
  const { $ref: _, ...own } = schema
  return { ...marked, ...own }
}

function inItems(
  schema: SchemaNode,
  rest: readonly string[],
  markTarget: MarkTarget,
): JsonObject | undefined {
  const word = Array.isArray(schema['items']) ? 'additionalItems' : 'items'
  const one = markedAt(schema[word], rest, markTarget)
  const lists = (['prefixItems', 'items'] as const).flatMap((name) => {
    const list = schema[name]
    if (!Array.isArray(list)) return []
    const marked = (list as readonly Json[]).map((item) => markedAt(item, rest, markTarget))
    if (marked.every((item) => item === undefined)) return []
    return [[name, marked.map((item, at) => item ?? (list as readonly Json[])[at] ?? true)] as const]
  })
  if (one === undefined && lists.length === 0) return undefined
  return { ...(one === undefined ? {} : { [word]: one }), ...Object.fromEntries(lists) }
}

function inProperty(
  schema: SchemaNode,
  { step, rest }: { readonly step: string; readonly rest: readonly string[] },
  markTarget: MarkTarget,
): JsonObject | undefined {
  if (step === '*') {
    const additionalProperties = markedAt(schema['additionalProperties'], rest, markTarget)
    return additionalProperties && { additionalProperties }
  }
  const properties = schemaNode(schema['properties'])
  if (properties === undefined || !Object.hasOwn(properties, step)) return undefined
  const marked = markedAt(properties[step], rest, markTarget)
  return marked && { properties: { ...properties, [step]: marked } }
}

function inAlternatives(
  schema: SchemaNode,
  { word, steps }: { readonly word: string; readonly steps: readonly string[] },
  markTarget: MarkTarget,
): JsonObject | undefined {
  const list = schema[word]
  if (!Array.isArray(list)) return undefined
  const marked = (list as readonly Json[]).map((each) => markedAt(each, steps, markTarget))
  if (marked.every((each) => each === undefined)) return undefined
  return { [word]: marked.map((each, at) => each ?? (list as readonly Json[])[at] ?? true) }
}

type RowMappings = Readonly<Record<string, RowMapping | readonly RowMapping[]>>

function rowsBy(mappings: RowMappings): (output: unknown, input: unknown) => readonly Sighting[] {
  const places = Object.entries(mappings).flatMap(([place, mapping]) =>
    [mapping].flat().map((each) => ({ steps: stepsOf(place), mapping: each })),
  )
  return (output, input) => sightingsByPlace(places, { output, input })
}
