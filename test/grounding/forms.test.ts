/**
 * Spellings of ids and positions by people and models: other forms, other nouns, positions in the newest list, and authors
 * of selections.
 */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  entity,
  entityMap,
  type JudgeContext,
  judgeCall,
  MemoryFacts,
  type MemoryFactsOptions,
} from '../../src/grounding/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { bench, calls, KEY, STORES } from '../turn/kit.ts'
import { active, brief, bureau, champigny, judged, NOW, shown, wiring } from './kit.ts'

describe('a place that is said of no kind', () => {
  const projects = shown([champigny, bureau], 3000, 1)
  const tasks = shown([wiring, { ...wiring, id: 'def-789', label: 'Peinture' }], 2000, 2)
  const last = { batches: [projects, tasks] }
  const first = { batches: [tasks, projects] }
  const chosen = { ...last, active: [active(bureau)] }

  it.each([
    [
      'the person’s does not let another thing through than one of the newest list',
      'abc-123',
      { ...chosen, userText: 'the first one' },
      'refused not-active',
    ],
    ['nor does a number', 'abc-123', { ...chosen, userText: '1' }, 'refused not-active'],
    ['the model’s is not one in an older list', 'the first one', chosen, 'refused unknown'],
    ['nor is its number, though nothing is chosen', '1', last, 'refused unknown'],
    ['it is one in the newest list', '1', first, 'ordinal abc-123'],
    ['with its noun it is one in the newest list of its kind', 'project 1', last, 'ordinal abc-123'],
    [
      'the person may say the noun',
      'the first one',
      { ...last, userText: 'tasks of the first project' },
      'ordinal abc-123',
    ],
    ['and lets it through then', 'abc-123', { ...chosen, userText: 'the first project' }, 'seen abc-123'],
    [
      'a list that is too old is no list',
      '1',
      { batches: [projects, { ...tasks, at: NOW - 8 * 3_600_000 }] },
      'ordinal abc-123',
    ],
    [
      'a list of this turn does not hide the one that the person has seen',
      '1',
      { batches: [projects, { ...tasks, isThisTurn: true }] },
      'ordinal abc-123',
    ],
  ] as const)('%s', async (...[, given, facts, wanted]) => {
    expect(brief(await judged(given, facts as MemoryFactsOptions))).toBe(wanted)
  })
})

const order = entity('order', {
  pattern: /#W\d{4}/,
  normalize: (id) => id.replace(/[#\s-]/g, '').toUpperCase(),
})
const strict = entity('order', { pattern: /#W\d{4}/ })
const item = entity('item', { pattern: /\d{10}/ })
const flight = entity('flight', {
  pattern: /HAT\d{3}/,
  normalize: (id) => id.toUpperCase().replace(/\W/g, ''),
})

async function verdict(
  kind: typeof order,
  given: Json,
  { type = 'string', ...options }: MemoryFactsOptions & { readonly type?: string },
) {
  const parameters: JsonObject = { type: 'object', properties: { id: { type, ...kind.id() } } }
  const normal = kind.normal === undefined ? {} : { normal: { [kind.name]: kind.normal } }
  const judging: JudgeContext = {
    entities: entityMap([kind, item]),
    facts: new MemoryFacts({ ...options, ...normal }),
    now: NOW,
  }
  const result = await judgeCall({ parameters, args: { id: given } }, judging)
  const { id } = (result.kind === 'ok' ? result.args : {}) as { id?: Json }
  return [brief(result), id]
}

describe('an id in another form', () => {
  const batches = [shown([{ entity: 'order', id: '#W1234', label: 'Lamp' }])]
  it.each(['#W1234', 'W1234', 'w1234', '#w-1234', 'W 1234'])(
    'is known as it was shown, and the tool gets that: %s',
    async (given) => {
      expect(await verdict(order, given, { batches })).toEqual(['seen #W1234', '#W1234'])
    },
  )

  it('is another id without a normal form', async () => {
    expect((await verdict(strict, 'w1234', { batches }))[0]).toBe('refused unknown')
  })

  it('is the chosen one', async () => {
    const facts = { active: [{ entity: 'order', id: '#W1234', at: NOW }] }
    expect(await verdict(order, 'w1234', facts)).toEqual(['state #W1234', '#W1234'])
  })

  it('of two things is asked about', async () => {
    const both = [shown(['#W1234', '#w1234'].map((id) => ({ entity: 'order', id })))]
    expect(await verdict(order, 'W1234', { batches: both })).toEqual([
      'ask same-label #W1234 #w1234',
      undefined,
    ])
  })

  it.each([
    ['order W1234', '#W1234', 'said #W1234', '#W1234'],
    ['order w 1234 please', '#W1234', 'said #W1234', '#W1234'],
    ['it is #W1234', 'w1234', 'said #W1234', '#W1234'],
    ['it costs 1234 €', '#W1234', 'refused unknown', undefined],
    ['order xW1234', '#W1234', 'refused unknown', undefined],
  ])('counts as the person wrote it: %s', async (...[userText, given, wanted, id]) => {
    expect(await verdict(order, given, { userText })).toEqual([wanted, id])
    expect(await verdict(order, given, { said: [{ text: userText, at: NOW - 1 }] })).toEqual([wanted, id])
  })

  it('may have blanks in it', async () => {
    expect(await verdict(flight, 'HAT021', { userText: 'book hat 021 for me' })).toEqual([
      'said HAT021',
      'HAT021',
    ])
  })
})

it.each(STORES)(
  'an id in another form is found when no window shows it any more, on %s',
  async (_name, open) => {
    const ran: string[] = []
    const list = defineTool({
      name: 'list',
      description: 'Lists orders.',
      input: z.object({}),
      run: () => ['#W1234', '#W5678'],
      returns: (rows) => rows.map((id) => ({ entity: 'order', id })),
    })
    const use = defineTool({
      name: 'use',
      description: 'Uses one.',
      input: z.object({ id: z.string().meta(order.id()) }),
      run: ({ id }) => void ran.push(id),
    })
    const chat = ['One.', 'Two.', 'Three.', 'Four.']
    const script = [
      calls('list'),
      'Listed.',
      ...chat,
      calls(['use', { id: 'w5678' }]),
      'Used.',
      calls(['use', { id: 'w 9' }]),
      'No.',
    ]
    const { agent } = bench({ store: open(), script, tools: [list, use], entities: [order], maxMessages: 2 })
    for (const text of ['List', ...chat, 'Use it', 'And that']) await agent.input(text)
    expect(ran).toEqual(['#W5678'])
  },
)

describe('what the person wrote', () => {
  it.each([
    ['order W1234', 'said #W1234'],
    ['an item (#W1234)', 'said #W1234'],
    ['W1234', 'said #W1234'],
    ['item W1234', 'said #W1234'],
    ['#W12345', 'refused unknown'],
  ])('counts by the only pattern that fits: %s', async (userText, wanted) => {
    expect((await verdict(strict, '#W1234', { userText }))[0]).toBe(wanted)
  })

  it('counts for the kind that it is said of, where two patterns fit', async () => {
    const alike = entity('order', { pattern: /\d{10}/ })
    expect((await verdict(alike, '1234567890', { userText: 'item 1234567890' }))[0]).toBe('refused unknown')
    expect((await verdict(alike, '1234567890', { userText: 'order 1234567890' }))[0]).toBe('said 1234567890')
  })
})

describe('a number and a text', () => {
  const batches = [shown([{ entity: 'item', id: '1234567890' }])]
  it.each([
    ['a number where a text is wanted', 1234567890, 'string', '1234567890'],
    ['a text where a number is wanted', '1234567890', 'integer', 1234567890],
    ['a number where a number is wanted', 1234567890, 'number', 1234567890],
  ] as const)('%s', async (...[, given, type, id]) => {
    expect(await verdict(item, given, { batches, type })).toEqual(['seen 1234567890', id])
  })

  it('fits a type that may be null', async () => {
    const parameters: JsonObject = {
      type: 'object',
      properties: { id: { type: ['string', 'null'], ...item.id() } },
    }
    const judging = { entities: entityMap([item]), facts: new MemoryFacts({ batches }), now: NOW }
    expect(await judgeCall({ parameters, args: { id: 1234567890 } }, judging)).toMatchObject({
      args: { id: '1234567890' },
    })
  })
})

describe('a later sighting that says less', () => {
  it('takes nothing from what was known', async () => {
    const batches = [shown([champigny], 2000), shown([{ entity: 'project', id: 'abc-123' }], 1000)]
    expect(brief(await judged('Champigny', { batches }))).toBe('label abc-123')
  })

  it.each(STORES)('neither when it is in no window, on %s', async (_name, open) => {
    const thing = entity('thing', { pattern: /t-\d/ })
    const ran: string[] = []
    const tool = (name: string, row: object) =>
      defineTool({
        name,
        description: 'Shows one.',
        input: z.object({}),
        run: () => [row],
        returns: (rows) => thing.rows(rows, { id: 'id', label: 'name' }),
      })
    const use = defineTool({
      name: 'use',
      description: 'Uses one.',
      input: z.object({ id: z.string().meta(thing.id()) }),
      run: ({ id }) => void ran.push(id),
    })
    const tools = [tool('named', { id: 't-1', name: 'Roof' }), tool('bare', { id: 't-1' }), use]
    const script = [
      calls('named'),
      'One.',
      calls('bare'),
      'Two.',
      'Three.',
      'Four.',
      calls(['use', { id: 'roof' }]),
      'Used.',
    ]
    const { agent } = bench({ store: open(), script, tools, entities: [thing], maxMessages: 2 })
    for (const text of ['One', 'Two', 'Three', 'Four', 'Use it']) await agent.input(text)
    expect(ran).toEqual(['t-1'])
  })
})

describe('what a tool selects', () => {
  const shop = entity('order', { pattern: /o-\d/ })
  const list = defineTool({
    name: 'list',
    description: 'Lists orders.',
    input: z.object({}),
    run: () => ['o-1', 'o-2', 'o-3'],
    returns: (rows) => shop.rows(rows, { id: '$value' }),
  })
  const details = (by?: 'person') =>
    defineTool({
      name: 'details',
      description: 'Shows one order.',
      input: z.object({ id: z.string().meta(shop.id()) }),
      run: ({ id }) => ({ id }),
      selects: ({ id }) => [shop.select(id, by === undefined ? {} : { by })],
    })
  const play = async (by?: 'person') => {
    const script = [
      calls('list'),
      calls(['details', { id: 'o-1' }]),
      'One.',
      calls(['details', { id: 'o-2' }]),
      'Two.',
    ]
    const made = bench({ script, tools: [list, details(by)], entities: [shop] })
    await made.agent.input('What about my last order?')
    made.clock.advance(10)
    await made.agent.input('And the lamp?')
    const entries = await made.store.read(KEY)
    return { ...made, refused: entries.filter(({ data }) => data['status'] === 'rejected').length }
  }

  it('never makes ids bad that tools have shown', async () => {
    const { refused, agent } = await play()
    expect(refused).toBe(0)
    expect(agent.active).toMatchObject([{ id: 'o-2', by: 'tool' }])
  })

  it('does if the tool carries out a choice of the person', async () => {
    const { refused, agent } = await play('person')
    expect(refused).toBe(1)
    expect(agent.active).toMatchObject([{ id: 'o-1', by: 'person' }])
  })

  it('leaves the choice of a program what it was, and another id needs a word or a sighting since', async () => {
    const script = [
      calls('list'),
      calls(['details', { id: 'o-1' }]),
      'One.',
      calls(['details', { id: 'o-2' }]),
      'No.',
      calls('list'),
      'Listed.',
      calls(['details', { id: 'o-2' }]),
      'Yes.',
    ]
    const { agent, clock, store } = bench({ script, tools: [list, details()], entities: [shop] })
    await agent.select(shop.select('o-1'))
    await agent.input('Show it')
    expect(agent.active).toMatchObject([{ id: 'o-1', by: 'program' }])
    clock.advance(10)
    await agent.select(shop.select('o-1'))
    clock.advance(10)
    await agent.input('Again')
    await agent.input('List')
    await agent.input('And now')
    const ends = (await store.read(KEY)).filter(({ type }) => type === 'tool.end')
    expect(ends.map(({ data }) => data['status'])).toEqual(['ok', 'ok', 'rejected', 'ok', 'ok'])
  })
})
