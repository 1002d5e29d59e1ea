/**
 * R9: every prompt is valid for every provider, whatever happened on the way.
 *
 * A prompt is made where no round is open: where the session has no calls, neither in its turn nor parked. There every
 * call has its one result right after the message that asked. Where a round is open only its own message may lack
 * results; it is the last one that asks, and what was said since stands after it.
 */
import { describe, expect, it } from 'vitest'
import { fold, transcript } from '../../src/journal/index.ts'
import { ledgerOf, roundIsOpen } from './ledger.ts'
import { expectedTranscript, violations } from './oracle.ts'
import { forAll, PATIENCE, STORES, stageOf } from './stage.ts'

describe.each(STORES)('the transcript of a journal in the %s store', (name) => {
  const stage = stageOf(name)

  it(
    'answers every call right after it was asked for, wherever no round is open',
    PATIENCE,
    forAll({ stage, share: 0.06 }, async (author, moves) => {
      await author.play(moves)
      for (const { log } of author.branches) {
        for (let end = 0; end <= log.length; end++) {
          const past = log.slice(0, end)
          const { open, parked } = fold(past)
          const calls = (open ?? parked)?.calls ?? []
          expect(calls.length > 0).toBe(roundIsOpen(ledgerOf(past)))
          expect(violations(transcript(past), calls.length > 0)).toEqual([])
        }
      }
    }),
  )

  it(
    'says everything once, in order, and speech within a round after it',
    PATIENCE,
    forAll({ stage, share: 0.06 }, async (author, moves) => {
      await author.play(moves)
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
    forAll({ stage, share: 0.03 }, async (author, moves) => {
      await author.play(moves)
      const { log, ledger } = author.branch
      for (let from = 0; from < log.length; from += 2)
        expect(violations(transcript(log.slice(from)), roundIsOpen(ledger))).toEqual([])
    }),
  )
})
