/** Finding ids in the arguments of a call, for schemas of any library. */
import * as v from 'valibot'
import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import { entitiesIn, idsIn, placeText, withIds, withoutMarks } from '../../src/grounding/index.ts'
import type { Json, JsonObject } from '../../src/protocol/index.ts'
import { defineTool } from '../../src/tool/index.ts'
import { project, task } from './kit.ts'

const id: JsonObject = { type: 'string', ...project.id() }
const other: JsonObject = { type: 'string', ...task.id() }

function places(schema: JsonObject, args: Json): readonly string[] {
  return idsIn(schema, args).map(
    ({ path, entities, given, isKey }) =>
      `${isKey ? 'key ' : ''}${placeText(path)} ${entities.join('|')} ${JSON.stringify(given)}`,
  )
}

describe('the mark of a schema of Zod', () => {
  const schema = z.object({
    plain: z.string().meta(project.id()),
    described: z.string().meta(project.id()).describe('Which one').optional(),
    checked: z.string().meta(project.id()).min(2).trim().brand<'Project'>(),
    number: z.coerce.number().int().meta(project.id()),
    maybe: z.uuid().meta(project.id()).nullable().default(null),
    list: z.array(z.string().meta(project.id())),
    pair: z.tuple([z.string().meta(project.id()), z.string().meta(task.id())]),
    all: z.union([z.literal('all'), z.string().meta(project.id())]),
    counts: z.record(z.string().meta(project.id()), z.number()),
    sums: z.record(z.string().meta({ id: 'ProjectId', ...project.id() }), z.number()),
    named: z.record(z.string(), z.object({ of: z.string().meta(task.id()) })),
    changed: z
      .string()
      .meta(project.id())
      .transform((text) => text.length),
  })
  const tool = defineTool({ name: 'act', description: 'Acts.', input: schema, run: () => null })

  it('survives on its way into a tool', () => {
    const args: Json = {
      plain: 'a',
      described: 'b',
      checked: 'c',
      number: 4,
      maybe: 'e',
      list: ['f', 'g'],
      pair: ['h', 'i'],
      all: 'j',
      counts: { k: 1 },
      sums: { s: 1 },
      named: { x: { of: 'l' } },
      changed: 'm',
    }
    expect(places(tool.parameters, args)).toEqual([
      'plain project "a"',
      'described project "b"',
      'checked project "c"',
      'number project 4',
      'maybe project "e"',
      'list[0] project "f"',
      'list[1] project "g"',
      'pair[0] project "h"',
      'pair[1] task "i"',
      'all project "j"',
      'key counts.k project "k"',
      'key sums.s project "s"',
      'named.x.of task "l"',
      'changed project "m"',
    ])
  })

  it('means nothing where there is no id', () => {
    expect(places(tool.parameters, { all: 'all', maybe: null })).toEqual([])
  })

  it('is found in a schema that refers to itself', () => {
    const node = z.object({
      at: z.string().meta(project.id()),
      get below() {
        return z.array(node)
      },
    })
    const tree = defineTool({ name: 'tree', description: 'A tree.', input: node, run: () => null })
    const args = { at: 'a', below: [{ at: 'b', below: [{ at: 'c', below: [] }] }] }
    expect(places(tree.parameters, args)).toEqual([
      'at project "a"',
      'below[0].at project "b"',
      'below[0].below[0].at project "c"',
    ])
  })

  it('is found in deep arguments that fit several alternatives at each level', () => {
    const below = { $ref: '#/$defs/node' }
    const nested: JsonObject = {
      $ref: '#/$defs/node',
      $defs: { node: { anyOf: [{ properties: { below } }, { properties: { id, below } }] } },
    }
    const args = Array.from({ length: 60 }).reduce<Json>((inner) => ({ below: inner }), { id: 'a' })
    expect(places(nested, args)).toEqual([`${'below.'.repeat(60)}id project "a"`])
  })

  it('is found in deep arguments of the last of many alternatives', () => {
    const items = { type: 'array', items: { $ref: '#/$defs/node' } }
    const node = (kind: string) => ({ properties: { items, kind: { const: kind }, id }, required: ['kind'] })
    const nested: JsonObject = {
      $ref: '#/$defs/node',
      $defs: { node: { anyOf: 'abcdefghij'.split('').map(node) } },
    }
    const args = Array.from({ length: 20 }).reduce<Json>((inner) => ({ items: [inner], kind: 'j' }), {
      items: [],
      kind: 'j',
      id: 'a',
    })
    expect(places(nested, args)).toEqual([`${'items[0].'.repeat(20)}id project "a"`])
  })
})

it('the mark beside a schema of Valibot is part of the parameters that are given with it', () => {
  const tool = defineTool({
    name: 'act',
    description: 'Acts.',
    input: v.object({ projectId: v.pipe(v.string(), v.metadata(project.id())) }),
    parameters: { type: 'object', properties: { projectId: { type: 'string', ...project.id() } } },
    run: ({ projectId }) => projectId,
  })
  expect(places(tool.parameters, { projectId: 'a' })).toEqual(['projectId project "a"'])
})

describe('ids are found', () => {
  const cases: readonly (readonly [
    where: string,
    schema: JsonObject,
    args: Json,
    found: readonly string[],
  ])[] = [
    [
      'in properties',
      { properties: { a: id, b: { type: 'string' } } },
      { a: 'x', b: 'y' },
      ['a project "x"'],
    ],
    ['in lists', { items: id }, ['x', 'y'], ['[0] project "x"', '[1] project "y"']],
    ['under the mark of a list', { type: 'array', ...project.id() }, ['x'], ['[0] project "x"']],
    [
      'at the beginning of lists',
      { prefixItems: [{}, id], items: other },
      ['n', 'x', 't'],
      ['[1] project "x"', '[2] task "t"'],
    ],
    [
      'in lists of old drafts',
      { items: [{}, id], additionalItems: other },
      ['n', 'x', 't'],
      ['[1] project "x"', '[2] task "t"'],
    ],
    [
      'in other properties',
      { properties: { a: {} }, additionalProperties: id },
      { a: 'n', 'b c': 'x' },
      ['["b c"] project "x"'],
    ],
    [
      'in properties by pattern',
      { patternProperties: { '^p': id }, additionalProperties: other },
      { p1: 'x', q: 't' },
      ['p1 project "x"', 'q task "t"'],
    ],
    ['in names of properties', { propertyNames: id }, { x: 1 }, ['key x project "x"']],
    [
      'in names of properties behind references',
      { propertyNames: { $ref: '#/$defs/a' }, $defs: { a: { allOf: [{ $ref: '#/$defs/b' }] }, b: id } },
      { x: 1 },
      ['key x project "x"'],
    ],
    [
      'in names of properties, and not where a fixed word is',
      { propertyNames: { anyOf: [{ const: 'all' }, id] } },
      { all: 1, x: 1 },
      ['key x project "x"'],
    ],
    [
      'behind references',
      { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b%20c' }, 'b c': { properties: { a: id } } } },
      { a: 'x' },
      ['a project "x"'],
    ],
    [
      'behind anchors',
      { properties: { a: { $ref: '#here' } }, $defs: { z: { $anchor: 'here', ...id } } },
      { a: 'x' },
      ['a project "x"'],
    ],
    [
      'beside references',
      { properties: { a: { $ref: '#/$defs/t', ...project.id() } }, $defs: { t: { type: 'string' } } },
      { a: 'x' },
      ['a project "x"'],
    ],
    [
      'in all of several',
      { allOf: [{ properties: { a: id } }, { properties: { b: other } }] },
      { a: 'x', b: 't' },
      ['a project "x"', 'b task "t"'],
    ],
    [
      'after conditions',
      { if: {}, ['then' as string]: { properties: { a: id } }, else: { properties: { b: other } } },
      { a: 'x', b: 't' },
      ['a project "x"', 'b task "t"'],
    ],
    [
      'in the alternative that is meant',
      { oneOf: [{ properties: { k: { const: 1 }, a: id } }, { properties: { k: { const: 2 }, a: other } }] },
      { k: 2, a: 't' },
      ['a task "t"'],
    ],
    [
      'in the alternative with these names',
      {
        anyOf: [
          { properties: { a: id }, required: ['a'] },
          { properties: { b: other }, required: ['b'] },
        ],
      },
      { b: 't' },
      ['b task "t"'],
    ],
    [
      'in every alternative that may be meant',
      { properties: { a: { anyOf: [id, other] } } },
      { a: 'x' },
      ['a project|task "x"'],
    ],
    ['as numbers', { properties: { a: { type: 'integer', ...project.id() } } }, { a: 7 }, ['a project 7']],
    ['as what they should not be', { properties: { a: id } }, { a: { b: 1 } }, ['a project {"b":1}']],
    [
      'as numbers in quotes',
      { anyOf: [{ type: 'integer', ...project.id() }, { type: 'string' }] },
      '7',
      [' project "7"'],
    ],
    ['not where nothing is', { properties: { a: id, b: id } }, { a: null }, []],
    [
      'not where a fixed word is',
      { properties: { a: { anyOf: [{ enum: ['all', 'none'] }, id] } } },
      { a: 'none' },
      [],
    ],
    ['not in a circle', { $ref: '#' }, { a: 'x' }, []],
  ]
  it.each(cases)('%s', (...[, schema, args, found]) => {
    expect(places(schema, args)).toEqual(found)
  })
})

it('a schema can be asked for its entities and be freed of its marks', () => {
  const schema: JsonObject = {
    properties: { a: id, b: { items: other }, 'x-entity': { type: 'string' } },
    $defs: { c: { 'x-entity': ['site', 'project'] } },
  }
  expect(entitiesIn(schema)).toEqual(['project', 'task', 'site'])
  expect(withoutMarks(schema)).toEqual({
    properties: { a: { type: 'string' }, b: { items: { type: 'string' } }, 'x-entity': { type: 'string' } },
    $defs: { c: {} },
  })
})

it('ids and names of properties are replaced where they stand, and nothing else is', () => {
  const schema: JsonObject = {
    properties: { list: { items: id }, by: { propertyNames: id, additionalProperties: other } },
  }
  const args: Json = { list: ['a', 'b'], by: { c: 't' }, rest: ['a'] }
  const changes = idsIn(schema, args).map((found) => ({ found, to: `${found.given as string}!` }))
  expect(withIds(args, changes)).toEqual({ list: ['a!', 'b!'], by: { 'c!': 't!' }, rest: ['a'] })
  expect(args).toEqual({ list: ['a', 'b'], by: { c: 't' }, rest: ['a'] })
})
