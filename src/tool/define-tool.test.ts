/** Definitions of tools, and their types. */
import * as v from 'valibot'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { z } from 'zod'
import { defineTool } from './define-tool.ts'
import { jsonSchema } from './json-schema.ts'
import { ask, toolResult } from './result.ts'
import type { StandardSchema } from './standard-schema.ts'
import type { Tool } from './tool.ts'

const base = { name: 'add', description: 'Adds', input: z.object({ a: z.number() }), run: () => 1 }

describe('a tool', () => {
  it('never runs again, runs beside others, needs no approval and gives 256 KB unless it says otherwise', () => {
    const tool = defineTool(base)
    expect(tool).toMatchObject({
      name: 'add',
      description: 'Adds',
      replay: 'never',
      exclusive: false,
      approve: 'never',
      maxResultBytes: 262_144,
    })
    expect(tool.timeoutMs).toBe(undefined)
    expect(Object.isFrozen(tool)).toBe(true)
  })

  it('keeps what it says', () => {
    const more = {
      replay: 'safe',
      exclusive: true,
      approve: 'always',
      maxResultBytes: 10,
      timeoutMs: 20,
    } as const
    expect(defineTool({ ...base, ...more })).toMatchObject(more)
  })

  it.each(['a', 'listTasks', 'list_tasks-2', 'x'.repeat(64)])('may be called %s', (name) => {
    expect(defineTool({ ...base, name }).name).toBe(name)
  })

  it.each(['constructor', 'toString', 'hasOwnProperty'])(
    'may not be called %j, which every object has',
    (name) => {
      expect(() => defineTool({ ...base, name })).toThrow('every object has something of that name')
    },
  )

  it.each(['', '1a', 'a b', 'a.b', 'é', 'a\n', 'x'.repeat(65), undefined as unknown as string])(
    'may not be called %j',
    (name) => {
      expect(() => defineTool({ ...base, name })).toThrow(
        expect.objectContaining({
          code: 'invalid-option',
          message: expect.stringContaining('its name must be a letter, then letters, digits, _ and -'),
        }),
      )
    },
  )

  it.each([
    [{ description: ' ' }, 'it has no description; say what it does and when to use it.'],
    [{ input: {} as StandardSchema }, '`input` is no schema; write `input: z.object({ … })`'],
    [{ output: 7 as unknown as StandardSchema }, '`output` is no Standard Schema.'],
    [{ run: 7 as unknown as () => number }, '`run` is no function.'],
    [{ replay: 'always' as 'safe' }, "`replay` is \"always\"; it must be 'never' or 'safe'."],
    [{ approve: true as unknown as 'always' }, "`approve` must be 'always', 'never' or a function."],
    [{ verify: true as never }, '`verify` is no function.'],
    [{ display: 'text' as never }, '`display` is no function.'],
    [{ parameters: 'none' as never }, '`parameters` is no JSON Schema; a schema of'],
    [{ timeoutMs: 0 }, '`timeoutMs` must be a number above 0.'],
    [{ maxResultBytes: Number.NaN }, '`maxResultBytes` must be a number above 0.'],
  ])('is refused with %o', (wrong, message) => {
    expect(() => defineTool({ ...base, ...wrong })).toThrow(`Tool "add" cannot be used: ${message}`)
  })
})

it.each([null, undefined, 'add'])('%j is no definition of a tool', (definition) => {
  expect(() => defineTool(definition as never)).toThrow(
    expect.objectContaining({
      code: 'invalid-option',
      message: expect.stringContaining(
        'A tool is defined by an object with name, description, input and run',
      ),
    }),
  )
})

describe('the parameters of a tool', () => {
  it('come from the schema by the method of the standard, without its dialect', () => {
    const input = z.object({ city: z.string().describe('Where'), days: z.number().default(3) })
    expect(defineTool({ ...base, input }).parameters).toEqual({
      type: 'object',
      properties: { city: { type: 'string', description: 'Where' }, days: { type: 'number', default: 3 } },
      required: ['city'],
    })
  })

  it('come from toJsonSchema() if the library has that', () => {
    const input = {
      ...jsonSchema({}),
      '~standard': { version: 1, vendor: 'other', validate: (value: unknown) => ({ value }) },
      kept: 'this',
      toJsonSchema(): object {
        return { $schema: 'x', type: 'object', title: this.kept }
      },
    } as const
    expect(defineTool({ ...base, input }).parameters).toEqual({ type: 'object', title: 'this' })
  })

  it('must be given where the library cannot tell them', () => {
    const input = v.object({ city: v.string() })
    expect(() => defineTool({ ...base, input })).toThrow(
      '"valibot" schemas give no JSON Schema by themselves. Pass `parameters`, the JSON Schema of the input, to tool "add".',
    )
    const parameters = { type: 'object', properties: { city: { type: 'string' } } }
    expect(defineTool({ ...base, input, parameters }).parameters).toBe(parameters)
  })

  it('must be JSON Schema', () => {
    expect(() => defineTool({ ...base, input: z.object({ when: z.date() }) })).toThrow(
      /^The schema cannot be written as JSON Schema: .*Pass `parameters`/,
    )
  })

  it.each([
    [z.string(), '"string"'],
    [z.array(z.string()), '"array"'],
    [z.union([z.object({}), z.object({ a: z.string() })]), 'anyOf'],
    [z.unknown(), 'anything'],
  ])('are an object at the top', (input, seen) => {
    expect(() => defineTool({ ...base, input })).toThrow(
      `Tool "add" cannot be used: its arguments are described as ${seen}, and models give arguments as an object`,
    )
  })
})

describe('the types of a tool', () => {
  const weather = defineTool({
    name: 'weather',
    description: 'Weather',
    input: z.object({ city: z.string(), days: z.string().transform(Number) }),
    approve: ({ input }) => {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
      return input.days > 3
    },
    verify: (input) => {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
      return { happened: true, output: { degrees: 1 } }
    },
    run: async (input, context) => {
      expectTypeOf(input).toEqualTypeOf<{ city: string; days: number }>()
      expectTypeOf(context.signal).toEqualTypeOf<AbortSignal>()
      return { degrees: await Promise.resolve(21) }
    },
    display: (output) => {
      expectTypeOf(output).toEqualTypeOf<{ degrees: number }>()
      return `${output.degrees}°`
    },
  })

  it('come from the schema and from run', () => {
    expectTypeOf(weather).toEqualTypeOf<Tool<{ city: string; days: number }, { degrees: number }>>()
    const valibot = defineTool({
      ...base,
      input: v.object({ a: v.string() }),
      parameters: { type: 'object' },
      run: ({ a }) => a,
    })
    expectTypeOf(valibot).toEqualTypeOf<Tool<{ a: string }, string>>()
  })

  it('see through results with a text, questions, and steps', () => {
    const shown = defineTool({ ...base, run: () => toolResult({ a: 1 }, 'one') })
    expectTypeOf(shown).toEqualTypeOf<Tool<{ a: number }, { a: number }>>()
    const asking = defineTool({
      ...base,
      run: async (_, { answers }) => {
        await Promise.resolve()
        return answers['answer'] === undefined ? ask({ kind: 'text', prompt: 'Who?' }) : { who: 'x' }
      },
    })
    expectTypeOf(asking).toEqualTypeOf<Tool<{ a: number }, { who: string }>>()
    const stepwise = defineTool({
      ...base,
      async *run() {
        yield 1
        await Promise.resolve()
        return 'done' as const
      },
    })
    expectTypeOf(stepwise).toEqualTypeOf<Tool<{ a: number }, 'done'>>()
  })

  it('do not keep different tools out of one list', () => {
    const tools: readonly Tool[] = [weather, defineTool(base), defineTool({ ...base, run: () => {} })]
    expectTypeOf(tools[0]).toEqualTypeOf<Tool | undefined>()
    expect(tools.map(({ name }) => name)).toEqual(['weather', 'add', 'add'])
  })

  it('refuse a run that gives something else than `output` takes', () => {
    const output = z.object({ ok: z.boolean() })
    defineTool({ ...base, output, run: () => ({ ok: true, more: 1 }) })
    defineTool({ ...base, output, run: () => ask({ kind: 'text', prompt: '?' }) })
    // @ts-expect-error ok is a boolean
    defineTool({ ...base, output, run: () => ({ ok: 'yes' }) })
    expect.assertions(0)
  })

  it('refuse a verify that gives another output', () => {
    defineTool({
      ...base,
      run: () => ({ id: 'x' }),
      // @ts-expect-error the output of run is an object with an id
      verify: () => ({ happened: true, output: 7 }),
    })
    expect.assertions(0)
  })
})
