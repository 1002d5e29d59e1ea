/** One UI message as a stream: of a turn that a request began, or of one that runs already. */
import type { Host, HostEvent } from '../../host/index.ts'
import type { ContextKey, EntryOf } from '../../protocol/index.ts'
import type { MountCall } from '../mount.ts'
import type { OpenStream } from '../open-streams.ts'
import type { Problem } from '../problem.ts'
import { dataFrame, HEARTBEAT, sseResponse } from '../sse-response.ts'
import { exchangeStart, type TurnRef, turnEvents } from '../turn-events.ts'
import type { UiChunk } from './chunks.ts'
import { MessageChunks } from './message-chunks.ts'

/** The header that names the version of the stream. */
export const UI_STREAM = 'x-vercel-ai-ui-message-stream'

export interface FollowedTurn {
  readonly ref: TurnRef
  /** The position of its first known entry. */
  readonly seq: number
  /**
   * `new`: a message begins with this turn. `continued`: the client has the message so far, and this turn goes on with it.
   * `replayed`: the client gets the message from its beginning.
   */
  readonly message: 'new' | 'continued' | 'replayed'
}

export interface MessageReader {
  readonly call: MountCall
  readonly key: ContextKey
  readonly stream: OpenStream
}

export function messageStream({ call, key, stream }: MessageReader, followed: FollowedTurn): Response {
  const events = (): AsyncGenerator<HostEvent> =>
    turnEvents(call.host, key, {
      ref: followed.ref,
      since: followed.seq - 1,
      heartbeatMs: call.heartbeatMs,
      signal: stream.signal,
    })
  return sseResponse(frames(messageChunks({ host: call.host, key, followed, events })), {
    stream,
    headers: { [UI_STREAM]: 'v1' },
    failed: ({ detail }: Problem) => dataFrame({ type: 'error', errorText: detail }) + DONE,
  })
}

const DONE = 'data: [DONE]\n\n'

async function* frames(
  chunks: AsyncGenerator<UiChunk | 'heartbeat'>,
): AsyncGenerator<string, void, undefined> {
  for await (const chunk of chunks) yield chunk === 'heartbeat' ? HEARTBEAT : dataFrame(chunk)
  yield DONE
}

interface MessageSource {
  readonly host: Host
  readonly key: ContextKey
  readonly followed: FollowedTurn
  readonly events: () => AsyncGenerator<HostEvent>
}

async function* messageChunks(source: MessageSource): AsyncGenerator<UiChunk | 'heartbeat'> {
  const message = new MessageChunks()
  const { messageId, chunks } = await earlierChunks(source, message)
  let isStarted = messageId !== undefined
  if (messageId !== undefined) yield { type: 'start', messageId }
  yield* chunks
  for await (const event of source.events()) {
    if (event.type === 'heartbeat') {
      yield 'heartbeat'
      continue
    }
    if (!isStarted && event.type === 'entry') {
      const { type, turn, seq } = event.entry
      // A message that is taken by a running turn is a message of its own.
      yield { type: 'start', messageId: type === 'turn.start' ? `msg_${turn}` : `msg_${turn}_${seq}` }
      isStarted = true
    }
    if (event.type === 'entry' && event.entry.type === 'turn.end') {
      yield* message.end(event.entry as EntryOf<'turn.end'>)
      return
    }
    yield* message.next(event)
  }
  yield { type: 'error', errorText: 'The stream has ended before the turn. Resume it.' }
}

/** The part of the message before the turn: its chunks if it is replayed, and none if the client has it. */
async function earlierChunks(
  { host, key, followed: { seq, message: kind } }: MessageSource,
  message: MessageChunks,
): Promise<{ readonly messageId?: string; readonly chunks: readonly UiChunk[] }> {
  const start = kind === 'new' ? undefined : await exchangeStart(host, key, seq)
  if (start === undefined) return { chunks: [] }
  const chunks: UiChunk[] = []
  for (let from = start.seq; from < seq; ) {
    const page = await host.reads.entries(key, { from, to: seq - 1, limit: PAGE })
    if (page.length === 0) break
    for (const entry of page) chunks.push(...message.next({ type: 'entry', entry }))
    from = (page.at(-1)?.seq ?? seq) + 1
  }
  return { messageId: `msg_${start.turn}`, chunks: kind === 'replayed' ? chunks : [] }
}

const PAGE = 500
