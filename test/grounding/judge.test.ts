/** The rules by which an id passes, is asked about, or is refused. */
import { describe, expect, it } from 'vitest'
import {
  entity,
  entityMap,
  judgeCall,
  MemoryFacts,
  type MemoryFactsOptions,
} from '../../src/grounding/index.ts'
import { MOST_FOR_TYPOS } from '../../src/grounding/readings.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import {
  active,
  brief,
  bureau,
  champigny,
  ecole,
  entities,
  HOUR,
  judged,
  NOW,
  project,
  shown,
  task,
  wiring,
} from './kit.ts'

type Row = readonly [fact: string, given: Json, facts: MemoryFactsOptions, verdict: string]

const list = shown([champigny, bureau, ecole])
const other = { entity: 'project', id: 'xyz-999', label: 'Bureau' }
const numbers = shown([
  { entity: 'project', id: '7', label: 'Gymnase' },
  { entity: 'project', id: '5', label: 'Piscine' },
  { entity: 'project', id: '2', label: 'Mairie' },
])

const rows: readonly Row[] = [
  ['the active one passes', 'abc-123', { active: [active(champigny)] }, 'state abc-123'],
  ['one that a tool has shown passes', 'abc-456', { batches: [list] }, 'seen abc-456'],
  ['one with blanks around it is the one', ' abc-456 ', { batches: [list] }, 'seen abc-456'],
  ['one that the person wrote passes', 'abc-777', { userText: 'Take abc-777, please.' }, 'said abc-777'],
  [
    'one of several active ones passes',
    'abc-456',
    { active: [{ ...active(champigny), ids: ['abc-123', 'abc-456'] }] },
    'state abc-456',
  ],
  ['an invented one does not', 'proj-champigny-456', { batches: [list] }, 'refused unknown'],
  ['one with another letter does not', 'abc-455', { batches: [list] }, 'refused unknown'],
  ['one that is cut off does not', 'abc-45', { batches: [list] }, 'refused unknown'],
  ['an id in other letters is another id', 'ABC-456', { batches: [list] }, 'refused unknown'],
  ['nothing at all is no id', '', { batches: [list] }, 'refused unknown'],
  ['what is no text is no id', { id: 'abc-123' }, { batches: [list] }, 'refused unknown'],
  ['true is no id', true, { batches: [list] }, 'refused unknown'],
  ['one seen too long ago does not', 'abc-456', { batches: [shown([bureau], 7 * HOUR)] }, 'refused expired'],
  [
    'one seen a moment less ago does',
    'abc-456',
    { batches: [shown([bureau], 7 * HOUR - 1)] },
    'seen abc-456',
  ],
  [
    'one seen again counts from then on',
    'abc-456',
    { batches: [shown([bureau], 9 * HOUR), shown([bureau], HOUR)] },
    'seen abc-456',
  ],
  [
    'a selection that has expired is none',
    'abc-123',
    { active: [active(champigny, 8 * HOUR)] },
    'refused expired',
  ],
  [
    'one that is old and that the person wrote passes',
    'abc-456',
    { batches: [shown([bureau], 8 * HOUR)], userText: 'abc-456' },
    'said abc-456',
  ],
  [
    'a clock that went back makes nothing old',
    'abc-456',
    { batches: [shown([bureau], -48 * HOUR)] },
    'seen abc-456',
  ],
  [
    'a clock that went back keeps the selection',
    'abc-123',
    { active: [active(champigny, -48 * HOUR)] },
    'state abc-123',
  ],
  ['an id of another kind does not', 'def-456', { batches: [shown([wiring])] }, 'refused wrong-kind'],
  ['an active id of another kind does not', 'def-456', { active: [active(wiring)] }, 'refused wrong-kind'],

  ['120 € grounds no id 12', '12', { userText: 'It costs 120 €' }, 'refused unknown'],
  ['120 € grounds no id 120', '120', { userText: 'It costs 120 €' }, 'refused unknown'],
  ['a share is no id', '12', { userText: 'Raise it by 12 %' }, 'refused unknown'],
  ['a date is no id', '12', { userText: 'by 12/05 at 12:30, 12.5 m' }, 'refused unknown'],
  ['a number by itself is one, if ids look so', '12', { userText: 'Open 12.' }, 'said 12'],
  ['a number as a number is the same', 12, { userText: 'Open 12.' }, 'said 12'],
  [
    'a part of a longer id is none',
    'abc-123',
    { userText: 'look at abc-1234 and xabc-123 and abc-123-b' },
    'refused unknown',
  ],
  ['what does not look like an id is none', 'hello', { userText: 'hello' }, 'refused unknown'],

  ['a label is the id', 'Bureau', { batches: [list] }, 'label abc-456'],
  ['a label without its accents is the id', 'ecole  NORD', { batches: [list] }, 'label abc-789'],
  ['a label with a typo is the id', 'Champigni', { batches: [list] }, 'label abc-123'],
  ['the label of the active one is its id', 'Champigny', { active: [active(champigny)] }, 'label abc-123'],
  [
    'a label that two things have is asked about',
    'Bureau',
    { batches: [shown([bureau, other])] },
    'ask same-label abc-456 xyz-999',
  ],
  [
    'a label that an old thing has, too, is clear',
    'Bureau',
    { batches: [shown([other], 9 * HOUR), shown([bureau])] },
    'label abc-456',
  ],
  [
    'a typo that may be two labels is asked about',
    'Champigmy',
    { batches: [shown([champigny, { ...other, label: 'Champigna' }])] },
    'ask same-label xyz-999 abc-123',
  ],
  ['a label of old is expired', 'Bureau', { batches: [shown([bureau], 8 * HOUR)] }, 'refused expired'],
  [
    'what a thing was called before does not count',
    'Bureau',
    { batches: [shown([bureau], HOUR), shown([{ ...bureau, label: 'Siège' }])] },
    'refused unknown',
  ],
  [
    'numbers in labels are never typos',
    'Phase 3',
    { batches: [shown([{ ...champigny, label: 'Phase 1' }])] },
    'refused unknown',
  ],
  [
    'short words in labels are never typos',
    'Bureau Est',
    { batches: [shown([{ ...bureau, label: 'Bureau Ouest' }])] },
    'refused unknown',
  ],

  ['a place is the id', 'project 2', { batches: [list] }, 'ordinal abc-456'],
  ['a place in French is the id', 'le troisième', { batches: [list] }, 'ordinal abc-789'],
  ['the last one is the last one', 'the last one', { batches: [list] }, 'ordinal abc-789'],
  ['a place that is not there is none', 'project 4', { batches: [list] }, 'refused unknown'],
  [
    'places count in the newest listing',
    '1',
    { batches: [list, shown([ecole, bureau], 1000)] },
    'ordinal abc-789',
  ],
  [
    'a look at one thing is no listing',
    'the second one',
    { batches: [list, shown([champigny], 1000)] },
    'ordinal abc-456',
  ],
  ['an old listing is none', '1', { batches: [shown([champigny, bureau], 8 * HOUR)] }, 'refused unknown'],
  ['two places where one is wanted are too many', '1 and 3', { batches: [list] }, 'refused several'],
  ['a number that is an id and a place is asked about', '2', { batches: [numbers] }, 'ask id-or-place 2 5'],
  [
    'so is a number that the person wrote',
    '3',
    { batches: [shown([champigny, bureau, ecole])], userText: 'open 3' },
    'ask id-or-place 3 abc-789',
  ],
  ['so is a number with its noun', 'project 2', { batches: [numbers] }, 'ask id-or-place 2 5'],
  ['a place in words is no id', 'the second one', { batches: [numbers] }, 'ordinal 5'],
  [
    'a number that is both of the same thing is clear',
    '3',
    { batches: [shown([champigny, bureau, { ...ecole, id: '3' }])] },
    'seen 3',
  ],
  [
    'a number whose thing the person names is clear',
    '2',
    { batches: [numbers], userText: 'open Mairie' },
    'seen 2',
  ],
  [
    'a number is the place if the person names what is there',
    '2',
    { batches: [numbers], userText: 'open Piscine' },
    'ordinal 5',
  ],
  [
    'the active one is clear if the person says no number',
    '2',
    { batches: [numbers], active: [active({ entity: 'project', id: '2' })] },
    'state 2',
  ],
  [
    'and asked about if the person does',
    '2',
    { batches: [numbers], active: [active({ entity: 'project', id: '2' })], userText: 'tasks of project 2' },
    'ask id-or-place 2 5',
  ],
]

describe('an id', () => {
  it.each(rows)('%s', async (...[, given, facts, verdict]) => {
    expect(brief(await judged(given, facts))).toBe(verdict)
  })
})

const chosen = { active: [active(champigny)], batches: [list] }
const second = { entity: 'project', id: '2', label: 'Mairie' }

describe('what is chosen wins', () => {
  const cases: readonly Row[] = [
    ['another one does not pass by itself', 'abc-456', chosen, 'refused not-active'],
    ['nor does its label', 'Bureau', chosen, 'refused not-active'],
    ['nor does its place', '2', chosen, 'refused not-active'],
    [
      'it passes if the person names it',
      'abc-456',
      { ...chosen, userText: 'Montre les tâches de BUREAU' },
      'seen abc-456',
    ],
    [
      'the label passes if the person names it',
      'bureau',
      { ...chosen, userText: 'tasks of Bureau' },
      'label abc-456',
    ],
    [
      'it passes if the person names it with a typo',
      'abc-789',
      { ...chosen, userText: 'and ecolle nord?' },
      'seen abc-789',
    ],
    [
      'it passes if the person writes its id',
      'abc-456',
      { ...chosen, userText: 'tasks of abc-456' },
      'seen abc-456',
    ],
    [
      'it passes if the person says its place',
      'abc-456',
      { ...chosen, userText: 'Show tasks for project 2' },
      'seen abc-456',
    ],
    [
      'both pass if the person says both places',
      'abc-789',
      { ...chosen, userText: 'tâches des projets 1 et 3' },
      'seen abc-789',
    ],
    [
      'the place passes if the person says it',
      '2',
      { ...chosen, userText: 'the second one' },
      'ordinal abc-456',
    ],
    [
      'it passes if a tool shows it in this turn',
      'abc-456',
      { ...chosen, batches: [{ ...list, isThisTurn: true }] },
      'seen abc-456',
    ],
    [
      'a place of something else does not count',
      'abc-456',
      { ...chosen, userText: 'task 2' },
      'refused not-active',
    ],
    ['an amount does not count', 'abc-456', { ...chosen, userText: 'add 2 hours' }, 'refused not-active'],
    [
      'a word that has the name in it does not count',
      'abc-456',
      { ...chosen, userText: 'bureaucracy' },
      'refused not-active',
    ],
    [
      'a longer name of something else does not count',
      'abc-456',
      {
        active: [active(champigny)],
        batches: [shown([bureau, { ...ecole, label: 'Bureau Nord' }])],
        userText: 'tasks of Bureau Nord',
      },
      'refused not-active',
    ],
    [
      'the active one passes though another is named',
      'abc-123',
      { ...chosen, userText: 'Bureau' },
      'state abc-123',
    ],
    [
      'a name of two is asked about',
      'abc-456',
      { active: [active(champigny)], batches: [shown([bureau, other])], userText: 'Bureau' },
      'ask same-label abc-456 xyz-999',
    ],
    [
      'a place that may be an id is asked about',
      '5',
      { active: [active(champigny)], batches: [numbers], userText: 'project 2' },
      'ask id-or-place 5 2',
    ],
    [
      'an id that may be a place is asked about',
      '2',
      { active: [active(champigny)], batches: [shown([champigny, bureau, second])], userText: 'project 2' },
      'ask id-or-place 2 abc-456',
    ],
    ['one that the person wrote passes', 'abc-777', { ...chosen, userText: 'abc-777' }, 'said abc-777'],
    [
      'what was chosen too long ago does not win',
      'abc-456',
      { active: [active(champigny, 8 * HOUR)], batches: [list] },
      'seen abc-456',
    ],
  ]
  it.each(cases)('%s', async (...[, given, facts, verdict]) => {
    expect(brief(await judged(given, facts))).toBe(verdict)
  })
})

describe('a call', () => {
  const several: JsonObject = {
    type: 'object',
    properties: {
      ids: { type: 'array', items: { type: 'string', ...project.id() } },
      task: { type: 'string', ...task.id() },
      note: { type: 'string' },
    },
  }

  it('goes on with the ids that labels and places mean, and says where each came from', async () => {
    const facts = { batches: [shown([champigny, bureau, ecole], 1000, 21), shown([wiring], 500, 22)] }
    const args = { ids: ['1', 'ECOLE nord', 'abc-456'], task: 'def-456', note: 'the second one' }
    expect(await judged(args, facts, { parameters: several })).toEqual({
      kind: 'ok',
      args: { ids: ['abc-123', 'abc-789', 'abc-456'], task: 'def-456', note: 'the second one' },
      grounds: [
        { path: 'ids[0]', entity: 'project', id: 'abc-123', source: 'ordinal', said: '1', seq: 21 },
        { path: 'ids[1]', entity: 'project', id: 'abc-789', source: 'label', said: 'ECOLE nord', seq: 21 },
        { path: 'ids[2]', entity: 'project', id: 'abc-456', source: 'seen', seq: 21 },
        { path: 'task', entity: 'task', id: 'def-456', source: 'seen', seq: 22 },
      ],
      warnings: [],
    })
  })

  it('is refused if one of its ids is, and says so of each', async () => {
    const result = await judged(
      { ids: ['abc-123', 'nope-1'], task: 'abc-123' },
      { batches: [list] },
      { parameters: several },
    )
    expect(brief(result)).toBe('refused unknown, refused wrong-kind')
  })

  it('has things that are like it for the first fifty of many made-up ids', async () => {
    const ids = Array.from({ length: 60 }, (_, at) => `abc-12${String(at).padStart(2, '0')}`)
    const { refusals } = (await judged({ ids }, { batches: [list] }, { parameters: several })) as {
      refusals?: readonly { readonly near?: unknown; readonly text: string }[]
    }
    expect(refusals?.map(({ near }) => near !== undefined)).toEqual(ids.map((_, at) => at < 50))
    expect(refusals?.at(-1)?.text).toContain('"abc-1259" is no project id')
  })

  it('goes on with what the person answered, and only with one of the options', async () => {
    const batches = [shown([bureau, other])]
    const answered = (id: string) => judged('Bureau', { batches, answers: { projectId: id } })
    expect(await answered('xyz-999')).toMatchObject({
      args: { projectId: 'xyz-999' },
      grounds: [{ source: 'asked', id: 'xyz-999', said: 'Bureau' }],
    })
    expect(brief(await answered('abc-123'))).toBe('ask same-label abc-456 xyz-999')
  })

  it('keeps a number a number', async () => {
    const whole: JsonObject = { type: 'object', properties: { id: { type: 'integer', ...project.id() } } }
    const judge = (id: Json, seen = second) =>
      judged({ id }, { batches: [shown([seen])] }, { parameters: whole })
    expect(await judge('Mairie')).toMatchObject({ kind: 'ok', args: { id: 2 } })
    expect(await judge(2)).toMatchObject({
      kind: 'ok',
      args: { id: 2 },
      grounds: [{ id: '2', source: 'seen' }],
    })
    expect(brief(await judge('Bureau', { ...second, id: 'abc-456', label: 'Bureau' }))).toBe(
      'refused unknown',
    )
  })

  it('that has no ids at all is not looked at', async () => {
    expect(await judged({ note: 'abc' }, {}, { parameters: several })).toEqual({
      kind: 'ok',
      args: { note: 'abc' },
      grounds: [],
      warnings: [],
    })
  })
})

describe('an entity says', () => {
  const judgeAs = (options: Parameters<typeof entity>[1], given: string) => {
    const strict = entity('project', { pattern: /[a-z]{3}-\d{3}/, ...options })
    const facts = new MemoryFacts({
      active: [active(champigny)],
      batches: [{ ...list, isThisTurn: true }],
      userText: 'abc-777',
    })
    const parameters: JsonObject = { type: 'object', properties: { projectId: strict.id() } }
    return judgeCall(
      { parameters, args: { projectId: given } },
      { entities: entityMap([strict, task2]), facts, now: NOW },
    )
  }
  const task2 = entity('task')

  it.each([
    [{ sources: ['state'] as const }, 'abc-456', 'refused unknown'],
    [{ sources: ['state'] as const }, 'abc-123', 'state abc-123'],
    [{ sources: ['seen'] as const }, 'abc-777', 'refused unknown'],
    [{ sources: ['seen'] as const }, 'Bureau', 'refused unknown'],
    [{ sources: ['seen', 'label'] as const }, 'Bureau', 'label abc-456'],
    [{ sources: ['seen', 'label'] as const }, '2', 'refused unknown'],
    [{ sources: ['label', 'ordinal'] as const }, 'abc-456', 'refused unknown'],
  ])('which sources count: %j, %s', async (options, given, verdict) => {
    expect(brief(await judgeAs(options, given))).toBe(verdict)
  })

  it('that no look is taken', async () => {
    expect(await judgeAs({ policy: 'off' }, 'made-up')).toMatchObject({
      kind: 'ok',
      grounds: [],
      warnings: [],
    })
  })

  it('that refusals are only told', async () => {
    expect(await judgeAs({ policy: 'warn' }, 'made-up')).toMatchObject({
      kind: 'ok',
      args: { projectId: 'made-up' },
      grounds: [],
      warnings: [{ reason: 'unknown', path: 'projectId' }],
    })
    expect(await judgeAs({ policy: 'warn' }, 'Bureau')).toMatchObject({ args: { projectId: 'abc-456' } })
  })

  it('nothing, and is enforced', async () => {
    const parameters: JsonObject = { type: 'object', properties: { id: { 'x-entity': 'invoice' } } }
    const facts = new MemoryFacts({ batches: [shown([{ entity: 'invoice', id: 'i-1' }])] })
    const judge = (id: string) => judgeCall({ parameters, args: { id } }, { entities, facts, now: NOW })
    expect(brief(await judge('i-1'))).toBe('seen i-1')
    expect(brief(await judge('i-2'))).toBe('refused unknown')
  })
})

describe('a label with a typo', () => {
  const lots = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ entity: 'project', id: `lot-${at}`, label: `Lot ${at}` }))
  it('counts only where so few are known that nothing else can be meant', async () => {
    const few = [shown([champigny]), shown(lots(MOST_FOR_TYPOS - 1))]
    expect(brief(await judged('Champigmy', { batches: few }))).toBe('label abc-123')
    const many = [shown([champigny]), shown(lots(MOST_FOR_TYPOS))]
    expect(brief(await judged('Champigmy', { batches: many }))).toBe('refused unknown')
    expect(brief(await judged('Champigny', { batches: many }))).toBe('label abc-123')
  })
})

describe('an id that may be of two kinds', () => {
  const parameters: JsonObject = {
    type: 'object',
    properties: {
      target: {
        anyOf: [
          { type: 'string', ...project.id() },
          { type: 'string', ...task.id() },
        ],
      },
    },
  }
  it.each([
    ['abc-456', 'seen abc-456'],
    ['def-456', 'seen def-456'],
    ['ghi-000', 'refused unknown'],
  ])('%s: %s', async (target, verdict) => {
    expect(brief(await judged({ target }, { batches: [list, shown([wiring])] }, { parameters }))).toBe(
      verdict,
    )
  })
})
