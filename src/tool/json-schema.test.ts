/** JSON Schema: which values fit, and where others do not. */
import { describe, expect, it } from 'vitest'
import type { Json, JsonObject } from '../protocol/index.ts'
import { jsonSchema, schemaProblem } from './json-schema.ts'
import { issueLines } from './standard-schema.ts'

async function linesFor(schema: JsonObject, value: unknown): Promise<unknown> {
  const result = await jsonSchema<Json>(schema)['~standard'].validate(value)
  return result.issues === undefined ? result.value : issueLines(result.issues)
}

describe('JSON Schema as a Standard Schema', () => {
  it('gives the value as JSON if it fits', async () => {
    expect(await linesFor({ type: 'object' }, { a: new Date(0), b: undefined })).toEqual({
      a: '1970-01-01T00:00:00.000Z',
    })
  })

  it('tells where it does not, by the place in the value', async () => {
    const schema = {
      type: 'object',
      properties: { 'a~b/c%': { type: 'array', items: { type: 'number', maximum: 3 } }, 0: { const: 1 } },
      additionalProperties: false,
    }
    expect(await linesFor(schema, { 'a~b/c%': [1, 'x', 9], 0: 2, more: 1 })).toEqual([
      '0: Instance does not match 1',
      'a~b/c%[1]: Instance type "string" is invalid. Expected "number"',
      'a~b/c%[2]: 9 is greater than 3',
      'more: This is not allowed',
    ])
    expect(await linesFor({}, new Map())).toEqual([
      'it is a value of type Map; use Object.fromEntries() for it',
    ])
  })

  it('understands tuples of every draft', async () => {
    const old = { items: [{ type: 'string' }], additionalItems: false }
    const recent = { prefixItems: [{ type: 'string' }], items: false }
    for (const schema of [old, recent]) {
      expect(await linesFor(schema, ['x'])).toEqual(['x'])
      expect(await linesFor(schema, [1])).toEqual([
        '[0]: Instance type "number" is invalid. Expected "string"',
      ])
      expect(await linesFor(schema, ['x', 2])).toEqual(['[1]: This is not allowed'])
    }
    const four = { $schema: 'http://json-schema.org/draft-04/schema#', maximum: 3, exclusiveMaximum: true }
    expect(await linesFor(four, 3)).toHaveLength(1)
  })

  it('is itself the JSON Schema, unchanged', async () => {
    const schema = Object.freeze({
      type: 'object',
      properties: Object.freeze({ a: Object.freeze({ type: 'string' }) }),
    })
    await linesFor(schema, { a: 1 })
    expect(schema).toEqual({ type: 'object', properties: { a: { type: 'string' } } })
  })
})

describe('a schema that cannot be used', () => {
  it('is told apart from one that nothing fits', async () => {
    expect(await schemaProblem({ type: 'string' })).toBe(undefined)
    expect(await schemaProblem({ not: {} })).toBe(undefined)
    expect(await schemaProblem({ $ref: '#/nowhere' })).toMatch(/^Unresolved \$ref/)
  })
})
