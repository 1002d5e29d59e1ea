/**
 * A server in a process of its own, on a SQLite file that others share. Its tools write a line for each effect: `act` can
 * look it up, `buy` needs an approval and cannot. An effect called `ask-…` needs an approval, too. One called `hold-…` holds until the file `go` is there.
 */
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { createHost } from '../../../../src/host/index.ts'
import { defineTool } from '../../../../src/index.ts'
import { agUi } from '../../../../src/serve/ag-ui/index.ts'
import { createHttp, type HttpOptions, type ListenOptions, listen } from '../../../../src/serve/http/index.ts'
import { openai } from '../../../../src/serve/openai/index.ts'
import { uiMessageStream } from '../../../../src/serve/ui/index.ts'
import { sqliteStore } from '../../../../src/store/sqlite/index.ts'
import { ScriptedModel, type ScriptedRequest, type ScriptedStep } from '../../../../src/testing/index.ts'
import { type KillPoint, KillSwitch, type PointCounts } from './kill-point.ts'

export interface ServerOptions {
  readonly http?: HttpOptions
  readonly listen?: ListenOptions
  /** The window of each conversation. */
  readonly maxMessages?: number
}

export type ServerCommand =
  | { readonly do: 'memory' | 'counts' }
  | { readonly do: 'arm'; readonly contextId: string; readonly point?: KillPoint }

/** Memory in bytes, after a garbage collection, and counts since `arm`. */
export interface ServerReport extends PointCounts, Pick<NodeJS.MemoryUsage, 'heapUsed'> {}

const [folder = '', port = '0', options = '{}'] = process.argv.slice(2)
const { http: httpOptions, listen: listenOptions, maxMessages } = JSON.parse(options) as ServerOptions
const effects = join(folder, 'effects.log')
const kills = new KillSwitch()
const input = z.object({ name: z.string() })

const act = defineTool({
  name: 'act',
  description: 'Does one thing, once.',
  input,
  approve: ({ input: { name } }) => name.startsWith('ask'),
  run: async ({ name }, { contextId, signal }) => {
    kills.effect(contextId, () => appendFileSync(effects, `${name}\n`))
    if (name.startsWith('hold')) while (!existsSync(join(folder, 'go')) && !signal.aborted) await sleep(20)
    return `did ${name}`
  },
  verify: ({ name }) =>
    existsSync(effects) && readFileSync(effects, 'utf8').split('\n').includes(name)
      ? { happened: true, output: `did ${name}` }
      : { happened: false },
})

const buy = defineTool({
  name: 'buy',
  description: 'Buys one thing.',
  input,
  approve: 'always',
  run: ({ name }, { contextId }) => {
    kills.effect(contextId, () => appendFileSync(effects, `${name}\n`))
    return `bought ${name}`
  },
})

function reply({ prompt }: ScriptedRequest): ScriptedStep {
  const last = prompt.at(-1)
  const text = JSON.stringify(last?.content)
  if (last?.role === 'tool' || text.includes('load'))
    return { deltas: Array.from({ length: 20 }, (_, at) => `word ${at} `) }
  const name = /(hold|act|ask|buy)-[\d-]+/.exec(text)?.[0] ?? 'act-0'
  return { calls: [{ tool: name.startsWith('buy') ? 'buy' : 'act', args: { name } }] }
}

/** A model that forgets its calls: a scripted one records every prompt, and memory is measured here. */
function forgetful(): ScriptedModel {
  const model: ScriptedModel = new ScriptedModel((request) => {
    ;(model.calls as unknown[]).length = 0
    return reply(request)
  })
  return model
}

const host = createHost({
  store: kills.around(sqliteStore(join(folder, 'store.db'))),
  agents: {
    a: () => ({
      model: forgetful(),
      tools: [act, buy],
      ...(maxMessages === undefined ? {} : { maxMessages }),
    }),
  },
})
const http = await createHttp(host, {
  requestsPerMinute: 1_000_000,
  maxStreamsEach: 10_000,
  heartbeatMs: 500,
  mounts: [openai(), uiMessageStream(), agUi()],
  ...httpOptions,
})
const { url } = await listen(http, { port: Number(port), ...listenOptions })
host.start()

async function report(command: ServerCommand): Promise<void> {
  if (command.do === 'arm') kills.arm(command.contextId, command.point)
  if (command.do === 'memory') {
    // Two collections: the first clears weak references, and finalizers run after it.
    await globalThis.gc?.({ execution: 'async' })
    await sleep(10)
    await globalThis.gc?.({ execution: 'async' })
  }
  process.send?.({ ...kills.counts, heapUsed: process.memoryUsage().heapUsed } satisfies ServerReport)
}

process.once('disconnect', () => process.exit(0))
process.on('message', (command: ServerCommand) => void report(command))
process.send?.({ url })
