/** Sightings and marked inputs, declared without a function. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity, entityMap, grounded, judgeCall, MemoryFacts, shownBy } from '../../src/grounding/index.ts'
import { joinedKey, keyValues } from '../../src/grounding/rows.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'
import { bench, calls, KEY } from '../turn/kit.ts'
import { brief, NOW } from './kit.ts'

const order = entity('order', { pattern: /#W\d{4}/ })
const customer = entity('customer')
const flight = entity('flight', { key: ['number', 'date'], pattern: /HAT\d{3}\|\d{4}-\d{2}-\d{2}/ })

const ids = (seen: readonly { entity: string; id: string; label?: string; parent?: string }[]): string[] =>
  seen.map(({ entity: kind, id, label, parent }) => [kind, id, label, parent].filter(Boolean).join(' '))

describe('rows of an entity', () => {
  it.each([
    [/^#W\d{4}$/, ['#W1234', '#W5678']],
    [/^#W\d{4}$|^(?:R-\d+)$/, ['#W1234', '#W5678', 'R-7']],
    [/(^#W1234$)|(?!$)R-[\^$\d]+/, ['#W1234', 'R-7']],
    [/\$\d+/, ['$5']],
  ])('with matches, take ids of a pattern that is anchored already: %s', (pattern, expected) => {
    const anchored = entity('order', { pattern })
    const seen = anchored.rows('Your orders #W1234 and #W5678, and R-7 for $5 .', {
      id: '$value',
      matches: true,
    })
    expect(seen.map(({ id }) => id)).toEqual(expected)
  })

  it.each([
    ['bare texts', ['#W1', '#W2'], { id: '$value' }, ['order #W1', 'order #W2']],
    ['bare numbers', [1, 2], { id: '$value' }, ['order 1', 'order 2']],
    [
      'names of a record',
      { '#W1': { name: 'Lamp' }, '#W2': {} },
      { id: '$key', label: 'name' },
      ['order #W1 Lamp', 'order #W2'],
    ],
    ['values of a record', { a: '#W1' }, { id: '$value', label: '$key' }, ['order #W1 a']],
    [
      'several ids in one text',
      'You have #W1234, #W5678 and #W12345.',
      { id: '$value', matches: true },
      ['order #W1234', 'order #W5678'],
    ],
    ['several ids in a field', [{ text: '#W1234 #W1234' }], { id: 'text', matches: true }, ['order #W1234']],
    ['a key of several fields', [{ n: 'a', at: { d: 1 } }, { n: 'b' }], { id: ['n', 'at.d'] }, ['order a|1']],
    [
      'a parent that is only in the input',
      [{ id: 'x' }],
      { id: 'id', parent: '$input.customer.id' },
      ['order x c1'],
    ],
  ] as const)('%s', (...[, rows, fields, shown]) => {
    const input = { customer: { id: 'c1' } }
    expect(ids(order.rows(rows as Iterable<unknown>, fields as { id: string }, input))).toEqual(shown)
  })
})

describe('a mapping of an output', () => {
  const tool = defineTool({
    name: 'order',
    description: 'Shows an order.',
    input: jsonSchema<{ orderId: string }>({ type: 'object', properties: { orderId: { type: 'string' } } }),
    run: () => null,
  })
  const shownIn = (returns: Parameters<typeof grounded>[1]['returns'], output: Json): string[] =>
    ids(shownBy(grounded(tool, { returns: returns as never }), { output, input: { orderId: '#W9' } }).seen)

  it('shows two things by one row', () => {
    const returns = {
      'orders[]': [
        { entity: order, id: 'id', parent: 'by.id' },
        { entity: customer, id: 'by.id', label: 'by.name' },
      ],
    }
    expect(shownIn(returns, { orders: [{ id: '#W1', by: { id: 'c1', name: 'Ann' } }] })).toEqual([
      'order #W1 c1',
      'customer c1 Ann',
    ])
  })

  it('shows an id that is only in the input', () => {
    expect(
      shownIn({ '': { entity: order, id: '$input.orderId', label: 'title' } }, { title: 'Lamp' }),
    ).toEqual(['order #W9 Lamp'])
  })

  it('shows names of a record, bare texts and ids in a text', () => {
    expect(
      shownIn({ 'by.*': { entity: order, id: '$key', label: 'n' } }, { by: { '#W1': { n: 'Lamp' } } }),
    ).toEqual(['order #W1 Lamp'])
    expect(shownIn({ 'ids[]': { entity: order, id: '$value' } }, { ids: ['#W1'] })).toEqual(['order #W1'])
    expect(shownIn({ '': { entity: order, id: '$value', matches: true } }, 'See #W1234 and #W5678')).toEqual([
      'order #W1234',
      'order #W5678',
    ])
  })
})

it('a sighting without an id is none', () => {
  const seen = [{ entity: 'order' }, { entity: 'order', id: '' }, { entity: 'order', id: '#W1' }] as never
  const tool = defineTool({
    name: 'orders',
    description: 'Orders.',
    input: z.object({}),
    returns: () => seen,
    run: () => [],
  })
  expect(ids(shownBy(tool, { output: [{}, {}, {}] }).seen)).toEqual(['order #W1'])
})

describe('an id of several arguments', () => {
  it.each([
    ['HAT1', '2024-05-20'],
    ['a|', 'b'],
    ['', '|'],
    ['\\', '\\|', ''],
  ])('is taken apart into %j, %j', (...values) => {
    expect(keyValues(joinedKey(values))).toEqual(values)
  })

  const row: JsonObject = {
    type: 'object',
    properties: {
      flight_number: { type: 'string', ...flight.part('number').id() },
      date: { type: 'string', ...flight.part('date').id() },
    },
  }
  const parameters: JsonObject = { type: 'object', properties: { flights: { type: 'array', items: row } } }
  const seen = flight.rows(
    [
      { flight_number: 'HAT001', date: '2024-05-20' },
      { flight_number: 'HAT002', date: '2024-05-21' },
    ],
    { id: ['flight_number', 'date'] },
  )
  const judge = async (...flights: JsonObject[]) =>
    judgeCall(
      { parameters, args: { flights } },
      {
        entities: entityMap([flight]),
        facts: new MemoryFacts({
          batches: [{ at: NOW - 1, seq: 4, seen }],
          userText: 'HAT003 on 2024-05-22',
        }),
        now: NOW,
      },
    )

  it('is good as a whole, and only so', async () => {
    const given = { flight_number: 'HAT001', date: '2024-05-20' }
    expect(await judge(given)).toMatchObject({
      args: { flights: [given] },
      grounds: [{ path: 'flights[0].flight_number', id: 'HAT001|2024-05-20', source: 'seen', seq: 4 }],
    })
    expect(brief(await judge({ flight_number: 'HAT001', date: '2024-05-21' }))).toBe('refused unknown')
    expect(brief(await judge({ flight_number: 'HAT001' }))).toBe('refused unknown')
    expect(brief(await judge(given, { flight_number: 'HAT002', date: '2024-05-22' }))).toBe('refused unknown')
  })

  it('may be said, all of it', async () => {
    expect(brief(await judge({ flight_number: 'HAT003', date: '2024-05-22' }))).toBe('said HAT003|2024-05-22')
    expect(brief(await judge({ flight_number: 'HAT003', date: '2024-05-23' }))).toBe('refused unknown')
  })

  it('can be marked from outside, and reaches a tool in a turn', async () => {
    const ran: Json[] = []
    const search = defineTool({
      name: 'search',
      description: 'Searches flights.',
      input: z.object({}),
      run: () => [{ flight_number: 'HAT001', date: '2024-05-20' }],
      returns: (rows) => flight.rows(rows, { id: ['flight_number', 'date'] }),
    })
    const foreign = defineTool({
      name: 'book',
      description: 'Books a flight.',
      input: z.object({ flight_number: z.string(), date: z.string() }),
      run: (input) => void ran.push(input),
    })
    const book = grounded(foreign, {
      input: { flight_number: flight.part('number'), date: flight.part('date') },
    })
    const script = [
      calls('search'),
      calls(['book', { flight_number: 'HAT001', date: '2024-05-21' }]),
      calls(['book', { flight_number: 'HAT001', date: '2024-05-20' }]),
      'Booked.',
    ]
    const { agent, store } = bench({ script, tools: [search, book], entities: [flight] })
    await agent.input('Book the flight')
    expect(ran).toEqual([{ flight_number: 'HAT001', date: '2024-05-20' }])
    const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(ends.map(({ data }) => data['status'])).toEqual(['ok', 'rejected', 'ok'])
  })

  it('is declared with parts that it has', () => {
    expect(() => flight.part('day')).toThrow('its `key` has no "day"')
    expect(() => entity('x', { key: ['one'] })).toThrow('two or more names')
  })
})
