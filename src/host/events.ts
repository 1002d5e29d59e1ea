/**
 * The events of a conversation from any position: entries as the journal has them, whichever process wrote them, and the
 * deltas of turns that run here.
 *
 * E1  Every entry after `since` comes exactly once, in order. The position of the last one is where to go on.
 * E2  A delta comes after the entries before it, or before its reply, and no part of a reply after the entry that completes it.
 * E3  A slow reader costs one pending reply and a bounded number of other deltas: those of a reply are joined, and entries are read
 *     from the journal when the reader wants them.
 * E4  A stream ends without an error only if its signal aborts or the store closes. It ends with `erased` if the conversation is
 *     erased, also if that is why `since` names no entry of it, and with `invalid-option` if `since` is beyond its end.
 */
import type { Timer } from '../base/index.ts'
import {
  type ContextKey,
  checkOptions,
  type Entry,
  HoldfastError,
  invalidOption,
  type OptionSet,
  quote,
} from '../protocol/index.ts'
import { type Head, isOfErased, type Store } from '../store/index.ts'
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

const EVENTS: OptionSet<EventsOptions> = {
  place: 'host.events()',
  options: { since: { least: 0 }, signal: 'an AbortSignal', heartbeatMs: { leastMs: 1 } },
}

/** Throws `invalid-option`. */
function checkEvents(options: EventsOptions): void {
  checkOptions(options, EVENTS)
  const { since = 0 } = options
  if (!Number.isSafeInteger(since))
    throw invalidOption('since', `must be a whole number, the position of an entry, not ${since}`)
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
  checkEvents(options)
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

/** Throws if `since` is no position that a reader of this conversation can have (E4). */
export async function checkSince(store: Store, key: ContextKey, since = 0): Promise<void> {
  if (since === 0) return
  const head = await store.head(key)
  if (isErased(head, since)) throw erasedError(key)
  const end = head?.seq ?? 0
  if (since > end) throw beyondEnd(key, since, end)
}

/** True if the conversation of a reader at this position was erased, and perhaps begun anew. */
function isErased(head: Head | undefined, at: number): boolean {
  return head !== undefined && (head.status === 'erased' || isOfErased(head, at))
}

function erasedError({ contextId }: ContextKey): HoldfastError {
  return new HoldfastError('erased', {
    message: `The conversation ${quote(contextId)} that this stream reads was erased. If one has begun anew under its id, read it from the start: since 0.`,
    details: { contextId },
  })
}

function beyondEnd({ contextId }: ContextKey, since: number, end: number): HoldfastError {
  return new HoldfastError('invalid-option', {
    message: `since is ${since}, but the conversation ${quote(contextId)} ends at ${end}. Pass the position of the last entry that you have, or 0.`,
    details: { contextId, since, end },
  })
}

/** One reason for all: an abort without one makes an error with a stack. */
const CLOSED = new Error('The reader has left.')

class Reader {
  readonly #key: ContextKey
  readonly #store: Store
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
    this.#key = key
    this.#store = store
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
    // Beside the reading: a stream is no later for it.
    checkSince(store, key, since).catch((error: unknown) => this.#fail(error))
  }

  /** The next events, at least one; undefined at the end. */
  async next(): Promise<readonly HostEvent[] | undefined> {
    for (;;) {
      const arrived = this.#arrived
      if (arrived !== undefined) return arrived.done ? this.#end() : this.#take(arrived.value)
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

  #take(entry: Entry): readonly HostEvent[] {
    this.#last = entry.seq
    this.#pending.passed(entry)
    void this.#readOn()
    return [{ type: 'entry', entry }]
  }

  /** The entries have ended (E4). */
  async #end(): Promise<undefined> {
    if (this.#ended.aborted) return
    // A store that closes has ended them, and has no head any more.
    const head = await this.#store.head(this.#key).catch(() => undefined)
    if (isErased(head, this.#last)) throw erasedError(this.#key)
  }

  async #readOn(): Promise<void> {
    this.#arrived = undefined
    try {
      this.#arrived = await this.#entries.next()
    } catch (error) {
      this.#fail(error)
    }
    this.#wake?.()
  }

  #fail(error: unknown): void {
    this.#failure ??= { error }
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
