/** Finds, among the entries of a conversation, those that a turn subscription is about. It drives nothing. */

import { originOf } from '../loop/index.ts'
import type { EntryEvent, RequestData, TurnEvent } from '../protocol/index.ts'
import { problemOf } from './refusal.ts'
import type { Turn } from './turn.ts'

export interface TurnSubscriptionOptions {
  readonly turn: Turn
  /** Inbox keys of what began it. */
  readonly keys?: readonly string[]
}

export class TurnSubscription {
  readonly turn: Turn
  readonly #keys: ReadonlySet<string>
  readonly #positions = new Set<number>()
  #isStored = false
  #expected: number | undefined
  #number: number | undefined
  #heard: ((number: number) => void) | undefined

  constructor({ turn, keys = [] }: TurnSubscriptionOptions) {
    this.turn = turn
    this.#keys = new Set(keys)
  }

  /** The turn that it is about, once there is one. */
  get number(): number | undefined {
    return this.#number
  }

  /** Is what began it in the journal, or is it about a turn that is? */
  get isStored(): boolean {
    return this.#isStored || this.#positions.size > 0 || this.#number !== undefined
  }

  /** The store has it; its entries may not have been told yet. */
  markStored(): void {
    this.#isStored = true
  }

  /**
   * Ends the subscription as failed, or as cancelled if the turn never began because of that. With nothing stored, the caller
   * is told that it was refused; otherwise the outcome says `stored`, because a driver may play it later (P5).
   */
  refuse(error: unknown): void {
    const { code, message } = problemOf(error)
    // The message under a reused key is another caller's.
    const isStored = this.isStored && code !== 'key-reused'
    // What was erased or pruned is not played again.
    const isKept = isStored && code !== 'erased' && code !== 'pruned'
    if (!isStored) this.turn.push({ type: 'turn.refused', turn: 0, data: { code, message } })
    this.turn.end(code === 'cancelled' ? 'cancelled' : 'failed', {
      error: { code, message, ...(isKept ? { stored: true } : {}) },
      cause: originOf(error),
    })
  }

  /** What began it was in the inbox before: it may have been taken meanwhile. */
  recognise(event: EntryEvent, since: readonly EntryEvent[]): void {
    if (event.seq === undefined || this.#positions.has(event.seq)) return
    this.#positions.add(event.seq)
    this.turn.push(event)
    for (const one of since) if (this.#number === undefined) this.#match(one, since)
  }

  /** It begins with nothing that could be recognised: it is the turn of this number. */
  expect(number: number): void {
    this.#expected = number
  }

  /** Does it begin with nothing that could be recognised? */
  get isExpecting(): boolean {
    return this.#expected !== undefined
  }

  /** Called when it is known which turn it is about. */
  whenKnown(heard: (number: number) => void): void {
    this.#heard = heard
  }

  /** From now on it is about this turn. `asked`: what waits for an answer after it, if it has ended. */
  follow(number: number, since: readonly EntryEvent[], asked?: readonly RequestData[]): void {
    if (this.#number === number) return
    this.#number = number
    for (const event of since) {
      if (!OPENING.has(event.type) && event.turn !== number) continue
      this.turn.push(event)
      if (event.type === 'turn.end')
        this.turn.end(event.data.outcome, asked === undefined ? {} : { requests: asked })
    }
    this.#heard?.(number)
  }

  /**
   * One more entry of the conversation. `since`: all of them since the last turn ended, this one included. `asked`: what
   * waits for an answer after it.
   */
  see(event: EntryEvent, since: readonly EntryEvent[], asked: ReadonlyMap<string, RequestData>): void {
    if (event.key !== undefined && this.#keys.has(event.key)) {
      if (event.seq !== undefined) this.#positions.add(event.seq)
      this.turn.push(event)
    } else if (this.#number === undefined) this.#match(event, since)
    else if (event.turn === this.#number || event.turn === 0) this.turn.push(event)
    if (event.type === 'turn.end' && event.turn === this.#number)
      this.turn.end(event.data.outcome, { requests: [...asked.values()] })
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
    // What steers a turn is told from there on; what begins one, from the claim that was made for it.
    const own = since.findIndex(({ key }) => key !== undefined && this.#keys.has(key))
    this.follow(event.turn, event.type === 'take' ? [event] : since.slice(own + 1))
  }
}

/** What is said of the conversation when a turn begins, before it does. */
const OPENING: ReadonlySet<string> = new Set(['claim', 'tool.late'])
