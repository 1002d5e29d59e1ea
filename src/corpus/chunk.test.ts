import * as fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { sentenceChunker } from './chunk.ts'

const texts = (page: string, options = {}) =>
  sentenceChunker(options)
    .chunk(page)
    .map(({ start, end }) => page.slice(start, end))

describe('a passage', () => {
  it('ends with a sentence', () => {
    const page =
      'The gauge was moved in May. It reads 3.2 m too high. Nobody noticed for a year, until the storm.'
    expect(texts(page, { size: 60, overlap: 0 })).toEqual([
      'The gauge was moved in May. It reads 3.2 m too high.',
      'Nobody noticed for a year, until the storm.',
    ])
  })

  it('begins with the last words of the one before', () => {
    const page =
      'The gauge was moved in May. It reads 3.2 m too high. Nobody noticed for a year, until the storm.'
    expect(texts(page, { size: 60, overlap: 12 })).toEqual([
      'The gauge was moved in May. It reads 3.2 m too high.',
      'm too high. Nobody noticed for a year, until the storm.',
    ])
  })

  it('does not end where a line ends, but where a paragraph does', () => {
    const page = 'A heading\n\nThis sentence was broken by\na PDF in the middle of it. And so on, and so on.'
    expect(texts(page, { size: 70, overlap: 0 })).toEqual([
      'A heading\n\nThis sentence was broken by\na PDF in the middle of it.',
      'And so on, and so on.',
    ])
    expect(texts('A heading\n\nThis sentence is longer.', { size: 20, overlap: 0 })[0]).toBe('A heading')
  })

  it('ends between words if no sentence ends in it', () => {
    expect(texts('one two three four five six', { size: 16, overlap: 0 })).toEqual([
      'one two three',
      'four five six',
    ])
  })

  it('never ends inside a character', () => {
    expect(texts('🌊'.repeat(20), { size: 17, overlap: 0 })).toEqual([
      '🌊'.repeat(8),
      '🌊'.repeat(8),
      '🌊'.repeat(4),
    ])
  })

  it('is missing where there is no text', () => {
    expect(texts('')).toEqual([])
    expect(texts(' \n\t ')).toEqual([])
  })
})

const page = fc
  .array(
    fc.oneof(
      fc.constantFrom(' ', '\n', '\n\n', '. ', '! ', 'Dr. ', 'a', '🌊', '。', '\r\n', '\u00A0'),
      fc.stringMatching(/^[a-zé]{1,12}$/),
      fc.string({ unit: 'binary', maxLength: 8 }),
      fc.stringMatching(/^[a-z]{40,120}$/),
    ),
    { maxLength: 120 },
  )
  .map((parts) => parts.join(''))

it('places are true: in bounds, in order, without holes, bounded, and overlapping a little', () => {
  const sizes = fc
    .integer({ min: 16, max: 600 })
    .chain((size) =>
      fc.record({ size: fc.constant(size), overlap: fc.integer({ min: 0, max: Math.floor(size / 2) }) }),
    )
  fc.assert(
    fc.property(page, sizes, (text, { size, overlap }) => {
      const chunks = sentenceChunker({ size, overlap }).chunk(text)
      let covered = 0
      let before = -1
      for (const { start, end } of chunks) {
        expect(start).toBeGreaterThan(before)
        expect(end).toBeGreaterThan(start)
        expect(end).toBeGreaterThan(covered)
        expect(end - start).toBeLessThanOrEqual(size)
        expect(covered - start).toBeLessThanOrEqual(overlap)
        expect(text.slice(covered, Math.max(covered, start)).trim()).toBe('')
        expect(text.slice(start, end)).toBe(text.slice(start, end).trim())
        before = start
        covered = end
      }
      expect(text.slice(covered).trim()).toBe('')
    }),
    { numRuns: 300 },
  )
})

it.each([{ size: 15 }, { size: 100, overlap: 51 }, { size: 100.5 }, { overlap: -1 }])(
  '%j is refused',
  (options) => {
    expect(() => sentenceChunker(options)).toThrow('size must be a whole number from 16 on')
  },
)
