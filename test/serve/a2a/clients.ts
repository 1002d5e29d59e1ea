/** The official clients behind one interface: A2A 1.0 over JSON-RPC and HTTP+JSON, and 0.3 over JSON-RPC. */
import {
  type Message,
  type Part,
  SendMessageRequest,
  type StreamResponse,
  type Task,
  TaskState,
} from '@a2a-js/sdk'
import {
  type Client,
  ClientFactory,
  ClientFactoryOptions,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
} from '@a2a-js/sdk/client'
import {
  ClientFactory as OldClientFactory,
  DefaultAgentCardResolver as OldResolver,
  JsonRpcTransportFactory as OldTransportFactory,
} from 'a2a-sdk-03/client'

export const CLIENTS = ['JSONRPC', 'HTTP+JSON', '0.3'] as const
export type ClientName = (typeof CLIENTS)[number]

/** An update, or a task: what a person would see of it. */
export interface Seen {
  readonly kind: 'task' | 'status' | 'artifact'
  readonly taskId: string
  readonly contextId: string
  readonly state?: string
  /** The text of the artifact's parts; of a task, that of its reply. */
  readonly text?: string
  readonly question?: string
  readonly append?: boolean
  readonly last?: boolean
  readonly final?: boolean
  readonly metadata?: unknown
}

export interface Said {
  readonly text: string
  readonly taskId?: string
  readonly contextId?: string
  readonly messageId?: string
}

export interface TestClient {
  send(said: Said): Promise<Seen>
  stream(said: Said): AsyncGenerator<Seen>
  get(id: string): Promise<Seen>
  cancel(id: string): Promise<Seen>
  subscribe(id: string): AsyncGenerator<Seen>
}

export function connect(name: ClientName, url: string, fetchImpl?: typeof fetch): Promise<TestClient> {
  const more = fetchImpl === undefined ? {} : { fetchImpl }
  return name === '0.3' ? connectOld(url, more) : connectNew(name, url, more)
}

export async function officialClient(
  name: 'JSONRPC' | 'HTTP+JSON',
  url: string,
  more: { readonly fetchImpl?: typeof fetch } = {},
): Promise<Client> {
  const options = ClientFactoryOptions.createFrom(ClientFactoryOptions.default, {
    transports: [new JsonRpcTransportFactory(more), new RestTransportFactory(more)],
    cardResolver: new DefaultAgentCardResolver(more),
    preferredTransports: [name],
  })
  return new ClientFactory(options).createFromUrl(`${url}/`)
}

async function connectNew(
  name: 'JSONRPC' | 'HTTP+JSON',
  url: string,
  more: { readonly fetchImpl?: typeof fetch },
): Promise<TestClient> {
  const client = await officialClient(name, url, more)
  return {
    send: async (said) => seenTask((await client.sendMessage(requestOf(said))) as Task),
    stream: (said) => seenAll(client.sendMessageStream(requestOf(said))),
    get: async (id) => seenTask(await client.getTask({ id, tenant: '' })),
    cancel: async (id) => seenTask(await client.cancelTask({ id, tenant: '', metadata: undefined })),
    subscribe: (id) => seenAll(client.resubscribeTask({ id, tenant: '' })),
  }
}

export function requestOf({ text, taskId = '', contextId = '', messageId }: Said): SendMessageRequest {
  const message = { messageId: messageId ?? crypto.randomUUID(), taskId, contextId, role: 'ROLE_USER' }
  return SendMessageRequest.fromJSON({ message: { ...message, parts: [{ text }] } })
}

export function partsRequest(parts: object[], ids: Partial<Message> = {}): SendMessageRequest {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', ...ids, parts }
  return SendMessageRequest.fromJSON({ message })
}

async function* seenAll(stream: AsyncIterable<StreamResponse>): AsyncGenerator<Seen> {
  for await (const { payload } of stream) {
    if (payload?.$case === 'task') yield seenTask(payload.value)
    if (payload?.$case === 'statusUpdate') {
      const { taskId, contextId, status, metadata } = payload.value
      yield { kind: 'status', taskId, contextId, ...stateOf(status), metadata }
    }
    if (payload?.$case === 'artifactUpdate') {
      const { taskId, contextId, artifact, append, lastChunk } = payload.value
      yield { kind: 'artifact', taskId, contextId, text: textIn(artifact?.parts), append, last: lastChunk }
    }
  }
}

function seenTask({ id, contextId, status, artifacts, metadata }: Task): Seen {
  const reply = artifacts.find(({ artifactId }) => artifactId === '~reply')
  return { kind: 'task', taskId: id, contextId, ...stateOf(status), text: textIn(reply?.parts), metadata }
}

function stateOf(status: Task['status']): Pick<Seen, 'state' | 'question'> {
  const state = TaskState[status?.state ?? 0]?.replace('TASK_STATE_', '').toLowerCase().replaceAll('_', '-')
  return { state: state ?? '', question: textIn(status?.message?.parts) }
}

export function textIn(parts: readonly Part[] = []): string {
  return parts.map(({ content }) => (content?.$case === 'text' ? content.value : '')).join('')
}

interface OldPart {
  readonly kind: string
  readonly text?: string
}

interface OldEvent {
  readonly kind: string
  readonly id?: string
  readonly taskId?: string
  readonly contextId: string
  readonly status?: { readonly state: string; readonly message?: { readonly parts: readonly OldPart[] } }
  readonly artifact?: { readonly parts: readonly OldPart[] }
  readonly artifacts?: readonly { readonly artifactId: string; readonly parts: readonly OldPart[] }[]
  readonly append?: boolean
  readonly lastChunk?: boolean
  readonly final?: boolean
  readonly metadata?: unknown
}

async function connectOld(url: string, more: { readonly fetchImpl?: typeof fetch }): Promise<TestClient> {
  const factory = new OldClientFactory({
    transports: [new OldTransportFactory(more)],
    cardResolver: new OldResolver(more),
  })
  const client = await factory.createFromUrl(`${url}/`)
  const paramsOf = ({ text, messageId = crypto.randomUUID(), ...ids }: Said) => ({
    message: {
      kind: 'message' as const,
      role: 'user' as const,
      messageId,
      parts: [{ kind: 'text' as const, text }],
      ...ids,
    },
  })
  const all = async function* (events: AsyncIterable<unknown>): AsyncGenerator<Seen> {
    for await (const event of events) yield seenOld(event as OldEvent)
  }
  return {
    send: async (said) => seenOld((await client.sendMessage(paramsOf(said))) as OldEvent),
    stream: (said) => all(client.sendMessageStream(paramsOf(said))),
    get: async (id) => seenOld(await client.getTask({ id })),
    cancel: async (id) => seenOld(await client.cancelTask({ id })),
    subscribe: (id) => all(client.resubscribeTask({ id })),
  }
}

const KINDS = { task: 'task', 'status-update': 'status', 'artifact-update': 'artifact' } as const

function seenOld(event: OldEvent): Seen {
  const kind = KINDS[event.kind as keyof typeof KINDS]
  const parts =
    event.artifact?.parts ?? event.artifacts?.find(({ artifactId }) => artifactId === '~reply')?.parts
  const text = (all: readonly OldPart[] = []) => all.map((each) => each.text ?? '').join('')
  return {
    kind,
    taskId: event.id ?? event.taskId ?? '',
    contextId: event.contextId,
    ...(event.status === undefined
      ? {}
      : { state: event.status.state, question: text(event.status.message?.parts) }),
    text: text(parts),
    ...(kind === 'artifact' ? { append: event.append ?? false, last: event.lastChunk ?? false } : {}),
    ...(event.final === undefined ? {} : { final: event.final }),
    metadata: event.metadata,
  }
}
