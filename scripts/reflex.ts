/**
 * `npm run reflex`: the embedded model on generated sets of tools whose words mean nothing, by kind of request. The first
 * argument is the number of sets (200), the second the seed (1). `--stories` prints the faults.
 */
import * as phrases from '../test/reflex/phrases.ts'
import { type Judged, tally, tryToolSet } from '../test/reflex/trial.ts'
import { Progress } from './progress.ts'

const given = process.argv.slice(2).filter((word) => !word.startsWith('--'))
const [sets = 200, seed = 1] = given.map(Number)
if (!Number.isSafeInteger(sets) || sets < 1 || !Number.isSafeInteger(seed)) {
  throw new Error('Give the number of sets and a seed, such as: npm run reflex -- 200 1')
}

let trouble = false
for (const [name, way] of Object.entries(phrases)) {
  const started = performance.now()
  const judged: Judged[] = []
  const progress = new Progress(sets, `sets, ${name} phrases`)
  for (let at = 0; at < sets; at++) {
    judged.push(...(await tryToolSet(seed * 100_000 + at, way)))
    progress.add(1)
  }
  progress.end()
  const seconds = ((performance.now() - started) / 1000).toFixed(1)
  console.log(`\n${name} phrases, ${sets} sets, seed ${seed}, ${judged.length} messages, ${seconds} s`)
  console.log(
    `${'kind'.padEnd(14)}${['count', 'right', 'asked', 'gave up', 'wrong', 'invented'].map((head) => head.padStart(10)).join('')}`,
  )
  for (const { kind, count, shares, invented } of tally(judged)) {
    const cells = [shares.right, shares.asked, shares['gave up'], shares.wrong].map(
      (share) => `${(share * 100).toFixed(1)} %`,
    )
    console.log(
      `${kind.padEnd(14)}${[`${count}`, ...cells, `${invented}`].map((cell) => cell.padStart(10)).join('')}`,
    )
    if (kind === 'all' && (shares.wrong > 0.05 || invented > 0)) trouble = true
  }
  if (process.argv.includes('--stories')) {
    for (const { verdict, story } of judged) if (verdict !== 'right') console.log(`\n[${verdict}] ${story}`)
  }
}
if (trouble) process.exitCode = 1
