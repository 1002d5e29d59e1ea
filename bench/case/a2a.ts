/** A round trip over A2A, beside the bare sample of the official package with its store in memory. */
import { once } from 'node:events'
import type { Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { AgentCard, SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk'
import { type Client, ClientFactory } from '@a2a-js/sdk/client'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'
import type { LanguageModel } from 'holdfast'
import { a2a as mountA2a } from 'holdfast/a2a'
import { createHost } from 'holdfast/host'
import { createHttp, listen } from 'holdfast/http'
import { sqliteStore } from 'holdfast/sqlite'
import { A2A } from '../kit/budgets.ts'
import { interleave, millisOf } from '../kit/measure.ts'
import { type Case, compare, type Lab, type Row } from '../kit/result.ts'

export const a2a: Case = {
  name: 'a2a',
  title: 'a round trip over A2A against the bare sample of the official package',
  measured:
    'the official client, JSON-RPC on loopback, contexts of ten messages, each with a reply of three chunks. The sample: Express, the default request handler, the store and the event bus in memory, an executor that publishes task, working, three chunks of an artifact and completed. Here: the HTTP server with A2A, an agent with one model call that answers at once, on SQLite. Client and both servers are one process, and have talked 1,500 times before.',
  notMeasured: 'networks, TLS, authentication, models, tools, logs, push notifications.',
  run: async (lab) => {
    const sample = await sampleServer()
    try {
      return [...(await rowsOf(lab, sample.client, 'NORMAL')), ...(await rowsOf(lab, sample.client, 'FULL'))]
    } finally {
      await sample.close()
    }
  },
}

const CHUNKS = ['The plumbing ', 'is done, ', 'and the tiles come on Monday.']

interface Opened {
  readonly client: Client
  readonly close: () => Promise<void>
}

async function rowsOf(lab: Lab, sample: Client, synchronous: 'NORMAL' | 'FULL'): Promise<Row[]> {
  const own = await ownServer(lab, synchronous)
  const times = lab.short ? 20 : 60
  const rows: Row[] = []
  try {
    for (const [what, talk] of [
      ['SendMessage', blocking],
      ['SendStreamingMessage', streaming],
    ] as const) {
      for (let time = 0; time < (lab.short ? 200 : 1500); time++)
        for (const client of [sample, own.client]) await talk(client)
      const micros = (client: Client) => async () => 1000 * (await millisOf(times, () => talk(client)))
      const figures = await interleave(
        { rounds: lab.short ? 7 : 15, seconds: lab.seconds },
        { sample: micros(sample), own: micros(own.client) },
      )
      rows.push(
        compare({
          what: `${what}, ${synchronous}`,
          unit: 'µs',
          baseline: ['sample in memory', figures.sample],
          subject: ['holdfast', figures.own],
          budget: synchronous === 'NORMAL' ? A2A : undefined,
        }),
      )
    }
    return rows
  } finally {
    await own.close()
  }
}

let sent = 0
let context = ''

function request(): SendMessageRequest {
  if (sent++ % 10 === 0) context = crypto.randomUUID()
  const parts = [{ text: 'How far are we?' }]
  const message = { messageId: crypto.randomUUID(), contextId: context, role: 'ROLE_USER', parts }
  return SendMessageRequest.fromJSON({ message })
}

async function blocking(client: Client): Promise<void> {
  checkEnd((await client.sendMessage(request())) as Task)
}

async function streaming(client: Client): Promise<void> {
  let last: Pick<Task, 'status'> = { status: undefined }
  for await (const { payload } of client.sendMessageStream(request()))
    if (payload?.$case === 'statusUpdate') last = payload.value
  checkEnd(last)
}

function checkEnd({ status }: Pick<Task, 'status'>): void {
  if (status?.state !== TaskState.TASK_STATE_COMPLETED) throw new Error('A task did not end as completed.')
}

/** Answers at once, and keeps nothing. */
const model: LanguageModel = {
  specificationVersion: 'v3',
  provider: 'bench',
  modelId: 'quick',
  doStream: async () => ({
    stream: new ReadableStream({
      start: (controller) => {
        controller.enqueue({ type: 'text-start', id: 't' })
        for (const delta of CHUNKS) controller.enqueue({ type: 'text-delta', id: 't', delta })
        controller.enqueue({ type: 'text-end', id: 't' })
        controller.enqueue({
          type: 'finish',
          finishReason: { unified: 'stop', raw: undefined },
          usage: {
            inputTokens: { total: 10, cacheRead: undefined, cacheWrite: undefined },
            outputTokens: { total: 10 },
          },
        })
        controller.close()
      },
    }),
  }),
}

async function ownServer(lab: Lab, synchronous: 'NORMAL' | 'FULL'): Promise<Opened> {
  const store = sqliteStore(lab.path(`a2a-${synchronous}.db`), { synchronous })
  const host = createHost({ store, agents: { helper: { model, log: false, sessions: false } } })
  const http = await createHttp(host, { requestsPerMinute: 1_000_000_000, mounts: [await mountA2a()] })
  const listener = await listen(http, { port: 0 })
  const close = async (): Promise<void> => {
    await host.shutdown()
    await listener.close(0)
    await store.close()
  }
  return { client: await new ClientFactory().createFromUrl(`${listener.url}/a2a/helper/`), close }
}

/** As the package's own samples are written. */
const executor: AgentExecutor = {
  execute: async ({ taskId, contextId, userMessage }: RequestContext, bus: ExecutionEventBus) => {
    const status = (state: TaskState) => ({ state, message: undefined, timestamp: new Date().toISOString() })
    const ids = { taskId, contextId, metadata: undefined }
    bus.publish(
      AgentEvent.task({
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_SUBMITTED),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }),
    )
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_WORKING) }))
    for (const [at, value] of CHUNKS.entries()) {
      const parts = [
        { content: { $case: 'text' as const, value }, metadata: undefined, filename: '', mediaType: '' },
      ]
      const artifact = { artifactId: 'reply', name: 'reply', description: '', parts, extensions: [] }
      bus.publish(
        AgentEvent.artifactUpdate({
          ...ids,
          artifact: { ...artifact, metadata: undefined },
          append: at > 0,
          lastChunk: at === CHUNKS.length - 1,
        }),
      )
    }
    bus.publish(AgentEvent.statusUpdate({ ...ids, status: status(TaskState.TASK_STATE_COMPLETED) }))
    bus.finished()
  },
  cancelTask: async () => {},
}

async function sampleServer(): Promise<Opened> {
  const app = express()
  const server: Server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = AgentCard.fromJSON({
    name: 'sample',
    description: 'Answers.',
    version: '1',
    supportedInterfaces: [{ url: `${url}/`, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  })
  const requestHandler = new DefaultRequestHandler(card, new InMemoryTaskStore(), executor)
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: requestHandler }))
  app.use('/', jsonRpcHandler({ requestHandler, userBuilder: UserBuilder.noAuthentication }))
  const close = async (): Promise<void> => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }
  return { client: await new ClientFactory().createFromUrl(`${url}/`), close }
}
