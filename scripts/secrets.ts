/**
 * `npm run secrets`: 300 generated credentials in fifteen shapes through careless tools, hooks, sub-agents, graphs, errors
 * and killed processes. Then every byte of the database, its log and its copies, every event and all output is searched
 * for each of them, in every encoding. A hit makes the command fail.
 */
import { parseArgs } from 'node:util'
import { runTrial } from '../test/secrets/trial.ts'
import { Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run secrets -- [options]

  --credentials N   so many credentials (default 300)
  --seed S          draws what an earlier run has drawn (default 1)
  --json            for machines
  --help

Example:
  npm run secrets -- --credentials 30 --seed 7`)

const { values } = parseArgs({
  options: {
    credentials: { type: 'string', default: '300' },
    seed: { type: 'string', default: '1' },
    json: { type: 'boolean', default: false },
  },
})

function wholeNumber(flag: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new UsageError(`--${flag} must be a whole number from 1 on, not ${text}.`)
}

const credentials = wholeNumber('credentials', values.credentials)
const progress = new Progress(credentials, 'credentials')
const report = await runTrial({
  seed: wholeNumber('seed', values.seed),
  credentials,
  perProcess: 15,
  onProgress: () => progress.add(1),
})
progress.end()
const { found, outcomes, entries, killed, bytes } = report
if (values.json) console.log(JSON.stringify(report))
else {
  console.log(
    `${credentials} credentials, ${entries} entries, ${killed} processes killed, ${bytes} bytes searched`,
  )
  for (const [outcome, count] of Object.entries(outcomes)) console.log(`  ${outcome.padEnd(26)}${count}`)
  console.log(found.length === 0 ? 'found none of them' : `FOUND ${found.length}:\n  ${found.join('\n  ')}`)
}
process.exit(found.length === 0 ? 0 : 1)
