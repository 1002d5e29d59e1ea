/**
 * `npm run many`: eight processes share one conversation of 1,000 inputs on one SQLite file, while they are killed and
 * frozen at random. In the end the journal and a log of effects are checked from outside; any fault makes the command
 * fail. `npm run many -- --turns 100 --processes 4 --seed 7` is another run.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { type CrowdReport, runCrowd } from '../test/many/crowd.ts'
import { judge, type Verdict } from '../test/many/verdict.ts'
import { Progress } from './progress.ts'
import { helpIfAsked, UsageError } from './usage.ts'

helpIfAsked(`Usage: npm run many -- [options]

Processes share one conversation on one SQLite file, while they are killed and frozen at random.

  --turns N       messages to answer (default 1000)
  --processes N   processes that share the conversation (default 8)
  --seed S        the draws of kills and freezes (default 1)
  --lease MS      the lease of a driver (default 600)
  --every MS      the time between two kills or freezes (default 400)
  --keep          leave the files, and print their folder
  --help

Examples:
  npm run many                                              everything
  npm run many -- --turns 100 --processes 4 --seed 7        a short run with other draws`)

function wholeNumber(flag: string, text: string): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= 1) return number
  throw new UsageError(`--${flag} must be a whole number from 1 on, not ${text}`)
}

const { values } = parseArgs({
  options: {
    turns: { type: 'string', default: '1000' },
    processes: { type: 'string', default: '8' },
    seed: { type: 'string', default: '1' },
    lease: { type: 'string', default: '600' },
    every: { type: 'string', default: '400' },
    keep: { type: 'boolean', default: false },
  },
})
const turns = wholeNumber('turns', values.turns)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-many-'))
await sqliteStore(join(folder, 'store.db')).close()

const progress = new Progress(turns, 'are answered')
let shown = 0
const report = await runCrowd({
  folder,
  processes: wholeNumber('processes', values.processes),
  turns,
  seed: wholeNumber('seed', values.seed),
  leaseMs: wholeNumber('lease', values.lease),
  everyMs: wholeNumber('every', values.every),
  patienceMs: 60_000,
  onProgress: (answered) => {
    progress.add(answered - shown)
    shown = answered
  },
})
progress.end()
const verdict = await judge(folder, report)
print(report, verdict)
if (values.keep) console.log(`The files are in ${folder}`)
else rmSync(folder, { recursive: true, force: true })

function print({ refused, ...said }: CrowdReport, { counts, problems }: Verdict): void {
  const rows: Record<string, number> = {
    processes: wholeNumber('processes', values.processes),
    kills: said.kills,
    'kills in the middle of a tool': said.killsInATool,
    'freezes longer than the lease': said.freezes,
    'freezes in the middle of a tool': said.freezesInATool,
    'inputs sent again after a kill': said.saidAgain,
    ...Object.fromEntries(Object.entries(refused).map(([code, times]) => [`refused with ${code}`, times])),
    ...counts,
    seconds: Math.round(said.seconds),
    violations: problems.length,
  }
  for (const [name, count] of Object.entries(rows))
    console.log(`${name.padEnd(48)}${count.toLocaleString('en-US').padStart(9)}`)
  for (const problem of problems.slice(0, 50)) console.log(problem)
  if (said.trouble !== '') console.log(`What the processes complained about:\n${said.trouble}`)
  if (problems.length > 0) process.exitCode = 1
}
