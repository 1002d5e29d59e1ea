/**
 * R9: every prompt is valid for every provider, in all cases.
 *
 * A prompt is made while no round is open: the session has no calls, neither in its turn nor parked. Every call then
 * has its one result right after its message. While a round is open only its own message may lack results; it is the
 * last one with calls, and later messages stand after it.
 */
import { describe, expect, it } from 'vitest'
import { fold, transcript } from '../../src/journal/index.ts'
import { expectedTranscript, violations } from './oracle.ts'
import { forAll, PATIENCE, STORES, storeFixture } from './property.ts'
import { referenceOf, roundIsOpen } from './reference-state.ts'

describe.each(STORES)('the transcript of a journal in the %s store', (name) => {
  const fixture = storeFixture(name)

  it(
    'answers every call right after it was asked for, wherever no round is open',
    PATIENCE,
    forAll({ fixture, share: 0.06 }, async (author, moves) => {
      await author.write(moves)
      for (const { log } of author.branches) {
        for (let end = 0; end <= log.length; end++) {
          const past = log.slice(0, end)
          const { open, parked } = fold(past)
          const calls = (open ?? parked)?.calls ?? []
          expect(calls.length > 0).toBe(roundIsOpen(referenceOf(past)))
          expect(violations(transcript(past), calls.length > 0)).toEqual([])
        }
      }
    }),
  )

  it(
    'says everything once, in order, and speech within a round after it',
    PATIENCE,
    forAll({ fixture, share: 0.06 }, async (author, moves) => {
      await author.write(moves)
      for (const { log } of author.branches) {
        for (let end = log.length; end >= 0; end -= 3) {
          const past = log.slice(0, end)
          expect(transcript(past)).toEqual(expectedTranscript(past))
        }
      }
    }),
  )

  it(
    'is legal from wherever it is begun',
    PATIENCE,
    forAll({ fixture, share: 0.03 }, async (author, moves) => {
      await author.write(moves)
      const { log, reference } = author.branch
      for (let from = 0; from < log.length; from += 2)
        expect(violations(transcript(log.slice(from)), roundIsOpen(reference))).toEqual([])
    }),
  )
})
