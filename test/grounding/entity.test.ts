/** Declarations of entities, their rows and their selections. */
import { describe, expect, it } from 'vitest'
import {
  durationMs,
  entity,
  entityMap,
  expiresAt,
  unexpired,
  withSelections,
} from '../../src/grounding/index.ts'
import type { ActiveValue, Selection } from '../../src/protocol/index.ts'
import { entities, HOUR, project, task } from './kit.ts'

describe('a span of time', () => {
  it.each([
    ['7h', 7 * HOUR],
    ['30m', HOUR / 2],
    ['2d', 48 * HOUR],
    ['1w', 168 * HOUR],
    ['1h 30m', 1.5 * HOUR],
    ['45s', 45_000],
    ['1500ms', 1500],
    ['0.5h', HOUR / 2],
    [250, 250],
    [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ])('%s is %d ms', (span, ms) => {
    expect(durationMs(span)).toBe(ms)
  })
  it.each(['', 'soon', '7', 'h', '-1h', '0h', '7 hours', 0, -5, Number.NaN])('%s is none', (span) => {
    expect(() => durationMs(span)).toThrow('no span of time')
  })
})

describe('an entity', () => {
  it('counts for seven hours and is enforced, unless it says otherwise', () => {
    expect(entity('site')).toMatchObject({ ttlMs: 7 * HOUR, policy: 'enforce', scope: 'conversation' })
  })

  it.each([
    ['two words', {}, 'its name'],
    ['a', { pattern: /x/g }, 'flags'],
    ['a', { policy: 'strict' as 'enforce' }, '`policy`'],
    ['a', { scope: 'world' as 'actor' }, '`scope`'],
    ['a', { sources: ['dreams' as 'seen'] }, 'is no source'],
    ['a', { ttl: 'x' }, 'no span'],
    ['a', { called: { en: null as never } }, '`called.en` must be a noun'],
    ['a', { called: { en: 7 as never } }, '`called.en` must be a noun'],
  ])('that could not work is refused: %s %j', (name, options, why) => {
    expect(() => entity(name, options)).toThrow(why)
  })

  it.each([
    ['a pattern that fits any text', { pattern: /.*/ }, /`pattern` fits any text/],
    ['the same in other words', { pattern: /[^]+/ }, /`pattern` fits any text/],
    ['no source at all', { sources: [] }, /`sources` is empty/],
    ['a parent that is no entity', { parent: { name: 'site' } as never }, /`parent` must be an entity/],
  ])('refuses %s', (_, options, message) => {
    expect(() => entity('order', options)).toThrow(message)
  })

  it('brings its parents with it, and is the only one of its name', () => {
    expect([...entityMap([task]).keys()]).toEqual(['task', 'project'])
    expect(() => entityMap([project, entity('project')])).toThrow('another one of that name')
  })

  it('reads rows by name, by path and by function, in their places', () => {
    const rows = [
      { id: 1, nom: 'Champigny', in: { site: 's-1' } },
      { id: 1, nom: 'Champigny again', in: { site: 's-1' } },
      { id: null, nom: 'nothing' },
      { id: 'p-2', nom: '' },
    ]
    expect(project.rows(rows, { id: 'id', label: 'nom', parent: 'in.site' })).toEqual([
      { entity: 'project', id: '1', label: 'Champigny', parent: 's-1' },
      { entity: 'project', id: '1', label: 'Champigny again', parent: 's-1' },
      { entity: 'project', id: 'p-2' },
    ])
    expect(project.rows(rows, { id: ({ nom }) => nom.slice(0, 4) })).toEqual([
      { entity: 'project', id: 'Cham' },
      { entity: 'project', id: 'Cham' },
      { entity: 'project', id: 'noth' },
    ])
  })
})

describe('what is chosen', () => {
  const room = entity('room', { parent: task })
  const all = entityMap([room])
  const choose = (active: readonly ActiveValue[], ...selections: Selection[]) =>
    withSelections(active, selections, { entities: all, at: 5 }).map(
      ({ entity: of, id, ids }) => `${of} ${(ids ?? [id]).join('+')}`,
    )
  const start = withSelections([], [project.select('p1'), task.select('t1'), room.select('r1')], {
    entities: all,
    at: 1,
  })

  it('is kept with its label, its time and where it was said', () => {
    const origin = { contextId: 'c', seq: 4 }
    expect(withSelections([], [project.select(7, { label: 'Bureau' })], { entities, at: 9, origin })).toEqual(
      [{ entity: 'project', id: '7', label: 'Bureau', at: 9, by: 'program', since: 9, origin }],
    )
  })

  it('keeps the label of each id in another order', () => {
    const named = withSelections([], [project.select(['a', 'b'], { labels: ['A', 'B'] })], {
      entities,
      at: 1,
    })
    expect(withSelections(named, [project.select(['b', 'a'])], { entities, at: 2 })).toMatchObject([
      { id: 'b', ids: ['b', 'a'], labels: ['B', 'A'] },
    ])
  })

  it('replaces what was chosen, and lets go of its parts', () => {
    expect(choose(start, project.select('p2'))).toEqual(['project p2'])
    expect(choose(start, task.select('t2'))).toEqual(['project p1', 'task t2'])
  })

  it('keeps the parts if it is the same again', () => {
    expect(choose(start, project.select('p1'))).toEqual(['task t1', 'room r1', 'project p1'])
  })

  it('can be several, or nothing', () => {
    expect(choose(start, project.select(['p1', 'p3']))).toEqual(['project p1+p3'])
    expect(choose(start, project.select())).toEqual([])
    expect(choose(start, room.select())).toEqual(['project p1', 'task t1'])
  })

  it('lets go of a parent that it is no part of', () => {
    expect(choose(start, task.select('t9', { parent: 'p1' }))).toEqual(['project p1', 'task t9'])
    expect(choose(start, task.select('t9', { parent: 'p2' }))).toEqual(['task t9'])
  })

  it('expires by its own ttl, and not because a clock went back', () => {
    const value: ActiveValue = { entity: 'project', id: 'p1', at: 1000 }
    expect(expiresAt(value, entities)).toBe(1000 + 7 * HOUR)
    expect(unexpired([value], entities, 1000 + 7 * HOUR - 1)).toEqual([value])
    expect(unexpired([value], entities, 1000 + 7 * HOUR)).toEqual([])
    expect(unexpired([value], entities, -99 * HOUR)).toEqual([value])
  })
})

it('a pattern with the flag m fits whole ids, and no text that has one in a line', () => {
  const { pattern } = entity('order', { pattern: /^ord_\d{4}$/im })
  expect(
    ['ord_6666', 'ORD_6666', 'Hello\nord_6666', 'ord_6666\n'].map((text) => pattern?.test(text)),
  ).toEqual([true, true, false, false])
})
