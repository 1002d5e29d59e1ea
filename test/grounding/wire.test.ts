/** Ids in output: codes for models, labels for people. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { entity, entityMap, handleTable, outputFilter } from '../../src/grounding/index.ts'
import type { Json, JsonObject, Sighting } from '../../src/protocol/index.ts'
import { bureau, champigny, ecole, entities, project, task, wiring } from './kit.ts'

describe('short codes', () => {
  const seen = [champigny, wiring, bureau]
  const handles = handleTable(entities, seen)
  const codeOf = ({ entity: kind, id }: Sighting): string => handles.encode(kind, id)
  const [first, second, third] = [codeOf(champigny), codeOf(bureau), codeOf(wiring)]

  it('have a letter of their kind, and lead back', () => {
    expect([first, second, third].map((code) => code.replace(/[b-z2-9]{4}$/, ''))).toEqual(['p~', 'p~', 't~'])
    expect(seen.map((one) => handles.decode(one.entity, codeOf(one)))).toEqual(seen.map(({ id }) => id))
    expect(handles.decode('task', second)).toBeUndefined()
    expect(handles.encode('project', 'never-seen')).toBe('never-seen')
  })

  it('stay the same whatever else is seen', () => {
    const later = handleTable(entities, [ecole, bureau])
    expect(later.encode('project', 'abc-456')).toBe(second)
    expect(handleTable(entities, [...seen, champigny, ecole]).encode('project', 'abc-123')).toBe(first)
  })

  it('that are miscopied by a letter hardly ever stand for something else', () => {
    const many = Array.from({ length: 200 }, (_, n) => ({ entity: 'project', id: `abc-${n}` }))
    const table = handleTable(entities, many)
    let [tries, hits] = [0, 0]
    for (const { id } of many) {
      const code = table.encode('project', id)
      for (let at = 2; at < code.length; at++)
        for (const letter of 'bcdfghjkmnpqrstvwxz23456789') {
          const found = table.decode('project', `${code.slice(0, at)}${letter}${code.slice(at + 1)}`)
          tries++
          if (found !== undefined && found !== id) hits++
        }
    }
    // 200 things among half a million codes.
    expect(hits / tries).toBeLessThan(0.001)
  })

  it('stand for ids in results, and for numbers only where they are ids', () => {
    const numbered: Sighting[] = [{ entity: 'project', id: '7' }]
    const table = handleTable(entities, numbered)
    const code = table.encode('project', '7')
    const output: Json = { id: 7, count: 7, projectId: 7, ids: [7], name: '7', grid: 7 }
    const coded = { id: code, count: 7, projectId: code, ids: [code], name: '7', grid: 7 }
    expect(table.encodeOutput(output, numbered)).toEqual(coded)
    expect(table.encodeOutput(output)).toEqual(coded)
    expect(handles.encodeOutput({ rows: ['abc-123', 'abc-1234'] }, seen)).toEqual({
      rows: [first, 'abc-1234'],
    })
  })

  it('become ids in arguments, where ids belong, and back', () => {
    const parameters: JsonObject = {
      properties: { a: { items: project.id() }, t: task.id(), by: { propertyNames: project.id() }, note: {} },
    }
    const coded = { a: [first, 'p~9'], t: third, by: { [second]: 1 }, note: 'x' }
    const plain = { a: ['abc-123', 'p~9'], t: 'def-456', by: { 'abc-456': 1 }, note: 'x' }
    expect(handles.decodeArgs(parameters, coded)).toEqual(plain)
    expect(handles.encodeArgs(parameters, plain)).toEqual(coded)
  })

  it('become numbers where the schema wants them', () => {
    const parameters: JsonObject = { properties: { id: { type: 'integer', ...project.id() } } }
    const table = handleTable(entities, [{ entity: 'project', id: '7' }])
    const code = table.encode('project', '7')
    expect(['12', code, 'twelve'].map((id) => table.decodeArgs(parameters, { id }))).toEqual([
      { id: 12 },
      { id: 7 },
      { id: 'twelve' },
    ])
    expect(table.encodeArgs(parameters, { id: 7 })).toEqual({ id: code })
  })

  it('become ids in any text', () => {
    const text = `See ${first}, not ${first}x or p~zzzz.`
    expect(handles.decodeTexts({ body: [text] })).toEqual({ body: [`See abc-123, not ${first}x or p~zzzz.`] })
  })

  it('of entities with the same beginning are told apart', () => {
    const alike = entityMap([entity('project', { pattern: /pro?j?\d+/ }), entity('product'), entity('prod')])
    const three = ['project', 'product', 'prod'].map((name) => ({ entity: name, id: 'x' }))
    const table = handleTable(alike, three)
    const prefixes = three.map((one) => table.encode(one.entity, one.id).split('~')[0])
    expect(prefixes).toEqual(['proj', 'produ', 'prod'])
  })

  it('are one to one, for any ids', () => {
    const ids = fc.uniqueArray(
      fc.oneof(
        fc.string({ minLength: 1 }),
        fc.nat(30).map((n) => handles.encode('project', ['abc-123', 'abc-456'][n % 2] ?? '')),
      ),
      { maxLength: 40 },
    )
    fc.assert(
      fc.property(ids, (all) => {
        const table = handleTable(
          entityMap([entity('project')]),
          all.map((id) => ({ entity: 'project', id })),
        )
        const codes = all.map((id) => table.encode('project', id))
        expect(new Set(codes).size).toBe(all.length)
        expect(codes.map((code) => table.decode('project', code))).toEqual(all)
      }),
    )
  })
})

describe('what people read', () => {
  const filter = outputFilter([
    champigny,
    { entity: 'task', id: 'def-456' },
    { entity: 'project', id: '12', label: 'Mairie' },
    { entity: 'project', id: 'bureau', label: 'Bureau' },
    { entity: 'file', id: 'a/b.c', label: 'Plan' },
    { entity: 'task', id: 'id-5', label: 'Roof' },
  ])
  const cases: readonly (readonly [string, string])[] = [
    ['Champigny (ID: abc-123) is done.', 'Champigny is done.'],
    ['Champigny [abc-123], next', 'Champigny, next'],
    ['The id is abc-123.', 'The id is Champigny.'],
    ['Task def-456 is open.', 'Task [task] is open.'],
    ['abc-1234 and xabc-123 and abc-123-x stay', 'abc-1234 and xabc-123 and abc-123-x stay'],
    ['12 windows for 12 € (12)', '12 windows for 12 € (12)'],
    ['Mairie (ID: 12), ID 12, #12', 'Mairie, ID Mairie, #Mairie'],
    ['the bureau (id bureau)', 'the bureau'],
    ['see a/b.c, not a/b.cd', 'see Plan, not a/b.cd'],
    ['Roof (id-5), Roof (ID: id-5 ), id-5', 'Roof, Roof, Roof'],
    ['nothing (at all) here', 'nothing (at all) here'],
    ['', ''],
  ]
  it.each(cases)('%j becomes %j', (text, shown) => {
    expect(filter.text(text)).toBe(shown)
  })

  it('is the same in whatever pieces it comes', () => {
    const text = fc
      .array(
        fc.oneof(
          fc.constantFrom(
            ...cases.map(([each]) => each),
            'abc-',
            'abc-123',
            ' (',
            'ID',
            'id-',
            ': ',
            ')',
            ' ',
            '12',
            '#',
          ),
          fc.string({ maxLength: 4 }),
        ),
        { maxLength: 8 },
      )
      .map((parts) => parts.join(''))
    fc.assert(
      fc.property(text, fc.array(fc.nat(12)), (whole, cuts) => {
        const stream = filter.stream()
        let shown = ''
        let at = 0
        for (const cut of cuts) {
          shown += stream.push(whole.slice(at, at + cut))
          at += cut
        }
        expect(shown + stream.push(whole.slice(at)) + stream.end()).toBe(filter.text(whole))
      }),
      { numRuns: 2000 },
    )
  })

  it('is not held back for long', () => {
    const stream = filter.stream()
    const text =
      'Everything is fine with the house, and (as I said) abc-12 is not abc-123 but something else entirely.'
    let shown = 0
    let held = 0
    for (const [at, char] of text.split('').entries()) {
      shown += stream.push(char).length
      held = Math.max(held, at + 1 - shown)
    }
    expect(held).toBeLessThanOrEqual('abc-123'.length + 4)
    expect(filter.stream().push('Hello wor')).toBe('Hello wor')
  })

  it('has what the host wants in place of ids', () => {
    const silent = outputFilter([champigny], { replace: () => '•' })
    expect(silent.text('see abc-123')).toBe('see •')
  })
})
