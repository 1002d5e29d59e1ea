/** Standard Schema v1, by its shape, as schema libraries implement it. */
import { chain, type MaybePromise } from '../base/index.ts'
import { HoldfastError, invalidOption, isObject, type JsonObject, quote, shown } from '../protocol/index.ts'
import { pathText } from './path-text.ts'
import { schemaNode } from './schema-node.ts'
import { thrownText } from './thrown.ts'
import { JsonProblem, toJson } from './to-json.ts'

/** Any schema of Zod, Valibot, ArkType and others. `In` is its input, `Out` its parsed output. */
export interface StandardSchema<In = unknown, Out = In> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<Out> | Promise<StandardResult<Out>>
    readonly types?: { readonly input: In; readonly output: Out } | undefined
    /** The standard's own conversion to JSON Schema; not every library has it yet. */
    readonly jsonSchema?: unknown
  }
}

export type StandardResult<Out> =
  | { readonly value: Out; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** The type that a schema accepts, before parsing. */
export type SchemaInput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['input']

export type SchemaOutput<S extends StandardSchema> = NonNullable<S['~standard']['types']>['output']

export function isStandardSchema(value: unknown): value is StandardSchema {
  if (value === null || (typeof value !== 'object' && typeof value !== 'function')) return false
  const standard = (value as Record<string, unknown>)['~standard']
  if (typeof standard !== 'object' || standard === null) return false
  return typeof (standard as Record<string, unknown>)['validate'] === 'function'
}

/**
 * True for an object that is no schema of a library. The JSON Schema of `z.toJSONSchema()` is a plain object that hides a
 * `~standard`.
 */
export function isJsonSchema(value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  if (!('~standard' in value)) return true
  const isPlain = Object.getPrototypeOf(value) === Object.prototype
  return isPlain && Object.getOwnPropertyDescriptor(value, '~standard')?.enumerable === false
}

/**
 * The verdict of a schema on a value. Throws `invalid-option` if `validate` gives neither a value nor issues: then the
 * schema is wrong, and `owner` names it.
 */
export function validate<Out>(
  schema: StandardSchema<unknown, Out>,
  value: unknown,
  owner: string,
): MaybePromise<StandardResult<Out>> {
  return chain<unknown, StandardResult<Out>>(schema['~standard'].validate(value), (result) => {
    const { issues } = (result ?? {}) as { readonly issues?: unknown }
    if (Array.isArray(issues) && issues.every(isIssue))
      return { issues: issues.length === 0 ? [{ message: 'The schema does not say why' }] : issues }
    const isFound = typeof result === 'object' && result !== null && 'value' in result
    if (isFound && !issues) return { value: result.value as Out }
    const given = issues ? 'issues without messages' : isObject(result) ? 'neither' : shown(result)
    throw invalidOption(
      owner,
      `is broken: its validate() must give { value } or { issues: [{ message }] }, and gave ${given}`,
    )
  })
}

function isIssue(issue: unknown): issue is StandardIssue {
  const { message, path = [] } = (issue ?? {}) as { readonly message?: unknown; readonly path?: unknown }
  return typeof message === 'string' && Array.isArray(path) && path.every((step) => step !== null)
}

/**
 * The JSON Schema of the schema's input, by the standard's own method or the library's `toJsonSchema()`. Throws
 * `invalid-option` if there is neither; `instead` names the remedy.
 */
export function jsonSchemaOf(schema: StandardSchema, instead: string): JsonObject {
  const raw = converted(schema, instead)
  if (raw === undefined) {
    const { vendor } = schema['~standard']
    throw new HoldfastError('invalid-option', {
      message: `${typeof vendor === 'string' ? quote(vendor) : 'Such'} schemas give no JSON Schema by themselves. ${instead}`,
      details: { vendor },
    })
  }
  return withoutDialect(plain(raw, instead))
}

/** The JSON Schema of the schema's output, with `{}` for what has none; undefined if its library does not give it. */
export function outputJsonSchemaOf(schema: StandardSchema): JsonObject | undefined {
  const { jsonSchema } = schema['~standard'] as { jsonSchema?: { output?: unknown } }
  if (typeof jsonSchema?.output !== 'function') return undefined
  try {
    const options = { target: 'draft-07', libraryOptions: { unrepresentable: 'any' } }
    const json = toJson((jsonSchema.output as (options: object) => unknown)(options))
    return json instanceof JsonProblem ? undefined : schemaNode(json)
  } catch {
    return undefined
  }
}

/**
 * One line per problem, with its path and without a full stop: `items[2].price: Expected a number`. Only the first ones of
 * many are listed.
 */
export function issueLines(issues: readonly StandardIssue[]): readonly string[] {
  const lines = issues.slice(0, MOST_LINES).map(({ message, path = [] }) => {
    const where = pathText(path.map((step) => (typeof step === 'object' ? step.key : step)))
    const sentence = shortened(message.replace(/\.$/, ''))
    return where === '' ? sentence : `${shortened(where)}: ${sentence}`
  })
  return issues.length > MOST_LINES ? [...lines, `and ${issues.length - MOST_LINES} more`] : lines
}

const MOST_LINES = 20
const LONGEST_LINE = 300

function shortened(text: string): string {
  return text.length > LONGEST_LINE ? `${text.slice(0, LONGEST_LINE)}…`.toWellFormed() : text
}

function converted(schema: StandardSchema, instead: string): unknown {
  const { jsonSchema } = schema['~standard'] as { jsonSchema?: { input?: unknown } }
  const { toJsonSchema } = schema as { toJsonSchema?: unknown }
  try {
    if (typeof jsonSchema?.input === 'function') {
      return (jsonSchema.input as (options: object) => unknown)({ target: 'draft-07' })
    }
    if (typeof toJsonSchema === 'function') return (toJsonSchema as () => unknown).call(schema)
  } catch (error) {
    throw error instanceof HoldfastError ? error : unusable(thrownText(error), instead)
  }
  return undefined
}

function plain(raw: unknown, instead: string): JsonObject {
  const json = toJson(raw)
  if (json instanceof JsonProblem) throw unusable(json.message, instead)
  if (!isObject(json)) throw unusable('it is not an object', instead)
  return json
}

function withoutDialect(schema: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([key]) => key !== '$schema'))
}

function unusable(why: string, instead: string): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `The schema cannot be written as JSON Schema: ${why}. ${instead}`,
  })
}
