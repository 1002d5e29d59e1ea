/** A response of Server-Sent Events from frames, read as fast as the client takes them. */
import { type Problem, problemOf } from './problem.ts'

export interface SseOptions {
  readonly headers?: Readonly<Record<string, string>>
  /** The last frames of a stream that failed. */
  readonly failed: (problem: Problem) => string
  /** Called once the stream has ended, or the client has left. */
  readonly onClose: () => void
}

export const HEARTBEAT = ': heartbeat\n\n'

export function sseResponse(
  frames: AsyncGenerator<string, void, undefined>,
  { headers = {}, failed, onClose }: SseOptions,
): Response {
  const encoder = new TextEncoder()
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await frames.next()
        if (!done) {
          controller.enqueue(encoder.encode(value))
          return
        }
      } catch (error) {
        controller.enqueue(encoder.encode(failed(problemOf(error))))
      }
      onClose()
      controller.close()
    },
    cancel: async () => {
      onClose()
      await frames.return()
    },
  })
  return new Response(body, {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'x-accel-buffering': 'no',
      ...headers,
    },
  })
}

export function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
