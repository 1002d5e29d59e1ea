/**
 * Tools that know nothing of entities, such as those of another program: a mapping says where their ids go in and come
 * out, and their code stays as it is.
 */
import {
  ENTITY_MARK,
  HoldfastError,
  type Json,
  type JsonObject,
  quote,
  type Selection,
  type Sighting,
} from '../protocol/index.ts'
import { markProblem, refOf, type SchemaNode, schemaNode, type Tool } from '../tool/index.ts'
import type { Entity, EntityMark } from './entity.ts'
import { type RowFields, sightingsByPlace } from './rows.ts'
import type { GroundedTool } from './tool-grounding.ts'

/** Rows of an output that are things of an entity. */
export interface RowMapping extends RowFields<unknown> {
  readonly entity: Entity
}

export interface ToolMapping<In = unknown, Out = unknown> {
  /** Where ids go in: `projectId`, `items[].taskId`, `byProject.*.taskId`. */
  readonly input?: Readonly<Record<string, EntityMark>>
  /**
   * What the output shows: a function, or rows by their place: `{ 'projects[]': { entity: project, id: 'id', label: 'name' } }`,
   * several where a row shows several things. The output itself is at the empty place.
   */
  readonly returns?: ((output: Out, input: In) => readonly Sighting[]) | RowMappings
  /** As `unmarkedIds` of `defineTool`. */
  readonly unmarkedIds?: 'judge' | 'allow'
  /** What the output chooses. */
  readonly selects?: (output: Out, input: In) => readonly Selection[]
}

/**
 * The same tool, with marks in its schema and knowledge of its output. Throws `invalid-option` if the schema has no such
 * place: a guard that looks where nothing is would be none.
 */
export function grounded<In, Out>(tool: Tool<In, Out>, mapping: ToolMapping<In, Out>): GroundedTool<In, Out> {
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

/** Programs without types may give anything; a place whose entity is not known would not be guarded. */
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

interface Marking {
  readonly root: SchemaNode
  readonly mark: string
}

/** A copy with the mark at the end of the steps, in every alternative that has such a place; undefined if none has. */
function markedAt(
  given: Json | undefined,
  steps: readonly string[],
  marking: Marking,
): SchemaNode | undefined {
  const schema = schemaNode(given)
  if (schema === undefined) return undefined
  const [step, ...rest] = steps
  if (step === undefined) return { ...schema, [ENTITY_MARK]: marking.mark }
  const changes = [
    step === '[]' ? inItems(schema, rest, marking) : inProperty(schema, { step, rest }, marking),
    ...(['anyOf', 'oneOf', 'allOf'] as const).map((word) => inAlternatives(schema, { word, steps }, marking)),
  ].filter((change) => change !== undefined)
  if (changes.length > 0) return Object.assign({}, schema, ...changes) as SchemaNode
  // What is referred to may be used elsewhere, for something else.
  const target = typeof schema['$ref'] === 'string' ? refOf(marking.root, schema['$ref']) : undefined
  const marked = target && target !== schema ? markedAt(target, steps, marking) : undefined
  if (marked === undefined) return undefined
  const { $ref: _, ...own } = schema
  return { ...marked, ...own }
}

function inItems(schema: SchemaNode, rest: readonly string[], marking: Marking): JsonObject | undefined {
  const word = Array.isArray(schema['items']) ? 'additionalItems' : 'items'
  const one = markedAt(schema[word], rest, marking)
  const lists = (['prefixItems', 'items'] as const).flatMap((name) => {
    const list = schema[name]
    if (!Array.isArray(list)) return []
    const marked = (list as readonly Json[]).map((item) => markedAt(item, rest, marking))
    if (marked.every((item) => item === undefined)) return []
    return [[name, marked.map((item, at) => item ?? (list as readonly Json[])[at] ?? true)] as const]
  })
  if (one === undefined && lists.length === 0) return undefined
  return { ...(one === undefined ? {} : { [word]: one }), ...Object.fromEntries(lists) }
}

function inProperty(
  schema: SchemaNode,
  { step, rest }: { readonly step: string; readonly rest: readonly string[] },
  marking: Marking,
): JsonObject | undefined {
  if (step === '*') {
    const additionalProperties = markedAt(schema['additionalProperties'], rest, marking)
    return additionalProperties && { additionalProperties }
  }
  const properties = schemaNode(schema['properties'])
  if (properties === undefined || !Object.hasOwn(properties, step)) return undefined
  const marked = markedAt(properties[step], rest, marking)
  return marked && { properties: { ...properties, [step]: marked } }
}

function inAlternatives(
  schema: SchemaNode,
  { word, steps }: { readonly word: string; readonly steps: readonly string[] },
  marking: Marking,
): JsonObject | undefined {
  const list = schema[word]
  if (!Array.isArray(list)) return undefined
  const marked = (list as readonly Json[]).map((each) => markedAt(each, steps, marking))
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
