/** The tool's actual input is judged: converted arguments, unmarked fields, undeclared fields. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entity, grounded } from '../../src/grounding/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { defineTool, jsonSchema, type StandardSchema, type ToolDefinition } from '../../src/tool/index.ts'
import { bench, calls, KEY } from '../turn/kit.ts'

const order = entity('order', { pattern: /ord_\d+/ })
const item = entity('item')
const id = () => z.string().meta(order.id())
const SHOWN = ['ord_1', 'ord_2', 'ORD-7', '#W8']

interface Outcome {
  readonly got: readonly unknown[]
  readonly end: JsonObject
  readonly phase: JsonObject
}

/** One call of a tool, after another has shown some orders. */
async function ran(
  input: StandardSchema,
  args: Json,
  more: Partial<ToolDefinition<StandardSchema, null>> = {},
): Promise<Outcome> {
  const got: unknown[] = []
  const list = defineTool({
    name: 'list',
    description: 'Lists orders.',
    input: z.object({}),
    run: () => SHOWN,
    returns: (rows) => order.rows(rows, { id: (row) => row, label: (row) => `Label of ${row}` }),
  })
  const use = defineTool({
    name: 'use',
    description: 'Uses an order.',
    input,
    run: (value: unknown) => {
      got.push(value)
      return null
    },
    ...more,
  })
  const script = [calls('list'), calls(['use', args as Record<string, Json>]), 'Done.']
  const { agent, store } = bench({ script, tools: [list, use], entities: [order, item] })
  await agent.input('Use it')
  const entries = await store.read(KEY)
  const end = entries.findLast(({ type }) => type === 'tool.end')?.data ?? {}
  const phase =
    entries.findLast(({ type, data }) => type === 'phase' && data['name'] === 'ground')?.data ?? {}
  return { got, end, phase: (phase['changes'] ?? {}) as JsonObject }
}

function refused(path: string, given: Json): object {
  return { got: [], end: { status: 'rejected', output: { error: 'ungrounded', path, given } } }
}

describe('an id that a schema invents does not reach the tool', () => {
  const invented: readonly (readonly [what: string, StandardSchema, Json, given: Json])[] = [
    ['by transform', z.object({ id: id().transform(() => 'ord_9') }), { id: 'ord_1' }, 'ord_9'],
    [
      'by transform of a part',
      z.object({ id: id().transform((text) => `${text}0`) }),
      { id: 'ord_1' },
      'ord_10',
    ],
    ['by preprocess', z.object({ id: z.preprocess(() => 'ord_9', id()) }), { id: 'ord_1' }, 'ord_9'],
    ['by preprocess of nothing', z.object({ id: z.preprocess(() => 'ord_9', id()) }), { id: null }, 'ord_9'],
    ['as a default', z.object({ id: id().default('ord_9') }), {}, 'ord_9'],
    ['as a default before validation', z.object({ id: id().prefault('ord_9') }), {}, 'ord_9'],
    ['as a way out', z.object({ id: id().catch('ord_9') }), { id: null }, 'ord_9'],
    ['by coercion', z.object({ id: z.coerce.string().meta(order.id()) }), { id: true }, true],
    ['as a number', z.object({ id: z.string().transform(Number).meta(order.id()) }), { id: '0x10' }, '0x10'],
    [
      'for all arguments',
      z.object({ id: id() }).transform(() => ({ id: 'ord_9' })),
      { id: 'ord_1' },
      'ord_9',
    ],
    [
      'from another field',
      z.preprocess((raw) => ({ id: (raw as { which?: string }).which }), z.object({ id: id() })),
      { which: 'ord_9' },
      'ord_9',
    ],
  ]
  it.each(invented.map(([what, input, args, given]) => ({ what, input, args, given })))(
    '$what',
    async ({ input, args, given }) => {
      expect(await ran(input, args)).toMatchObject(refused('id', given))
    },
  )

  it.each([
    { kind: entity('order', { pattern: /ord-[\d-]+/ }), shown: 'ord-1-12', made: 'ord-112' },
    { kind: item, shown: 'aBc', made: 'abc' },
  ])('by other signs or case, if $made can be an id of its own', async ({ kind, shown, made }) => {
    const input = z.object({
      id: z
        .string()
        .meta(kind.id())
        .transform(() => made),
    })
    const got: unknown[] = []
    const list = defineTool({
      name: 'list',
      description: 'Lists ids.',
      input: z.object({}),
      run: () => [shown],
      returns: (rows) => kind.rows(rows, { id: '$value' }),
    })
    const use = defineTool({ name: 'use', description: 'Uses.', input, run: (value) => void got.push(value) })
    const script = [calls('list'), calls(['use', { id: shown }]), 'Done.']
    const { agent, store } = bench({ script, tools: [list, use], entities: [kind] })
    await agent.input('Use it')
    const end = (await store.read(KEY)).findLast(({ type }) => type === 'tool.end')?.data
    expect([got, end]).toMatchObject([[], { output: { error: 'ungrounded', path: 'id', given: made } }])
  })

  it('in a list, a set, a map and an object that it makes', async () => {
    const list = z.object({ ids: z.array(id()).transform((ids) => new Set([...ids, 'ord_9'])) })
    expect(await ran(list, { ids: ['ord_1'] })).toMatchObject(refused('ids[1]', 'ord_9'))
    const keys = z.object({
      by: z.record(
        id().transform((text) => `${text}0`),
        z.number(),
      ),
    })
    expect(await ran(keys, { by: { ord_1: 1 } })).toMatchObject(refused('by.ord_10', 'ord_10'))
    const row = z.object({ id: id().transform(() => ({ id: 'ord_9' })) })
    expect(await ran(row, { id: 'ord_1' })).toMatchObject(refused('id.id', 'ord_9'))
    const both = z.object({ id: id().transform((text) => ({ id: text, other: 'ord_9' })) })
    expect(await ran(both, { id: 'ord_1' })).toMatchObject(refused('id.other', 'ord_9'))
  })

  it('at a place that has another name after it, if it looks like an id', async () => {
    const renamed = z.object({ n: z.string(), id: id() }).transform(({ n }) => ({ orderId: `ord_${n}` }))
    expect(await ran(renamed, { n: '9', id: 'ord_1' })).toMatchObject(refused('orderId', 'ord_9'))
    expect((await ran(renamed, { n: '2', id: 'ord_1' })).got).toEqual([{ orderId: 'ord_2' }])
  })

  it('when what was written means another thing than what the schema makes of it', async () => {
    const input = z.object({ id: z.preprocess((text) => `ord_${String(text).replace('ord_', '')}`, id()) })
    expect((await ran(input, { id: '2' })).got).toEqual([{ id: 'ord_2' }])
    expect(await ran(input, { id: '3' })).toMatchObject(refused('id', 'ord_ORD-7'))
    const swapped = z.object({ id: z.preprocess((text) => (text === '1' ? 'ord_2' : text), id()) })
    expect(await ran(swapped, { id: '1' })).toMatchObject({
      got: [],
      end: { output: { reason: 'several', next: { do: 'ask', ids: ['ord_1', 'ord_2'] } } },
    })
  })

  it('when it converts the same arguments in another way after an approval, in another process', async () => {
    let times = 0
    const input = z.object({ id: id().transform((text) => (times++ === 0 ? text : 'ord_9')) })
    const got: unknown[] = []
    const list = defineTool({
      name: 'list',
      description: 'Lists orders.',
      input: z.object({}),
      run: () => SHOWN,
      returns: (rows) => order.rows(rows, { id: (row) => row }),
    })
    const use = defineTool({
      name: 'use',
      description: 'Uses an order.',
      input,
      approve: 'always',
      run: (value) => void got.push(value),
    })
    const script = [calls('list'), calls(['use', { id: 'ord_1' }]), 'Done.']
    const { agent, another } = bench({ script, tools: [list, use], entities: [order] })
    const { requests } = await agent.executeTurn('Use it').outcome
    await agent.shutdown()
    await another().answer({ [requests[0]?.requestId ?? '']: true }).outcome
    expect(got).toEqual([])
  })
})

describe('a good id stays good through a conversion', () => {
  const good: readonly (readonly [what: string, StandardSchema, Json, got: unknown])[] = [
    ['that does nothing', z.object({ id: id() }), { id: 'ord_1' }, { id: 'ord_1' }],
    ['that trims', z.object({ id: id().trim() }), { id: ' ord_1 ' }, { id: 'ord_1' }],
    ['to the form that was shown', z.object({ id: id().toUpperCase() }), { id: 'ord-7' }, { id: 'ORD-7' }],
    [
      'to another case than was shown',
      z.object({ id: id().toUpperCase() }),
      { id: 'ord_1' },
      { id: 'ORD_1' },
    ],
    [
      'that takes a sign away',
      z.object({ id: id().transform((text) => text.replace('#', '')) }),
      { id: '#W8' },
      { id: 'W8' },
    ],
    [
      'that finds the id in what was written',
      z.object({ id: z.preprocess((text) => `ord_${String(text)}`, id()) }),
      { id: 2 },
      { id: 'ord_2' },
    ],
    [
      'to several ids',
      z.object({
        ids: z
          .string()
          .meta(order.id())
          .transform((text) => text.split(',')),
      }),
      { ids: 'ord_1,ord_2' },
      { ids: ['ord_1', 'ord_2'] },
    ],
    [
      'to an object',
      z.object({ id: id().transform((text) => ({ kind: 'order', id: text })) }),
      { id: 'ord_1' },
      { id: { kind: 'order', id: 'ord_1' } },
    ],
    ['from its label', z.object({ id: id().toUpperCase() }), { id: 'label of ord_1' }, { id: 'ORD_1' }],
    ['from its place', z.object({ id: id().regex(/^ord_\d+$/) }), { id: 'the second one' }, { id: 'ord_2' }],
    ['of a default that was shown', z.object({ id: id().default('ord_2') }), {}, { id: 'ord_2' }],
    [
      'of a field with another name',
      z.preprocess((raw) => ({ id: (raw as { which?: string }).which }), z.object({ id: id() })),
      { which: 'ord_1' },
      { id: 'ord_1' },
    ],
  ]
  it.each(good.map(([what, input, args, got]) => ({ what, input, args, got })))('$what', async (one) => {
    expect((await ran(one.input, one.args)).got).toEqual([one.got])
  })

  it('and the journal has both: what was written and what the tool got', async () => {
    const input = z.object({ id: z.preprocess((text) => `ord_${String(text)}`, id()) })
    expect((await ran(input, { id: 'x' })).end).toMatchObject({ output: { given: 'x' } })
    expect((await ran(input, { id: '2' })).phase['grounds']).toMatchObject([{ id: 'ord_2', said: '2' }])
  })
})

describe('fields that the schema of a tool with marks does not declare', () => {
  const open = jsonSchema({
    type: 'object',
    properties: {
      id: { type: 'string', ...order.id() },
      rows: { type: 'array', items: { type: 'object', properties: { n: { type: 'number' } } } },
      filter: { type: 'object' },
      counts: { type: 'object', additionalProperties: { type: 'number' } },
    },
    patternProperties: { '^x_': { type: 'string' } },
  })
  const args = {
    id: 'ord_1',
    itemId: 'ord_9',
    rows: [{ n: 1, more: { id: 'anything' } }],
    filter: { state: 'open' },
    counts: { a: 1 },
    x_note: 'kept',
  }
  const rest = { id: 'ord_1', rows: [{ n: 1 }], filter: { state: 'open' }, counts: { a: 1 }, x_note: 'kept' }

  it('do not reach it, and the journal says so', async () => {
    const { got, phase } = await ran(open, args)
    expect(got).toEqual([rest])
    expect(phase).toMatchObject({ dropped: ['itemId', 'rows[0].more'] })
  })

  it('are dropped from open schemas of Zod, and nothing is said where Zod drops them by itself', async () => {
    const { got, phase } = await ran(z.looseObject({ id: id() }), { id: 'ord_1', itemId: 'ord_9' })
    expect([got, phase['dropped']]).toEqual([[{ id: 'ord_1' }], ['itemId']])
    const strict = await ran(z.object({ id: id() }), { id: 'ord_1', itemId: 'ord_9' })
    expect([strict.got, strict.phase['dropped']]).toEqual([[{ id: 'ord_1' }], undefined])
  })

  it('reach it if it says so', async () => {
    expect((await ran(open, args, { unmarkedIds: 'allow' })).got).toEqual([args])
  })

  it('reach a tool without marks, which is not guarded', async () => {
    const plain = z.looseObject({ id: z.string() })
    expect((await ran(plain, { id: 'ord_9', more: 'ord_9' })).got).toEqual([{ id: 'ord_9', more: 'ord_9' }])
  })
})

describe('a text without a mark that looks like an id', () => {
  const input = jsonSchema({
    type: 'object',
    properties: {
      id: { type: 'string', ...order.id() },
      note: { type: 'string' },
      state: { enum: ['ord_9', 'open'] },
      deep: { type: 'object' },
      count: { type: 'number' },
    },
  })
  const wrong: readonly (readonly [what: string, Json, path: string])[] = [
    ['in a field', { id: 'ord_1', note: 'ord_9' }, 'note'],
    ['with blanks around it', { id: 'ord_1', note: ' ord_9\n' }, 'note'],
    ['deep inside of a field', { id: 'ord_1', deep: { a: [{ b: 'ord_9' }] } }, 'deep.a[0].b'],
    ['as a name', { id: 'ord_1', deep: { ord_9: 2 } }, 'deep.ord_9'],
  ]
  it.each(wrong.map(([what, args, path]) => ({ what, args, path })))(
    'is judged $what',
    async ({ args, path }) => {
      expect(await ran(input, args)).toMatchObject(refused(path, 'ord_9'))
    },
  )

  const right: readonly (readonly [what: string, Json])[] = [
    ['that was shown', { id: 'ord_1', note: 'ord_2', deep: { ord_1: 1 } }],
    ['that was shown, with blanks around it', { id: 'ord_1', note: ' ord_2 ' }],
    ['that is one of the words of the schema', { id: 'ord_1', state: 'ord_9' }],
    ['that is a longer text', { id: 'ord_1', note: 'as ord_9 was' }],
    ['that fits no pattern', { id: 'ord_1', note: '2026-01-14', count: 12000 }],
  ]
  it.each(right.map(([what, args]) => ({ what, args })))(
    'is no reason to refuse one $what',
    async ({ args }) => {
      expect((await ran(input, args)).got).toEqual([args])
    },
  )

  it('is left alone if the tool says so, or the mapping of a foreign one', async () => {
    const args = { id: 'ord_1', note: 'ord_9' }
    expect((await ran(input, args, { unmarkedIds: 'allow' })).got).toEqual([args])
    const foreign = defineTool({
      name: 'act',
      description: 'Acts.',
      input: z.object({ a: z.string() }),
      run: () => 1,
    })
    expect(grounded(foreign, { input: { a: order }, unmarkedIds: 'allow' }).grounding).toEqual({
      unmarkedIds: 'allow',
    })
  })

  it('is a count and not an id if it is a short number, and a word if it is one', async () => {
    const loose = entity('loose', { pattern: /\w+/ })
    const schema = z.object({ id: z.string().meta(loose.id()), count: z.string(), word: z.string() })
    const got: unknown[] = []
    const use = defineTool({
      name: 'use',
      description: 'Uses.',
      input: schema,
      run: (value) => void got.push(value),
    })
    const args = { id: 'x', count: '12', word: 'Hello' }
    const { agent } = bench({ script: [calls(['use', args]), 'Done.'], tools: [use], entities: [loose] })
    await agent.input('Use x')
    expect(got).toEqual([args])
  })
})
