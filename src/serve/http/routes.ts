/** Every route of the server. */
import { createHash } from 'node:crypto'
import type { ConversationInfo } from '../../host/index.ts'
import { defined, HoldfastError } from '../../protocol/index.ts'
import { keyHeader } from '../key-header.ts'
import { erasedProblem, HttpProblem, notFound, notReady, problemWith, unknownAgent } from '../problem.ts'
import { withFlowReplies } from '../turn-events.ts'
import { artifactResponse } from './artifact.ts'
import { json, keyOf, type Route, type RouteCall } from './route.ts'
import * as schema from './schemas.ts'
import { streamResponse } from './stream.ts'
import { answer, send, streamForm } from './turns.ts'

const ID = '/conversations/{id}'
const STREAMS = ['text/event-stream', 'application/x-ndjson']

export const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/health',
    id: 'health',
    summary: 'The process answers',
    isPublic: true,
    responses: { 200: { description: 'It does', schema: { type: 'object' } } },
    handle: () => json({ status: 'ok' }),
  },
  {
    method: 'GET',
    path: '/ready',
    id: 'ready',
    summary:
      'Ready for messages, as far as known: the store answers and has refused none of late, there is room, and no shutdown has begun',
    isPublic: true,
    responses: { 200: { description: 'Ready for messages', schema: { type: 'object' } } },
    handle: async ({ server: { host, checkOpen } }) => {
      checkOpen()
      await host.checkReady().catch((error: unknown) => {
        throw notReady(error)
      })
      return json({ status: 'ready', ...host.load })
    },
  },
  {
    method: 'GET',
    path: '/openapi.json',
    id: 'openapi',
    summary: 'This document',
    isPublic: true,
    responses: { 200: { description: 'OpenAPI 3.1', schema: { type: 'object' } } },
    handle: ({ server }) => json(server.document()),
  },
  {
    method: 'GET',
    path: '/metrics',
    id: 'metrics',
    isForKnown: true,
    summary: 'Counters in the text format of Prometheus',
    responses: { 200: { description: 'The counters', types: ['text/plain'] } },
    handle: ({ server }) =>
      new Response(server.metrics(), { headers: { 'content-type': 'text/plain; version=0.0.4' } }),
  },
  {
    method: 'GET',
    path: '/agents',
    id: 'listAgents',
    summary: 'The names of agents and graphs',
    responses: {
      200: { description: 'Those that take messages, and those that take values', schema: schema.NAMES },
    },
    handle: ({ caller, server: { host } }) => {
      const names = host.namesFor(caller)
      const { graphs } = host
      return json({
        agents: names.filter((name) => !graphs.includes(name)),
        graphs: names.filter((name) => graphs.includes(name)),
      })
    },
  },
  {
    method: 'GET',
    path: '/requests',
    id: 'listRequests',
    summary: 'Questions and approvals that wait for you, in all conversations',
    query: { limit: schema.LIMIT, cursor: { type: 'string' } },
    responses: { 200: { description: 'The requests', schema: schema.listOf('notices') } },
    handle: async ({ server: { host }, caller, query }) =>
      json(await host.openRequests(ownerOf(caller), page(query))),
  },
  {
    method: 'POST',
    path: '/conversations',
    id: 'createConversation',
    summary: 'A new id for a conversation; it exists with its first message',
    body: schema.CREATE,
    responses: { 201: { description: 'The id', schema: { type: 'object' } } },
    handle: ({ request, body, caller, server: { host } }) => {
      const { agent } = body as { agent: string }
      const names = host.namesFor(caller)
      if (!names.includes(agent)) throw new HttpProblem(unknownAgent(agent, names))
      const fresh = host.newContextId(agent)
      const key = keyHeader(request)
      return json(
        { contextId: key === undefined ? fresh : `${agent}:${hashOf(caller.tenant, caller.actor, key)}` },
        201,
      )
    },
  },
  {
    method: 'GET',
    path: '/conversations',
    id: 'listConversations',
    summary: 'Your conversations, most recently active first',
    query: {
      agent: { type: 'string' },
      status: { enum: ['idle', 'running', 'waiting', 'paused'] },
      q: {
        type: 'string',
        maxLength: 200,
        description: 'A text in the id or the newest messages; 200 conversations are searched.',
      },
      limit: { type: 'integer', minimum: 1, maximum: 200 },
      cursor: { type: 'string' },
    },
    responses: {
      200: { description: 'A page of them', schema: schema.listOf('conversations', schema.CONVERSATION) },
    },
    handle: async ({ server: { host }, caller, query }) =>
      json(
        await host.reads.list(ownerOf(caller), {
          ...page(query),
          ...defined({
            name: query['agent'] as string | undefined,
            status: query['status'] as ConversationInfo['status'] | undefined,
            query: query['q'] as string | undefined,
          }),
        }),
      ),
  },
  {
    method: 'GET',
    path: ID,
    id: 'getConversation',
    summary: 'A conversation, and its open requests',
    responses: { 200: { description: 'The conversation', schema: schema.CONVERSATION } },
    handle: async (call) => {
      const info = await existing(call)
      return json({ ...info, requests: await call.server.host.requests(keyOf(call)) })
    },
  },
  {
    method: 'DELETE',
    path: ID,
    id: 'deleteConversation',
    summary: 'Erases a conversation with its logs; its id is refused with 410 until it is recreated',
    responses: { 204: { description: 'It is gone' } },
    handle: async (call) => {
      const { host } = call.server
      const isGone = await isErased(call)
      if (!isGone) await existing(call)
      // Repeated, it finishes what a process that died has left.
      await host.erase(keyOf(call))
      if (isGone) throw notFound()
      return new Response(null, { status: 204 })
    },
  },
  {
    method: 'POST',
    path: `${ID}/recreate`,
    id: 'recreateConversation',
    summary: 'Begins an erased conversation anew under its id, empty; Idempotency-Keys count from now on',
    responses: { 201: { description: 'It exists, without messages', schema: { type: 'object' } } },
    handle: async (call) => {
      await call.server.host.recreate(keyOf(call))
      return json({ contextId: call.params['id'] }, 201)
    },
  },
  {
    method: 'POST',
    path: `${ID}/messages`,
    id: 'send',
    summary: 'Sends a message; as a stream, as an outcome (wait=true), or until it is accepted',
    query: { wait: schema.WAIT },
    body: schema.SEND,
    responses: {
      200: { description: 'The outcome, or a stream of events', schema: schema.OUTCOME, types: STREAMS },
      202: { description: 'Accepted', schema: schema.ACCEPTED },
    },
    handle: send,
  },
  {
    method: 'POST',
    path: `${ID}/answers`,
    id: 'answer',
    summary: 'Answers open requests by their ids',
    query: { wait: schema.WAIT },
    body: schema.ANSWER,
    responses: {
      200: { description: 'The outcome, or a stream of events', schema: schema.OUTCOME, types: STREAMS },
      202: { description: 'Accepted', schema: schema.ACCEPTED },
    },
    handle: async (call) => {
      await existing(call)
      return answer(call)
    },
  },
  {
    method: 'POST',
    path: `${ID}/cancel`,
    id: 'cancel',
    summary: 'Cancels the running turn',
    body: schema.CANCEL,
    responses: { 202: { description: 'It is requested', schema: { type: 'object' } } },
    handle: async (call) => {
      const { turn: newest, status } = await existing(call)
      const { reason, turn } = call.body as { reason?: string; turn?: number }
      // Named, so that it cancels no turn that begins meanwhile; an idle conversation may be about to begin one.
      const named = status === 'idle' ? turn : newest
      if (turn === undefined || newest <= turn) await call.server.host.cancel(keyOf(call), reason, named)
      return json({ contextId: call.params['id'] }, 202)
    },
  },
  {
    method: 'POST',
    path: `${ID}/fork`,
    id: 'fork',
    summary: 'A new conversation from the history of this one',
    body: schema.FORK,
    responses: { 201: { description: 'Its id', schema: { type: 'object' } } },
    handle: fork,
  },
  {
    method: 'GET',
    path: `${ID}/events`,
    id: 'events',
    summary: 'Entries after a position, then live, with deltas',
    query: { since: schema.SINCE },
    responses: { 200: { description: 'A stream that does not end', types: STREAMS } },
    handle: events,
  },
  {
    method: 'GET',
    path: `${ID}/entries`,
    id: 'listEntries',
    summary: 'Entries of the journal in a range',
    query: { from: schema.SINCE, to: schema.SINCE, turn: schema.SINCE, limit: schema.LIMIT },
    responses: { 200: { description: 'The entries', schema: schema.listOf('entries') } },
    handle: async (call) => {
      await existing(call)
      const { from, to, turn, limit } = call.query as Record<string, number | undefined>
      const range = defined({ from, to, turn, limit })
      return json({ entries: await call.server.host.reads.entries(keyOf(call), range) })
    },
  },
  {
    method: 'GET',
    path: `${ID}/messages`,
    id: 'listMessages',
    summary: 'The newest messages, oldest first',
    query: { limit: schema.LIMIT },
    responses: { 200: { description: 'The messages', schema: schema.listOf('messages') } },
    handle: async (call) => {
      await existing(call)
      const maxMessages = (call.query['limit'] as number | undefined) ?? 50
      return json({ messages: await call.server.host.reads.messages(keyOf(call), { maxMessages }) })
    },
  },
  {
    method: 'GET',
    path: `${ID}/trace`,
    id: 'getTrace',
    summary: 'The trace of one turn, or of all',
    query: { turn: schema.SINCE },
    responses: { 200: { description: 'The trace', schema: schema.listOf('trace') } },
    handle: async (call) => {
      await existing(call)
      const turn = call.query['turn'] as number | undefined
      return json({ trace: await call.server.host.reads.trace(keyOf(call), turn) })
    },
  },
  {
    method: 'GET',
    path: `${ID}/state`,
    id: 'getState',
    summary: 'The state of a graph, or the active values of a conversation',
    responses: { 200: { description: 'The state', schema: { type: 'object' } } },
    handle: async (call) => {
      await existing(call)
      return json({ state: await call.server.host.reads.state(keyOf(call)) })
    },
  },
  {
    method: 'GET',
    path: `${ID}/graph`,
    id: 'getGraph',
    summary: 'The graph with its newest run, as Mermaid',
    responses: { 200: { description: 'A flowchart', types: ['text/vnd.mermaid'] } },
    handle: async (call) => {
      await existing(call)
      const picture = await call.server.host.reads.mermaid(keyOf(call))
      return new Response(picture, { headers: { 'content-type': 'text/vnd.mermaid; charset=utf-8' } })
    },
  },
  {
    method: 'GET',
    path: `${ID}/artifacts`,
    id: 'listArtifacts',
    summary: 'Files, data and datasets of the conversation',
    responses: { 200: { description: 'The artifacts', schema: schema.listOf('artifacts') } },
    handle: async (call) => {
      await existing(call)
      return json({ artifacts: await call.server.host.reads.artifacts(keyOf(call)) })
    },
  },
  {
    method: 'GET',
    path: `${ID}/artifacts/{artifact}`,
    id: 'getArtifact',
    summary: 'The content of an artifact, or a range of its bytes',
    query: { version: { type: 'integer', minimum: 1 } },
    responses: {
      200: { description: 'The content', types: ['*/*'] },
      206: { description: 'A range of it', types: ['*/*'] },
    },
    handle: async (call) => {
      await existing(call)
      const version = call.query['version'] as number | undefined
      const { reads } = call.server.host
      const found = await reads
        .artifact(keyOf(call), call.params['artifact'] ?? '', version)
        .catch((error: unknown) => partNotFound(error))
      return artifactResponse(found, call.request)
    },
  },
]

async function existing(call: RouteCall) {
  const { host } = call.server
  const key = keyOf(call)
  host.nameOf(key.contextId)
  const info = await host.reads.info(key)
  if (info === undefined) throw notFound()
  return info
}

/** Of a conversation that exists, a part was not found: `detail`, or what the message says. */
function partNotFound(error: unknown, detail?: string): never {
  if (!HoldfastError.is(error, 'not-found')) throw error
  throw new HttpProblem({ status: 404, code: 'not-found', detail: detail ?? error.message })
}

async function isErased(call: RouteCall): Promise<boolean> {
  return (await call.server.host.store.head(keyOf(call)))?.status === 'erased'
}

async function fork(call: RouteCall): Promise<Response> {
  const { host } = call.server
  const { name } = await existing(call)
  const key = keyHeader(call.request)
  const { at } = call.body as { at?: number }
  const nowhere = `The conversation has no ${at === undefined ? 'entries' : `entry ${at}`} to fork after.`
  const forkTo = (to: string) => host.fork(keyOf(call), { to, ...defined({ at }) })
  if (key === undefined) {
    const to = await forkTo(host.newContextId(name)).catch((error: unknown) => partNotFound(error, nowhere))
    return json({ contextId: to }, 201)
  }
  // The id is that of the key, and of the entry: so a repetition finds the fork, and other content is seen.
  const { tenant, actor } = call.caller
  const prefix = `${name}:${hashOf(tenant, actor, `${keyOf(call).contextId} ${key}`)}`
  const to = at === undefined ? prefix : `${prefix}-${at}`
  if (!(await isForked(call, prefix, to)))
    try {
      await forkTo(to)
    } catch (error) {
      // The same request at once has made it.
      if (!(await isForked(call, prefix, to))) partNotFound(error, nowhere)
    }
  return json({ contextId: to }, 201)
}

/** True if the fork was made under its key before. Throws a problem if another was. */
async function isForked({ server: { host }, caller }: RouteCall, prefix: string, to: string) {
  const [made] = (await host.store.list({ owner: ownerOf(caller), prefix, limit: 1 })).heads
  if (made !== undefined && made.key.contextId !== to)
    throw new HttpProblem(
      problemWith('key-reused', 'The Idempotency-Key is that of a fork at another entry. Use a new one.'),
    )
  return made !== undefined
}

async function events(call: RouteCall): Promise<Response> {
  const { host, heartbeatMs } = call.server
  if (await isErased(call)) throw erasedProblem()
  await existing(call)
  const last = call.request.headers.get('last-event-id') ?? ''
  const since = /^\d{1,15}$/.test(last) ? Number(last) : ((call.query['since'] as number | undefined) ?? 0)
  // Refused before it begins: a browser's EventSource would open a stream again that ends with an error.
  await host.checkSince(keyOf(call), since).catch((error: unknown) => {
    throw HoldfastError.is(error, 'erased') ? erasedProblem(error.message) : error
  })
  const form = streamForm(call.request) ?? 'sse'
  const stream = call.openStream()
  const entries = host.events(keyOf(call), { since, heartbeatMs, signal: stream.signal })
  return streamResponse(withFlowReplies(host, keyOf(call), entries), { form, stream })
}

function ownerOf({ tenant, actor }: RouteCall['caller']) {
  return { tenant, actor }
}

function page(query: RouteCall['query']) {
  return defined({
    limit: query['limit'] as number | undefined,
    cursor: query['cursor'] as string | undefined,
  })
}

function hashOf(...texts: readonly string[]): string {
  return createHash('sha256').update(JSON.stringify(texts)).digest('hex').slice(0, 32)
}
