/** A stream as a response: frames of Server-Sent Events, or lines, read as fast as the client takes them. */
import type { OpenStream } from './open-streams.ts'
import type { Problem } from './problem.ts'

export interface SseOptions {
  /** Left once the stream has ended, or the client has gone. */
  readonly stream: OpenStream
  readonly headers?: Readonly<Record<string, string>>
  /** The last frames of a stream that failed. */
  readonly failed: (problem: Problem) => string
  /** Called when the stream is left. */
  readonly onClose?: () => void
}

export const HEARTBEAT = ': heartbeat\n\n'

const UNBUFFERED = 'x-accel-buffering'

export function sseResponse(
  frames: AsyncGenerator<string, void, undefined>,
  { stream, headers = {}, failed, onClose }: SseOptions,
): Response {
  const encoder = new TextEncoder()
  let isLeft = false
  const leave = (): void => {
    isLeft = true
    stream.leave()
    onClose?.()
  }
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const { done, value } = await frames.next()
        if (isLeft) return
        if (!done) {
          controller.enqueue(encoder.encode(value))
          return
        }
      } catch (error) {
        controller.enqueue(encoder.encode(failed(stream.failed(error))))
      }
      leave()
      controller.close()
    },
    cancel: async () => {
      leave()
      await frames.return()
    },
  })
  return new Response(body, {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', [UNBUFFERED]: 'no', ...headers },
  })
}

/** True for a stream: no other response asks proxies not to buffer it. */
export function isStream({ headers }: Response): boolean {
  return headers.get(UNBUFFERED) === 'no'
}

export function dataFrame(value: unknown): string {
  return `data: ${JSON.stringify(value)}\n\n`
}
