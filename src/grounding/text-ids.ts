/** A schema for a model that writes codes: where an id belongs, any text does. The tool itself still gets what it wants. */
import { ENTITY_MARK, type Json, type JsonObject } from '../protocol/index.ts'

/** What a code would not fit. */
const SHAPES: ReadonlySet<string> = new Set([
  'format',
  'pattern',
  'minLength',
  'maxLength',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
])
/** What says more about the same value, or about the items of a list of ids. */
const SAME: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'items', 'prefixItems'])

/** A copy of the schema; the marks stay. */
export function withTextIds(schema: JsonObject): JsonObject {
  return copied(schema, false) as JsonObject
}

function copied(value: Json, isInside: boolean): Json {
  if (Array.isArray(value)) return (value as readonly Json[]).map((item) => copied(item, isInside))
  if (typeof value !== 'object' || value === null) return value
  const mark = (value as JsonObject)[ENTITY_MARK]
  const isId = isInside || typeof mark === 'string' || Array.isArray(mark)
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) => {
      if (inner === undefined || (isId && SHAPES.has(key))) return []
      if (isId && key === 'type') return [[key, textType(inner)]]
      return [[key, copied(inner, isId && SAME.has(key))]]
    }),
  )
}

function textType(type: Json): Json {
  if (Array.isArray(type)) return [...new Set((type as readonly Json[]).map(textType))]
  return type === 'number' || type === 'integer' ? 'string' : type
}
