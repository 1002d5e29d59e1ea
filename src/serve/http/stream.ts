/** Events of a conversation as Server-Sent Events or as lines of JSON. An entry has its position as id. */
import type { HostEvent } from '../../host/index.ts'
import type { Json } from '../../protocol/index.ts'
import { type Problem, problemOf } from '../problem.ts'

export type StreamForm = 'sse' | 'ndjson'

export interface StreamOptions {
  readonly form: StreamForm
  /** Aborts when the reader has left. */
  readonly onClose: () => void
}

const TYPES = { sse: 'text/event-stream; charset=utf-8', ndjson: 'application/x-ndjson; charset=utf-8' }

const UNBUFFERED = 'x-accel-buffering'

/** Reads events as fast as the reader takes them. A failure is an `error` frame, then the end. */
export function streamResponse(
  events: AsyncGenerator<HostEvent, void, undefined>,
  { form, onClose }: StreamOptions,
): Response {
  const encoder = new TextEncoder()
  const frame = form === 'sse' ? sseFrame : ndjsonFrame
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await events.next()
        if (!done) {
          controller.enqueue(encoder.encode(frame(value)))
          return
        }
      } catch (error) {
        controller.enqueue(encoder.encode(errorFrame(form, problemOf(error))))
      }
      onClose()
      controller.close()
    },
    cancel: async () => {
      onClose()
      await events.return()
    },
  })
  return new Response(body, {
    headers: { 'content-type': TYPES[form], [UNBUFFERED]: 'no' },
  })
}

/** True for a response of `streamResponse`: no other asks proxies not to buffer it. */
export function isStream({ headers }: Response): boolean {
  return headers.get(UNBUFFERED) === 'no'
}

/** `since` of the next request of a reader is the `id` of the last frame that had one. */
function sseFrame(event: HostEvent): string {
  if (event.type === 'heartbeat') return ': heartbeat\n\n'
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
