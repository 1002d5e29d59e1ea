/** A stream of JSON values as Server-Sent Events, read as fast as the client takes them. */
import { systemTimer } from '../../base/index.ts'

export interface SseOptions {
  /** A silent stream gets a comment after so long, which keeps the connection open. */
  readonly heartbeatMs: number
  /** The last event of a stream that fails. */
  readonly onError: (error: unknown) => unknown
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'x-accel-buffering': 'no',
}

/** Waits for the first value, so that a failure before it is thrown here and not streamed. */
export async function sseResponse(
  values: AsyncGenerator<unknown, void, undefined>,
  { heartbeatMs, onError }: SseOptions,
): Promise<Response> {
  const encoder = new TextEncoder()
  let first: IteratorResult<unknown, void> | undefined = await values.next()
  let isSilent = false
  let stop = (): void => {}
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const beat = (): void => {
        // A client that does not read needs no heartbeat.
        if (isSilent && (controller.desiredSize ?? 0) > 0)
          controller.enqueue(encoder.encode(': heartbeat\n\n'))
        isSilent = true
        stop = systemTimer.after(heartbeatMs / 2, beat)
      }
      beat()
    },
    pull: async (controller) => {
      try {
        const { done, value } = first ?? (await values.next())
        first = undefined
        isSilent = false
        if (!done) return controller.enqueue(encoder.encode(frame(value)))
      } catch (error) {
        controller.enqueue(encoder.encode(`event: error\n${frame(onError(error))}`))
      }
      stop()
      controller.close()
    },
    cancel: async () => {
      stop()
      await values.return()
    },
  })
  return new Response(body, { headers: HEADERS })
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
