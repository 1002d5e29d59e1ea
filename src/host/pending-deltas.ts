/** Deltas that a reader has not taken yet: one text with its reasoning, and a bounded number of others. */
import { type DeltaEvent, defined, type Entry } from '../protocol/index.ts'
import { ENDS_TEXT, isTextDelta, type LiveDelta, type LiveText, withDelta } from './live-turns.ts'

/** A text is `whole` if it is all that the reply has so far, and not a continuation. */
export type TakenDelta =
  | { readonly type: 'text'; readonly turn: number; readonly text: string; readonly reasoning?: string }
  | { readonly type: 'delta'; readonly event: DeltaEvent }

const MOST = 64

export class PendingDeltas {
  #text: (LiveText & { readonly isWhole: boolean }) | undefined
  #others: LiveDelta[] = []

  /** `text`: the reply under way when the reader comes. */
  constructor(text: LiveText | undefined) {
    if (text !== undefined) this.#text = { ...text, isWhole: true }
  }

  add(delta: LiveDelta): void {
    const { after, event } = delta
    if (isTextDelta(event)) {
      const known = this.#text?.after === after ? this.#text : undefined
      const { isWhole = false } = known ?? {}
      const live = known ?? { turn: event.turn, after, text: '', reasoning: '' }
      this.#text = { ...withDelta(live, event), isWhole }
    } else {
      this.#others.push(delta)
      if (this.#others.length > MOST) this.#others.shift()
    }
  }

  /** An entry was passed on: the text that it completes is not pending any more. */
  passed({ type, seq }: Entry): void {
    if (this.#text !== undefined && ENDS_TEXT.has(type) && this.#text.after < seq) this.#text = undefined
  }

  /** True if a delta can be taken by a reader that has the entries up to `last`. */
  isReady(last: number): boolean {
    return (
      (this.#text !== undefined && this.#text.after <= last) ||
      this.#others.some(({ after }) => after <= last)
    )
  }

  take(last: number): TakenDelta[] {
    const taken: TakenDelta[] = []
    const text = this.#text
    if (text !== undefined && text.after <= last) {
      taken.push(...(text.isWhole ? [wholeOf(text)] : deltasOf(text)))
      this.#text = undefined
    }
    const ready = this.#others.filter(({ after }) => after <= last)
    this.#others = this.#others.filter(({ after }) => after > last)
    return [...taken, ...ready.map(({ event }): TakenDelta => ({ type: 'delta', event }))]
  }
}

function wholeOf({ turn, text, reasoning }: LiveText): TakenDelta {
  return { type: 'text', turn, text, ...defined({ reasoning: reasoning === '' ? undefined : reasoning }) }
}

function deltasOf({ turn, text, reasoning }: LiveText): TakenDelta[] {
  const events: DeltaEvent[] = [
    { type: 'reasoning.delta', turn, data: { text: reasoning } },
    { type: 'text.delta', turn, data: { text } },
  ]
  return events.flatMap((event) =>
    isTextDelta(event) && event.data.text !== '' ? [{ type: 'delta', event }] : [],
  )
}
