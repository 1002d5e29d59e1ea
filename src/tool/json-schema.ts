/**
 * JSON Schema: values against it, and it as a Standard Schema. The validator is loaded when it is first needed. Where
 * the schemas come from is not known here.
 */
import type { Json, JsonObject } from '../protocol/index.ts'
import type { StandardIssue, StandardSchema } from './standard-schema.ts'
import { thrownText } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'

/** Tools whose arguments are described by JSON Schema only, such as those of another program. */
export function jsonSchema<T = JsonObject>(schema: JsonObject): StandardSchema<T> {
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
 * Tells what is wrong with a value; nothing if it fits. The value must be without undefined. Throws if the schema itself
 * turns out to be of no use.
 */
export type SchemaCheck = (value: Json) => readonly StandardIssue[]

export async function schemaCheck(schema: JsonObject): Promise<SchemaCheck> {
  const { Validator } = await import('@cfworker/json-schema')
  // A copy, because the validator writes into the schema that it is given.
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

/** Why a schema cannot be used at all; undefined if it can. */
export async function schemaProblem(schema: JsonObject): Promise<string | undefined> {
  try {
    const check = await schemaCheck(schema)
    check(null)
    return undefined
  } catch (error) {
    return thrownText(error)
  }
}

/** They only say that something inside of them is wrong, which is in the list, too. */
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

/** What it calls 2019-09 understands the words of 7 and 2020-12, too. */
function draftOf({ $schema }: JsonObject): '4' | '2019-09' {
  return typeof $schema === 'string' && $schema.includes('draft-04') ? '4' : '2019-09'
}

/** `#/items/2/price`, a pointer in a fragment, as steps; numbers where the value has a list. */
function pathOf(location: string, value: Json): readonly PropertyKey[] {
  let here: unknown = value
  return location
    .split('/')
    .slice(1)
    .map((step) => {
      const name = decodeStep(step)
      const key = Array.isArray(here) ? Number(name) : name
      here = (here as Record<PropertyKey, unknown> | undefined)?.[key]
      return key
    })
}

function decodeStep(step: string): string {
  const unescaped = step.replaceAll('~1', '/').replaceAll('~0', '~')
  try {
    return decodeURIComponent(unescaped)
  } catch {
    return unescaped
  }
}
