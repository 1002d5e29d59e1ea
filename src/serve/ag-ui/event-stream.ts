/** Events of a run as Server-Sent Events. */
import type { OpenStream } from '../open-streams.ts'
import { dataFrame, HEARTBEAT, sseResponse } from '../sse-response.ts'
import type { AgUiEvent } from './wire.ts'

/** Null: nothing has happened for a while. */
export type StreamItem = AgUiEvent | null

const LAST: ReadonlySet<string> = new Set(['RUN_FINISHED', 'RUN_ERROR'])

interface EventStreamOptions {
  readonly stream: OpenStream
  /** Called with true if the last event of the run was given. */
  readonly onClose: (isFinished: boolean) => void
}

/** A failure is an event, too. */
export function eventStream(
  events: AsyncGenerator<StreamItem, void, undefined>,
  { stream, onClose }: EventStreamOptions,
): Response {
  let isFinished = false
  const frameOf = (event: StreamItem): string => {
    if (event === null) return HEARTBEAT
    isFinished ||= LAST.has(event.type)
    return dataFrame(event)
  }
  async function* frames(): AsyncGenerator<string, void, undefined> {
    for await (const event of events) yield frameOf(event)
  }
  return sseResponse(frames(), {
    stream,
    failed: ({ code, detail }) => frameOf({ type: 'RUN_ERROR', code, message: detail }),
    onClose: () => onClose(isFinished),
  })
}
