/** Program values converted to JSON. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { JsonProblem, toJson } from './to-json.ts'

const message = (value: unknown): string => {
  const json = toJson(value)
  return json instanceof JsonProblem ? json.message : `no problem: ${JSON.stringify(json)}`
}

describe('a value as JSON', () => {
  it.each([
    [undefined, null],
    [Number.NaN, null],
    [Number.POSITIVE_INFINITY, null],
    [-0, 0],
    [12n, '12'],
    [new Date(0), '1970-01-01T00:00:00.000Z'],
    [new Date(Number.NaN), null],
    [new URL('https://a.example/b'), 'https://a.example/b'],
    ['a\ud800b', 'a\ufffdb'],
    [{ '\udfff': 1 }, { '\ufffd': 1 }],
    [{ a: undefined, b: [undefined, 1] }, { b: [null, 1] }],
    [Object.assign([1], { 2: 2 }), [1, null, 2]],
    [new TypeError('bad'), { name: 'TypeError', message: 'bad' }],
    [Object.assign(new Error('bad'), { name: 7n }), { name: '7', message: 'bad' }],
    [Object.assign(new Error('bad'), { name: 'a\ud800' }), { name: 'a\ufffd', message: 'bad' }],
    [Object('text'), 'text'],
    [{ toJSON: () => ({ a: 1n }) }, { a: '1' }],
    [Object.create(null), {}],
    [
      new (class Point {
        x = 1
        #y = 2
        y() {
          return this.#y
        }
      })(),
      { x: 1 },
    ],
  ])('of %o is %j', (value, json) => {
    expect(toJson(value)).toStrictEqual(json)
  })

  it('never has a minus zero, which a store would not give back', () => {
    expect(Object.is(toJson(-0), 0)).toBe(true)
  })

  it('keeps a key called __proto__ a key', () => {
    const value: unknown = JSON.parse('{"__proto__":{"admin":true}}')
    expect(JSON.stringify(toJson(value))).toBe('{"__proto__":{"admin":true}}')
    expect((toJson(value) as { admin?: boolean }).admin).toBe(undefined)
  })

  it('may name the same object twice, if not inside of itself', () => {
    const shared = { a: 1 }
    expect(toJson([shared, { shared }])).toEqual([{ a: 1 }, { shared: { a: 1 } }])
  })

  it('is the value itself, again and again, for what is JSON already', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json = toJson(value)
        expect(JSON.stringify(json)).toBe(
          JSON.stringify(value).replaceAll(/\\ud[89a-f][0-9a-f]{2}/g, '\ufffd'),
        )
        expect(toJson(json)).toEqual(json)
      }),
    )
  })

  it('survives its text for anything at all, or is a problem', () => {
    fc.assert(
      fc.property(
        fc.anything({ withBigInt: true, withDate: true, withMap: true, withNullPrototype: true }),
        (value) => {
          const json = toJson(value)
          const again = json instanceof JsonProblem ? json : (JSON.parse(JSON.stringify(json)) as unknown)
          expect(again).toEqual(json)
        },
      ),
    )
  })
})

describe('a value that cannot be JSON', () => {
  it.each([
    [{ a: [new Map()] }, '`a[0]` is a value of type Map; use Object.fromEntries() for it'],
    [new Set([1]), 'it is a value of type Set; use [...set] for it'],
    [
      { bytes: Buffer.from('x') },
      '`bytes` is a value of type Buffer; write bytes into an artifact, or encode them as base64',
    ],
    [
      new ArrayBuffer(1),
      'it is a value of type ArrayBuffer; write bytes into an artifact, or encode them as base64',
    ],
    [{ a: { b: () => 1 } }, '`a.b` is a function'],
    [[Symbol('x')], '`[0]` is a symbol'],
    [{ later: Promise.resolve() }, '`later` is a value of type Promise; await it'],
    [{ match: /x/ }, '`match` is a value of type RegExp; use its source'],
    // Servers of other tests may have replaced the class.
    [new Response('x'), `it is a value of type ${Response.name}, and has nothing in it that JSON can carry`],
  ])('is named with its place: %o', (value, problem) => {
    expect(message(value)).toBe(problem)
  })

  it('is named when it is part of itself', () => {
    const value: Record<string, unknown> = { a: {} }
    ;(value['a'] as Record<string, unknown>)['b'] = value
    expect(message(value)).toBe('it is circular: `a.b` is also what it is part of')
  })

  it('is one that gives itself as its JSON', () => {
    const value = { toJSON: (): unknown => value }
    expect(message(value)).toBe('it is circular: it is also what it is part of')
  })

  it('is one that is nested too deeply for others to read', () => {
    let value: unknown = 1
    for (let depth = 0; depth < 100_000; depth++) value = [value]
    expect(message(value)).toBe('it is nested more than 200 levels deep')
  })

  it('is one that unfolds to more than any memory', () => {
    let value: unknown = 'x'.repeat(1000)
    for (let depth = 0; depth < 60; depth++) value = [value, value]
    expect(message(value)).toBe('it has more than 67108864 bytes')
  })

  it('is one that throws when it is read', () => {
    const value = {
      get a(): never {
        throw new Error('not now')
      },
    }
    expect(message(value)).toBe('reading it failed: not now')
  })
})
