/**
 * `npm run load:http`: 1,000 open streams on one server process, and 200 turns a second offered for a minute, each with
 * twenty deltas. No entry may be lost; prints the sustained rate, the delay of entries and the memory of the server.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { ServerProcess } from '../test/serve/http/processes/fleet.ts'
import { runLoad } from '../test/serve/http/processes/load.ts'
import { Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run load:http -- [options]

Open streams and a steady rate of turns on loopback, on a SQLite file.

  --streams N   open streams, one for each conversation (default 1000)
  --rate N      turns a second that are offered (default 200)
  --seconds N   (default 60)
  --help

Examples:
  npm run load:http                                            everything
  npm run load:http -- --streams 100 --rate 20 --seconds 10    a short run`)

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
  },
})
const MOST_MB = 1500
const folder = mkdtempSync(join(tmpdir(), 'holdfast-load-'))
const server = await ServerProcess.start(folder)
const memory = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
let mostMb = 0
const sampling = setInterval(() => {
  mostMb = Math.max(mostMb, memory())
}, 500)
const total = Number(values.rate) * Number(values.seconds)
/** Memory before, and after each quarter of the turns. */
const samples: number[] = []
const progress = new Progress(total, 'turns ended')
let shown = 0
const load = loadavg()[0] ?? 0
const report = await runLoad({
  url: server.url,
  streams: Number(values.streams),
  perSecond: Number(values.rate),
  seconds: Number(values.seconds),
  onTurn: (ended) => {
    if (ended >= (samples.length * total) / 4) samples.push(memory())
    progress.add(ended - shown)
    shown = ended
  },
})
progress.end()
clearInterval(sampling)
const { delays, refused, ended, seconds } = report
const problems = [
  ...report.problems,
  ...(mostMb > MOST_MB ? [`The server took ${mostMb.toFixed(0)} MB.`] : []),
]
const rows: Record<string, string> = {
  'turns offered': String(report.offered),
  'turns accepted': String(report.accepted),
  'turns refused, by status': JSON.stringify(refused),
  'turns ended': String(ended),
  'sustained turns a second': (ended / seconds).toFixed(1),
  entries: String(report.entries),
  deltas: String(report.deltas),
  'delay of entries, ms': `p50 ${delays.p50}, p99 ${delays.p99}, most ${delays.most}`,
  'memory of the server, MB': `most ${mostMb.toFixed(0)}; before and after each quarter ${samples.map((mb) => mb.toFixed(0)).join(', ')}`,
  'load of the machine before': load.toFixed(1),
}
for (const [name, text] of Object.entries(rows)) console.log(`${name.padEnd(28)}${text}`)
for (const problem of problems.slice(0, 50)) console.log(problem)
console.log(`wrong: ${problems.length}`)
await server.kill()
rmSync(folder, { recursive: true, force: true })
if (problems.length > 0) process.exitCode = 1
