/**
 * `npm run shuffle`: conversations of two agents on one store, while every await of the driving rooms takes a random time.
 * No message may be lost or taken twice, and every turn must end.
 */
import { parseArgs } from 'node:util'
import { playShuffled } from '../test/drive/shuffled.ts'
import { Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run shuffle -- [options]

Runs conversations of two agents on one store, while every await of the driver takes a random time.

  --seeds N   conversations (default 3000)
  --first N   the seed of the first one (default 1)
  --help

Examples:
  npm run shuffle -- --seeds 300           a quick run
  npm run shuffle -- --first 7 --seeds 1   the conversation of one seed`)

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '3000' },
    first: { type: 'string', default: '1' },
  },
})
const [first, count] = [Number(values.first), Number(values.seeds)]
const progress = new Progress(count, 'conversations')
let bad = 0
for (let seed = first; seed < first + count; seed++) {
  const problems = await playShuffled(seed)
  if (problems.length > 0) bad += 1
  if (problems.length > 0) progress.clear()
  for (const problem of problems) console.log(`seed ${seed}: ${problem}`)
  progress.add(1, `with problems: ${bad}`)
}
progress.end()
console.log(`${count} conversations, ${bad} with problems`)
process.exit(bad === 0 ? 0 : 1)
