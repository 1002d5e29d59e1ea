/**
 * Agents as models of the OpenAI API. A client sees texts alone: tools run inside, a question is a text, and the next message
 * answers it. A client that leaves stops no turn unless the mount is told so.
 */
import { type ContextKey, checkOptions, type OptionSet } from '../../protocol/index.ts'
import { fieldsOf, isFields } from '../body-fields.ts'
import type { Mount, MountCall } from '../mount.ts'
import { HttpProblem, type Problem } from '../problem.ts'
import { dataFrame, sseResponse } from '../sse-response.ts'
import { turnEvents } from '../turn-events.ts'
import { chatCompletion, chatFrames, DONE } from './chat.ts'
import { errorOf, errorResponse, turnProblem, unknownModel } from './errors.ts'
import { ERROR_SCHEMA, OPERATIONS } from './operations.ts'
import { decodeId, encodeId, type ReplyId } from './reply-id.ts'
import { chatRequest, responsesRequest } from './request.ts'
import { type ResponseOptions, responseFrames, responseObject } from './responses.ts'
import {
  agentsFor,
  type BegunReply,
  beginTurn,
  finishedReply,
  type LiveReply,
  liveReply,
  storedReply,
} from './turn-reply.ts'

export interface OpenAiOptions {
  /**
   * A client that leaves before its reply is complete: the turn goes on (`continue`, the default), or is cancelled
   * (`cancel`), as people expect of a chat with a stop button.
   */
  readonly onDisconnect?: 'continue' | 'cancel'
}

const OPTIONS: OptionSet<OpenAiOptions> = {
  place: 'openai()',
  options: { onDisconnect: ['continue', 'cancel'] },
}

/** `/v1/models`, `/v1/chat/completions` and `/v1/responses`. */
export function openai(options: OpenAiOptions = {}): Mount {
  checkOptions(options, OPTIONS)
  const cancels = options.onDisconnect === 'cancel'
  return {
    name: 'openai',
    problem: errorResponse,
    problemSchema: ERROR_SCHEMA,
    operations: OPERATIONS,
    requestHeaders: ['x-conversation-id', 'openai-organization', 'openai-project', 'x-stainless-*'],
    responseHeaders: ['x-conversation-id', 'x-should-retry'],
    routes: [
      { method: 'GET', path: '/v1/models', handle: models },
      { method: 'GET', path: '/v1/models/{model}', handle: model },
      { method: 'POST', path: '/v1/chat/completions', handle: (call) => chat(call, cancels) },
      { method: 'POST', path: '/v1/responses', handle: (call) => respond(call, cancels) },
      { method: 'GET', path: '/v1/responses/{id}', handle: retrieve },
      { method: 'POST', path: '/v1/responses/{id}/cancel', handle: cancel },
    ],
  }
}

function modelObject(id: string): object {
  return { id, object: 'model', created: 0, owned_by: 'holdfast' }
}

function models(call: MountCall): Response {
  return Response.json({ object: 'list', data: agentsFor(call).map(modelObject) })
}

function model(call: MountCall): Response {
  const id = call.params['model'] ?? ''
  if (!agentsFor(call).includes(id)) throw unknownModel(id, agentsFor(call))
  return Response.json(modelObject(id))
}

async function chat(call: MountCall, cancels: boolean): Promise<Response> {
  const body = fieldsOf('The body', await call.body())
  const request = chatRequest(body)
  const begun = await beginTurn(call, { request, body })
  const { key } = begun
  const { stream_options: streaming } = body
  const options = {
    model: request.model,
    idOf: (turn: number) => encodeId('chatcmpl-', { turn, contextId: key.contextId }),
    includeUsage: isFields(streaming) && streaming['include_usage'] === true,
  }
  if (cancels) cancelOnLeave(call, begun)
  if (request.isStream) {
    const { events, stream } = liveReply(call, key, begun)
    return sseResponse(chatFrames(events, options), {
      stream,
      headers: namesConversation(key),
      failed: (problem) => dataFrame({ error: errorOf(problem) }) + DONE,
    })
  }
  const completion = await chatCompletion(await finishedReply(call, begun), options)
  return Response.json(completion, { headers: namesConversation(key) })
}

async function respond(call: MountCall, cancels: boolean): Promise<Response> {
  const body = fieldsOf('The body', await call.body())
  const request = responsesRequest(body)
  const { previous_response_id: given } = body
  const previous = typeof given === 'string' ? given : null
  const after = previous === null ? undefined : await replyOf(call, previous, 400)
  const begun = await beginTurn(call, { request, body, ...(after === undefined ? {} : { after }) })
  const { key } = begun
  const options = responseOptions(key, request.model, previous)
  if (cancels) cancelOnLeave(call, begun)
  if (request.isStream) return responseStream(liveReply(call, key, begun), { options, key })
  const events = await finishedReply(call, begun)
  const { reason, error } = await begun.outcome
  if (reason === 'failed' || reason === 'cancelled') throw new HttpProblem(turnProblem(reason, error))
  return Response.json(await responseObject(events, options), { headers: namesConversation(key) })
}

interface ResponseStreamOptions {
  readonly options: ResponseOptions
  readonly key: ContextKey
}

function responseStream({ events, stream }: LiveReply, { options, key }: ResponseStreamOptions): Response {
  return sseResponse(responseFrames(events, options), {
    stream,
    headers: namesConversation(key),
    failed: (problem) => errorFrame(problem),
  })
}

function errorFrame(problem: Problem): string {
  const { message, code } = errorOf(problem)
  return `event: error\n${dataFrame({ type: 'error', code, message, param: null, sequence_number: -1 })}`
}

/** A response by its id: whole, or with `?stream=true` as events from its beginning. */
async function retrieve(call: MountCall): Promise<Response> {
  const { contextId, turn } = await replyOf(call, call.params['id'] ?? '', 404)
  const key = keyOf(call, contextId)
  const options = responseOptions(key, call.host.nameOf(contextId), null)
  if (new URL(call.request.url).searchParams.get('stream') === 'true')
    return responseStream(liveReply(call, key, { ref: { turn }, seq: await startOf(call, key, turn) }), {
      options,
      key,
    })
  return Response.json(await responseObject(await storedReply(call, key, turn), options))
}

async function cancel(call: MountCall): Promise<Response> {
  const { contextId, turn } = await replyOf(call, call.params['id'] ?? '', 404)
  const key = keyOf(call, contextId)
  const info = await call.host.reads.info(key)
  if (info?.status === 'running' && info.turn === turn) {
    await call.host.cancel(key, undefined, turn)
    const events = turnEvents(call.host, key, {
      ref: { turn },
      since: info.seq - 1,
      signal: call.request.signal,
    })
    for await (const _ of events);
  }
  const options = responseOptions(key, call.host.nameOf(contextId), null)
  return Response.json(await responseObject(await storedReply(call, key, turn), options))
}

/** The turn that an id names, if it is one of the caller's: others are unknown. */
async function replyOf(call: MountCall, id: string, status: 400 | 404): Promise<ReplyId> {
  const reply = decodeId(id)
  const isHosted = reply !== undefined && agentsFor(call).some((name) => isOf(name, reply.contextId))
  const info = isHosted ? await call.host.reads.info(keyOf(call, reply.contextId)) : undefined
  if (reply !== undefined && info !== undefined && info.turn >= reply.turn) return reply
  const detail = `There is no response ${JSON.stringify(id.slice(0, 200))}.`
  const code = status === 400 ? 'previous_response_not_found' : 'not_found'
  throw new HttpProblem({ status, code, detail })
}

function isOf(name: string, contextId: string): boolean {
  return contextId.startsWith(`${name}:`) && !contextId.includes('/')
}

async function startOf({ host }: MountCall, key: ContextKey, turn: number): Promise<number> {
  const [first] = await host.reads.entries(key, { turn, limit: 1 })
  return first?.seq ?? 1
}

function keyOf({ caller: { tenant, actor } }: MountCall, contextId: string): ContextKey {
  return { tenant, actor, contextId }
}

/** The request aborts if the client leaves before the reply is complete; a server that closes its streams leaves it as it is. */
function cancelOnLeave({ request: { signal } }: MountCall, turn: BegunReply): void {
  const cancelTurn = (): void => void turn.cancel().catch(() => {})
  if (signal.aborted) cancelTurn()
  else signal.addEventListener('abort', cancelTurn, { once: true })
}

/** A client without a name for its conversation can go on with it under this one. */
function namesConversation({ contextId }: ContextKey): Record<string, string> {
  return { 'x-conversation-id': encodeURI(contextId) }
}

function responseOptions(key: ContextKey, name: string, previous: string | null): ResponseOptions {
  const { contextId } = key
  return { model: name, idOf: (turn) => encodeId('resp_', { turn, contextId }), previous }
}
