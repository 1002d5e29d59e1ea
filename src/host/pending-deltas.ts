/** Deltas that a reader has not taken yet: one reply, and a bounded number of others. */
import { type DeltaData, type DeltaEvent, defined, type Entry } from '../protocol/index.ts'
import {
  ENDS_REPLY,
  emptyReply,
  isReplyDelta,
  type LiveDelta,
  type LiveReply,
  withDelta,
} from './live-turns.ts'

/** A `text` is all that the reply has so far, and not a continuation. */
export type TakenDelta =
  | {
      readonly type: 'text'
      readonly turn: number
      readonly text: string
      readonly reasoning?: string
      readonly calls?: readonly DeltaData['call.delta'][]
    }
  | { readonly type: 'delta'; readonly event: DeltaEvent }

const MOST = 64

export class PendingDeltas {
  #reply: (LiveReply & { readonly isWhole: boolean }) | undefined
  #others: LiveDelta[] = []

  /** `reply`: the one under way when the reader comes. */
  constructor(reply: LiveReply | undefined) {
    if (reply !== undefined) this.#reply = { ...reply, isWhole: true }
  }

  add(delta: LiveDelta): void {
    const { after, event } = delta
    if (isReplyDelta(event)) {
      const known = this.#reply?.after === after ? this.#reply : undefined
      const { isWhole = false } = known ?? {}
      this.#reply = { ...withDelta(known ?? emptyReply(event.turn, after), event), isWhole }
    } else {
      this.#others.push(delta)
      if (this.#others.length > MOST) this.#others.shift()
    }
  }

  /** An entry was passed on: the reply that it completes is not pending any more. */
  passed({ type, seq }: Entry): void {
    if (this.#reply !== undefined && ENDS_REPLY.has(type) && this.#reply.after < seq) this.#reply = undefined
  }

  /** True if a delta can be taken by a reader that has the entries up to `last`. */
  isReady(last: number): boolean {
    return (
      (this.#reply !== undefined && this.#reply.after <= last) ||
      this.#others.some(({ after }) => after <= last)
    )
  }

  take(last: number): TakenDelta[] {
    const taken: TakenDelta[] = []
    const reply = this.#reply
    if (reply !== undefined && reply.after <= last) {
      taken.push(...(reply.isWhole ? [wholeOf(reply)] : deltasOf(reply)))
      this.#reply = undefined
    }
    const ready = this.#others.filter(({ after }) => after <= last)
    this.#others = this.#others.filter(({ after }) => after > last)
    return [...taken, ...ready.map(({ event }): TakenDelta => ({ type: 'delta', event }))]
  }
}

function wholeOf({ turn, text, reasoning, calls }: LiveReply): TakenDelta {
  return {
    type: 'text',
    turn,
    text,
    ...defined({
      reasoning: reasoning === '' ? undefined : reasoning,
      calls: calls.length === 0 ? undefined : calls,
    }),
  }
}

function deltasOf({ turn, text, reasoning, calls }: LiveReply): TakenDelta[] {
  const events: DeltaEvent[] = []
  if (reasoning !== '') events.push({ type: 'reasoning.delta', turn, data: { text: reasoning } })
  if (text !== '') events.push({ type: 'text.delta', turn, data: { text } })
  for (const data of calls) events.push({ type: 'call.delta', turn, data })
  return events.map((event) => ({ type: 'delta', event }))
}
