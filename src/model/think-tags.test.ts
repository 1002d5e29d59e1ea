import * as fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { CountingIds } from '../testing/index.ts'
import { Assembly, type ModelDelta } from './assemble.ts'

function assembled(deltas: readonly string[], { ends = true, readsTags = true } = {}) {
  const seen: ModelDelta[] = []
  const assembly = new Assembly(new CountingIds(), (delta) => seen.push(delta), readsTags)
  assembly.add({ type: 'text-start', id: 't' })
  for (const delta of deltas) assembly.add({ type: 'text-delta', id: 't', delta })
  if (ends) assembly.add({ type: 'text-end', id: 't' })
  const content = assembly.content().map((part) => ('text' in part ? [part.type, part.text] : [part.type]))
  const streamed = (type: string): string =>
    seen.flatMap((delta) => (delta.type === type ? [delta.text] : [])).join('')
  return { content, text: streamed('text.delta'), reasoning: streamed('reasoning.delta') }
}

describe('tags of reasoning', () => {
  test('a reply that begins with many blanks is read once, however many pieces it comes in', () => {
    const read = vi.spyOn(String.prototype, 'trimStart')
    onTestFinished(() => read.mockRestore())
    const blanks = Array.from({ length: 2000 }, () => '\n')
    expect(assembled([...blanks, 'Paris']).content).toEqual([['text', `${blanks.join('')}Paris`]])
    expect(assembled([...blanks, '<think>a</think>', ...blanks, 'b']).content).toEqual([
      ['reasoning', 'a'],
      ['text', 'b'],
    ])
    expect(assembled(blanks, { ends: false }).content).toEqual([['text', blanks.join('')]])
    const characters = read.mock.contexts.reduce((sum: number, text) => sum + String(text).length, 0)
    expect(characters).toBeLessThan(5 * blanks.length)
  })

  test.each([
    [
      '<think>because</think>Paris',
      [
        ['reasoning', 'because'],
        ['text', 'Paris'],
      ],
    ],
    [
      '\n<think>\nbecause\n</think>\n\nParis\n',
      [
        ['reasoning', '\nbecause\n'],
        ['text', 'Paris\n'],
      ],
    ],
    [
      '<thinking>a </think> b</thinking>c',
      [
        ['reasoning', 'a </think> b'],
        ['text', 'c'],
      ],
    ],
    [
      '<THINK>a</Think>b',
      [
        ['reasoning', 'a'],
        ['text', 'b'],
      ],
    ],
    [
      '<think>İstanbul mu, İzmir mi?</think>Ankara',
      [
        ['reasoning', 'İstanbul mu, İzmir mi?'],
        ['text', 'Ankara'],
      ],
    ],
    ['<think></think>b', [['text', 'b']]],
    ['<think>never closed', [['reasoning', 'never closed']]],
    ['<think>never closed </thi', [['reasoning', 'never closed </thi']]],
    ['a <think>b</think> c', [['text', 'a <think>b</think> c']]],
    ['<thinner>', [['text', '<thinner>']]],
    ['<thi', [['text', '<thi']]],
    ['</think>x', [['text', '</think>x']]],
    [
      '<think>a</think><think>b</think>c',
      [
        ['reasoning', 'a'],
        ['text', '<think>b</think>c'],
      ],
    ],
    ['   ', [['text', '   ']]],
    ['', []],
  ])('%j', (text, content) => {
    expect(assembled([text]).content).toEqual(content)
  })

  test('are the same however the text is cut, and in what is streamed', () => {
    const word = fc.constantFrom(
      '<think>',
      '</think>',
      '<',
      '</',
      'think>',
      ' ',
      '\n',
      'a',
      'Paris',
      'İ',
      '<thinking>',
    )
    fc.assert(
      fc.property(
        fc.array(word, { maxLength: 8 }),
        fc.array(fc.nat(9)),
        fc.boolean(),
        (words, cuts, ends) => {
          const text = words.join('')
          const whole = assembled([text])
          const parts = assembled(cutAt(text, cuts), { ends })
          expect(parts).toEqual(whole)
          for (const [type, content] of whole.content)
            expect(whole[type as 'text' | 'reasoning']).toBe(content)
        },
      ),
      { numRuns: 500 },
    )
  })

  test('stay text if the setting says so', () => {
    const { content } = assembled(['<think>a</think>b'], { readsTags: false })
    expect(content).toEqual([['text', '<think>a</think>b']])
  })

  test('a broken stream keeps the text after the tags, and no reasoning', () => {
    const assembly = new Assembly(new CountingIds(), () => {})
    assembly.add({ type: 'text-delta', id: 't', delta: '<think>why</think>Par' })
    expect(assembly.partial()).toEqual([{ type: 'text', text: 'Par' }])
    const held = new Assembly(new CountingIds(), () => {})
    held.add({ type: 'text-delta', id: 't', delta: '<thi' })
    expect(held.partial()).toEqual([{ type: 'text', text: '<thi' }])
  })
})

function cutAt(text: string, cuts: readonly number[]): string[] {
  const pieces: string[] = []
  let rest = text
  for (const cut of cuts) {
    pieces.push(rest.slice(0, cut))
    rest = rest.slice(cut)
  }
  return [...pieces, rest]
}
