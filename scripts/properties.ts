/**
 * `npm run properties`: the properties of journals and prompts on many random histories, of graphs on many random graphs,
 * of outputs on many random schemas, every pair of deaths of conversations and graphs, and every death of flows
 * and of turns with hooks, instead of the few of `npm test`. The number of runs is the first argument; 10,000 if not given.
 * Those of histories are spread over all properties and both stores.
 * A failure prints a seed; `HOLDFAST_SEED=…` in the environment tries it again.
 */
import { runStep } from './step.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run properties -- [RUNS]

Properties of journals, prompts and graphs on random histories, and every pair of deaths in recovery.

  RUNS     random histories and graphs (default 10000)
  --help

A failure prints a seed. HOLDFAST_SEED=… in the environment tries it again.

Examples:
  npm run properties                            10,000 runs
  npm run properties -- 500                     a short run
  HOLDFAST_SEED=7 npm run properties -- 500     the histories of one seed`)

const runs = Number(process.argv[2] ?? 10_000)
if (!Number.isSafeInteger(runs) || runs < 1)
  throw new UsageError(`The number of runs must be a whole number, not ${process.argv[2]}`)

process.env['HOLDFAST_RUNS'] = String(runs)
const { ok, seconds } = await runStep(
  {
    name: 'properties',
    command: [
      'vitest',
      'run',
      'test/journal',
      'test/prompts',
      'test/graph/properties',
      'test/graph/recovery.test',
      'test/recovery/recovery.test',
      'test/flow/recovery.test',
      'test/flow/research/recovery.test',
      'test/attack/hooks-at-every-crash.test',
      'test/output/generated.test',
      'test/output/wire.test',
    ],
  },
  'loud',
)
console.log(`${runs} runs in ${seconds.toFixed(0)} s`)
if (!ok) process.exitCode = 1
