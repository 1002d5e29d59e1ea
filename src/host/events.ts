/**
 * The events of a conversation from any position: entries as the journal has them, whichever process wrote them, and the
 * deltas of turns that run here.
 *
 * E1  Every entry after `since` comes exactly once, in order. The position of the last one is where to go on.
 * E2  A delta comes after the entries before it, and no part of a reply comes after the entry that completes it.
 * E3  A slow reader costs one pending reply and a bounded number of other deltas: those of a reply are joined, and entries are read
 *     from the journal when the reader wants them.
 */
import type { Timer } from '../base/index.ts'
import type { ContextKey, Entry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { LiveTurns } from './live-turns.ts'
import { PendingDeltas, type TakenDelta } from './pending-deltas.ts'

export type HostEvent =
  | { readonly type: 'entry'; readonly entry: Entry }
  /**
   * `text`: the whole text of the reply under way so far, with its reasoning and the arguments of its calls, if any: once, for
   * a reader that comes in the middle. Deltas continue all of them.
   */
  | TakenDelta
  /** Nothing has happened for a while. */
  | { readonly type: 'heartbeat' }

export interface EventsOptions {
  /** The position of the last entry that the reader has. Default: 0, the beginning. */
  readonly since?: number
  /** Ends the stream. */
  readonly signal?: AbortSignal
  /** A stream that is silent for so long gives a heartbeat. Default: never. */
  readonly heartbeatMs?: number
}

interface Sources {
  readonly store: Store
  readonly live: LiveTurns
  readonly timer: Timer
}

export async function* conversationEvents(
  key: ContextKey,
  sources: Sources,
  options: EventsOptions,
): AsyncGenerator<HostEvent, void, undefined> {
  const reader = new Reader(key, sources, options)
  try {
    for (;;) {
      const events = await reader.next()
      if (events === undefined) return
      yield* events
    }
  } finally {
    reader.close()
  }
}

/** One reason for all: an abort without one makes an error with a stack. */
const CLOSED = new Error('The reader has left.')

class Reader {
  readonly #timer: Timer
  readonly #heartbeatMs: number | undefined
  readonly #stop = new AbortController()
  readonly #ended: AbortSignal
  readonly #entries: AsyncIterator<Entry>
  readonly #pending: PendingDeltas
  readonly #release: () => void
  #arrived: IteratorResult<Entry> | undefined
  #failure: { readonly error: unknown } | undefined
  #last: number
  /** Set while the reader waits. */
  #wake: (() => void) | undefined

  constructor(key: ContextKey, { store, live, timer }: Sources, options: EventsOptions) {
    const { since = 0, signal, heartbeatMs } = options
    this.#timer = timer
    this.#heartbeatMs = heartbeatMs
    this.#ended = signal === undefined ? this.#stop.signal : AbortSignal.any([signal, this.#stop.signal])
    this.#entries = store.watch(key, { since, signal: this.#ended })[Symbol.asyncIterator]()
    // In one tick, so that no delta is lost or doubled between the reply so far and the first delta.
    this.#pending = new PendingDeltas(live.replyOf(key))
    this.#release = live.listen(key, (delta) => {
      this.#pending.add(delta)
      this.#wake?.()
    })
    this.#last = since
    void this.#readOn()
  }

  /** The next events, at least one; undefined at the end. */
  async next(): Promise<readonly HostEvent[] | undefined> {
    for (;;) {
      const arrived = this.#arrived
      if (arrived !== undefined) return this.#take(arrived)
      if (this.#ended.aborted) return undefined
      if (this.#failure !== undefined) throw this.#failure.error
      if (this.#pending.isReady(this.#last)) return this.#pending.take(this.#last)
      if (await this.#isSilent()) return [{ type: 'heartbeat' }]
    }
  }

  close(): void {
    this.#release()
    this.#stop.abort(CLOSED)
    void this.#entries.return?.().catch(() => {})
  }

  #take(arrived: IteratorResult<Entry>): readonly HostEvent[] | undefined {
    if (arrived.done) return undefined
    const entry = arrived.value
    this.#last = entry.seq
    this.#pending.passed(entry)
    void this.#readOn()
    return [{ type: 'entry', entry }]
  }

  async #readOn(): Promise<void> {
    this.#arrived = undefined
    try {
      this.#arrived = await this.#entries.next()
    } catch (error) {
      this.#failure = { error }
    }
    this.#wake?.()
  }

  /** Waits for an entry, a delta, the end or a heartbeat; true if it was the last. */
  async #isSilent(): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<boolean>()
    this.#wake = () => resolve(false)
    const ms = this.#heartbeatMs
    const cancel = ms === undefined ? undefined : this.#timer.after(ms, () => resolve(true))
    try {
      return await promise
    } finally {
      this.#wake = undefined
      cancel?.()
    }
  }
}
