/** Whatever happens to a conversation, every prompt of it is one that every provider accepts (R9, R10, R11). */
import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { fold, transcript } from '../../src/journal/index.ts'
import type { AutoCompact } from '../../src/turn/index.ts'
import { brokenScript, FORMAT_NAMES, written } from '../journal/foreign-histories.ts'
import { PATIENCE_MS } from '../patience.ts'
import { expectLegal } from '../turn/kit.ts'
import { checkVendorRequest } from '../vendors/check-vendor-request.ts'
import { vendorRequests } from '../vendors/vendor-requests.ts'
import { type Deed, Talk } from './talk.ts'

const RUNS = Number(process.env['HOLDFAST_RUNS'] ?? 75)
const SEED = process.env['HOLDFAST_SEED']

const word = fc.constantFrom('Hello.', 'Look at it.', 'Pay.', ' ', 'And now?', '\u0000 odd \ud800')
const brokenHistory = fc
  .record({ script: brokenScript, format: fc.constantFrom(...FORMAT_NAMES) })
  .map(({ script, format }) => written(script, format))
const small = fc.integer({ min: 1, max: 8 })
const deed: fc.Arbitrary<Deed> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ do: fc.constant('say' as const), text: word }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('say' as const),
      text: word,
      cancelAt: fc.integer({ min: 1, max: 15 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constant('answer' as const), value: fc.constantFrom(true, false, 'blue') }),
  },
  {
    weight: 2,
    arbitrary: fc.record({ do: fc.constantFrom('continue', 'clear', 'restart', 'fork', 'pause') }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constant('compact' as const),
      keep: small,
      strategy: fc.constantFrom('sliding' as const, 'summary' as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('import' as const), history: brokenHistory }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('change' as const),
      model: fc.nat(2),
      maxMessages: fc.constantFrom(1, 2, 3, 5, 100),
      maxTokens: fc.constantFrom(undefined, 1, 20, 60, 200),
      autoCompact: fc.constantFrom<boolean | AutoCompact>(
        ...[false, true],
        { overMessages: 2, keep: 1 },
        { strategy: 'summary', overMessages: 3, keep: 1 },
      ),
      autoSave: fc.boolean(),
      toolResultTurns: fc.constantFrom(1, 1, 2, Number.POSITIVE_INFINITY),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant('die' as const),
      death: fc.record({
        of: fc.constantFrom('append' as const, 'effect' as const),
        at: small,
        when: fc.constantFrom('before' as const, 'after' as const),
      }),
    }),
  },
)

it('every prompt of every conversation is accepted by every vendor', { timeout: 1_200_000 }, async () => {
  const law = fc.asyncProperty(
    fc.array(deed, { minLength: 1, maxLength: 12 }),
    fc.array(fc.nat(1000), { minLength: 4, maxLength: 60 }),
    fc.boolean(),
    async (deeds, thrown, hooked) => {
      const talk = new Talk(thrown, { hooked })
      for (const one of deeds) {
        await talk.act(one)
        const entries = await talk.entries()
        const { open, parked } = fold(entries)
        if (open === undefined && parked === undefined) expectLegal(transcript(entries))
      }
      const ends = (await talk.entries()).filter(({ type }) => type === 'turn.end').map(({ turn }) => turn)
      expect(ends.length).toBe(new Set(ends).size)
      for (const { prompt, tools } of talk.models.flatMap(({ calls }) => calls))
        for (const { vendor, body } of await vendorRequests({ prompt, tools }))
          expect({ vendor, problems: checkVendorRequest(vendor, body) }).toEqual({ vendor, problems: [] })
    },
  )
  // A conversation that does not come to an end is as wrong as one with an illegal prompt.
  const seed = SEED === undefined ? {} : { seed: Number(SEED) }
  await fc.assert(law, { numRuns: RUNS, timeout: PATIENCE_MS, ...seed })
})
