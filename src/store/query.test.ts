/** Ranges, limits and cursors. */
import { describe, expect, it } from 'vitest'
import { HoldfastError } from '../protocol/index.ts'
import { boundsOf, fromCursor, limitOf, toCursor } from './query.ts'

describe('a range', () => {
  it('is everything, oldest first, a thousand at a time, if nothing is said', () => {
    expect(boundsOf({})).toEqual({ from: 1, to: Number.MAX_SAFE_INTEGER, limit: 1000, newest: false })
  })

  it('is what is said', () => {
    expect(boundsOf({ from: 5, to: 9, limit: 2, order: 'newest' })).toEqual({
      from: 5,
      to: 9,
      limit: 2,
      newest: true,
    })
    expect(boundsOf({ order: 'oldest' }).newest).toBe(false)
  })
})

describe('a limit', () => {
  it('is a whole number, one at least', () => {
    expect([1, 100_000, undefined].map((limit) => limitOf(limit, 50))).toEqual([1, 100_000, 50])
  })

  it.each([0, -1, 1.5, 100_001, Number.NaN, Number.POSITIVE_INFINITY])('is not %d', (limit) => {
    expect(() => limitOf(limit, 50)).toThrow(HoldfastError)
    expect(() => boundsOf({ limit })).toThrow(`not ${limit}`)
  })
})

describe('a cursor', () => {
  it('comes back as it went out', () => {
    const cursor = { activeAt: 1_767_225_600_000, id: 42 }
    expect(fromCursor(toCursor(cursor))).toEqual(cursor)
    expect(fromCursor(toCursor({ activeAt: 0, id: 0 }))).toEqual({ activeAt: 0, id: 0 })
    expect(fromCursor(undefined)).toBe(undefined)
  })

  it.each(['', '1', '1.', '.1', '1.2.3', '-1.2', '1.2 ', 'a.b', '1e3.2', '12345678901234567.1'])(
    'is not "%s"',
    (cursor) => {
      expect(() => fromCursor(cursor)).toThrow(HoldfastError)
    },
  )
})
