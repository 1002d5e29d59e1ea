/**
 * `npm run crash:http`: a client sends, streams, answers and cancels over HTTP while its server is killed before and after
 * every append and every effect, and started again. Every entry has to arrive once, in order, and every effect has to
 * happen once; any fault makes the command fail.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { CrashRun } from '../test/serve/http/processes/crash.ts'
import { buildServer } from '../test/serve/http/processes/fleet.ts'
import type { KillPoint, PointCounts } from '../test/serve/http/processes/kill-point.ts'
import { interruptible, Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run crash:http -- [options]

One conversation for each point: its server is killed there, and the client goes on with the next server.

  --of NAME   only points of appends, or of effects: append, effect
  --help

Examples:
  npm run crash:http                   every point
  npm run crash:http -- --of effect    before and after each effect`)

const { values } = parseArgs({ options: { of: { type: 'string', default: '' } } })

function pointsOf(counts: PointCounts): readonly KillPoint[] {
  return (['append', 'effect'] as const)
    .filter((of) => of.includes(values.of))
    .flatMap((of) =>
      Array.from({ length: counts[of] }, (_, index) => index + 1).flatMap((at): KillPoint[] => [
        { of, at, when: 'before' },
        { of, at, when: 'after' },
      ]),
    )
}

const problems: string[] = []
const table = { points: 0, kills: 0, 'entries compared': 0 }
const started = performance.now()

function print(): void {
  const seconds = Math.round((performance.now() - started) / 1000)
  for (const [name, count] of Object.entries({ ...table, seconds, wrong: problems.length }))
    console.log(`${name.padEnd(24)}${count.toLocaleString('en-US').padStart(9)}`)
  for (const problem of problems.slice(0, 50)) console.log(problem)
}

await interruptible(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-crash-http-'))
  const run = await CrashRun.start({ folder, program: await buildServer(folder) })
  try {
    const points = pointsOf(await run.count())
    const progress = new Progress(points.length, 'points')
    for (const point of points) {
      const found = await run.killAt(point)
      table.points += 1
      table.kills += found.isKilled ? 1 : 0
      table['entries compared'] += found.entries
      problems.push(...found.problems.map((problem) => `${JSON.stringify(point)} ${problem}`))
      if (!found.isKilled) problems.push(`${JSON.stringify(point)} was not reached`)
      progress.add(1, `${problems.length} wrong`)
    }
    progress.end()
  } finally {
    problems.push(...(await run.close()))
    rmSync(folder, { recursive: true, force: true })
  }
}, print)
print()
if (problems.length > 0) process.exitCode = 1
