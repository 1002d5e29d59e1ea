/**
 * `npm run flood`: four processes send 10,000 messages at once into one conversation on one SQLite file, mixed with
 * messages that must be refused. In the end the journal is compared with every published outcome; any difference makes the
 * command fail. `npm run flood -- --messages 2000 --kills 10` is another run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runFlood } from '../test/many/flood.ts'
import { Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run flood -- [options]

Processes send messages at once into one conversation on one SQLite file, bad ones among them.

  --messages N    messages of all processes together (default 10000)
  --processes N   processes that send (default 4)
  --kills N       processes to kill meanwhile (default 0)
  --every MS      the time between two kills (default 3000)
  --keep          leave the files, and print their folder
  --help

Examples:
  npm run flood                                   everything
  npm run flood -- --messages 2000 --kills 10     a short run with kills`)

function wholeNumber(flag: string, text: string, least: number): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= least) return number
  throw new UsageError(`--${flag} must be a whole number from ${least} on, not ${text}`)
}

const { values } = parseArgs({
  options: {
    messages: { type: 'string', default: '10000' },
    processes: { type: 'string', default: '4' },
    kills: { type: 'string', default: '0' },
    every: { type: 'string', default: '3000' },
    keep: { type: 'boolean', default: false },
  },
})
const messages = wholeNumber('messages', values.messages, 1)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-flood-'))

const progress = new Progress(messages, 'messages are played or refused for good')
let shown = 0
const { counts, problems } = await runFlood({
  folder,
  messages,
  processes: wholeNumber('processes', values.processes, 1),
  kills: wholeNumber('kills', values.kills, 0),
  killEveryMs: wholeNumber('every', values.every, 1),
  patienceMs: 60_000,
  onProgress: (settled) => {
    progress.add(settled - shown)
    shown = settled
  },
})
progress.end()
for (const [name, count] of Object.entries({ ...counts, violations: problems.length }))
  console.log(`${name.padEnd(32)}${count.toLocaleString('en-US').padStart(9)}`)
for (const problem of problems.slice(0, 50)) console.log(problem)
if (values.keep) console.log(`The files are in ${folder}`)
else rmSync(folder, { recursive: true, force: true })
if (problems.length > 0) process.exitCode = 1
