/** Plays some conversations up to the middle of a tool, and kills its own process there: `SEED FROM TO FOLDER`. */
import { join } from 'node:path'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { carelessAgent } from './careless.ts'
import { generated } from './shapes.ts'

const [seed = 0, from = 0, to = 0] = process.argv.slice(2, 5).map(Number)
const store = sqliteStore(join(process.argv[5] ?? '', 'store.db'), { synchronous: 'NORMAL' })
let there = 0
const arrived = async (): Promise<void> => {
  there += 1
  if (there === to - from) process.kill(process.pid, 'SIGKILL')
  await new Promise(() => {})
}
for (let at = from; at < to; at++) {
  const { secret, credentials } = generated(seed, at)
  const agent = carelessAgent(store, `killed-${at}`, { secret, inTool: arrived })
  const turn = agent.executeTurn(`go with ${secret}`, { auth: { credentials }, metadata: { trace: secret } })
  turn.subscribe((event) => process.stdout.write(`${JSON.stringify(event)}\n`))
}
