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
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
}

/** Waits for the first value, so that a failure before it is thrown here and not streamed. */
export async function sseResponse(
  values: AsyncGenerator<unknown, void, undefined>,
  { heartbeatMs, onError }: SseOptions,
): Promise<Response> {
  const encoder = new TextEncoder()
  const first = await values.next()
  let next: Promise<IteratorResult<unknown, void>> = Promise.resolve(first)
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const result = await orSilence(next, heartbeatMs)
        if (result === 'silence') return controller.enqueue(encoder.encode(': heartbeat\n\n'))
        if (result.done) return controller.close()
        controller.enqueue(encoder.encode(frame(result.value)))
        next = values.next()
        // Awaited by the next pull; a failure before it is no unhandled one.
        next.catch(() => {})
      } catch (error) {
        controller.enqueue(encoder.encode(`event: error\n${frame(onError(error))}`))
        controller.close()
      }
    },
    cancel: async () => {
      await values.return()
    },
  })
  return new Response(body, { headers: HEADERS })
}

function frame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}

async function orSilence<T>(next: Promise<T>, ms: number): Promise<T | 'silence'> {
  const { promise, resolve } = Promise.withResolvers<'silence'>()
  const stop = systemTimer.after(ms, () => resolve('silence'))
  try {
    return await Promise.race([next, promise])
  } finally {
    stop()
  }
}
