/**
 * The work of checking a value by the schema of another program, counted before it is done: a small schema whose parts refer
 * to each other can take years. Knows nothing of servers.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import { jsonSchema, refOf, type StandardSchema, schemaNode, toJson } from '../tool/index.ts'

/** Pairs of a part of the schema and a part of the value. */
const MOST_STEPS = 50_000
const DEEPEST = 500

/** True if a check would take too many steps, or go too deep. Counts a few steps too many, never too few. */
export function isHeavy(schema: JsonObject, value: Json): boolean {
  return !new StepCount(schema).fits({ schema, value, depth: 0 })
}

/** Arguments by their schema; by its top level alone, type and required names, where the whole is too much work. */
export function boundedSchema(schema: JsonObject): StandardSchema<JsonObject> {
  const { required } = schema
  const whole = jsonSchema(schema)
  const top = jsonSchema({ type: 'object', ...(required === undefined ? {} : { required }) })
  return {
    '~standard': {
      ...whole['~standard'],
      validate: (value) => {
        const json = toJson(value)
        const isTop = !(json instanceof Error) && isHeavy(schema, json)
        return (isTop ? top : whole)['~standard'].validate(value)
      },
    },
  }
}

interface Pair {
  readonly schema: Json | undefined
  readonly value: Json
}

class StepCount {
  readonly #root: JsonObject
  readonly #targets = new Map<string, JsonObject | undefined>()
  #left = MOST_STEPS

  constructor(root: JsonObject) {
    this.#root = root
  }

  fits({ schema, value, depth }: Pair & { readonly depth: number }): boolean {
    const node = schemaNode(schema)
    this.#left -= 1 + (node === undefined ? 0 : ownSteps(node, value))
    if (this.#left < 0 || depth > DEEPEST) return false
    if (node === undefined) return true
    for (const pair of this.#inner(node, value)) if (!this.fits({ ...pair, depth: depth + 1 })) return false
    return true
  }

  *#inner(node: JsonObject, value: Json): Generator<Pair> {
    const { $ref } = node
    if (typeof $ref === 'string') yield { schema: this.#target($ref), value }
    for (const schema of sameValue(node)) yield { schema, value }
    if (Array.isArray(value)) yield* itemPairs(node, value as readonly Json[])
    else if (typeof value === 'object' && value !== null) yield* propertyPairs(node, value as JsonObject)
  }

  #target(ref: string): JsonObject | undefined {
    if (!this.#targets.has(ref)) this.#targets.set(ref, refOf(this.#root, ref))
    return this.#targets.get(ref)
  }
}

function ownSteps(node: JsonObject, value: Json): number {
  const lists = Object.values((schemaNode(node['dependentRequired']) ?? {}) as Record<string, Json>)
  const words = [node['properties'], node['enum'], node['required'], ...lists]
  const names = words.reduce((sum: number, each) => sum + sizeOf(each), 0)
  return node['uniqueItems'] === true && Array.isArray(value) ? names + value.length ** 2 : names
}

function sizeOf(value: Json | undefined): number {
  return typeof value === 'object' && value !== null ? Object.keys(value).length : 0
}

const SAME_LISTS = ['allOf', 'anyOf', 'oneOf']
const SAME_SINGLES = ['not', 'if', 'then', 'else']
const SAME_NAMED = ['dependentSchemas', 'dependencies']

function* sameValue(node: JsonObject): Generator<Json | undefined> {
  for (const word of SAME_SINGLES) if (node[word] !== undefined) yield node[word]
  for (const word of SAME_LISTS) if (Array.isArray(node[word])) yield* node[word] as readonly Json[]
  for (const word of SAME_NAMED) yield* Object.values((schemaNode(node[word]) ?? {}) as Record<string, Json>)
}

const EACH_ITEM = ['items', 'additionalItems', 'unevaluatedItems', 'contains']
const BY_PLACE = ['prefixItems', 'items']
const EACH_PROPERTY = ['additionalProperties', 'unevaluatedProperties']

function* itemPairs(node: JsonObject, items: readonly Json[]): Generator<Pair> {
  for (const word of EACH_ITEM)
    if (schemaNode(node[word]) !== undefined) for (const value of items) yield { schema: node[word], value }
  for (const word of BY_PLACE) {
    const schemas = Array.isArray(node[word]) ? (node[word] as readonly Json[]) : []
    for (const [at, value] of items.slice(0, schemas.length).entries()) yield { schema: schemas[at], value }
  }
}

function* propertyPairs(node: JsonObject, object: JsonObject): Generator<Pair> {
  const values = object as Record<string, Json>
  const named = (schemaNode(node['properties']) ?? {}) as Record<string, Json>
  for (const [name, value] of Object.entries(values))
    if (Object.hasOwn(named, name)) yield { schema: named[name], value }
  for (const word of EACH_PROPERTY)
    if (schemaNode(node[word]) !== undefined)
      for (const value of Object.values(values)) yield { schema: node[word], value }
}
