/** The turn of a request, and its reply: complete, or as it comes. */
import type { Host, HostEvent } from '../../host/index.ts'
import type { ContextKey } from '../../protocol/index.ts'
import { authOf } from '../caller.ts'
import type { MountCall } from '../mount.ts'
import { type OpenStream, withStream } from '../open-streams.ts'
import { badRequest, HttpProblem, refusedProblem } from '../problem.ts'
import {
  type BegunTurn,
  begunTurn,
  checkFinished,
  flowReply,
  NEVER_BEGAN,
  type TurnRef,
  turnEvents,
} from '../turn-events.ts'
import { beginReply } from './begin.ts'
import { placeOf } from './conversation.ts'
import { unknownModel } from './errors.ts'
import { type ReplyEvent, replyEvents } from './reply.ts'
import type { ReplyId } from './reply-id.ts'
import type { ModelRequest } from './request.ts'

export interface ReplyRequest {
  readonly request: ModelRequest
  readonly body: unknown
  /** The reply that this one continues. */
  readonly after?: ReplyId
}

export interface BegunReply extends BegunTurn {
  readonly key: ContextKey
  /** Of a request for a stream. */
  readonly stream?: OpenStream
}

export async function beginTurn(call: MountCall, reply: ReplyRequest): Promise<BegunReply> {
  if (!reply.request.isStream) return begin(call, reply)
  return withStream(call.openStream(), async (stream) => ({ ...(await begin(call, reply)), stream }))
}

async function begin(call: MountCall, { request, body, after }: ReplyRequest): Promise<BegunReply> {
  const { host, caller } = call
  const { headers } = call.request
  // One that refuses the caller is no unknown model: the host refuses, and records it.
  if (!isAgent(host, request.model)) throw unknownModel(request.model, agentsFor(call))
  const name = after?.contextId ?? headerName(headers) ?? request.conversation
  const { model } = request
  const place = await placeOf({
    ...{ host, owner: { tenant: caller.tenant, actor: caller.actor }, headers, model, body },
    ...(name === undefined ? {} : { name }),
  })
  const { key, posted } = place
  if (after !== undefined && posted.length === 0) await checkNewest(call, key, after)
  const turn = await begunTurn(beginReply(host, place, { request, auth: authOf(caller) }))
  return { ...turn, key }
}

/** The agents that the caller may talk to, as far as the rules of trust say. */
export function agentsFor({ host, caller }: MountCall): readonly string[] {
  return host.namesFor(caller).filter((name) => isAgent(host, name))
}

function isAgent({ names, graphs }: Host, name: string): boolean {
  return names.includes(name) && !graphs.includes(name)
}

/** The header as this server writes it: encoded, because names may have letters of any script. */
function headerName(headers: Headers): string | undefined {
  const name = headers.get('x-conversation-id')
  try {
    return name === null ? undefined : decodeURI(name)
  } catch {
    throw badRequest('X-Conversation-Id is not encoded as a URI.')
  }
}

async function checkNewest(
  { host }: MountCall,
  key: ContextKey,
  { contextId, turn }: ReplyId,
): Promise<void> {
  if (key.contextId !== contextId) throw badRequest('The previous response is of another model.')
  if ((await host.reads.info(key))?.turn === turn) return
  throw new HttpProblem({
    status: 409,
    code: 'previous_response_not_newest',
    detail:
      'Only the newest response of a conversation can be continued. Fork the conversation with POST /conversations/{id}/fork to go on from an older one.',
  })
}

/** Waits for the end of the turn. Throws a problem if it did not begin, or goes on elsewhere. */
export async function finishedReply(
  call: MountCall,
  { key, outcome }: BegunReply,
): Promise<AsyncGenerator<ReplyEvent>> {
  const { turn, error = NEVER_BEGAN } = checkFinished(await outcome)
  if (turn === 0) throw refusedProblem(error)
  return storedReply(call, key, turn)
}

/** The bound of a turn that is read whole. */
const MAX_ENTRIES = 100_000

/** The reply of a turn as far as the journal has it. */
export async function storedReply(
  { host }: MountCall,
  key: ContextKey,
  turn: number,
): Promise<AsyncGenerator<ReplyEvent>> {
  const entries = await host.reads.entries(key, { turn, limit: MAX_ENTRIES })
  const events: HostEvent[] = []
  for (const entry of entries) {
    if (entry.turn !== turn) continue
    if (entry.type === 'turn.end') for await (const text of flowReply(host, key, entry)) events.push(text)
    events.push({ type: 'entry', entry })
  }
  return replyEvents(host, key, events)
}

export interface LiveReply {
  readonly events: AsyncGenerator<ReplyEvent>
  readonly stream: OpenStream
}

export function liveReply(
  call: MountCall,
  key: ContextKey,
  begun: { readonly ref: TurnRef; readonly seq: number; readonly stream?: OpenStream },
): LiveReply {
  const { host, heartbeatMs } = call
  const { ref, seq, stream = call.openStream() } = begun
  const events = turnEvents(host, key, { ref, since: seq - 1, heartbeatMs, signal: stream.signal })
  return { events: replyEvents(host, key, events), stream }
}
