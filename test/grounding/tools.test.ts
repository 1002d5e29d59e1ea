/** Lookup tools, and tools made without entities. */
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import {
  entity,
  grounded,
  idsIn,
  lookupsOf,
  lookupTool,
  placeText,
  shownBy,
} from '../../src/grounding/index.ts'
import type { Json } from '../../src/protocol/index.ts'
import { fakeToolContext } from '../../src/testing/index.ts'
import { defineTool, jsonSchema, prepareCall } from '../../src/tool/index.ts'
import { project, task } from './kit.ts'

const rows = [
  { id: 1, nom: 'Champigny', firm: 'a' },
  { id: 2, nom: 'École Nord', firm: 'a' },
  { id: 3, nom: 'École Sud', firm: 'a' },
  { id: 4, nom: 'Bureau', firm: 'a' },
  { id: 5, nom: 'Bureau', firm: 'b' },
]
const fields = { id: 'id', label: 'nom', parent: 'firm' }

describe('a tool that finds things', () => {
  const tool = lookupTool(project, () => rows, { fields })
  const found = (name: string) => tool.run({ name }, fakeToolContext())

  it('finds a thing once, whatever its rows', async () => {
    const twice = [
      { id: 1, label: 'Bureau' },
      { id: 1, label: 'Bureau Nord' },
      { id: 1, label: 'Bureau' },
    ]
    const one = { id: '1', label: 'Bureau' }
    for (const [name, byMeaning, outcome] of [
      ['bureau', false, 'exact'],
      ['bur', false, 'partial'],
      ['office', true, 'partial'],
    ] as const) {
      const finding = lookupTool(project, () => twice, { byMeaning })
      expect(await finding.run({ name }, fakeToolContext())).toEqual({ outcome, ...one })
    }
    const none = lookupTool(project, (() => ({})) as never)
    expect(await none.run({ name: 'a' }, fakeToolContext())).toEqual({ outcome: 'empty' })
  })

  it.each([
    ['Champigny', { outcome: 'exact', id: '1', label: 'Champigny', parent: 'a' }],
    ['  CHAMPIGNY !', { outcome: 'exact', id: '1', label: 'Champigny', parent: 'a' }],
    ['ecole nord', { outcome: 'exact', id: '2', label: 'École Nord', parent: 'a' }],
    ['1', { outcome: 'exact', id: '1', label: 'Champigny', parent: 'a' }],
    ['nord', { outcome: 'partial', id: '2', label: 'École Nord', parent: 'a' }],
    ['champi', { outcome: 'partial', id: '1', label: 'Champigny', parent: 'a' }],
    ['the Champigny site', { outcome: 'partial', id: '1', label: 'Champigny', parent: 'a' }],
    ['Champigmy', { outcome: 'partial', id: '1', label: 'Champigny', parent: 'a' }],
    [
      'Bureau',
      {
        outcome: 'several',
        matches: [
          { id: '4', label: 'Bureau', parent: 'a' },
          { id: '5', label: 'Bureau', parent: 'b' },
        ],
      },
    ],
    [
      'ecole',
      {
        outcome: 'several',
        matches: [
          { id: '2', label: 'École Nord', parent: 'a' },
          { id: '3', label: 'École Sud', parent: 'a' },
        ],
      },
    ],
    ['Piscine', { outcome: 'none' }],
    [' ', { outcome: 'none' }],
    [
      'École Est',
      {
        outcome: 'none',
        near: [
          { id: '2', label: 'École Nord', parent: 'a' },
          { id: '3', label: 'École Sud', parent: 'a' },
        ],
      },
    ],
  ])('%s', async (name, result) => {
    expect(await found(name)).toEqual(result)
  })

  it('tells nothing there from nothing like it', async () => {
    const nothing = lookupTool(project, () => [])
    expect(await nothing.run({ name: 'x' }, fakeToolContext())).toEqual({ outcome: 'empty' })
  })

  it('asks the host for all, if its search found nothing', async () => {
    const asked: string[] = []
    const strict = lookupTool(
      project,
      (text) => {
        asked.push(text)
        return text === '' ? rows : rows.filter(({ nom }) => nom === text)
      },
      { fields },
    )
    expect(await strict.run({ name: 'champigni' }, fakeToolContext())).toMatchObject({
      outcome: 'partial',
      id: '1',
    })
    expect(asked).toEqual(['champigni', ''])
  })

  it('takes the rows of a search by meaning for matches, in its order, after those of the name', async () => {
    const MEANT: Readonly<Record<string, readonly number[]>> = { school: [3, 2], home: [1], bureau: [2, 4] }
    const search = (text: string) =>
      text === '' ? rows : (MEANT[text] ?? []).flatMap((id) => rows.filter((row) => row.id === id))
    const run = (byMeaning: boolean, name: string) =>
      lookupTool(project, search, { fields, byMeaning, select: true }).run({ name }, fakeToolContext())
    expect(await run(false, 'school')).toEqual({ outcome: 'none' })
    expect(await run(true, 'school')).toMatchObject({
      outcome: 'several',
      matches: [{ id: '3' }, { id: '2' }],
    })
    expect(await run(true, 'home')).toMatchObject({ outcome: 'partial', id: '1' })
    expect(await run(true, 'bureau')).toMatchObject({ outcome: 'exact', id: '4' })
    expect(await run(true, 'pool')).toEqual({ outcome: 'none' })
    expect(await run(true, 'champigny')).toMatchObject({ outcome: 'exact', id: '1' })
  })

  it('shows what it found, and chooses only one that is exactly meant', async () => {
    const choosing = lookupTool(project, () => rows, { fields, select: true })
    const shown = async (name: string) =>
      shownBy(choosing, { output: (await choosing.run({ name }, fakeToolContext())) as Json })
    expect(await shown('champigny')).toEqual({
      seen: [{ entity: 'project', id: '1', label: 'Champigny', parent: 'a' }],
      selects: [{ entity: 'project', id: '1', label: 'Champigny', parent: 'a' }],
    })
    expect(await shown('champi')).toMatchObject({ seen: [{ id: '1' }], selects: [] })
    expect(await shown('Bureau')).toMatchObject({ seen: [{ id: '4' }, { id: '5' }], selects: [] })
    expect(await shown('Piscine')).toEqual({ seen: [], selects: [] })
    expect(shownBy(tool, { output: { outcome: 'exact', id: '1' } }).selects).toEqual([])
  })

  it('shows as many as it is told to', async () => {
    const many = lookupTool(
      project,
      () => Array.from({ length: 30 }, (_, id) => ({ id, label: `Lot ${id}` })),
      { most: 3 },
    )
    expect(await many.run({ name: 'lot' }, fakeToolContext())).toMatchObject({ outcome: 'several', more: 27 })
  })

  it('shows people names, and ids only where names are not enough', async () => {
    const towns = rows.map((row) => ({ ...row, town: row.id < 4 ? undefined : `Town ${row.id}` }))
    const detailed = lookupTool(project, () => towns, { fields: { ...fields, detail: 'town' }, most: 2 })
    const said = (by: typeof tool, name: string) =>
      Promise.resolve(by.run({ name }, fakeToolContext())).then((output) => by.display?.(output))
    expect(await Promise.all(['Champigny', 'Bureau', 'Piscine'].map((name) => said(tool, name)))).toEqual([
      'Champigny',
      'Bureau (4), Bureau (5)',
      'not found',
    ])
    expect(await Promise.all(['4', 'Bureau', 'e', 'Champ'].map((name) => said(detailed, name)))).toEqual([
      'Bureau (Town 4)',
      'Bureau (Town 4), Bureau (Town 5)',
      'École Nord (2), École Sud (3)',
      'Champigny',
    ])
    expect(
      await said(
        lookupTool(project, () => []),
        'x',
      ),
    ).toBe('there is none')
  })

  it('is a tool like any other, and known as the one that finds', async () => {
    const prepared = await prepareCall({ callId: 'c', tool: 'find_project', args: {} }, [tool])
    expect(prepared).toMatchObject({ ok: false })
    expect(lookupsOf([tool, lookupTool(task, () => [], { name: 'search_tasks' })])).toEqual({
      project: 'find_project',
      task: 'search_tasks',
    })
  })
})

describe('a foreign tool', () => {
  const foreign = defineTool({
    name: 'update',
    description: 'Updates.',
    input: jsonSchema({
      type: 'object',
      properties: {
        projectId: { type: 'string' },
        items: { type: 'array', items: { $ref: '#/$defs/item' } },
        other: { $ref: '#/$defs/item' },
        by: { type: 'object', additionalProperties: { type: 'string' } },
        either: { anyOf: [{ type: 'object', properties: { id: { type: 'string' } } }, { type: 'null' }] },
      },
      $defs: { item: { type: 'object', properties: { taskId: { type: 'integer' } } } },
    }),
    run: () => ({ list: [{ key: 1, title: 'One' }], page: { of: { key: 2 } } }),
  })
  const mapped = grounded(foreign, {
    input: { projectId: project, 'items[].taskId': task, 'by.*': project, 'either.id': project },
    returns: {
      'list[]': { entity: task, id: 'key', label: 'title' },
      'page.of': { entity: project, id: 'key' },
    },
  })

  it('gets marks where the mapping says, and nowhere else', () => {
    const args = {
      projectId: 'a',
      items: [{ taskId: 1 }],
      other: { taskId: 2 },
      by: { x: 'b' },
      either: { id: 'c' },
    }
    expect(
      idsIn(mapped.parameters, args).map(({ path, entities }) => `${placeText(path)} ${entities.join()}`),
    ).toEqual(['projectId project', 'items[0].taskId task', 'by.x project', 'either.id project'])
    expect(idsIn(foreign.parameters, args)).toEqual([])
  })

  it('shows what its output has, and runs as before', async () => {
    const output = mapped.run({}, fakeToolContext()) as Json
    expect(shownBy(mapped, { output }).seen).toEqual([
      { entity: 'task', id: '1', label: 'One' },
      { entity: 'project', id: '2' },
    ])
    expect(mapped.run).toBe(foreign.run)
    expect(
      await prepareCall({ callId: 'c', tool: 'update', args: { projectId: 3 } }, [mapped]),
    ).toMatchObject({ ok: false })
  })

  it('that has no such place is refused', () => {
    expect(() => grounded(foreign, { input: { 'items[].id': task } })).toThrow('have no "items[].id"')
    expect(() => grounded(foreign, { input: { projektId: project } })).toThrow('projectId or items[].taskId')
  })

  it('whose output is not understood still has its result', () => {
    const broken = grounded(foreign, {
      returns: () => {
        throw new Error('no rows')
      },
    })
    expect(shownBy(broken, { output: null })).toEqual({
      seen: [],
      selects: [],
      problem: 'What update returned could not be read: no rows',
    })
    expect(shownBy(foreign, { output: null })).toEqual({ seen: [], selects: [] })
  })
})

it('a tool of its own says what its output shows and chooses, with the types that it has', () => {
  const choose = grounded(
    defineTool({
      name: 'choose_project',
      description: 'Chooses a project.',
      input: z.object({ projectId: z.string().meta(project.id()) }),
      run: ({ projectId }) => ({ chosen: { id: projectId, nom: 'Bureau' } }),
    }),
    {
      returns: ({ chosen }) => project.rows([chosen], { id: 'id', label: 'nom' }),
      selects: ({ chosen }, { projectId }) => [project.select(projectId, { label: chosen.nom })],
    },
  )
  const output = { chosen: { id: 'b', nom: 'Bureau' } }
  expect(shownBy(choose, { output, input: { projectId: 'b' } })).toEqual({
    seen: [{ entity: 'project', id: 'b', label: 'Bureau' }],
    selects: [{ entity: 'project', id: 'b', label: 'Bureau' }],
  })
})

describe('fields that rows do not have', () => {
  const order = entity('order')
  const list = defineTool({
    name: 'list',
    description: 'Lists orders.',
    input: z.object({}),
    run: () => [{ id: 'ord_1' }],
    returns: (shown) => order.rows(shown, { id: 'uid' }),
  })

  it('are told, because a result with rows shows nothing', () => {
    expect(shownBy(list, { output: [{ id: 'ord_1' }] }).problem).toBe(
      'list returned rows, and none of 1 rows of "order" has the field "uid"; they have: id. Check the names of the fields that it reads ids from.',
    )
    expect(shownBy(list, { output: [] }).problem).toBe(undefined)
  })

  it('are told of rows at any depth, also if others show something', () => {
    const item = entity('item')
    const output = { orders: [{ id: 'ord_1', items: [{ sku: 'i-1' }, { sku: 'i-2' }] }] }
    const nested = defineTool({
      name: 'nested',
      description: 'Lists orders with their items.',
      input: z.object({}),
      run: () => output,
      returns: ({ orders }) => [
        ...order.rows(orders, { id: 'id' }),
        ...orders.flatMap(({ items }) => item.rows(items, { id: 'itemId' })),
      ],
    })
    const missing = /none of 2 rows of "item" has the field "itemId"; they have: sku/
    expect(shownBy(nested, { output })).toMatchObject({
      seen: [{ id: 'ord_1' }],
      problem: expect.stringMatching(missing) as string,
    })
    const plain = defineTool({ name: 'plain', description: 'Lists.', input: z.object({}), run: () => output })
    const mapped = grounded(plain, { returns: { 'orders[].items[]': { entity: item, id: 'itemId' } } })
    expect(shownBy(mapped, { output }).problem).toMatch(missing)
  })

  it('are not told where a row has the field and no value, is empty, or is one object', () => {
    const rowsOf = (id: string) =>
      grounded(list as never, { returns: ({ list: all }: { list: object[] }) => order.rows(all, { id }) })
    for (const all of [[{ id: null }], [{}], [], [null]])
      expect(shownBy(rowsOf('id'), { output: { list: all } }).problem).toBe(undefined)
    expect(shownBy(rowsOf('order.id'), { output: { list: [{ order: null }] } }).problem).toBe(undefined)
    const one = grounded(list, { returns: { '': { entity: order, id: 'id' } } })
    expect(shownBy(one, { output: { error: 'not found' } }).problem).toBe(undefined)
  })

  it('make a lookup fail instead of telling that there is nothing', async () => {
    const find = lookupTool(order, () => [{ uid: 'ord_1', title: 'Lamp' }])
    await expect(find.run({ name: 'Lamp' }, {} as never)).rejects.toThrow(
      'none has an id in the field "id"; they have: uid, title. Set `fields`',
    )
    expect(() => lookupTool(order, undefined as never)).toThrow('lookupTool() needs a function that searches')
    expect(() => lookupTool('order' as never, () => [])).toThrow(
      'lookupTool() needs an entity first, not "order"',
    )
  })
})
