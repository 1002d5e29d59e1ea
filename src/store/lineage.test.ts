/** The journals that a conversation is read from (R15), case by case. */
import { describe, expect, it } from 'vitest'
import { type ForkLink, type Lineage, lineageOf, segmentsIn } from './lineage.ts'

const END = Number.MAX_SAFE_INTEGER

function link(id: string, forkedAt = 0, ...upTos: readonly number[]): ForkLink<string> {
  return { id, forkedAt, bases: upTos.map((upTo) => ({ upTo, seq: upTo + 100, kept: 0 })) }
}

function readable(...links: readonly ForkLink<string>[]): Omit<Lineage<string>, 'ancestry'> {
  const { ancestry: _, ...rest } = lineageOf(links)
  return rest
}

describe('a lineage', () => {
  it('of nothing is nothing', () => {
    expect(readable()).toEqual({ segments: [] })
  })

  it('of a conversation is all of its own', () => {
    expect(readable(link('a'))).toEqual({ segments: [{ id: 'a', from: 1, to: END }] })
  })

  it('of a pruned one begins after its newest base, in whatever order bases come', () => {
    const expected = {
      segments: [{ id: 'a', from: 21, to: END }],
      base: { id: 'a', mark: { upTo: 20, seq: 120, kept: 0 } },
    }
    expect(readable(link('a', 0, 10, 20))).toEqual(expected)
    expect(readable(link('a', 0, 20, 10))).toEqual(expected)
  })

  it('of a fork is not touched by what its parent pruned later', () => {
    const parent = { ...link('a'), bases: [{ upTo: 20, seq: 60, kept: 30 }] }
    expect(lineageOf([parent]).segments).toEqual([{ id: 'a', from: 21, to: END }])
    const segments = [
      { id: 'b', from: 31, to: END },
      { id: 'a', from: 1, to: 30 },
    ]
    expect(readable(link('b', 30), parent)).toEqual({ segments })
    expect(lineageOf([link('b', 31), parent]).base).toMatchObject({ id: 'a', mark: { upTo: 20 } })
  })

  it('has an ancestry that no base cuts', () => {
    const ancestry = [
      { id: 'c', from: 41, to: END },
      { id: 'b', from: 31, to: 40 },
      { id: 'a', from: 1, to: 30 },
    ]
    for (const upTos of [[], [50]])
      expect(lineageOf([link('c', 40, ...upTos), link('b', 30, 35), link('a', 0, 10)]).ancestry).toEqual(
        ancestry,
      )
  })

  it('of a fork goes on in its parent, up to the fork point', () => {
    expect(lineageOf([link('b', 30), link('a')]).segments).toEqual([
      { id: 'b', from: 31, to: END },
      { id: 'a', from: 1, to: 30 },
    ])
  })

  it('of a fork of a fork goes back through all of them', () => {
    expect(lineageOf([link('c', 40), link('b', 30), link('a')]).segments).toEqual([
      { id: 'c', from: 41, to: END },
      { id: 'b', from: 31, to: 40 },
      { id: 'a', from: 1, to: 30 },
    ])
  })

  it('of a fork of a fork below where that one began reads nothing twice', () => {
    const lineage = lineageOf([link('c', 20), link('b', 30), link('a')])
    expect(segmentsIn(lineage, { from: 1, to: END, newest: true })).toEqual([
      { id: 'c', from: 21, to: END },
      { id: 'a', from: 1, to: 20 },
    ])
  })

  it('of a fork below two others reads the eldest only as far as the youngest says', () => {
    const lineage = lineageOf([link('d', 10), link('c', 20), link('b', 30), link('a')])
    expect(segmentsIn(lineage, { from: 1, to: END, newest: false })).toEqual([
      { id: 'a', from: 1, to: 10 },
      { id: 'd', from: 11, to: END },
    ])
  })

  it('of a fork begins at the base of its parent, if that lies at or below the fork point', () => {
    for (const upTo of [20, 30]) {
      expect(readable(link('b', 30), link('a', 0, upTo))).toEqual({
        segments: [
          { id: 'b', from: 31, to: END },
          { id: 'a', from: upTo + 1, to: 30 },
        ],
        base: { id: 'a', mark: { upTo, seq: upTo + 100, kept: 0 } },
      })
    }
  })

  it('of a fork knows nothing of a base above the fork point', () => {
    expect(readable(link('b', 30), link('a', 0, 31))).toEqual(readable(link('b', 30), link('a')))
    expect(lineageOf([link('b', 30), link('a', 0, 10, 31)]).base).toEqual({
      id: 'a',
      mark: { upTo: 10, seq: 110, kept: 0 },
    })
  })

  it('of a pruned fork needs its parent no more', () => {
    expect(readable(link('b', 30, 35), link('a'))).toEqual({
      segments: [{ id: 'b', from: 36, to: END }],
      base: { id: 'b', mark: { upTo: 35, seq: 135, kept: 0 } },
    })
  })
})

describe('a part of a lineage', () => {
  const lineage = lineageOf([link('c', 40), link('b', 30), link('a')])

  it('is read oldest first, or newest first', () => {
    expect(segmentsIn(lineage, { from: 1, to: 50, newest: false }).map(({ id }) => id)).toEqual([
      'a',
      'b',
      'c',
    ])
    expect(segmentsIn(lineage, { from: 1, to: 50, newest: true }).map(({ id }) => id)).toEqual([
      'c',
      'b',
      'a',
    ])
  })

  it('leaves out what it does not touch', () => {
    expect(segmentsIn(lineage, { from: 35, to: 38, newest: false })).toEqual([{ id: 'b', from: 35, to: 38 }])
    expect(segmentsIn(lineage, { from: 30, to: 41, newest: false })).toEqual([
      { id: 'a', from: 30, to: 30 },
      { id: 'b', from: 31, to: 40 },
      { id: 'c', from: 41, to: 41 },
    ])
    expect(segmentsIn(lineage, { from: 9, to: 8, newest: false })).toEqual([])
  })

  it('holds nothing that a base has covered', () => {
    expect(segmentsIn(lineageOf([link('a', 0, 20)]), { from: 1, to: 20, newest: false })).toEqual([])
  })
})
