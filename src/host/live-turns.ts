/**
 * Deltas of the turns that run in this process, by conversation: text and reasoning so far of the model call under way, and
 * their changes. Nothing here is stored; a reader that misses it loses no entry (R18). Several callers may follow one turn,
 * such as a message that was sent again: its events are received once.
 */
import {
  type ContextKey,
  type DeltaEvent,
  type DeltaEventOf,
  isDelta,
  keyText,
  type TurnEvent,
} from '../protocol/index.ts'

/** The text and the reasoning of the model call under way. */
export interface LiveText {
  readonly turn: number
  /** The position of the last entry before the text. */
  readonly after: number
  readonly text: string
  readonly reasoning: string
}

/** A text or reasoning of the conversation itself, not of a sub-agent. */
export function isTextDelta(
  event: DeltaEvent,
): event is DeltaEventOf<'text.delta'> | DeltaEventOf<'reasoning.delta'> {
  return (event.type === 'text.delta' || event.type === 'reasoning.delta') && event.path === undefined
}

/** `live` with the delta at its end. */
export function withDelta(
  live: LiveText,
  { type, data }: DeltaEventOf<'text.delta'> | DeltaEventOf<'reasoning.delta'>,
): LiveText {
  return type === 'text.delta'
    ? { ...live, text: live.text + data.text }
    : { ...live, reasoning: live.reasoning + data.text }
}

/** A delta, and the last entry that came before it. */
export interface LiveDelta {
  readonly after: number
  readonly event: DeltaEvent
}

/** Entries that a text of a model call is complete with, or begins after. */
export const ENDS_TEXT: ReadonlySet<string> = new Set(['model.start', 'model.end', 'turn.end'])

type Listener = (delta: LiveDelta) => void

interface Live {
  readonly listeners: Set<Listener>
  /** Of each turn, the one follower whose events are received. */
  readonly followers: Map<number, object>
  turns: number
  after: number
  text: LiveText | undefined
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
        const follower = live.followers.get(event.turn)
        if (follower === undefined && event.turn > 0) live.followers.set(event.turn, followed.add(event.turn))
        if (follower === undefined || follower === followed) receive(live, event)
      }
    } finally {
      for (const number of followed) live.followers.delete(number)
      live.turns -= 1
      if (followed.size > 0) live.text = undefined
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

  textOf(key: ContextKey): LiveText | undefined {
    return this.#live.get(keyText(key))?.text
  }

  #of(key: ContextKey): Live {
    const known = this.#live.get(keyText(key))
    if (known !== undefined) return known
    const live: Live = { listeners: new Set(), followers: new Map(), turns: 0, after: 0, text: undefined }
    this.#live.set(keyText(key), live)
    return live
  }

  #drop(key: ContextKey, live: Live): void {
    if (live.turns === 0 && live.listeners.size === 0) this.#live.delete(keyText(key))
  }
}

function receive(live: Live, event: TurnEvent): void {
  if (isDelta(event)) {
    if (isTextDelta(event))
      live.text = withDelta(
        live.text ?? { turn: event.turn, after: live.after, text: '', reasoning: '' },
        event,
      )
    for (const listener of live.listeners) listener({ after: live.after, event })
    return
  }
  if (event.path !== undefined || event.seq === undefined) return
  live.after = Math.max(live.after, event.seq)
  if (ENDS_TEXT.has(event.type)) live.text = undefined
}
