/**
 * A server with A2A in a process of its own, on a SQLite file that others share. A message with "act" calls a tool that
 * writes a line for each effect, one with "hold" a tool that waits for the file `go`, one with "pay" a tool that asks. Push
 * notifications may go to `receiver`, an origin on loopback.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createHost } from '../../../src/host/index.ts'
import { defineTool } from '../../../src/index.ts'
import { a2a } from '../../../src/serve/a2a/index.ts'
import { createHttp, listen } from '../../../src/serve/http/index.ts'
import { sqliteStore } from '../../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedRequest, type ScriptedStep } from '../../../src/testing/index.ts'

const [folder = '', port = '0', receiver = ''] = process.argv.slice(2)
const effects = join(folder, 'effects.log')

const act = defineTool({
  name: 'act',
  description: 'Does one thing, once.',
  input: z.object({ name: z.string() }),
  run: async ({ name }, { signal }) => {
    appendFileSync(effects, `${name}\n`)
    await held(name, signal)
    return `did ${name}`
  },
  verify: async ({ name }) => {
    await held(name)
    return existsSync(effects) && readFileSync(effects, 'utf8').split('\n').includes(name)
      ? { happened: true, output: `did ${name}` }
      : { happened: false }
  },
})

async function held(name: string, signal?: AbortSignal): Promise<void> {
  while (name.startsWith('hold') && !existsSync(join(folder, 'go'))) {
    signal?.throwIfAborted()
    await sleep(20)
  }
}

const pay = defineTool({
  name: 'pay',
  description: 'Pays after a person has agreed.',
  input: z.object({ name: z.string() }),
  approve: () => true,
  run: async ({ name }) => {
    appendFileSync(effects, `${name}\n`)
    return `paid ${name}`
  },
})

function reply({ prompt }: ScriptedRequest): ScriptedStep {
  const last = prompt.at(-1)
  if (last?.role === 'tool') return { deltas: ['It ', 'is ', 'done.'] }
  const name = /(hold|act|pay)-[\w.+-]+/.exec(JSON.stringify(last?.content))?.[0]
  if (name === undefined) return { deltas: ['Hello.'] }
  return { calls: [{ tool: name.startsWith('pay') ? 'pay' : 'act', args: { name } }] }
}

const store = sqliteStore(join(folder, 'store.db'))
const host = createHost({
  store,
  agents: { helper: () => ({ model: new ScriptedModel(reply), tools: [act, pay] }) },
})
const http = await createHttp(host, {
  requestsPerMinute: 1_000_000,
  heartbeatMs: 500,
  mounts: [
    await a2a({
      push: {
        secret: 'a secret of at least thirty-two bytes',
        leaseMs: 1500,
        allowOrigins: [{ origin: receiver, addresses: ['127.0.0.1'] }],
      },
    }),
  ],
})
const { url } = await listen(http, { port: Number(port) })
host.start()
process.once('disconnect', () => process.exit(0))
process.send?.({ url })
