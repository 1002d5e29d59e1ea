/**
 * `npm run hostile:http`: generated requests that are malformed, huge, slow or hostile, over raw sockets to a server in a
 * process of its own. It has to stay up, answer with problems, and store nothing of what it refuses.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { createClient } from '../src/client/index.ts'
import { LOCAL_OWNER } from '../src/index.ts'
import { sqliteStore } from '../src/store/sqlite/index.ts'
import { runHostile } from '../test/serve/http/hostile-run.ts'
import { ServerProcess } from '../test/serve/http/processes/fleet.ts'
import { Progress } from './progress.ts'
import { helpIfAsked } from './usage.ts'

helpIfAsked(`Usage: npm run hostile:http -- [options]

Hostile requests over raw sockets, to a server in a process.

  --requests N   (default 6000)
  --seed S       the draws (default 1)
  --help

Examples:
  npm run hostile:http                                everything
  npm run hostile:http -- --requests 500 --seed 7     a short run with other draws`)

const { values } = parseArgs({
  options: { requests: { type: 'string', default: '6000' }, seed: { type: 'string', default: '1' } },
})
const count = Number(values.requests)
const folder = mkdtempSync(join(tmpdir(), 'holdfast-hostile-'))
const server = await ServerProcess.start({
  folder,
  options: {
    http: { maxBodyBytes: 200_000 },
    listen: { headersTimeoutMs: 1000, requestTimeoutMs: 2000 },
  },
})
const memory = (): number =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${server.pid}/status`, 'utf8'))?.[1]) / 1024
await createClient({ url: server.url }).conversation('a:kept').ask('act-1')
const store = sqliteStore(join(folder, 'store.db'), { readOnly: true })
const before = memory()
const progress = new Progress(count, 'requests')
const { statuses, problems } = await runHostile({
  url: server.url,
  count,
  seed: Number(values.seed),
  concurrency: 40,
  isStored: async (contextId) => (await store.head({ ...LOCAL_OWNER, contextId })) !== undefined,
  onDone: (wrong) => progress.add(1, `${wrong} wrong`),
})
progress.end()
const wrong = [...problems]
if (!server.isRunning) wrong.push('The server has ended.')
const metrics = await (await fetch(`${server.url}/metrics`)).text()
const streams = /holdfast_http_streams (\d+)/.exec(metrics)?.[1]
if (streams !== '0') wrong.push(`${streams} streams are still open.`)
console.log(`${count} requests; answers by status: ${JSON.stringify(statuses)}`)
console.log(`memory of the server: ${before.toFixed(0)} MB before, ${memory().toFixed(0)} MB after`)
for (const problem of wrong.slice(0, 50)) console.log(problem)
console.log(`wrong: ${wrong.length}`)
await store.close()
await server.kill()
rmSync(folder, { recursive: true, force: true })
if (wrong.length > 0) process.exitCode = 1
