/**
 * `npm run load:http`: 1,000 open streams on one server process, and 200 turns a second offered for a minute, each with
 * twenty deltas. No entry may be lost, and the heap of the server may not grow; prints the sustained rate, the delay of
 * entries and the memory.
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

Open streams and a steady rate of turns on loopback, on a SQLite file. The heap is measured after garbage collections, which
pause the server and are part of the delays; it may grow by a tenth from the second point to the last.

  --streams N   open streams, one for each conversation (default 1000)
  --rate N      turns a second that are offered (default 200)
  --seconds N   (default 60)
  --help

Examples:
  npm run load:http                                            everything
  npm run load:http -- --rate 100 --seconds 300                five minutes
  npm run load:http -- --streams 100 --rate 20 --seconds 10    a short run`)

const { values } = parseArgs({
  options: {
    streams: { type: 'string', default: '1000' },
    rate: { type: 'string', default: '200' },
    seconds: { type: 'string', default: '60' },
  },
})
const MOST_MB = 1500
/** How much larger the heap may be at the last point than at the second, when all caches are full. */
const MOST_GROWTH = 1.1
/** Small windows are full at the first point, so that nothing grows by design after it. */
const MAX_MESSAGES = 4
const folder = mkdtempSync(join(tmpdir(), 'holdfast-load-'))
const server = await ServerProcess.start({ folder, options: { maxMessages: MAX_MESSAGES } })
const rss = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
let mostMb = 0
const sampling = setInterval(() => {
  mostMb = Math.max(mostMb, rss())
}, 500)
const total = Number(values.rate) * Number(values.seconds)
/** The heap after each quarter of the turns, in MB. */
const heaps: Promise<number>[] = []
const heapMb = async (): Promise<number> => (await server.command({ do: 'memory' })).heapUsed / 1e6
const progress = new Progress(total, 'turns ended')
let shown = 0
const load = loadavg()[0] ?? 0
const report = await runLoad({
  url: server.url,
  streams: Number(values.streams),
  perSecond: Number(values.rate),
  seconds: Number(values.seconds),
  onTurn: (ended) => {
    if (ended >= ((heaps.length + 1) * total) / 4) heaps.push(heapMb())
    progress.add(ended - shown)
    shown = ended
  },
})
progress.end()
clearInterval(sampling)
const { delays, refused, ended, seconds } = report
const heap = await Promise.all(heaps)
const growth = (heap.at(-1) ?? Number.NaN) / (heap[1] ?? Number.NaN)
const problems = [
  ...report.problems,
  ...(mostMb > MOST_MB ? [`The server took ${mostMb.toFixed(0)} MB.`] : []),
  ...(growth <= MOST_GROWTH
    ? []
    : [`The heap is ${growth.toFixed(2)} times as large at the last point as at the second.`]),
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
  'heap after gc, MB': `${heap.map((mb) => mb.toFixed(0)).join(', ')} after each quarter; ${growth.toFixed(2)} from the second to the last, at most ${MOST_GROWTH}`,
  'memory of the process, MB': `most ${mostMb.toFixed(0)}`,
  'load of the machine before': load.toFixed(1),
}
for (const [name, text] of Object.entries(rows)) console.log(`${name.padEnd(28)}${text}`)
for (const problem of problems.slice(0, 50)) console.log(problem)
console.log(`wrong: ${problems.length}`)
await server.kill()
rmSync(folder, { recursive: true, force: true })
if (problems.length > 0) process.exitCode = 1
