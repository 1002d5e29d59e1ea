/**
 * A host with A2A in a process of its own, on a SQLite file of its own. Its agents: `caller` asks the agent `worker` of the peer;
 * `worker` acts, and writes a line for each effect; `pinger` asks the peer's `ponger`, which asks `worker` of the first host. The
 * files in the folder `holds` stop it: a process that has reached one waits until it is deleted.
 */
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createHost } from '../../src/host/index.ts'
import { defineTool } from '../../src/index.ts'
import type { JsonObject } from '../../src/protocol/index.ts'
import { remoteAgent } from '../../src/remote/index.ts'
import { a2a } from '../../src/serve/a2a/index.ts'
import { createHttp, listen } from '../../src/serve/http/index.ts'
import { sqliteStore } from '../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedRequest, type ScriptedStep } from '../../src/testing/index.ts'

const [folder = '', name = '', port = '0', peer = ''] = process.argv.slice(2)
const effects = join(folder, 'effects.log')
const holds = join(folder, 'holds')

/** Waits while there is a hold for this point; `reached` says that this process has come to it. */
async function point(at: string, signal?: AbortSignal): Promise<void> {
  const file = join(holds, `${name}.${at}`)
  if (!existsSync(file)) return
  writeFileSync(`${file}.reached`, '')
  while (existsSync(file)) {
    signal?.throwIfAborted()
    await sleep(10)
  }
}

const done = (id: string): boolean =>
  existsSync(effects) && readFileSync(effects, 'utf8').split('\n').includes(id)

function acting(tool: 'act' | 'pay') {
  return defineTool({
    name: tool,
    description: 'Does one thing, once.',
    input: z.object({ id: z.string() }),
    approve: tool === 'pay' ? 'always' : 'never',
    run: async ({ id }, { signal }) => {
      await point('before-effect', signal)
      appendFileSync(effects, `${id}\n`)
      await point('after-effect', signal)
      return `did ${id}`
    },
    verify: ({ id }) => (done(id) ? { happened: true, output: `did ${id}` } : { happened: false }),
  })
}

/** Requests to the peer, which stop before a message is sent, and after it was sent, before anything is read. */
const dial: typeof fetch = async (input, init) => {
  const isMessage = typeof init?.body === 'string' && init.body.includes('Message')
  if (isMessage) await point('before-send')
  const response = await fetch(input, init)
  if (isMessage) await point('after-send')
  return response
}

const remote = (agent: string) =>
  remoteAgent({ name: agent, description: `Asks ${agent}.`, url: `${peer}/a2a/${agent}`, fetch: dial })

/** Calls the tool with the words of the message, and then repeats its result. */
function calls(toolOf: (text: string) => string, argsOf: (text: string) => JsonObject): ScriptedModel {
  return new ScriptedModel(({ prompt }: ScriptedRequest): ScriptedStep => {
    const last = prompt.at(-1)
    const text = JSON.stringify(last?.content)
    if (last?.role === 'tool') return /did [\w-]+/.exec(text)?.[0] ?? `no: ${text}`
    return { calls: [{ tool: toolOf(text), args: argsOf(/(act|pay)-[\w-]+/.exec(text)?.[0] ?? '') }] }
  })
}

const asks = (agent: string) => () => ({
  model: calls(
    () => agent,
    (message) => ({ message }),
  ),
  tools: [remote(agent)],
  leaseMs: 1000,
})

const store = sqliteStore(join(folder, `${name}.db`))
const host = createHost({
  store,
  agents: {
    caller: asks('worker'),
    pinger: asks('ponger'),
    ponger: asks('worker'),
    worker: () => ({
      model: calls(
        (text) => (text.includes('pay-') ? 'pay' : 'act'),
        (id) => ({ id }),
      ),
      tools: [acting('act'), acting('pay')],
      leaseMs: 1000,
    }),
  },
})
const http = await createHttp(host, { requestsPerMinute: 1_000_000, heartbeatMs: 500, mounts: [await a2a()] })
const { url } = await listen(http, { port: Number(port) })
host.start()
process.once('disconnect', () => process.exit(0))
process.send?.({ url })
