/** Selects the entries of a conversation that belong to one turn. It must not drive. */

import { originOf } from '../loop/index.ts'
import { type EntryEvent, HoldfastError, type RequestData, type TurnEvent } from '../protocol/index.ts'
import { problemOf, unknownOutcomeMessage } from './refusal.ts'
import type { Turn } from './turn.ts'

export interface TurnSubscriptionOptions {
  readonly turn: Turn
  /** Inbox keys of the posts that request the turn. */
  readonly keys?: readonly string[]
}

export class TurnSubscription {
  readonly turn: Turn
  readonly #keys: ReadonlySet<string>
  readonly #positions = new Set<number>()
  #isStored = false
  /** True while the store decides on a write of the posts. */
  #isWriting = false
  /** The refusal that came meanwhile. */
  #refusal: { readonly error: unknown } | undefined
  #expected: number | undefined
  #number: number | undefined
  #onKnown: ((number: number) => void) | undefined

  constructor({ turn, keys = [] }: TurnSubscriptionOptions) {
    this.turn = turn
    this.#keys = new Set(keys)
  }

  /** The number of the turn, once it is known. */
  get number(): number | undefined {
    return this.#number
  }

  /** True if the posts, or a turn that took them, are in the journal. */
  get isStored(): boolean {
    return this.#isStored || this.#positions.size > 0 || this.#number !== undefined
  }

  /** A write of the posts begins. Until it is decided, a refusal could not say whether they are stored (P5). */
  startWrite(): void {
    this.#isWriting = true
  }

  /** The posts are stored; their entries may not have been published yet. */
  markStored(): void {
    this.#isStored = true
    this.#endWrite()
  }

  /** The write was refused, or its outcome is unknown, and the caller of this method reports why. */
  markUnwritten(error: unknown): void {
    // The refusal that came meanwhile cannot say what an unknown outcome says.
    if (this.#refusal !== undefined && HoldfastError.is(error, 'ambiguous')) this.#refusal = { error }
    this.#endWrite()
  }

  #endWrite(): void {
    this.#isWriting = false
    if (this.#refusal !== undefined) this.refuse(this.#refusal.error)
  }

  /**
   * Ends the subscription as failed, or as cancelled if a cancel came before the turn; during a write of the posts, as
   * soon as that is decided. With nothing stored, the caller is refused; otherwise the outcome says `stored`, because a
   * driver may run the turn later (P5).
   */
  refuse(error: unknown): void {
    if (this.#isWriting) {
      this.#refusal ??= { error }
      return
    }
    const { code, message: text } = problemOf(error)
    // The message under a reused key is another caller's.
    const isStored = this.isStored && code !== 'key-reused'
    const isPosted = this.#keys.size > 0
    const message = code === 'ambiguous' && !isStored ? unknownOutcomeMessage(text, { isPosted }) : text
    // An erased or pruned message is not run again.
    const isKept = isStored && code !== 'erased' && code !== 'pruned'
    if (!isStored) this.turn.push({ type: 'turn.refused', turn: 0, data: { code, message } })
    this.turn.end(code === 'cancelled' ? 'cancelled' : 'failed', {
      error: { code, message, ...(isKept ? { stored: true } : {}) },
      cause: originOf(error),
    })
  }

  /** Matches an entry that was in the inbox before: a turn of `since` may have taken it. */
  recognise(event: EntryEvent, since: readonly EntryEvent[]): void {
    if (event.seq === undefined || this.#positions.has(event.seq)) return
    this.#positions.add(event.seq)
    this.turn.push(event)
    for (const one of since) if (this.#number === undefined) this.#match(one, since)
  }

  /** Expects the turn of this number: a request to continue has no key to match. */
  expect(number: number): void {
    this.#expected = number
  }

  /** True for a request to continue. */
  get isExpecting(): boolean {
    return this.#expected !== undefined
  }

  /** Called when the turn's number is known, unless the turn has ended then. */
  whenKnown(onKnown: (number: number) => void): void {
    this.#onKnown = onKnown
  }

  /** Follows this turn. `requests`: the open requests after it, if it has ended. */
  follow(number: number, since: readonly EntryEvent[], requests?: readonly RequestData[]): void {
    if (this.#number === number) return
    this.#number = number
    for (const event of since) {
      if (!BEFORE_TURN.has(event.type) && event.turn !== number) continue
      this.turn.push(event)
      if (event.type === 'turn.end')
        this.turn.end(event.data.outcome, requests === undefined ? {} : { requests })
    }
    if (!this.turn.isEnded) this.#onKnown?.(number)
  }

  /**
   * Receives the next entry of the conversation. `since`: all entries since the last turn ended, this one included.
   * `requests`: the open requests after it.
   */
  receive(event: EntryEvent, since: readonly EntryEvent[], requests: ReadonlyMap<string, RequestData>): void {
    if (event.key !== undefined && this.#keys.has(event.key)) {
      if (event.seq !== undefined) this.#positions.add(event.seq)
      this.turn.push(event)
    } else if (this.#number === undefined) this.#match(event, since)
    else if (event.turn === this.#number || event.turn === 0) this.turn.push(event)
    if (event.type === 'turn.end' && event.turn === this.#number)
      this.turn.end(event.data.outcome, { requests: [...requests.values()] })
  }

  delta(event: TurnEvent): void {
    if (event.turn === this.#number) this.turn.push(event)
  }

  #match(event: EntryEvent, since: readonly EntryEvent[]): void {
    const isTaken = event.takes?.some((position) => this.#positions.has(position)) ?? false
    if (!isTaken && !(event.type === 'turn.start' && event.turn === this.#expected)) return
    if (event.type === 'take' && event.data.as === 'nothing') {
      this.turn.push(event)
      this.turn.end('failed', { error: { code: 'not-taken', message: event.data.reason ?? '' } })
      return
    }
    // A steered turn is published from there on; a new one, from the claim that was made for it.
    const own = since.findIndex(({ key }) => key !== undefined && this.#keys.has(key))
    this.follow(event.turn, event.type === 'take' ? [event] : since.slice(own + 1))
  }
}

/** Entries of the conversation that belong to the turn that begins after them. */
const BEFORE_TURN: ReadonlySet<string> = new Set(['claim', 'tool.late'])
