/** Deltas that a reader has not taken yet: one text, and a bounded number of others. */
import type { DeltaEvent, Entry } from '../protocol/index.ts'
import { ENDS_TEXT, type LiveDelta, type LiveText } from './live-turns.ts'

/** A text is `whole` if it is all that the reply has so far, and not a continuation. */
export type TakenDelta =
  | { readonly type: 'text'; readonly turn: number; readonly text: string }
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
    if (event.type !== 'text.delta' || event.path !== undefined) {
      this.#others.push(delta)
      if (this.#others.length > MOST) this.#others.shift()
    } else if (this.#text?.after === after) {
      this.#text = { ...this.#text, text: this.#text.text + event.data.text }
    } else this.#text = { turn: event.turn, after, text: event.data.text, isWhole: false }
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
      taken.push(text.isWhole ? { type: 'text', turn: text.turn, text: text.text } : deltaOf(text))
      this.#text = undefined
    }
    const ready = this.#others.filter(({ after }) => after <= last)
    this.#others = this.#others.filter(({ after }) => after > last)
    return [...taken, ...ready.map(({ event }): TakenDelta => ({ type: 'delta', event }))]
  }
}

function deltaOf({ turn, text }: LiveText): TakenDelta {
  return { type: 'delta', event: { type: 'text.delta', turn, data: { text } } }
}
