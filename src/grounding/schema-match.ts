/**
 * Finds the alternatives of a schema that a value is meant for, by types, fixed values and required properties. The
 * validator checks everything else.
 */
import { isObject, type Json, type JsonObject } from '../protocol/index.ts'
import { itemSchemas, refOf, schemaNode } from '../tool/index.ts'

export function matchesSchema(raw: Json | undefined, value: Json, root: JsonObject): boolean {
  return fits(raw, value, { root, left: DEEPEST, known: new Map() })
}

/** Schemas may refer to themselves without end. */
const DEEPEST = 24

interface MatchContext {
  readonly root: JsonObject
  readonly left: number
  /** Earlier answers about lists and objects: alternatives often refer to the same schemas for the same values. */
  readonly known: Map<JsonObject, Map<Json, boolean>>
}

function fits(raw: Json | undefined, value: Json, context: MatchContext): boolean {
  if (raw === false) return false
  const schema = schemaNode(raw)
  if (schema === undefined || context.left === 0) return true
  if (typeof value !== 'object' || value === null) return fitsNode(schema, value, context)
  const known = context.known.get(schema) ?? new Map<Json, boolean>()
  context.known.set(schema, known)
  const answer = known.get(value) ?? fitsNode(schema, value, context)
  known.set(value, answer)
  return answer
}

function fitsNode(schema: JsonObject, value: Json, context: MatchContext): boolean {
  const inside: MatchContext = { ...context, left: context.left - 1 }
  if (!fitsType(schema['type'], value)) return false
  if ('const' in schema && !same(schema['const'], value)) return false
  if (Array.isArray(schema['enum']) && !(schema['enum'] as readonly Json[]).some((each) => same(each, value)))
    return false
  if (typeof schema['$ref'] === 'string' && !fits(refOf(context.root, schema['$ref']), value, inside))
    return false
  if (!listOf(schema['allOf']).every((each) => fits(each, value, inside))) return false
  for (const word of ['anyOf', 'oneOf'] as const) {
    const all = listOf(schema[word])
    if (all.length > 0 && !all.some((each) => fits(each, value, inside))) return false
  }
  if (Array.isArray(value)) return fitsList(schema, value as readonly Json[], inside)
  return typeof value === 'object' && value !== null ? fitsObject(schema, value as JsonObject, inside) : true
}

function fitsObject(schema: JsonObject, value: JsonObject, context: MatchContext): boolean {
  const properties = schemaNode(schema['properties']) ?? {}
  const isMissing = listOf(schema['required']).some(
    (name) => typeof name === 'string' && !Object.hasOwn(value, name),
  )
  if (isMissing) return false
  const isClosed = schema['additionalProperties'] === false && schema['patternProperties'] === undefined
  return Object.entries(value).every(([name, inner]) => {
    if (inner === undefined) return true
    if (!Object.hasOwn(properties, name)) return !isClosed
    return fits(properties[name], inner, context)
  })
}

function fitsList(schema: JsonObject, value: readonly Json[], context: MatchContext): boolean {
  const { first, rest } = itemSchemas(schema)
  return value.every((item, at) => fits(at < first.length ? first[at] : rest, item, context))
}

function fitsType(type: Json | undefined, value: Json): boolean {
  if (type === undefined) return true
  return (Array.isArray(type) ? (type as readonly Json[]) : [type]).some((name) => isType(name, value))
}

function isType(name: Json, value: Json): boolean {
  if (name === 'null') return value === null
  if (name === 'array') return Array.isArray(value)
  if (name === 'object') return isObject(value)
  // A library may convert it to a number before it chooses.
  if (name === 'integer' || name === 'number')
    return (
      typeof value === 'number' || (typeof value === 'string' && value !== '' && !Number.isNaN(Number(value)))
    )
  return typeof value === name
}

export function listOf(value: Json | undefined): readonly Json[] {
  return Array.isArray(value) ? (value as readonly Json[]) : []
}

function same(a: Json | undefined, b: Json): boolean {
  return a === b || (typeof a === 'object' && JSON.stringify(a) === JSON.stringify(b))
}
