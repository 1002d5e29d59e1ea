/**
 * A process of the tour: answers the open request, or resumes the turn that an earlier process left open.
 * `node worker.ts WIRING HOME answer|resume`
 */
import { join } from 'node:path'
import { Agent } from 'holdfast'
import { sqliteStore } from 'holdfast/sqlite'
import { CONTEXT_ID, JOURNAL } from './tour-context.ts'
import type { openWiring } from './wiring.ts'

const [wiring = '', home = '', job = ''] = process.argv.slice(2)
// The pipe ends with the tour, however that ends: no process outlives it.
process.stdin.once('end', () => process.exit(1)).resume()

const { openWiring: open } = (await import(wiring)) as { openWiring: typeof openWiring }
const store = sqliteStore(join(home, JOURNAL))
const agent = new Agent({ contextId: CONTEXT_ID, store, model: 'reflex', ...open(home).agent })
if (job === 'answer') {
  const [request] = await agent.requests()
  await agent.answer({ [request?.requestId ?? '']: true }).outcome
} else {
  await agent.start()
  await agent.turn?.outcome
}
await agent.shutdown()
await store.close()
process.exit(0)
