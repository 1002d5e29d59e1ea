/**
 * Deltas of the turns that run in this process, by conversation: the reply so far of the model call under way, and its
 * changes. Nothing here is stored; a reader that misses it loses no entry (R18). Several callers may follow one turn,
 * such as a message that was sent again: its events are received once.
 */
import {
  type ContextKey,
  type DeltaData,
  type DeltaEvent,
  type DeltaEventOf,
  isDelta,
  keyText,
  type TurnEvent,
} from '../protocol/index.ts'

/** The reply of the model call under way. */
export interface LiveReply {
  readonly turn: number
  /** The position of the last entry before the reply. */
  readonly after: number
  readonly text: string
  readonly reasoning: string
  /** Calls that the model writes, each with its arguments so far. */
  readonly calls: readonly DeltaData['call.delta'][]
}

export function emptyReply(turn: number, after: number): LiveReply {
  return { turn, after, text: '', reasoning: '', calls: [] }
}

export type ReplyDelta =
  | DeltaEventOf<'text.delta'>
  | DeltaEventOf<'reasoning.delta'>
  | DeltaEventOf<'call.delta'>

const REPLY_DELTAS: ReadonlySet<string> = new Set<ReplyDelta['type']>([
  'text.delta',
  'reasoning.delta',
  'call.delta',
])

/** A part of a reply of the conversation itself, not of a sub-agent. */
export function isReplyDelta(event: DeltaEvent): event is ReplyDelta {
  return REPLY_DELTAS.has(event.type) && event.path === undefined
}

/** `live` with the delta at its end. */
export function withDelta(live: LiveReply, { type, data }: ReplyDelta): LiveReply {
  if (type === 'text.delta') return { ...live, text: live.text + data.text }
  if (type === 'reasoning.delta') return { ...live, reasoning: live.reasoning + data.text }
  const at = live.calls.findIndex(({ callId }) => callId === data.callId)
  const known = live.calls[at]
  const calls =
    known === undefined
      ? [...live.calls, data]
      : live.calls.with(at, { ...known, text: known.text + data.text })
  return { ...live, calls }
}

/** A delta, and the last entry that came before it; of a part of a reply, the last one before the reply. */
export interface LiveDelta {
  readonly after: number
  readonly event: DeltaEvent
}

/** Entries that the reply of a model call is complete with, or begins after. */
export const ENDS_REPLY: ReadonlySet<string> = new Set(['model.start', 'model.end', 'turn.end'])

type Listener = (delta: LiveDelta) => void

interface Live {
  readonly listeners: Set<Listener>
  /** Of each turn, the one follower whose events are received. */
  readonly followers: Map<number, object>
  turns: number
  after: number
  reply: LiveReply | undefined
}

export class LiveTurns {
  readonly #live = new Map<string, Live>()

  /** Reads a turn to its end. */
  async follow(key: ContextKey, turn: AsyncIterable<TurnEvent>): Promise<void> {
    const live = this.#of(key)
    live.turns += 1
    const followed = new Set<number>()
    try {
      for await (const event of turn) {
        // Only its caller is told of a refusal.
        if (event.type === 'turn.refused') continue
        const follower = live.followers.get(event.turn)
        if (follower === undefined && event.turn > 0) live.followers.set(event.turn, followed.add(event.turn))
        if (follower === undefined || follower === followed) receive(live, event)
      }
    } finally {
      for (const number of followed) live.followers.delete(number)
      live.turns -= 1
      if (followed.size > 0) live.reply = undefined
      this.#drop(key, live)
    }
  }

  /** Calls `listener` with each delta until the returned function is called. */
  listen(key: ContextKey, listener: Listener): () => void {
    const live = this.#of(key)
    live.listeners.add(listener)
    return () => {
      live.listeners.delete(listener)
      this.#drop(key, live)
    }
  }

  replyOf(key: ContextKey): LiveReply | undefined {
    return this.#live.get(keyText(key))?.reply
  }

  #of(key: ContextKey): Live {
    const known = this.#live.get(keyText(key))
    if (known !== undefined) return known
    const live: Live = { listeners: new Set(), followers: new Map(), turns: 0, after: 0, reply: undefined }
    this.#live.set(keyText(key), live)
    return live
  }

  #drop(key: ContextKey, live: Live): void {
    if (live.turns === 0 && live.listeners.size === 0) this.#live.delete(keyText(key))
  }
}

function receive(live: Live, event: TurnEvent): void {
  if (isDelta(event)) {
    if (isReplyDelta(event)) live.reply = withDelta(live.reply ?? emptyReply(event.turn, live.after), event)
    // A message that comes in the middle of a reply does not divide it.
    const { after } = (isReplyDelta(event) ? live.reply : undefined) ?? live
    for (const listener of live.listeners) listener({ after, event })
    return
  }
  if (event.path !== undefined || event.seq === undefined) return
  live.after = Math.max(live.after, event.seq)
  if (ENDS_REPLY.has(event.type)) live.reply = undefined
}
