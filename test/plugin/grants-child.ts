/** A process of its own: asks for the same call as the owner, as another actor, and as another tenant. */
import { Agent } from '../../src/agent/index.ts'
import { LOCAL_OWNER, type Owner } from '../../src/protocol/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel } from '../../src/testing/index.ts'
import { defineTool, jsonSchema } from '../../src/tool/index.ts'

const store = sqliteStore(process.argv[2] ?? '')
const pay = defineTool({
  name: 'pay',
  description: 'pays',
  input: jsonSchema({ type: 'object' }),
  run: () => 'paid',
})

async function asked(owner: Owner): Promise<readonly (string | undefined)[]> {
  const agent = new Agent({
    contextId: 'later',
    owner,
    store,
    model: new ScriptedModel([{ calls: [{ tool: 'pay' }] }, 'Done']),
    tools: [pay],
    plugins: [
      {
        name: 'asks',
        approve: ({ tool }) => ({ decision: 'ask', grants: [`${tool}: any arguments`] }),
      },
    ],
  })
  const { requests } = await agent.executeTurn('Pay').outcome
  return requests.map(({ from }) => from)
}

const found = {
  same: await asked(LOCAL_OWNER),
  actor: await asked({ ...LOCAL_OWNER, actor: 'other' }),
  tenant: await asked({ ...LOCAL_OWNER, tenant: 'other' }),
}
process.stdout.write(JSON.stringify(found))
await store.close()
