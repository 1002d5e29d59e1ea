import { expect, it } from 'vitest'
import { pathJudge, type Span } from './path-mentions.ts'

function judged(text: string, id: string): { readonly meant: readonly boolean[]; readonly reads: number } {
  let reads = 0
  const isMeant = pathJudge(text, {
    isOwnNoun: (word) => word === 'orders',
    isId: (part) => {
      reads += 1
      return /^ord_\d+$/.test(part)
    },
  })
  const spans: Span[] = [...text.matchAll(new RegExp(id, 'g'))].map(({ index }) => ({
    from: index,
    to: index + id.length,
  }))
  return { meant: spans.map(isMeant), reads }
}

it('an id is meant at the end of an address, and in a path of ids and nouns', () => {
  const one = (text: string): readonly boolean[] => judged(text, 'ord_5').meant
  for (const text of ['ord_5', 'orders/ord_5.', '/ord_6/ord_5', 'shop.test/a/ord_5?x=1', 'ftp://a/b/ord_5/'])
    expect([text, one(text)]).toEqual([text, [true]])
  for (const text of [
    'logs/ord_5',
    'ord_5/edit',
    'orders/ord_5=x',
    'shop.test/ord_5/edit',
    'x/y.test/#ord_5',
  ])
    expect([text, one(text)]).toEqual([text, [false]])
  expect(one('logs/ord_5 (ord_5) orders/ord_5/ord_5 ord_5/x')).toEqual([false, true, true, true, false])
})

it('a path is read once, however many ids are in it', () => {
  const parts = 10_000
  const { meant, reads } = judged(`${'ord_5/'.repeat(parts)}x`, 'ord_5')
  expect([meant.length, new Set(meant), reads]).toEqual([parts, new Set([false]), parts + 1])
})
