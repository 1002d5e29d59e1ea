/**
 * A server in a process of its own, on a SQLite file that others share. Its tool writes a line for each effect; a message
 * with "hold" makes it hold until the file `go` is there.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createHost } from '../../../../src/host/index.ts'
import { defineTool } from '../../../../src/index.ts'
import { agUi } from '../../../../src/serve/ag-ui/index.ts'
import { createHttp, type HttpOptions, type ListenOptions, listen } from '../../../../src/serve/http/index.ts'
import { sqliteStore } from '../../../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedRequest, type ScriptedStep } from '../../../../src/testing/index.ts'

const [folder = '', port = '0', options = '{}'] = process.argv.slice(2)
const { http: httpOptions, listen: listenOptions } = JSON.parse(options) as {
  readonly http?: HttpOptions
  readonly listen?: ListenOptions
}
const effects = join(folder, 'effects.log')

const act = defineTool({
  name: 'act',
  description: 'Does one thing, once.',
  input: z.object({ name: z.string() }),
  run: async ({ name }) => {
    appendFileSync(effects, `${name}\n`)
    if (name.startsWith('hold')) while (!existsSync(join(folder, 'go'))) await sleep(20)
    return `did ${name}`
  },
  verify: ({ name }) =>
    existsSync(effects) && readFileSync(effects, 'utf8').split('\n').includes(name)
      ? { happened: true, output: `did ${name}` }
      : { happened: false },
})

function reply({ prompt }: ScriptedRequest): ScriptedStep {
  const last = prompt.at(-1)
  const isLoad = JSON.stringify(last?.content).includes('load')
  if (last?.role === 'tool' || isLoad) return { deltas: Array.from({ length: 20 }, (_, at) => `word ${at} `) }
  const name = /(hold|act)-\d+/.exec(JSON.stringify(last?.content))?.[0] ?? 'act-0'
  return { calls: [{ tool: 'act', args: { name } }] }
}

/** A model that forgets its calls: a scripted one records every prompt, and memory is measured here. */
function forgetful(): ScriptedModel {
  const model: ScriptedModel = new ScriptedModel((request) => {
    ;(model.calls as unknown[]).length = 0
    return reply(request)
  })
  return model
}

const store = sqliteStore(join(folder, 'store.db'))
const host = createHost({ store, agents: { a: () => ({ model: forgetful(), tools: [act] }) } })
const http = await createHttp(host, {
  requestsPerMinute: 1_000_000,
  maxStreamsEach: 10_000,
  heartbeatMs: 500,
  mounts: [agUi()],
  ...httpOptions,
})
const { url } = await listen(http, { port: Number(port), ...listenOptions })
host.start()
process.once('disconnect', () => process.exit(0))
process.send?.({ url })
