/**
 * Chats of the AI SDK: one message in, one message as a stream out. The history comes from the journal, never from the
 * client. Leaving a stream stops no turn.
 */
import type { ContextKey, Json } from '../../protocol/index.ts'
import { authOf } from '../caller.ts'
import type { Mount, MountCall, MountRoute } from '../mount.ts'
import { withStream } from '../open-streams.ts'
import { badRequest, HttpProblem } from '../problem.ts'
import { type BegunTurn, begunTurn } from '../turn-events.ts'
import { type ChatRequest, chatRequest } from './chat-request.ts'
import { clientCallOf } from './message-chunks.ts'
import { type FollowedTurn, messageStream, UI_STREAM } from './message-stream.ts'
import { operationsBelow } from './operations.ts'

/** Routes below `/ui/chat` for the host's default agent, and below `/ui/agents/{agent}/chat` for each. */
export function uiMessageStream(): Mount {
  return {
    name: 'ui',
    routes: ['/ui/chat', '/ui/agents/{agent}/chat'].flatMap(routesBelow),
    operations: [
      ...operationsBelow('/ui/chat', 'uiChat'),
      ...operationsBelow('/ui/agents/{agent}/chat', 'uiAgentChat'),
    ],
    responseHeaders: [UI_STREAM],
  }
}

function routesBelow(path: string): readonly MountRoute[] {
  return [
    { method: 'POST', path, handle: chat },
    { method: 'GET', path: `${path}/{id}/stream`, handle: resume },
    { method: 'DELETE', path: `${path}/{id}/stream`, handle: stop },
  ]
}

/** The key of a chat: always one of the caller's own. */
function keyOf({ params, caller: { tenant, actor }, host }: MountCall, id: string): ContextKey {
  const { agent } = params
  const contextId = agent === undefined ? id : `${agent}:${id}`
  if (host.graphs.includes(host.nameOf(contextId)))
    throw badRequest('A graph takes values, not messages. Use the routes of /conversations.')
  return { tenant, actor, contextId }
}

async function chat(call: MountCall): Promise<Response> {
  const request = chatRequest(await call.body())
  const key = keyOf(call, request.id)
  return withStream(call.openStream(), async (stream) =>
    messageStream({ call, key, stream }, await begin(call, key, request)),
  )
}

async function begin(call: MountCall, key: ContextKey, request: ChatRequest): Promise<FollowedTurn> {
  const { message } = request
  if (message === undefined) return request.isRegenerate ? refuseRegenerate() : answerOpen(call, key, request)
  const turn = await begunTurn(
    call.host.send(key, message.content, { auth: authOf(call.caller), key: `ui_${message.id}` }),
  )
  if ('input' in turn.ref) return { ...turn, message: 'new' }
  return request.isRegenerate ? sendAgain(call, key, turn) : { ...turn, message: 'replayed' }
}

/** A message that was received before: its turn is followed if it runs, continued if it was cut short. */
async function sendAgain(call: MountCall, key: ContextKey, { ref, seq }: BegunTurn): Promise<FollowedTurn> {
  const info = await call.host.reads.info(key)
  const isNewest = 'turn' in ref && info?.turn === ref.turn
  if (isNewest && info.status === 'running') return { ref, seq, message: 'replayed' }
  if (!isNewest || !CUT_SHORT.includes(info.outcome ?? '')) return refuseRegenerate()
  const turn = await begunTurn(call.host.send(key, null, { auth: authOf(call.caller) }))
  return { ...turn, message: 'replayed' }
}

const CUT_SHORT: readonly string[] = ['failed', 'cancelled', 'limit', 'max-iterations']

function refuseRegenerate(): never {
  throw new HttpProblem({
    status: 409,
    code: 'cannot-regenerate',
    detail:
      'A reply cannot be made again: the journal keeps it, and its calls have run. Send a new message, or fork the conversation before it with POST /conversations/{id}/fork.',
  })
}

/** Answers what the last reply asked for; without an answer, goes on with a turn that was cut short. */
async function answerOpen(call: MountCall, key: ContextKey, request: ChatRequest): Promise<FollowedTurn> {
  const auth = authOf(call.caller)
  const answers = await openAnswers(call, key, request)
  // One key for each request, so that a repeated answer finds its turn.
  const turn = await begunTurn(
    Object.keys(answers).length === 0
      ? call.host.send(key, null, { auth })
      : call.host.answer(key, answers, { auth, key: 'ui' }),
  )
  return { ...turn, message: 'continued' }
}

/** The answers to open requests. If none is open, all that were given: the runtime finds their turn, or refuses them. */
async function openAnswers(
  { host }: MountCall,
  key: ContextKey,
  { answers, approvals, results }: ChatRequest,
): Promise<Readonly<Record<string, Json>>> {
  const open = await host.requests(key)
  const given: Record<string, Json> = { ...approvals, ...answers }
  const found: Record<string, Json> = {}
  for (const request of open) {
    const { requestId } = request
    const result = results[clientCallOf(request) ?? '']
    const answer = given[requestId] ?? result
    if (answer !== undefined) found[requestId] = answer
  }
  const isUnknown = Object.keys(answers).some((requestId) => !(requestId in found))
  return isUnknown || Object.keys(found).length === 0 ? { ...found, ...given } : found
}

async function resume(call: MountCall): Promise<Response> {
  const key = keyOf(call, call.params['id'] ?? '')
  const info = await call.host.reads.info(key)
  if (info === undefined) return nothing()
  const follow = (turn: FollowedTurn): Response =>
    messageStream({ call, key, stream: call.openStream() }, turn)
  if (info.status === 'running')
    return follow({ ref: { turn: info.turn }, seq: info.seq, message: 'replayed' })
  const waiting = await call.host.store.inbox(key)
  const next = waiting.find(({ type }) => type === 'input' || type === 'answer')
  if (next === undefined) return nothing()
  const message = next.type === 'input' ? 'new' : 'replayed'
  return follow({ ref: { input: next.seq }, seq: next.seq, message })
}

async function stop(call: MountCall): Promise<Response> {
  const key = keyOf(call, call.params['id'] ?? '')
  const info = await call.host.reads.info(key)
  if (info?.status === 'running') await call.host.cancel(key, undefined, info.turn)
  return nothing()
}

function nothing(): Response {
  return new Response(null, { status: 204 })
}
