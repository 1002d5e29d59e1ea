/** Schemas that are none, and schemas that break their contract. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { clientTool } from './client-tool.ts'
import { defineTool } from './define-tool.ts'
import { finishReturn } from './finish-call.ts'
import { jsonSchema } from './json-schema.ts'
import { prepareCall } from './prepare-call.ts'
import { ask } from './result.ts'
import type { StandardSchema } from './standard-schema.ts'
import type { Tool } from './tool.ts'

const base = { name: 'act', description: 'Acts.', input: z.object({}), run: () => 'done' }

describe('a validator that gives neither a value nor issues is a mistake of its tool', () => {
  const schemaGiving = (given: unknown): StandardSchema => ({
    '~standard': { version: 1, vendor: 'own', validate: () => given as never },
  })
  const brokenTool = (field: 'input' | 'output', given: unknown): Tool =>
    defineTool({ ...base, parameters: { type: 'object' }, [field]: schemaGiving(given) })

  it.each([
    [undefined, 'undefined'],
    [Promise.resolve(undefined), 'undefined'],
    [null, 'null'],
    [true, 'true'],
    [{}, 'neither'],
    [{ issues: true }, 'issues without messages'],
    [{ issues: [null] }, 'issues without messages'],
    [{ issues: [{ message: 'a', path: [null] }] }, 'issues without messages'],
  ])('%o', async (given, shown) => {
    const why = (field: string): string =>
      `The \`${field}\` schema of tool "act" is broken: its validate() must give { value } or { issues: [{ message }] }, and gave ${shown}`
    const prepared = await prepareCall({ callId: 'c', tool: 'act', args: {} }, [brokenTool('input', given)])
    expect(prepared).toMatchObject({
      settled: { status: 'rejected', output: { issues: [`They cannot be checked: ${why('input')}`] } },
    })
    expect(await finishReturn({ tool: brokenTool('output', given) }, 'done')).toMatchObject({
      status: 'error',
      output: { error: expect.stringContaining(`it cannot be checked: ${why('output')}.`) },
    })
  })

  it('but not one without a reason, nor one whose issues are null', async () => {
    const call = { callId: 'c', tool: 'act', args: {} }
    expect(await prepareCall(call, [brokenTool('input', { issues: [] })])).toMatchObject({ ok: false })
    expect(await prepareCall(call, [brokenTool('input', { value: 1, issues: null })])).toMatchObject({
      ok: true,
      input: 1,
    })
  })
})

describe('what is no schema is refused where it is given', () => {
  const own = { '~standard': {} } as never
  it.each([
    ['jsonSchema()', () => jsonSchema(undefined as never), 'takes JSON Schema as an object, not undefined'],
    ['jsonSchema(text)', () => jsonSchema('object' as never), 'takes JSON Schema as an object, not "object"'],
    ['jsonSchema(z.object())', () => jsonSchema(base.input as never), 'give it as it is'],
    ['parameters', () => defineTool({ ...base, parameters: base.input as never }), 'belongs into `input`'],
    ['a question', () => ask({ kind: 'data', prompt: 'a', schema: own }), 'the schema is no schema'],
    [
      'clientTool()',
      () => clientTool(undefined as never),
      'takes { name, description, input }, not undefined',
    ],
    ['clientTool() with run', () => clientTool(base as never), 'takes no `run`: the caller runs it'],
    ['its output', () => clientTool({ ...base, run: undefined, output: own } as never), 'must be a schema'],
    [
      'its expiry',
      () => clientTool({ ...base, run: undefined, expiresInMs: 'x' } as never),
      'expiresInMs must be',
    ],
  ])('%s', (_, make, why) => {
    expect(make).toThrow(
      expect.objectContaining({ code: 'invalid-option', message: expect.stringContaining(why) }),
    )
  })

  it('but JSON Schema of a library is one', () => {
    const parameters = z.toJSONSchema(z.object({ a: z.string() })) as never
    expect(defineTool({ ...base, parameters, input: jsonSchema(parameters) }).parameters).toBe(parameters)
  })
})
