/** A process with an agent that runs one approved command, to be killed in the middle of it. */
import { Agent } from '../../src/agent/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { loadTools } from '../../src/toolbox/index.ts'

const [path = '', cwd = '', command = '', mode] = process.argv.slice(2)
const sandbox = mode === 'off' ? 'off' : 'required'
const tools = await loadTools({ cwd, toolIds: ['execute_command'], sandbox })
const model = new ScriptedModel([{ calls: [{ tool: 'execute_command', args: { command } }] }, 'Never said.'])
const agent = new Agent({ contextId: 'talk', store: sqliteStore(path), model, tools })
await agent.executeTurn('run it').outcome
const requests = await agent.requests()
await agent.answer(Object.fromEntries(requests.map(({ requestId }) => [requestId, true]))).outcome
