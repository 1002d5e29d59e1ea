/** Lists of grants: one of a text for each person, and bounded. */
import { describe, expect, it } from 'vitest'
import { offeredGrants, patternsOf, withGrants, withoutGrants } from './grant.ts'

const [ann, bob] = [
  { tenant: 't', actor: 'ann' },
  { tenant: 't', actor: 'bob' },
]

describe('a list of grants', () => {
  it('has each text once for each person, and keeps the first', () => {
    const first = withGrants([], ['a', 'b', 'a'], { ...ann, at: 1 })
    const second = withGrants(withGrants(first, ['b', 'c'], { ...ann, at: 2 }), ['a'], { ...bob, at: 3 })
    expect(second.map(({ pattern, actor, at }) => [pattern, actor, at])).toEqual([
      ['a', 'ann', 1],
      ['b', 'ann', 1],
      ['c', 'ann', 2],
      ['a', 'bob', 3],
    ])
    expect(patternsOf(second, bob)).toEqual(['a'])
    expect(patternsOf(second, { tenant: 'other', actor: 'ann' })).toEqual([])
  })

  it('loses the grants of one person, by their texts or all of them', () => {
    const all = withGrants(withGrants([], ['a', 'b'], { ...ann, at: 1 }), ['a'], { ...bob, at: 1 })
    expect(patternsOf(withoutGrants(all, ann, ['a']), ann)).toEqual(['b'])
    expect(withoutGrants(all, ann)).toEqual([{ ...bob, pattern: 'a', at: 1 }])
  })

  it('drops the oldest beyond a hundred', () => {
    const many = Array.from({ length: 130 }, (_, n) => `p${n}`)
    const kept = patternsOf(withGrants([], many, { ...ann, at: 1 }), ann)
    expect([kept.length, kept[0], kept.at(-1)]).toEqual([100, 'p30', 'p129'])
  })

  it.each([undefined, {}, { grants: 'a' }, { grants: ['a', 1] }, { grants: null }])(
    'is not offered by %j',
    (about) => {
      expect(offeredGrants(about)).toEqual([])
    },
  )
})
