/** Events of a run as Server-Sent Events, made as fast as the reader takes them. */
import type { AgUiEvent } from './wire.ts'

/** Null: nothing has happened for a while. */
export type StreamItem = AgUiEvent | null

const LAST: ReadonlySet<string> = new Set(['RUN_FINISHED', 'RUN_ERROR'])

/** `onClose`: called once, with true if the last event of the run was given. */
export function eventStream(
  events: AsyncGenerator<StreamItem, void, undefined>,
  onClose: (isFinished: boolean) => void,
): Response {
  const encoder = new TextEncoder()
  let isFinished = false
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      const { done, value } = await events.next()
      if (done) {
        onClose(isFinished)
        controller.close()
        return
      }
      isFinished ||= value !== null && LAST.has(value.type)
      const frame = value === null ? ': heartbeat\n\n' : `data: ${JSON.stringify(value)}\n\n`
      controller.enqueue(encoder.encode(frame))
    },
    cancel: async () => {
      onClose(isFinished)
      await events.return()
    },
  })
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    },
  })
}
