/** R16: decoding returns the encoded data, large parts from blobs; and every flipped bit is detected. */
import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Entry, type Json, type JsonObject, MAX_ENTRY_BYTES } from '../protocol/index.ts'
import {
  BLOB_THRESHOLD,
  checksum,
  decode,
  digestOf,
  type Encoded,
  encode,
  encodeRequest,
  hashOf,
} from './encode.ts'

const LARGE = 'x'.repeat(BLOB_THRESHOLD)

function back({ json, cuts, blobs }: Encoded): JsonObject {
  return decode(json, cuts, (hash) => blobs.get(hash))
}

/** As text, which also compares the order of keys. */
function roundTrip(data: JsonObject): [string, string] {
  return [JSON.stringify(back(encode('note', data))), JSON.stringify(data)]
}

/** Large texts by short names, for readable counterexamples. */
const STAND_INS: Record<string, string> = {
  '<large>': LARGE,
  '<large, two bytes>': `é${LARGE}`,
  '<large, quoted>': `"\\\n${LARGE}`,
  '<large, four bytes>': `\u{1f600}${LARGE}`,
  '<large, half a character>': `${LARGE}\ud800`,
}

function enlarged(sketch: Json): Json {
  if (typeof sketch === 'string') return STAND_INS[sketch] ?? sketch
  return JSON.parse(JSON.stringify(sketch), (_, value: Json) =>
    typeof value === 'string' ? (STAND_INS[value] ?? value) : value,
  ) as Json
}

describe('data', () => {
  it('that is small stays in one piece', () => {
    const data = { text: 'hello', nested: { list: [1, 'two', null, true] } }
    const json = JSON.stringify(data)
    expect(encode('note', data)).toEqual({ json, cuts: [], blobs: new Map(), plain: data })
  })

  it('is cut only when its text is over the threshold', () => {
    const frame = Buffer.byteLength(JSON.stringify({ text: '' }))
    expect(encode('note', { text: 'x'.repeat(BLOB_THRESHOLD - frame) }).cuts).toEqual([])
    expect(encode('note', { text: 'x'.repeat(BLOB_THRESHOLD - frame + 1) }).cuts).toHaveLength(1)
    expect(encode('note', { text: 'é'.repeat((BLOB_THRESHOLD - frame) / 2) }).cuts).toEqual([])
    expect(encode('note', { text: 'é'.repeat((BLOB_THRESHOLD - frame) / 2 + 1) }).cuts).toHaveLength(1)
  })

  it('loses a large text to a blob under its hash, and nothing else', () => {
    const { json, cuts, blobs } = encode('note', { text: LARGE, from: 'me' })
    const hash = hashOf(Buffer.from(LARGE))
    expect(JSON.parse(json)).toEqual({ text: null, from: 'me' })
    expect(cuts).toEqual([{ path: ['text'], hash, kind: 'text' }])
    expect([...blobs]).toEqual([[hash, Buffer.from(LARGE)]])
  })

  it('is cut as deep as possible', () => {
    const { json, cuts } = encode('note', { a: [{ b: 'small' }, { b: LARGE, c: 1 }], d: LARGE })
    expect(JSON.parse(json)).toEqual({ a: [{ b: 'small' }, { b: null, c: 1 }], d: null })
    expect(cuts.map(({ path }) => path.join('/'))).toEqual(['a/1/b', 'd'])
  })

  it('that is many small parts is cut where they come together', () => {
    const list = Array.from({ length: 10_000 }, (_, n) => ({ n }))
    const { json, cuts } = encode('note', { list, rest: 1 })
    expect(JSON.parse(json)).toEqual({ list: null, rest: 1 })
    expect(cuts).toMatchObject([{ path: ['list'], kind: 'json' }])
  })

  it('that is large all over becomes one blob', () => {
    const data = Object.fromEntries(Array.from({ length: 10_000 }, (_, n) => [`key-${n}`, n]))
    const { json, cuts, blobs } = encode('note', data)
    expect([json, cuts[0]?.path, blobs.size]).toEqual(['null', [], 1])
    expect(back(encode('note', data))).toEqual(data)
  })

  it('with the same large text twice has one blob and two cuts', () => {
    const encoded = encode('note', { a: LARGE, b: LARGE })
    expect([encoded.cuts.length, encoded.blobs.size]).toEqual([2, 1])
    expect(back(encoded)).toEqual({ a: LARGE, b: LARGE })
  })
})

/** As the unit `binary` of fast-check, which makes a map of all characters before it shrinks. */
const anyCharacter = fc.integer({ min: 0, max: 0x10ffff }).map((code) => String.fromCodePoint(code))

describe('a round trip', () => {
  it('gives back any JSON, large or small', () => {
    const values = fc.letrec<{ value: Json }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 4, withCrossShrink: true },
        fc.jsonValue({ maxDepth: 1 }) as fc.Arbitrary<Json>,
        fc.constantFrom(...Object.keys(STAND_INS)),
        fc.array(tie('value'), { maxLength: 4 }),
        fc.dictionary(fc.string({ unit: anyCharacter }), tie('value'), { maxKeys: 4 }),
      ),
    })).value
    fc.assert(
      fc.property(fc.dictionary(fc.string(), values), (sketch) => {
        const [came, went] = roundTrip(enlarged(sketch) as JsonObject)
        expect(came === went).toBe(true)
      }),
      { numRuns: 40 },
    )
  })

  it.each([
    ['half of a character, which is no UTF-8', { text: `${LARGE}\ud800`, list: [`\udc00${LARGE}`] }],
    [
      'keys of the prototype',
      JSON.parse(`{"__proto__":{"__proto__":"${LARGE}"},"constructor":"${LARGE}"}`) as JsonObject,
    ],
    ['keys that look like positions', { 10: LARGE, 2: LARGE, b: LARGE, a: 1 }],
    [
      'what looks like a reference',
      { path: ['text'], hash: hashOf(Buffer.from(LARGE)), kind: 'text', text: LARGE },
    ],
    ['empty things', { a: {}, b: [], c: '', '': LARGE }],
    ['control characters', { text: `\0\u001f\u2028\u007f${LARGE}` }],
  ])('keeps %s', (_, data) => {
    const [came, went] = roundTrip(data)
    expect(came === went).toBe(true)
    expect(Object.getPrototypeOf(back(encode('note', data as JsonObject)))).toBe(Object.prototype)
  })

  it('fails when a blob is missing', () => {
    const { json, cuts } = encode('note', { text: LARGE })
    expect(() => decode(json, cuts, () => undefined)).toThrow(`blob ${cuts[0]?.hash} is missing`)
  })
})

describe('what cannot be kept', () => {
  const loop: Record<string, unknown> = {}
  loop['self'] = loop

  it.each<[string, unknown]>([
    ['a circle', loop],
    ['a big integer', { n: 1n }],
    ['null', null],
    ['a list', [1]],
    ['a text', 'text'],
    ['a date', new Date(0)],
    ['nothing', undefined],
    ['something that writes itself as nothing', { toJSON: () => undefined }],
    [
      'something that fails',
      {
        get boom() {
          throw new Error('boom')
        },
      },
    ],
  ])('%s is refused with the type of its entry', (_, data) => {
    expect(() => encode('note', data as JsonObject)).toThrow(
      expect.objectContaining({ code: 'invalid-entry', details: { type: 'note' } }),
    )
  })

  it('is refused over the limit, with the size', () => {
    const frame = Buffer.byteLength(JSON.stringify({ text: '' }))
    const text = 'x'.repeat(MAX_ENTRY_BYTES - frame)
    expect(encode('note', { text }).blobs.size).toBe(1)
    expect(() => encode('note', { text: `${text}y` })).toThrow(
      expect.objectContaining({
        code: 'too-large',
        details: { type: 'note', bytes: MAX_ENTRY_BYTES + 1, limit: MAX_ENTRY_BYTES },
      }),
    )
  })
})

describe('a request', () => {
  it('is encoded once for each piece of data', () => {
    const [posted, driven] = [{ message: 'hi' }, { text: 'note' }]
    const encoded = encodeRequest({
      key: { tenant: 't', actor: 'a', contextId: 'c' },
      id: 'a',
      since: 0,
      inbox: [{ type: 'input', key: 'k', data: posted }],
      entries: [{ type: 'note', turn: 0, data: driven }],
    })
    expect([encoded.get(posted)?.json, encoded.get(driven)?.json, encoded.size]).toEqual([
      '{"message":"hi"}',
      '{"text":"note"}',
      2,
    ])
  })
})

describe('a digest', () => {
  it('tells apart types and texts', () => {
    const digests = [
      digestOf('input', '{"a":1}'),
      digestOf('cancel', '{"a":1}'),
      digestOf('input', '{"a":2}'),
      digestOf('input', '{"a":1} '),
    ]
    expect(new Set(digests).size).toBe(4)
    expect(digestOf('input', '{"a":1}')).toBe(digests[0])
  })
})

describe('a checksum', () => {
  const entry: Omit<Entry, 'data'> = {
    seq: 12,
    turn: 3,
    at: 1000,
    type: 'take',
    v: 1,
    key: 'k',
    takes: [4, 5],
    refs: ['r'],
    optional: true,
  }
  const sum = checksum(entry, '{"as":"message"}', 'cuts')

  it.each<[string, Partial<Record<keyof Entry, unknown>>]>([
    ['seq', { seq: 13 }],
    ['turn', { turn: 2 }],
    ['at', { at: 1001 }],
    ['type', { type: 'tale' }],
    ['v', { v: 2 }],
    ['key', { key: 'l' }],
    ['no key', { key: undefined }],
    ['takes', { takes: [4, 6] }],
    ['fewer takes', { takes: [4] }],
    ['no takes', { takes: undefined }],
    ['refs', { refs: ['s'] }],
    ['no refs', { refs: undefined }],
    ['optional', { optional: undefined }],
  ])('covers %s', (_, change) => {
    expect(checksum({ ...entry, ...change } as Entry, '{"as":"message"}', 'cuts')).not.toBe(sum)
  })

  it('covers every character of the data and of the cuts', () => {
    const [data, cuts] = ['{"as":"message"}', 'cuts']
    for (const text of flips(data)) expect(checksum(entry, text, cuts)).not.toBe(sum)
    for (const text of flips(cuts)) expect(checksum(entry, data, text)).not.toBe(sum)
    expect(checksum(entry, data, cuts)).toBe(sum)
  })

  it('tells a field from its neighbour', () => {
    expect(checksum({ ...entry, seq: 1, turn: 23 }, '', '')).not.toBe(
      checksum({ ...entry, seq: 12, turn: 3 }, '', ''),
    )
  })

  it('is the same in every version: it is in files', () => {
    expect([sum, checksum({ seq: 1, turn: 0, at: 5, type: 'clear', v: 1 }, '{}', '')]).toEqual([
      687_326_302, 1_640_463_701,
    ])
  })

  /** The text with each of its bits flipped in turn. */
  function flips(text: string): string[] {
    return Array.from(text, (character, index) =>
      [1, 2, 4, 8, 16, 32, 64].map(
        (bit) =>
          text.slice(0, index) + String.fromCharCode(character.charCodeAt(0) ^ bit) + text.slice(index + 1),
      ),
    ).flat()
  }
})
