/** Events of a conversation as Server-Sent Events or as lines of JSON. An entry has its position as id. */
import type { HostEvent } from '../../host/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { OpenStream } from '../open-streams.ts'
import type { Problem } from '../problem.ts'
import { HEARTBEAT, sseResponse } from '../sse-response.ts'

export type StreamForm = 'sse' | 'ndjson'

export interface StreamOptions {
  readonly form: StreamForm
  readonly stream: OpenStream
}

const TYPES = { sse: 'text/event-stream; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' }

/** Reads events as fast as the reader takes them. A failure is an `error` frame, then the end. */
export function streamResponse(
  events: AsyncGenerator<HostEvent, void, undefined>,
  { form, stream }: StreamOptions,
): Response {
  const frame = form === 'sse' ? sseFrame : ndjsonFrame
  async function* frames(): AsyncGenerator<string, void, undefined> {
    for await (const event of events) yield frame(event)
  }
  return sseResponse(frames(), {
    stream,
    headers: { 'content-type': TYPES[form] },
    failed: (problem) => errorFrame(form, problem),
  })
}

/** `since` of the next request of a reader is the `id` of the last frame that had one. */
function sseFrame(event: HostEvent): string {
  if (event.type === 'heartbeat') return HEARTBEAT
  const { name, data, id } = framed(event)
  return `${id === undefined ? '' : `id: ${id}\n`}event: ${name}\ndata: ${JSON.stringify(data)}\n\n`
}

function ndjsonFrame(event: HostEvent): string {
  const { name, data, id } = framed(event)
  return `${JSON.stringify({ event: name, ...(id === undefined ? {} : { id }), data })}\n`
}

interface Framed {
  readonly name: string
  readonly data: Json
  readonly id?: number
}

function framed(event: HostEvent): Framed {
  if (event.type === 'entry')
    return { name: 'entry', data: event.entry as unknown as Json, id: event.entry.seq }
  if (event.type === 'delta') return { name: 'delta', data: event.event as unknown as Json }
  if (event.type === 'text') {
    const { type: name, ...data } = event
    return { name, data }
  }
  return { name: 'heartbeat', data: {} }
}

function errorFrame(form: StreamForm, { status, code, detail }: Problem): string {
  const data = JSON.stringify({ status, code, detail })
  return form === 'sse'
    ? `event: error\ndata: ${data}\n\n`
    : `${JSON.stringify({ event: 'error', data: JSON.parse(data) as Json })}\n`
}
