/**
 * `npm run documents`: hostile documents against the corpus, hand-made and generated; with `--kill`, a process that adds
 * documents is killed at random moments and started again, until the index is whole: it has to equal one of a quiet run.
 */
import { parseArgs } from 'node:util'
import { trial } from '../test/corpus/hostile-documents.ts'
import { killTrial } from '../test/corpus/kill-trial.ts'
import { Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run documents -- [options]

Hostile documents: each is read or skipped with a reason, nothing of it runs, nothing is requested.

  --generated N   documents made by damage to good ones, beside the hand-made ones (default 200)
  --seed S        the draws (default 1)
  --kill N        instead: N kills of a process that adds documents; the index equals that of a quiet run
  --help

Examples:
  npm run documents                              all hand-made ones, and 200 generated
  npm run documents -- --generated 2000          more of them
  npm run documents -- --kill 50                 50 kills`)

const { values } = parseArgs({
  options: {
    generated: { type: 'string', default: '200' },
    seed: { type: 'string', default: '1' },
    kill: { type: 'string' },
  },
})

if (values.kill === undefined) await runHostile(Number(values.generated), Number(values.seed))
else await runKills(Number(values.kill), Number(values.seed))

async function runHostile(generated: number, seed: number): Promise<void> {
  let progress: Progress | undefined
  const { outcomes, problems, peakMegabytes } = await trial({
    generated,
    seed,
    onCount: (total) => {
      progress = new Progress(total, 'documents')
    },
    onDone: (wrong) => progress?.add(1, `${wrong} wrong`),
  })
  progress?.end()
  console.log(`outcomes: ${JSON.stringify(outcomes)}`)
  console.log(`peak memory of this process, which also makes the documents: ${peakMegabytes} MB`)
  report(problems)
}

async function runKills(kills: number, seed: number): Promise<void> {
  const progress = new Progress(kills, 'kills')
  const { documents, passages, runs, problems } = await killTrial({
    kills,
    seed,
    onKill: () => progress.add(1),
  })
  progress.end()
  console.log(`${kills} kills in ${runs} runs; ${documents} documents, ${passages} passages`)
  report(problems)
}

function report(problems: readonly string[]): void {
  for (const problem of problems.slice(0, 50)) console.log(`  ${problem}`)
  console.log(problems.length === 0 ? 'ok' : `FAIL: ${problems.length} problems`)
  process.exitCode = problems.length === 0 ? 0 : 1
}
