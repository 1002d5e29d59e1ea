/** Random schemas in two libraries, values that fit them, and a judge of its own that says which do. */
import * as fc from 'fast-check'
import { z } from 'zod'
import { type Json, type JsonObject, jsonSchema, type StandardSchema } from '../../src/index.ts'

export type Shape =
  | { readonly kind: 'string' | 'number' | 'integer' | 'boolean' | 'null' }
  | { readonly kind: 'enum'; readonly values: readonly string[] }
  | { readonly kind: 'list'; readonly item: Shape }
  | { readonly kind: 'object'; readonly fields: readonly Field[]; readonly isStrict: boolean }
  | { readonly kind: 'either'; readonly shapes: readonly Shape[] }

interface Field {
  readonly name: string
  readonly shape: Shape
  readonly isRequired: boolean
}

const NAMES = ['id', 'name', 'with space', 'né', 'x-1', 'type', 'items', '{odd}']
/** Texts that look like JSON, code or the end of a text. */
const ODD_TEXTS = [
  '',
  '{',
  '[1]',
  '{"a":1}',
  '"',
  '\\',
  '```',
  '```json\n{}\n```',
  'null',
  '\u0000',
  '😀',
  'a, b]',
]

const { shape } = fc.letrec<{ shape: Shape; object: Shape }>((tie) => ({
  shape: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc
      .constantFrom('string', 'number', 'integer', 'boolean', 'null')
      .map((kind): Shape => ({ kind: kind as 'string' })),
    fc
      .uniqueArray(fc.constantFrom('low', 'high', 'a "b"', '{'), { minLength: 1, maxLength: 3 })
      .map((values): Shape => ({ kind: 'enum', values })),
    tie('shape').map((item): Shape => ({ kind: 'list', item })),
    tie('object'),
    fc
      .array(tie('shape'), { minLength: 2, maxLength: 3 })
      .map((shapes): Shape => ({ kind: 'either', shapes })),
  ),
  object: fc
    .record({
      fields: fc.uniqueArray(
        fc.record({ name: fc.constantFrom(...NAMES), shape: tie('shape'), isRequired: fc.boolean() }),
        { selector: ({ name }) => name, maxLength: 4 },
      ),
      isStrict: fc.boolean(),
    })
    .map((object): Shape => ({ kind: 'object', ...object })),
}))

export const shapes: fc.Arbitrary<Shape> = shape

export function valuesOf(of: Shape): fc.Arbitrary<Json> {
  switch (of.kind) {
    case 'string':
      return fc.oneof(fc.string(), fc.constantFrom(...ODD_TEXTS))
    case 'number':
      return fc.double({ noNaN: true, min: -1e15, max: 1e15 }).map((n) => n + 0)
    case 'integer':
      return fc.integer()
    case 'boolean':
      return fc.boolean()
    case 'null':
      return fc.constant(null)
    case 'enum':
      return fc.constantFrom(...of.values)
    case 'list':
      return fc.array(valuesOf(of.item), { maxLength: 3 })
    case 'object':
      return fc.record(Object.fromEntries(of.fields.map((field) => [field.name, valuesOf(field.shape)])), {
        requiredKeys: of.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
        noNullPrototype: true,
      })
    case 'either':
    default:
      return fc.oneof(...of.shapes.map(valuesOf))
  }
}

export type Library = 'zod' | 'json-schema'

export function schemaOf(of: Shape, library: Library): StandardSchema {
  return library === 'zod' ? zodOf(of) : jsonSchema(jsonOf(of))
}

function jsonOf(of: Shape): JsonObject {
  switch (of.kind) {
    case 'enum':
      return { enum: [...of.values] }
    case 'list':
      return { type: 'array', items: jsonOf(of.item) }
    case 'object':
      return {
        type: 'object',
        properties: Object.fromEntries(of.fields.map((field) => [field.name, jsonOf(field.shape)])),
        required: of.fields.filter(({ isRequired }) => isRequired).map(({ name }) => name),
        ...(of.isStrict ? { additionalProperties: false } : {}),
      }
    case 'either':
      return { anyOf: of.shapes.map(jsonOf) }
    case 'string':
    case 'number':
    case 'integer':
    case 'boolean':
    case 'null':
    default:
      return { type: of.kind }
  }
}

function zodOf(of: Shape): z.ZodType {
  switch (of.kind) {
    case 'string':
      return z.string()
    case 'number':
      return z.number()
    case 'integer':
      return z.int()
    case 'boolean':
      return z.boolean()
    case 'null':
      return z.null()
    case 'enum':
      return z.enum([...of.values])
    case 'list':
      return z.array(zodOf(of.item))
    case 'object': {
      const fields = Object.fromEntries(
        of.fields.map((field) => [
          field.name,
          field.isRequired ? zodOf(field.shape) : zodOf(field.shape).optional(),
        ]),
      )
      return of.isStrict ? z.strictObject(fields) : z.object(fields)
    }
    case 'either':
    default:
      return z.union(of.shapes.map(zodOf))
  }
}

/** The output of a value that fits, as the library gives it: Zod drops fields that it does not know. */
export function outputOf(of: Shape, value: Json, library: Library): Json {
  if (library === 'json-schema') return value
  if (of.kind === 'either') {
    const chosen = of.shapes.find((each) => fits(each, value))
    return chosen === undefined ? value : outputOf(chosen, value, library)
  }
  if (of.kind === 'list') return (value as readonly Json[]).map((item) => outputOf(of.item, item, library))
  if (of.kind !== 'object') return value
  const given = value as JsonObject
  return Object.fromEntries(
    of.fields.flatMap(({ name, shape: inner }): [string, Json][] => {
      const field = given[name]
      return field === undefined ? [] : [[name, outputOf(inner, field, library)]]
    }),
  )
}

/** Independent of every schema library. */
export function fits(of: Shape, value: Json | undefined): boolean {
  switch (of.kind) {
    case 'null':
      return value === null
    case 'integer':
      return Number.isSafeInteger(value)
    case 'enum':
      return of.values.includes(value as string)
    case 'list':
      return Array.isArray(value) && (value as readonly Json[]).every((item) => fits(of.item, item))
    case 'object':
      return isObject(value) && fieldsFit(of, value)
    case 'either':
      return of.shapes.some((each) => fits(each, value))
    case 'string':
    case 'number':
    case 'boolean':
    default:
      return typeof value === of.kind
  }
}

function fieldsFit({ fields, isStrict }: Shape & { kind: 'object' }, value: JsonObject): boolean {
  if (isStrict && Object.keys(value).some((name) => fields.every((field) => field.name !== name)))
    return false
  return fields.every(({ name, shape: inner, isRequired }) =>
    Object.hasOwn(value, name) ? fits(inner, value[name]) : !isRequired,
  )
}

export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
