/** A mark that would guard nothing is an error at definition, never a silent gap. */
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type Entity, entity, grounded, lookupTool } from '../../src/entry/grounding.ts'
import { Agent, jsonSchema } from '../../src/index.ts'
import { HoldfastError, type JsonObject } from '../../src/protocol/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool, type Tool, type ToolDefinition } from '../../src/tool/index.ts'
import { calls } from '../turn/kit.ts'

const order = entity('order')
const item = entity('item')
const mark = order.id()
const ID: JsonObject = { type: 'string', ...mark }

const orderId = z.string().meta({ id: 'OrderId', ...mark })

function read(text: string): { id: string } {
  return { id: text }
}

function tool(properties: JsonObject, more: JsonObject = {}): Tool {
  const input = jsonSchema({ type: 'object', properties, ...more })
  return defineTool({ name: 'act', description: 'Acts.', input, run: () => null })
}

type Case = readonly [what: string, properties: JsonObject, more?: JsonObject]

function rows(cases: readonly Case[]) {
  return cases.map(([what, properties, more = {}]) => ({ what, properties, more }))
}

describe('defineTool refuses', () => {
  const wrong: readonly Case[] = [
    ['a mark that is no name', { id: { type: 'string', 'x-entity': 5 } }],
    ['an entity instead of its mark', { id: { type: 'string', 'x-entity': { name: 'order' } } }],
    ['an empty name', { id: { type: 'string', 'x-entity': '' } }],
    ['a list without names', { id: { type: 'string', 'x-entity': [] } }],
    ['a list with something that is no name', { id: { type: 'string', 'x-entity': ['order', 5] } }],
    ['a mark on an object', { id: { type: 'object', ...mark } }],
    ['a mark on something with properties', { id: { properties: { a: {} }, ...mark } }],
    ['a mark on true or false', { id: { type: 'boolean', ...mark } }],
    ['a mark on null', { id: { type: 'null', ...mark } }],
    ['a mark on a list of objects', { id: { type: 'array', items: { type: 'object' }, ...mark } }],
    [
      'a mark on alternatives without a text',
      { id: { anyOf: [{ type: 'null' }, { type: 'object' }], ...mark } },
    ],
    [
      'a mark on a reference to an object',
      { id: { $ref: '#/$defs/row', ...mark } },
      { $defs: { row: { type: 'object' } } },
    ],
    ['a mark on all arguments', {}, mark],
    ['a mark below `not`', { id: { not: { type: 'string', ...mark } } }],
    ['a mark below `if`', { id: { if: { type: 'string', ...mark } } }],
    ['a mark below a word that says nothing', { id: { type: 'string', id: { ...mark } } }],
    ['a mark below a pattern that is none', {}, { patternProperties: { '[': { type: 'string', ...mark } } }],
    ['a mark on names of properties that are no texts', {}, { propertyNames: { type: 'object', ...mark } }],
    [
      'a mark in a definition that only `not` refers to',
      { id: { not: { $ref: '#/$defs/order' } } },
      { $defs: { order: ID } },
    ],
    [
      'a mark behind an `$id`',
      { id: { $ref: 'order.json' } },
      { $defs: { order: { $id: 'order.json', ...ID } } },
    ],
    [
      'a mark behind an `$id` that another argument reaches',
      { id: { $ref: 'order.json' }, other: { $ref: '#/$defs/order' } },
      { $defs: { order: { $id: 'order.json', ...ID } } },
    ],
    [
      'a mark behind an `$id` of draft 7',
      { id: { $ref: '#order' } },
      { $defs: { order: { $id: '#order', ...ID } } },
    ],
    [
      'a mark behind a reference below an `$id` of its own',
      {
        row: {
          $id: 'https://shop.test/row',
          properties: { id: { $ref: '#/$defs/order' } },
          $defs: { order: ID },
        },
      },
      { $defs: { order: { type: 'string' } } },
    ],
    [
      'a mark behind an anchor that an `$id` hides',
      { id: { $ref: '#order' } },
      { $defs: { row: { $id: 'row.json', $defs: { order: { $anchor: 'order', ...ID } } } } },
    ],
    [
      'a mark behind a `$dynamicRef`',
      { id: { $dynamicRef: '#order' } },
      { $defs: { order: { $dynamicAnchor: 'order', ...ID } } },
    ],
    ['a mark behind a `$recursiveRef`', { id: ID, next: { $recursiveRef: '#' } }],
  ]
  it.each(rows(wrong))('$what', ({ properties, more }) => {
    expect(() => tool(properties, more)).toThrow(/x-entity/)
  })

  it.each(['part', 'rows', 'select'] as const)('a function of an entity that makes no mark: %s', (name) => {
    const input = z.object({ orderId: z.string().meta(order[name] as never) })
    expect(() => defineTool({ name: 'refund', description: 'd', input, run: () => null })).toThrow(/x-entity/)
  })

  it('a mark in the schema of the output, which says nothing about what is shown', () => {
    const output = z.object({ id: z.string().meta(mark) })
    const definition = {
      name: 'act',
      description: 'Acts.',
      input: z.object({}),
      output,
      run: () => ({ id: 'a' }),
    }
    expect(() => defineTool(definition)).toThrow(/`returns`/)
  })

  it('a mark in `input` that `parameters` does not have', () => {
    const input = z.object({ id: z.string().meta(mark) })
    const parameters = { type: 'object', properties: { id: { type: 'string' } } }
    const definition = { name: 'act', description: 'Acts.', input, parameters, run: () => null }
    expect(() => defineTool(definition)).toThrow(/`parameters`/)
    const marked = { ...parameters, properties: { id: { type: 'string', ...mark } } }
    expect(() => defineTool({ ...definition, parameters: marked })).not.toThrow()
  })

  const late: readonly (readonly [what: string, z.ZodObject, place: string])[] = [
    ['a text', z.object({ id: z.string().pipe(z.string().meta(mark)) }), 'id'],
    ['a text beside a guarded one', z.object({ from: orderId, to: z.string().pipe(orderId) }), 'to'],
    [
      'a text beside something without a JSON Schema',
      z.object({ at: z.string().transform((text) => new Date(text)), id: z.string().pipe(orderId) }),
      'id',
    ],
    [
      'one of several alternatives',
      z.object({
        row: z.union([
          z.object({ kind: z.literal(1), id: orderId }),
          z.object({ kind: z.literal(2), id: z.string().pipe(orderId) }),
        ]),
      }),
      'row|1.id',
    ],
    [
      'an object',
      z.object({
        row: z
          .string()
          .transform(read)
          .pipe(z.object({ id: orderId })),
      }),
      'row.id',
    ],
    ['names of properties', z.object({ by: z.record(z.string().pipe(orderId), z.number()) }), 'by (names)'],
  ]
  it.each(late)('a mark on the output of a conversion to %s', (_, input, place) => {
    const define = () => defineTool({ name: 'act', description: 'Acts.', input, run: () => null })
    expect(define).toThrow(`x-entity at ${place} is on the output of a conversion`)
  })

  it('an opt-out that is none', () => {
    const definition = {
      name: 'act',
      description: 'Acts.',
      input: z.object({}),
      unmarkedIds: true,
      run: () => null,
    }
    expect(() => defineTool(definition as unknown as ToolDefinition<z.ZodObject, null>)).toThrow(
      /unmarkedIds/,
    )
  })
})

describe('defineTool takes', () => {
  it('a mark whose call was forgotten', () => {
    for (const { id } of [order, order.destination]) {
      const input = z.object({ orderId: z.string().meta(id as never) })
      const { parameters } = defineTool({ name: 'refund', description: 'd', input, run: () => null })
      expect(parameters).toMatchObject({ properties: { orderId: id() } })
    }
  })

  const right: readonly Case[] = [
    ['a number', { id: { type: 'integer', ...mark } }],
    ['a text or null', { id: { type: ['string', 'null'], ...mark } }],
    ['one of several kinds', { id: { type: 'string', 'x-entity': ['order', 'item'] } }],
    ['a list of texts', { id: { type: 'array', items: { type: 'string' }, ...mark } }],
    ['fixed ids', { id: { enum: ['a', 'b'], ...mark } }],
    ['anything', { id: { ...mark } }],
    ['names of properties', { by: { type: 'object', propertyNames: { ...mark } } }],
    ['a definition that is not used', {}, { $defs: { order: { type: 'string', ...mark } } }],
    ['a property that is called like the mark', { 'x-entity': { type: 'string' } }],
    ['data that looks like a mark', { row: { type: 'object', default: { 'x-entity': 7 } } }],
    ['a reference to itself', { next: { $ref: '#' }, id: { type: 'string', ...mark } }],
    [
      'definitions that are not used and refer to each other',
      {},
      { $defs: { row: { not: { $ref: '#/$defs/order' } }, order: ID } },
    ],
    ['a reference to anything', { id: ID, any: { $ref: '#/$defs/any' } }, { $defs: { any: true } }],
    ['a reference to a schema elsewhere', { id: ID, geo: { $ref: 'https://shop.test/geo.json' } }],
    [
      'an `$id` on a part that refers to nothing of its own',
      { row: { $id: 'row.json', properties: { id: { $ref: '#/$defs/order' } } } },
      { $defs: { order: ID } },
    ],
  ]
  it.each(rows(right))('$what', ({ properties, more }) => {
    expect(() => tool(properties, more)).not.toThrow()
  })

  const converted: readonly (readonly [what: string, z.ZodObject])[] = [
    ['a text of both', z.object({ id: orderId.pipe(orderId) })],
    ['a text or null', z.object({ id: orderId.nullable().pipe(orderId) })],
    [
      'an object or null',
      z.object({
        row: z
          .object({ id: orderId })
          .nullable()
          .pipe(z.object({ id: orderId })),
      }),
    ],
    ['the items of a marked list', z.object({ ids: z.array(z.string()).meta(mark).pipe(z.array(orderId)) })],
    ['a default', z.object({ id: orderId.default('a') })],
    ['anything before it', z.object({ id: z.preprocess(String, orderId) })],
    ['the first of two', z.object({ id: orderId.transform(Number), other: orderId })],
  ]
  it.each(converted)('a mark on the input of a conversion: %s', (_, input) => {
    expect(() => defineTool({ name: 'act', description: 'Acts.', input, run: () => null })).not.toThrow()
  })

  it('a schema of another library with marks in the parameters beside it', () => {
    const input = v.object({ id: v.string() })
    const parameters = { type: 'object', properties: { id: { type: 'string', ...mark } } }
    expect(() =>
      defineTool({ name: 'act', description: 'Acts.', input, parameters, run: () => null }),
    ).not.toThrow()
  })
})

describe('grounded refuses', () => {
  const plain = tool({
    id: { type: 'string' },
    row: { type: 'object', properties: { n: { type: 'string' } } },
  })
  const wrong: readonly (readonly [what: string, Record<string, unknown>])[] = [
    ['a list of entities', { id: [order, item] }],
    ['the name of an entity', { id: 'order' }],
    ['the mark of an entity', { id: order.id() }],
    ['nothing', { id: undefined }],
    ['a place that is no id', { row: order }],
    ['a place that is not there', { orderId: order }],
    ['an empty place', { '': order }],
  ]
  it.each(wrong)('%s', (_, input) => {
    expect(() => grounded(plain, { input: input as Record<string, Entity> })).toThrow(HoldfastError)
  })

  it.each([
    ['no tool', undefined, 'needs a tool first, not undefined'],
    ['the name of a tool', 'act', 'needs a tool first, not "act"'],
    ['a tool of another kind', { execute: () => null }, 'needs a tool first, not an object'],
  ])('%s', (_, given, why) => {
    expect(() => grounded(given as never, { input: { id: order } })).toThrow(`grounded() ${why}`)
  })

  it.each([
    ['no mapping', undefined, 'takes options as an object, not undefined'],
    ['an entity', order, 'has no "name"'],
    ['an empty mapping', {}, 'needs'],
    ['an option that is undefined', { input: undefined }, 'needs'],
    ['an unknown option', { inputs: { id: order } }, 'Did you mean input?'],
    ['input without a place', { input: {} }, '`input` of grounded() has no place'],
    ['a Map', { input: new Map([['id', order]]) }, '`input` of grounded() has no place'],
    ['a list as input', { input: [order] }, 'input must be an object, not a list'],
    ['returns without a place', { returns: {} }, '`returns` of grounded() has no place'],
    ['null for returns', { returns: null }, '`returns` of grounded() must be'],
    ['a list for returns', { returns: [{ entity: order, id: 'id' }] }, '`returns` of grounded() must be'],
    ['rows without a mapping', { returns: { '[]': [] } }, '"[]" of grounded() has no rows'],
    ['rows that are no mapping', { returns: { '[]': undefined } }, 'takes options as an object'],
    [
      'rows of no entity',
      { returns: { '[]': { id: 'id' } } },
      'needs an `entity` made by entity(), not undefined',
    ],
    ['rows of a name', { returns: { '[]': { entity: 'order', id: 'id' } } }, 'not "order"'],
    ['rows without an id', { returns: { '[]': { entity: order } } }, 'needs an `id`'],
    [
      'a field that is none',
      { returns: { '[]': { entity: order, id: 3 } } },
      '`id` of "[]" of grounded() must be',
    ],
    [
      'an unknown field',
      { returns: { '[]': { entity: order, id: 'id', lable: 'n' } } },
      'Did you mean label?',
    ],
    ['selects that is no function', { selects: 'id' }, 'selects must be a function'],
    ['an unknown word', { unmarkedIds: 'alow' }, 'unmarkedIds must be judge or allow, not "alow"'],
  ])('a mapping that would guard nothing: %s', (_, mapping, why) => {
    expect(() => grounded(plain, mapping as never)).toThrow(why)
  })
})

describe('fields that no row can be read by are refused', () => {
  it.each([
    ['an empty object', {}, 'needs an `id`'],
    ['no id', { label: 'name' }, 'needs an `id`'],
    ['an unknown name', { id: 'id', lable: 'name' }, 'Did you mean label?'],
    ['a value that names none', { id: 'id', label: 7 }, '`label` of'],
  ])('%s', (_, fields, why) => {
    expect(() => order.rows([{ id: 1 }], fields as never)).toThrow(why)
    expect(() => lookupTool(order, () => [], { fields } as never)).toThrow(why)
  })

  it('and so are rows that are none', () => {
    expect(() => order.rows(undefined as never, { id: 'id' })).toThrow('needs rows, not undefined')
    expect(() => order.select(null as never)).toThrow('a text or a number, not null')
    expect(() => order.select('1', null as never)).toThrow('takes options as an object, not null')
  })
})

describe('an agent refuses marks of entities that it does not have', () => {
  const marked = tool({ id: { type: 'string', 'x-entity': ['order', 'itme'] } })
  const model = () => new ScriptedModel([calls(['act', { id: 'a' }]), 'Done.'])

  it('when it is made', () => {
    const config = { contextId: 'a', model: model(), tools: [marked] }
    expect(() => new Agent({ ...config, entities: [order, item] })).toThrow(/"itme".*entities/s)
    expect(() => new Agent({ ...config, tools: [tool({ id: { type: 'string', ...mark } })] })).toThrow(
      /"order"/,
    )
    expect(() => new Agent({ ...config, entities: [order, entity('itme')] })).not.toThrow()
  })

  it.each([['order'], [null], [{ name: 'order' }]])('and entities that are none: %j', (given) => {
    const config = { contextId: 'c', model: ScriptedModel.forever('Hi.'), entities: [given] as never }
    expect(() => new Agent(config)).toThrow(/`entities` has .* which is no entity/)
  })

  it('when its tools are made for a turn', async () => {
    const agent = new Agent({
      contextId: 'a',
      model: model(),
      tools: () => [marked],
      entities: [order, item],
    })
    const { status, error } = await agent.executeTurn('Hello').outcome
    expect([status, error?.code]).toEqual(['failed', 'invalid-option'])
  })
})

describe('an entity that is given to a schema instead of the mark of its ids', () => {
  const flight = entity('flight', { key: ['number', 'date'] })
  const given: readonly (readonly [instead: string, unknown])[] = [
    ['.meta(order.id())', order],
    ['.meta(order.destination.id())', order.destination],
    ['.meta(flight.part("date").id())', flight.part('date')],
  ]

  it.each(given)('is refused with what to write: %s', (instead, wrong) => {
    const id = () => z.string().meta(wrong as never)
    const define = (input: z.ZodObject) =>
      defineTool({ name: 'act', description: 'Acts.', input, run: () => null })
    expect(() => define(z.object({ id: id() }))).toThrow(instead)
    expect(() => define(z.object({ from: id(), to: id() }))).toThrow(instead)
  })
})
