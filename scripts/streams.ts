/**
 * `npm run streams`: the stream of one conversation is cut 1,000 times at random places, across kill -9 of its two servers,
 * and half of the resumes go to the server that never saw the turn. Other conversations are written to at each server and
 * read at both. Every entry has to arrive once, in order, and every effect has to happen once; any fault makes the command
 * fail.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { buildServer } from '../test/serve/http/processes/fleet.ts'
import { runStreams } from '../test/serve/http/processes/streams.ts'
import { Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run streams -- [options]

Two servers on one SQLite file, a reader whose stream is cut, and kills of the servers.

  --cuts N    cuts of the stream (default 1000)
  --kills N   kills of servers (default 20)
  --seed S    the draws of places and servers (default 1)
  --help

Examples:
  npm run streams                            everything, about five minutes
  npm run streams -- --cuts 100 --seed 7     a short run with other draws`)

const { values } = parseArgs({
  options: {
    cuts: { type: 'string', default: '1000' },
    kills: { type: 'string', default: '20' },
    seed: { type: 'string', default: '1' },
  },
})
const cuts = Number(values.cuts)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-streams-'))
const program = await buildServer(folder)
const progress = new Progress(cuts, 'cuts')
const started = performance.now()
const { problems, ...counts } = await runStreams({
  folder,
  program,
  cuts,
  cutsPerKill: Math.max(1, Math.floor(cuts / (Number(values.kills) + 1))),
  seed: Number(values.seed),
  onCut: () => progress.add(1),
})
progress.end()
rmSync(folder, { recursive: true, force: true })
const rows = {
  ...counts,
  seconds: Math.round((performance.now() - started) / 1000),
  problems: problems.length,
}
for (const [name, count] of Object.entries(rows))
  console.log(`${name.padEnd(24)}${count.toLocaleString('en-US').padStart(9)}`)
for (const problem of problems.slice(0, 50)) console.log(problem)
if (problems.length > 0) process.exitCode = 1
