import { assert, constantFrom, nat, property, string } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { editDistance } from './edit-distance.ts'
import { nearestName } from './nearest-name.ts'

/** The whole table, without a bound. */
function unbounded(a: string, b: string): number {
  const at = (i: number, j: number): number => {
    if (i === 0 || j === 0) return i + j
    const steps = [at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + (a[i - 1] === b[j - 1] ? 0 : 1)]
    const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
    return Math.min(...steps, ...(isSwapped ? [at(i - 2, j - 2) + 1] : []))
  }
  return at(a.length, b.length)
}

describe('the edit distance', () => {
  it('is that of the whole table, up to the bound', () => {
    const word = string({ unit: constantFrom('a', 'b', 'c'), maxLength: 6 })
    assert(
      property(word, word, nat(4), (a, b, most) => {
        expect(editDistance(a, b, most)).toBe(Math.min(unbounded(a, b), most + 1))
      }),
      { numRuns: 500 },
    )
  })

  it('counts neighbours that are swapped once', () => {
    expect(editDistance('shwo', 'show', 2)).toBe(1)
  })
})

describe('the nearest name', () => {
  it.each([
    ['shwo', 'show'],
    ['descriptoin', 'description'],
    ['Max-Tokens', 'maxTokens'],
    ['cut', undefined],
    [7, undefined],
  ])('of %j is %j', (given, meant) => {
    expect(nearestName(given, ['show', 'description', 'maxTokens', 'run'])).toBe(meant)
  })
})
