/** JSON Schema: validates values, and adapts it to Standard Schema. The validator is loaded on first use. */
import { invalidOption, type Json, type JsonObject, shown } from '../protocol/index.ts'
import { pointerStep } from './schema-node.ts'
import { isJsonSchema, isStandardSchema, type StandardIssue, type StandardSchema } from './standard-schema.ts'
import { thrownText } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'

/** For tools whose arguments are described by JSON Schema only, such as those of another program. */
export function jsonSchema<T = JsonObject>(schema: JsonObject): StandardSchema<T> {
  if (!isJsonSchema(schema))
    throw invalidOption(
      'jsonSchema()',
      isStandardSchema(schema)
        ? 'takes JSON Schema, and this is a schema of a library; give it as it is'
        : `takes JSON Schema as an object, not ${shown(schema)}`,
    )
  let loaded: Promise<SchemaCheck> | undefined
  return {
    '~standard': {
      version: 1,
      vendor: 'holdfast',
      validate: async (value) => {
        const json = toJson(value)
        if (json instanceof JsonProblem) return { issues: [{ message: json.message }] }
        loaded ??= schemaCheck(schema)
        const issues = (await loaded)(json)
        return issues.length === 0 ? { value: json as T } : { issues }
      },
      jsonSchema: { input: () => schema, output: () => schema },
    },
  }
}

/**
 * Returns the problems of a value; none if it fits. The value must not contain undefined. Throws if the schema itself is
 * unusable.
 */
export type SchemaCheck = (value: Json) => readonly StandardIssue[]

export async function schemaCheck(schema: JsonObject): Promise<SchemaCheck> {
  const { Validator } = await import('@cfworker/json-schema')
  // A copy, because the validator writes into its schema.
  const validator = new Validator(structuredClone(schema), draftOf(schema), false)
  return (value) => {
    const { errors } = validator.validate(value)
    const leaves = errors.filter(({ keyword }) => !CONTAINERS.has(keyword))
    return (leaves.length > 0 ? leaves : errors).map(({ instanceLocation, keyword, error }) => ({
      path: pathOf(instanceLocation, value),
      message: keyword === 'false' ? 'This is not allowed' : error,
    }))
  }
}

/** Why a schema is unusable; undefined if it is usable. */
export async function schemaProblem(schema: JsonObject): Promise<string | undefined> {
  try {
    const check = await schemaCheck(schema)
    check(null)
    return undefined
  } catch (error) {
    return thrownText(error)
  }
}

/** These only report a problem inside of them, which is listed separately. */
const CONTAINERS: ReadonlySet<string> = new Set([
  '$ref',
  'allOf',
  'properties',
  'patternProperties',
  'items',
  'prefixItems',
  'additionalItems',
  'additionalProperties',
  'unevaluatedItems',
  'unevaluatedProperties',
  'dependentSchemas',
])

/** The validator's 2019-09 also understands the keywords of 7 and 2020-12. */
function draftOf({ $schema }: JsonObject): '4' | '2019-09' {
  return typeof $schema === 'string' && $schema.includes('draft-04') ? '4' : '2019-09'
}

/** `#/items/2/price`, a JSON pointer in a fragment, as steps; numbers where the value is a list. */
function pathOf(location: string, value: Json): readonly PropertyKey[] {
  let here: unknown = value
  return location
    .split('/')
    .slice(1)
    .map((step) => {
      const name = pointerStep(step)
      const key = Array.isArray(here) ? Number(name) : name
      here = (here as Record<PropertyKey, unknown> | undefined)?.[key]
      return key
    })
}
