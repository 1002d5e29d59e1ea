/** A remote agent made with the SDK alone, on express: what other people's agents look like. It can be cut, restarted, and asked. */
import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { AgentCard, type Message, type Part, Role, type Task, TaskState } from '@a2a-js/sdk'
import {
  AgentEvent,
  type AgentExecutor,
  DefaultRequestHandler,
  type ExecutionEventBus,
  InMemoryTaskStore,
  type RequestContext,
} from '@a2a-js/sdk/server'
import { agentCardHandler, jsonRpcHandler, restHandler, UserBuilder } from '@a2a-js/sdk/server/express'
import express from 'express'

export interface SampleAgent {
  readonly url: string
  /** Messages that began or continued a task, in order. */
  readonly received: string[]
  readonly authorizations: (string | undefined)[]
  /** Cuts all open connections. */
  cut(): void
  close(): Promise<void>
}

export type Behaviour = (run: {
  readonly text: string
  readonly isNew: boolean
  readonly say: (state: keyof typeof TaskState, text?: string, data?: unknown) => void
  readonly artifact: (text: string, append?: boolean) => void
  readonly data: (value: unknown) => void
}) => Promise<void> | void

export async function sampleAgent(
  behaviour: Behaviour,
  {
    transport = 'JSONRPC',
    store = new InMemoryTaskStore(),
    port = 0,
  }: {
    transport?: 'JSONRPC' | 'HTTP+JSON'
    store?: InMemoryTaskStore
    port?: number
  } = {},
): Promise<SampleAgent> {
  const received: string[] = []
  const authorizations: (string | undefined)[] = []
  const app = express()
  const server: Server = createServer(app)
  const sockets = new Set<Socket>()
  server.on('connection', (socket: Socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
  })
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const card = AgentCard.fromJSON({
    name: 'Sample',
    description: 'A sample',
    version: '1',
    capabilities: { streaming: true },
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
    supportedInterfaces: [
      {
        url: transport === 'JSONRPC' ? `${url}/rpc` : `${url}/rest`,
        protocolBinding: transport,
        protocolVersion: '1.0',
      },
    ],
  })
  const handler = new DefaultRequestHandler(card, store, executor(behaviour, received))
  app.use((request, _, next) => {
    authorizations.push(request.headers.authorization)
    next()
  })
  app.use('/.well-known/agent-card.json', agentCardHandler({ agentCardProvider: handler }))
  app.use('/rpc', jsonRpcHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }))
  app.use('/rest', restHandler({ requestHandler: handler, userBuilder: UserBuilder.noAuthentication }))
  return {
    url,
    received,
    authorizations,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function executor(behaviour: Behaviour, received: string[]): AgentExecutor {
  return {
    execute: async (context: RequestContext, bus: ExecutionEventBus) => {
      const { taskId, contextId, userMessage, task } = context
      const text = userMessage.parts
        .map(({ content }) => (content?.$case === 'text' ? content.value : ''))
        .join('')
      const [first] = userMessage.parts
      received.push(first?.content?.$case === 'data' ? JSON.stringify(first.content.value) : text)
      const status = (state: TaskState, said?: string, value?: unknown) => ({
        state,
        timestamp: new Date().toISOString(),
        message: said === undefined ? undefined : messageOf(said, { taskId, contextId }, value),
      })
      const begun: Task = task ?? {
        id: taskId,
        contextId,
        status: status(TaskState.TASK_STATE_WORKING),
        artifacts: [],
        history: [userMessage],
        metadata: undefined,
      }
      bus.publish(AgentEvent.task(begun))
      const artifact = (parts: Part[], append: boolean) =>
        bus.publish(
          AgentEvent.artifactUpdate({
            taskId,
            contextId,
            artifact: {
              artifactId: 'reply',
              name: '',
              description: '',
              parts,
              metadata: undefined,
              extensions: [],
            },
            append,
            lastChunk: false,
            metadata: undefined,
          }),
        )
      await behaviour({
        text,
        isNew: task === undefined,
        say: (state, said, value) =>
          bus.publish(
            AgentEvent.statusUpdate({
              taskId,
              contextId,
              status: status(TaskState[state], said, value),
              metadata: undefined,
            }),
          ),
        artifact: (said, append = false) => artifact([textPart(said)], append),
        data: (value) => artifact([dataPart(value)], false),
      })
      bus.finished()
    },
    cancelTask: async (taskId: string, bus: ExecutionEventBus) => {
      received.push('(cancel)')
      bus.publish(
        AgentEvent.statusUpdate({
          taskId,
          contextId: '',
          status: { state: TaskState.TASK_STATE_CANCELED, timestamp: undefined, message: undefined },
          metadata: undefined,
        }),
      )
      bus.finished()
    },
  }
}

function textPart(value: string): Part {
  return { content: { $case: 'text', value }, metadata: undefined, filename: '', mediaType: '' }
}

function dataPart(value: unknown): Part {
  return { ...textPart(''), content: { $case: 'data', value } }
}

function messageOf(text: string, ids: { taskId: string; contextId: string }, value?: unknown): Message {
  return {
    messageId: crypto.randomUUID(),
    role: Role.ROLE_AGENT,
    ...ids,
    parts: [textPart(text), ...(value === undefined ? [] : [dataPart(value)])],
    metadata: undefined,
    extensions: [],
    referenceTaskIds: [],
  }
}
