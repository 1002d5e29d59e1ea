/** An agent with logs in a process of its own: `node logging-process.ts FOLDER END`. */
import { join } from 'node:path'
import { Agent } from '../../src/agent/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'

const [folder = '', end, turns = '1'] = process.argv.slice(2)
const store = sqliteStore(join(folder, `${process.pid}.db`), { synchronous: 'NORMAL' })
const model = new ScriptedModel(({ call }) => `Reply ${call} of ${process.pid}`)
const agent = new Agent({ name: 'clerk', contextId: `c${process.pid}`, store, model, quiet: end !== 'print' })
for (let turn = 1; turn <= Number(turns); turn++) await agent.input(`Message ${turn}`)
if (end === 'exit') process.exit(0)
if (end === 'throw') throw new Error('The end')
if (end === 'wait') {
  process.send?.('ready')
  setInterval(() => {}, 1000)
}
