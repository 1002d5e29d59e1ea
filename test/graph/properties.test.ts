/**
 * Random graphs do what their data says: run by one process, by several with crashes, and read again from their
 * journals. `HOLDFAST_RUNS` sets the number of graphs; `HOLDFAST_SEED` repeats a failure.
 */
import * as fc from 'fast-check'
import { afterAll, expect, it } from 'vitest'
import { PATIENCE_MS } from '../patience.ts'
import type { Death } from '../recovery/mortal.ts'
import { graphs, playOf } from './random-graphs.ts'
import type { Reading } from './recovery-checks.ts'
import { type Cut, cutOff } from './recovery-cut.ts'
import { differenceOf, modelOf } from './recovery-model.ts'

const RUNS = Number(process.env['HOLDFAST_RUNS'] ?? 30)
const SEED = process.env['HOLDFAST_SEED']

interface Fate {
  readonly of: Death['of']
  readonly when: Death['when']
  /** The position, as a fraction of all that the process would do. */
  readonly place: number
}

const fates = fc.array(
  fc.record<Fate>({
    of: fc.constantFrom('append', 'append', 'effect'),
    when: fc.constantFrom('before', 'after'),
    place: fc.nat(999),
  }),
  { minLength: 1, maxLength: 4 },
)

const EMPTY: Reading = { steps: [], tasks: [], ends: [] }

const seen = { graphs: 0, tasks: 0, deaths: 0, unknown: 0, asked: 0, failed: 0, limited: 0 }

afterAll(() => {
  const parts = Object.entries(seen).map(([name, count]) => `${count} ${name}`)
  process.stdout.write(`\nrandom graphs: ${parts.join(', ')}\n`)
})

/** Effects of unknown outcome, by their calls. */
function unknownIn({ journals }: Cut): Set<string> {
  const ends = (journals['talk'] ?? []).filter(
    ({ type, data }) => type === 'effect.end' && data['status'] === 'unknown',
  )
  return new Set(ends.map(({ data }) => data['callId'] as string))
}

function deathsAt(whole: Cut, drawn: readonly Fate[]): Death[] {
  const [{ append, effect } = { append: 1, effect: 0 }] = whole.counts
  return drawn.map(({ of, when, place }) => {
    const what = of === 'effect' && effect > 0 ? 'effect' : 'append'
    const most = what === 'effect' ? effect : append
    return { of: what, when, at: 1 + Math.floor((place / 1000) * most) }
  })
}

function take(cut: Cut): void {
  const { steps = [], ends = [] } = cut.readings['talk'] ?? {}
  seen.graphs += 1
  seen.tasks += steps.join('\n').match(/\bn\d\.\d+/g)?.length ?? 0
  seen.asked += ends.filter((end) => end.includes('input-required')).length
  seen.failed += ends.filter((end) => end.includes('failed')).length
  seen.limited += ends.filter((end) => end.includes('limit')).length
}

it('random graphs come to the same end, whoever dies on the way, and what is read again is the same', {
  timeout: 600_000 + RUNS * 1000,
}, async () => {
  const property = fc.asyncProperty(graphs, fates, async (spec, drawn) => {
    const play = playOf(spec)
    const whole = await cutOff(play, [])
    take(whole)
    const reading = whole.readings['talk'] ?? EMPTY
    expect([
      ...whole.problems,
      ...differenceOf(
        reading,
        modelOf(spec, () => false),
      ),
    ]).toEqual([])
    const cut = await cutOff(play, deathsAt(whole, drawn))
    const unknown = unknownIn(cut)
    seen.deaths += cut.counts.length - 1
    seen.unknown += unknown.size
    const again = cut.readings['talk'] ?? EMPTY
    const model = modelOf(spec, (callId) => unknown.has(callId))
    expect([...cut.problems, ...differenceOf(again, model)]).toEqual([])
  })
  await fc.assert(property, {
    numRuns: RUNS,
    timeout: PATIENCE_MS,
    ...(SEED === undefined ? {} : { seed: Number(SEED) }),
  })
})
