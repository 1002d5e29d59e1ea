/** Routes that begin a turn: a message, an answer. The turn goes on whether or not the caller stays. */
import type { HostedTurn, SendOptions } from '../../host/index.ts'
import type { ContextKey, Json, JsonObject } from '../../protocol/index.ts'
import { authOf } from '../caller.ts'
import { CONTINUE_KEY, clientMetadata } from '../client-metadata.ts'
import { isPostedUnder, keyHeader } from '../key-header.ts'
import { type OpenStream, withStream } from '../open-streams.ts'
import { HttpProblem } from '../problem.ts'
import { type BegunTurn, begunTurn, checkFinished, turnEvents } from '../turn-events.ts'
import { json, keyOf, type RouteCall } from './route.ts'
import { type StreamForm, streamResponse } from './stream.ts'

interface Send {
  readonly message?: string | readonly JsonObject[]
  readonly values?: JsonObject
  readonly continue?: true
  readonly whileBusy?: 'queue' | 'steer' | 'interrupt' | 'reject'
  readonly metadata?: JsonObject
  readonly credentials?: JsonObject
}

export async function send(call: RouteCall): Promise<Response> {
  const { message, values, continue: goesOn, whileBusy, metadata, credentials } = call.body as Send
  const given = [message, values, goesOn].filter((each) => each !== undefined)
  if (given.length !== 1)
    throw new HttpProblem({
      status: 400,
      code: 'invalid-request',
      detail: 'Send one of message, values and continue.',
    })
  const key = keyOf(call)
  const idempotencyKey = keyHeader(call.request)
  const own = clientMetadata(metadata)
  const options = goesOn
    ? await continuation(call, idempotencyKey, own.metadata)
    : { key: idempotencyKey ?? `http_${crypto.randomUUID()}`, ...own }
  const { host } = call.server
  return respond(call, key, () =>
    host.send(key, (message ?? values ?? null) as string | JsonObject | null, {
      auth: authOf(call.caller, credentials),
      ...(whileBusy === undefined ? {} : { whileBusy }),
      ...options,
    }),
  )
}

/** Turns that are searched for the key of a request to continue. */
const MOST_CONTINUED = 20
/** A turn that takes no message begins with its claim and its start. */
const START_ENTRIES = 5
const OPEN: readonly string[] = ['running', 'paused']

/** No entry is posted to continue, so the turn that begins has the key in its metadata. An open turn is joined. */
async function continuation(
  call: RouteCall,
  idempotencyKey: string | undefined,
  metadata: JsonObject | undefined,
): Promise<Pick<SendOptions, 'after' | 'metadata'>> {
  if (idempotencyKey === undefined) return metadata === undefined ? {} : { metadata }
  const { reads } = call.server.host
  const key = keyOf(call)
  const { turn: newest = 0, status = '' } = (await reads.info(key)) ?? {}
  const stored = { metadata: { ...metadata, [CONTINUE_KEY]: idempotencyKey } }
  for (let turn = newest; turn > Math.max(0, newest - MOST_CONTINUED); turn--) {
    const entries = await reads.entries(key, { turn, limit: START_ENTRIES })
    const start = entries.find((entry) => entry.type === 'turn.start' && entry.turn === turn)
    const { [CONTINUE_KEY]: posted } = (start?.data['metadata'] ?? {}) as JsonObject
    if (posted === idempotencyKey) return { ...stored, after: turn - 1 }
  }
  return { ...stored, after: OPEN.includes(status) ? newest - 1 : newest }
}

export async function answer(call: RouteCall): Promise<Response> {
  const { answers, credentials } = call.body as { answers: Record<string, Json>; credentials?: JsonObject }
  const key = keyOf(call)
  const idempotencyKey = keyHeader(call.request)
  return respond(call, key, () =>
    call.server.host.answer(key, answers, {
      auth: authOf(call.caller, credentials),
      ...(idempotencyKey === undefined ? {} : { key: idempotencyKey }),
    }),
  )
}

/** As a stream up to the end of the turn, as its outcome, or as soon as it is accepted. */
async function respond(
  call: RouteCall,
  key: ContextKey,
  request: () => Promise<HostedTurn>,
): Promise<Response> {
  const form = streamForm(call.request)
  if (form !== undefined)
    return withStream(call.openStream(), async (stream) =>
      turnStream(call, key, { form, stream, turn: await begunTurn(request()) }),
    )
  const turn = await begunTurn(request())
  const { contextId } = key
  if (call.query['wait'] !== true)
    return json({ contextId, since: (await firstOf(call, key, turn)) - 1 }, 202)
  const { cause: _, ...outcome } = checkFinished(await turn.outcome)
  return json({ contextId, ...outcome })
}

/** The position of the first entry of a request: of one that was sent before, that of its message or first answer. */
async function firstOf(
  { request, body, server }: RouteCall,
  key: ContextKey,
  turn: BegunTurn,
): Promise<number> {
  const idempotencyKey = keyHeader(request)
  const isContinued = (body as Send).continue === true
  if ('input' in turn.ref || idempotencyKey === undefined || isContinued) return turn.seq
  for (let to = Number.MAX_SAFE_INTEGER; to > 0; ) {
    const page = await server.host.reads.entries(key, { to, limit: PAGE, order: 'newest' })
    const first = page.findLast((entry) => isPostedUnder(entry, idempotencyKey))
    if (first !== undefined) return first.seq
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return turn.seq
}

const PAGE = 200

interface TurnStream {
  readonly form: StreamForm
  readonly stream: OpenStream
  readonly turn: BegunTurn
}

function turnStream(
  call: RouteCall,
  key: ContextKey,
  { form, stream, turn: { ref, seq } }: TurnStream,
): Response {
  const { host, heartbeatMs } = call.server
  const events = turnEvents(host, key, { ref, since: seq - 1, heartbeatMs, signal: stream.signal })
  return streamResponse(events, { form, stream })
}

/** Undefined if the caller takes JSON. */
export function streamForm(request: Request): StreamForm | undefined {
  const accept = request.headers.get('accept') ?? ''
  if (accept.includes('text/event-stream')) return 'sse'
  return accept.includes('application/x-ndjson') ? 'ndjson' : undefined
}
