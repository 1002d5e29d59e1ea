/**
 * `npm run hosts`: two hosts in processes that call each other over A2A. One or both are killed at every kind of point of a call and
 * started again. The caller's turn has to end right, and the effect has to happen once; any fault makes the command fail.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { Hosts, POINTS, VICTIMS } from '../test/hosts/trial.ts'
import { interruptible, Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run hosts -- [options]

Kills host A, host B or both at each point of a call from A to B.

  --rounds N    how often each pair of point and victim is tried; default 1
  --point TEXT  only points that have this text, such as send, effect, answer
  --help

Examples:
  npm run hosts
  npm run hosts -- --rounds 10 --point effect`)

const { values } = parseArgs({
  options: { rounds: { type: 'string', default: '1' }, point: { type: 'string', default: '' } },
})
const pairs = POINTS.filter((point) => point.includes(values.point)).flatMap((point) =>
  VICTIMS.map((victim) => ({ point, victim })),
)
const trials = Array.from({ length: Number(values.rounds) }, () => pairs).flat()
const problems: string[] = []
const table = { trials: 0, kills: 0 }
const started = performance.now()

function print(): void {
  const seconds = Math.round((performance.now() - started) / 1000)
  for (const [name, count] of Object.entries({ ...table, seconds, wrong: problems.length }))
    console.log(`${name.padEnd(24)}${count.toLocaleString('en-US').padStart(9)}`)
  for (const problem of problems.slice(0, 50)) console.log(problem)
}

await interruptible(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hosts-'))
  const hosts = await Hosts.start(folder)
  try {
    problems.push(...(await hosts.askBack()))
    const progress = new Progress(trials.length, 'trials')
    for (const { point, victim } of trials) {
      problems.push(...(await hosts.trial(point, victim)))
      table.trials += 1
      table.kills += victim === 'both' ? 2 : 1
      progress.add(1, `${problems.length} wrong`)
    }
    progress.end()
  } finally {
    hosts.close()
    rmSync(folder, { recursive: true, force: true })
  }
}, print)
print()
if (problems.length > 0) process.exitCode = 1
