/** A copy equals the JSON round trip of the data, or there is none. */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import type { JsonObject } from '../protocol/index.ts'
import { encode } from './encode.ts'
import { plainCopy } from './plain.ts'

const byJson = (data: unknown): unknown => JSON.parse(JSON.stringify(data))

/** Also compares zeros, holes, the order of keys and prototypes. */
function same(a: unknown, b: unknown): void {
  expect(a).toStrictEqual(b)
  expect(JSON.stringify(a)).toBe(JSON.stringify(b))
}

it('copies plain data, and what was copied is nobody else’s', () => {
  const data = { b: 1, a: [true, null, { text: 'half \ud800', 10: 1, 2: 2 }], e: {}, f: [] }
  const copy = plainCopy(data)
  same(copy, byJson(data))
  data.a.push(false)
  expect(copy).not.toEqual(data)
})

it('is the same as JSON makes of any data, wherever it makes one', () => {
  const odd = fc.constantFrom(undefined, -0, Number.NaN, Infinity, new Date(0), /x/, new Map(), () => 1)
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue(),
      odd,
      fc.array(tie('tree'), { maxLength: 4 }),
      fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('__proto__', 'toJSON', '1')), tie('tree'), {
        noNullPrototype: false,
      }),
    ),
  }))
  let copies = 0
  fc.assert(
    fc.property(fc.dictionary(fc.string(), tree, { noNullPrototype: true }), (data) => {
      const copy = plainCopy(data as JsonObject)
      if (copy === undefined) return
      copies += 1
      same(copy, byJson(data))
    }),
  )
  expect(copies).toBeGreaterThan(0)
})

class Point {
  x = 1
}

const loop: Record<string, unknown> = {}
loop['loop'] = loop

for (const [what, data] of Object.entries({
  'a date': { at: new Date(0) },
  'an instance of a class': { at: new Point() },
  'an object that says how it is written': { a: { toJSON: () => 1 } },
  'an array that does': { a: Object.assign([1], { toJSON: () => 1 }) },
  'a function in an array': { a: [() => 1] },
  'a hole': { a: Object.assign([], { length: 2 }) },
  'no number': { a: Number.NaN },
  'a big number': { a: 1n },
  'a key that would become the prototype': JSON.parse('{"__proto__":{"a":1}}') as object,
  'an object without a prototype': { a: Object.create(null) as object },
  itself: loop,
}))
  it(`leaves ${what} to JSON`, () => {
    expect(plainCopy(data as JsonObject)).toBeUndefined()
  })

it('data that is never twice the same is stored as it is handed back', () => {
  let reads = 0
  const data = {
    get count() {
      reads += 1
      return reads
    },
  }
  const { json, plain } = encode('note', data)
  expect([json, plain]).toEqual(['{"count":1}', { count: 1 }])
})

it('data that cannot be read is refused as what cannot be written', () => {
  const data = {
    get count(): number {
      throw new Error('not today')
    },
  }
  expect(() => encode('note', data)).toThrow(expect.objectContaining({ code: 'invalid-entry' }))
})
