/**
 * What `executeTurn` returns: one turn as seen from outside. It is a stream that any number may read, each at its own
 * pace, and an outcome that always comes. Reading starts nothing and stops nothing.
 */
import {
  addUsage,
  type DeltaEvent,
  type EntryData,
  HoldfastError,
  isDelta,
  isInboxType,
  type JsonObject,
  NO_USAGE,
  type OutcomeReason,
  type RequestData,
  type StopRequest,
  type TurnEvent,
  type Usage,
} from '../protocol/index.ts'
import { giveCause } from './cause.ts'
import { checkReason } from './refusal.ts'

export interface TurnOutcome {
  readonly reason: OutcomeReason
  /** The same in the words of a task: reaching a limit completes it with what was achieved. */
  readonly status: 'completed' | 'input-required' | 'auth-required' | 'failed' | 'cancelled'
  /** 0 if the turn was never begun. */
  readonly turn: number
  /** The last thing that the model said in this turn; what was achieved so far, if it was cut short. */
  readonly text: string
  readonly usage: Usage
  readonly durationMs: number
  readonly error?: TurnError
  /** The limit that stopped it before it was finished, such as `iterations`; absent if none did. */
  readonly limit?: string
  /** The hook that ended the turn with `stop()`, and what it gave as the reason; `executeTurn(null)` goes on. */
  readonly stopped?: StopRequest
  /** The value of that limit. */
  readonly maximum?: number
  /** What user code threw, if it failed because of that in this process. Not enumerable, and not in the journal. */
  readonly cause?: unknown
  /** What has to be answered before it can go on. */
  readonly requests: readonly RequestData[]
}

/**
 * Why a turn failed. `stored: true`: the message is in the journal and is played by whoever drives next; send it again
 * under the same key to wait for its outcome. What else is there depends on the code.
 */
export type TurnError = JsonObject & { readonly code: string; readonly message: string }

export interface Observer {
  readonly next?: (event: TurnEvent) => void
  readonly error?: (error: unknown) => void
  readonly complete?: () => void
}

export interface Subscription {
  unsubscribe(): void
  readonly closed: boolean
}

/** What everybody may do with a turn. */
export class TurnView implements AsyncIterable<TurnEvent> {
  /** Never rejects. */
  readonly outcome: Promise<TurnOutcome>
  readonly #tape: Tape

  /** @param tape where whoever drives or follows the turn writes */
  constructor(tape: Tape) {
    this.#tape = tape
    this.outcome = tape.outcome
  }

  /** The number of the turn; 0 until it begins. */
  get number(): number {
    return this.#tape.number
  }

  get isEnded(): boolean {
    return this.#tape.isEnded
  }

  /** Ends the turn as `cancelled`, whichever process drives it. Resolves when that was asked for. */
  async cancel(reason?: string): Promise<void> {
    checkReason(reason)
    return this.#tape.control.cancel(reason)
  }

  /** For a turn that was started with `manual`: does one thing, and says what comes next. */
  step(): Promise<TurnStep> {
    return this.#tape.control.step()
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<TurnEvent> {
    return this.#tape.read()
  }

  /**
   * Tells each event as it comes; those that have passed come first. A turn that fails completes: see its outcome.
   * `error` hears what `next` and `complete` throw, and what it throws itself is dropped. Without it, what they throw is
   * thrown again where nobody can catch it, as RxJS does: a mistake of the observer must not vanish.
   */
  subscribe(observer: Observer | ((event: TurnEvent) => void)): Subscription {
    const listener = listenerOf(observer)
    const events = this[Symbol.asyncIterator]()
    let closed = false
    const pump = async () => {
      try {
        for await (const event of events) {
          if (closed) return
          listener.next?.(event)
        }
        if (!closed) this.#tape.complete(() => listener.complete?.())
      } catch (error) {
        report(listener, error)
      } finally {
        closed = true
      }
    }
    void pump()
    return {
      unsubscribe: () => {
        closed = true
        void events.return?.()
      },
      get closed() {
        return closed
      },
    }
  }
}

/** The turn as whoever drives or follows it has it in hand; others get to see a `TurnView`. */
export class Turn extends TurnView {
  readonly #tape: Tape

  constructor(control: TurnControl) {
    const tape = new Tape(control)
    super(tape)
    this.#tape = tape
  }

  push(event: TurnEvent): void {
    this.#tape.push(event)
  }

  end(reason: OutcomeReason, more: Partial<TurnOutcome> = {}): void {
    this.#tape.end(reason, more)
  }
}

function listenerOf(observer: unknown): Observer {
  if (typeof observer === 'function') return { next: observer as (event: TurnEvent) => void }
  if (typeof observer === 'object' && observer !== null) return observer
  throw new HoldfastError('invalid-option', {
    message: 'subscribe() takes a function, or an object with next, error and complete.',
  })
}

function report(listener: Observer, error: unknown): void {
  if (listener.error === undefined) {
    setTimeout(() => {
      throw error
    })
    return
  }
  try {
    listener.error(error)
  } catch {
    // It was told, and there is nobody else to tell.
  }
}

/** What has happened in a turn, and those who read it. */
class Tape {
  readonly outcome: Promise<TurnOutcome>
  readonly control: TurnControl
  readonly #settle: (outcome: TurnOutcome) => void
  readonly #entries: TurnEvent[] = []
  readonly #readers = new Set<Reader>()
  readonly #summary = new Summary()
  /** Deltas since the last entry, for those who come later. */
  #soFar: DeltaEvent[] = []
  #ended = false
  /** Or never begun. */
  #hasFailed = false

  constructor(control: TurnControl) {
    const { promise, resolve } = Promise.withResolvers<TurnOutcome>()
    this.outcome = promise
    this.#settle = resolve
    this.control = control
  }

  get number(): number {
    return this.#summary.turn
  }

  get isEnded(): boolean {
    return this.#ended
  }

  read(): Reader {
    this.#soFar = merged(this.#soFar)
    const reader = new Reader(this.#entries, () => this.#readers.delete(reader), this.#soFar)
    if (this.#ended) reader.end()
    else this.#readers.add(reader)
    return reader
  }

  complete(tell: () => void): void {
    const { completing } = this.control
    if (completing === undefined || this.#hasFailed) tell()
    else completing(tell)
  }

  push(event: TurnEvent): void {
    if (this.#ended) return
    if (isDelta(event) && event.type !== 'turn.refused') {
      this.#soFar.push(event)
      if (this.#soFar.length > MOST_APART) this.#soFar = merged(this.#soFar)
      for (const reader of this.#readers) reader.delta(event)
      return
    }
    // What comes into the inbox ends nothing that is being said.
    if (!isInboxType(event.type)) this.#soFar = []
    this.#entries.push(event)
    this.#summary.add(event)
    for (const reader of this.#readers) reader.wake()
  }

  end(reason: OutcomeReason, more: Partial<TurnOutcome>): void {
    if (this.#ended) return
    this.#ended = true
    for (const reader of this.#readers) reader.end()
    this.#readers.clear()
    this.#hasFailed = reason === 'failed' || this.number === 0
    const { cause, ...rest } = more
    const outcome = giveCause<TurnOutcome>({ ...this.#summary.outcome(reason), ...rest }, cause)
    this.control.ended?.(outcome)
    this.#settle(outcome)
  }
}

/** Where RxJS and others look for it: `from(turn)` subscribes. */
const OBSERVABLE = (Symbol as { readonly observable?: symbol }).observable ?? '@@observable'

Object.defineProperty(TurnView.prototype, OBSERVABLE, {
  value(this: TurnView) {
    return this
  },
})

export interface TurnControl {
  readonly cancel: (reason?: string) => Promise<void>
  readonly step: () => Promise<TurnStep>
  /** Tells one observer that the turn has not failed and is complete; the conversation counts as busy meanwhile. */
  readonly completing?: (tell: () => void) => void
  /** Told before those who wait for the outcome. */
  readonly ended?: (outcome: TurnOutcome) => void
}

export interface TurnStep {
  readonly done: boolean
  /** What the next step will do. */
  readonly next: 'model' | 'tools' | 'hooks' | 'wait' | 'on' | 'done'
}

/** What the outcome will say, gathered as it happens. */
class Summary {
  turn = 0
  #text = ''
  #usage: Usage = NO_USAGE
  #requests = new Map<string, RequestData>()
  #end: EntryData['turn.end'] | undefined

  add(event: TurnEvent): void {
    if (isDelta(event) || event.path !== undefined) return
    if (event.turn > 0) this.turn = event.turn
    if (event.type === 'model.end') this.#reply(event.data)
    else if (event.type === 'request.start') this.#requests.set(event.data.requestId, event.data)
    else if (event.type === 'request.end') this.#requests.delete(event.data.requestId)
    else if (event.type === 'turn.end') this.#end = event.data
  }

  outcome(reason: OutcomeReason): TurnOutcome {
    const { usage = this.#usage, durationMs = 0, error, limit, maximum, stopped } = this.#end ?? {}
    return {
      reason,
      status: statusOf(reason),
      turn: this.turn,
      text: this.#text,
      usage,
      durationMs,
      ...(error === undefined ? {} : { error: error as TurnError }),
      ...(limit === undefined ? {} : { limit }),
      ...(stopped === undefined ? {} : { stopped }),
      ...(maximum === undefined ? {} : { maximum }),
      requests: [...this.#requests.values()],
    }
  }

  #reply({ content, usage }: EntryData['model.end']): void {
    const text = content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('')
    if (text !== '') this.#text = text
    if (usage !== undefined) this.#usage = addUsage(this.#usage, usage)
  }
}

function statusOf(reason: OutcomeReason): TurnOutcome['status'] {
  if (reason === 'stop' || reason === 'max-iterations' || reason === 'limit') return 'completed'
  return reason
}

/** One who reads: a place in the list of entries, and the deltas since, merged. So a slow one costs nothing (R18). */
class Reader implements AsyncIterableIterator<TurnEvent> {
  readonly #entries: readonly TurnEvent[]
  readonly #leave: () => void
  #at = 0
  /** Deltas that came after entry number `after`; worthless once the next entry is there. */
  #deltas: { after: number; list: DeltaEvent[] }
  /** Calls of `next` that have found nothing to give, oldest first. */
  #waiting: ((result: IteratorResult<TurnEvent>) => void)[] = []
  #over = false

  constructor(entries: readonly TurnEvent[], leave: () => void, soFar: readonly DeltaEvent[]) {
    this.#entries = entries
    this.#leave = leave
    this.#deltas = { after: entries.length, list: [...soFar] }
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<TurnEvent>> {
    const result = this.#take()
    return result === undefined
      ? new Promise((resolve) => this.#waiting.push(resolve))
      : Promise.resolve(result)
  }

  #take(): IteratorResult<TurnEvent> | undefined {
    const entry = this.#entries[this.#at]
    if (entry !== undefined && this.#at < this.#deltas.after) return this.#give(entry)
    const delta = this.#at === this.#deltas.after ? this.#deltas.list.shift() : undefined
    if (delta !== undefined) return { done: false, value: delta }
    if (entry !== undefined) return this.#give(entry)
    return this.#over ? { done: true, value: undefined } : undefined
  }

  async return(): Promise<IteratorResult<TurnEvent>> {
    this.#at = Number.POSITIVE_INFINITY
    this.end()
    this.#leave()
    return { done: true, value: undefined }
  }

  delta(event: DeltaEvent): void {
    if (this.#deltas.after !== this.#entries.length) this.#deltas = { after: this.#entries.length, list: [] }
    merge(this.#deltas.list, event)
    this.wake()
  }

  wake(): void {
    while (this.#waiting.length > 0) {
      const result = this.#take()
      if (result === undefined) return
      this.#waiting.shift()?.(result)
    }
  }

  end(): void {
    this.#over = true
    this.wake()
  }

  #give(value: TurnEvent): IteratorResult<TurnEvent> {
    this.#at += 1
    return { done: false, value }
  }
}

/** Deltas are merged when somebody comes to read them, or when they have become this many. */
const MOST_APART = 256

function merged(deltas: readonly DeltaEvent[]): DeltaEvent[] {
  const list: DeltaEvent[] = []
  for (const delta of deltas) merge(list, delta)
  return list
}

/** Text that belongs together becomes one; progress of a call replaces what it said before. */
function merge(list: DeltaEvent[], event: DeltaEvent): void {
  if (list.length === 0) {
    list.push(event)
    return
  }
  const at = list.findIndex((other) => isSameStream(other, event))
  const other = list[at]
  if (other === undefined) list.push(event)
  else if ('text' in event.data)
    list[at] = { ...event, data: { ...event.data, text: textIn(other) + event.data.text } } as DeltaEvent
  else list[at] = event
}

function isSameStream(a: DeltaEvent, b: DeltaEvent): boolean {
  if (a.type !== b.type || (a.path !== b.path && a.path?.join() !== b.path?.join())) return false
  if (a.type === 'tool.progress' && b.type === 'tool.progress') return a.data.callId === b.data.callId
  if (a.type === 'node.progress' && b.type === 'node.progress') return a.data.task === b.data.task
  if (a.type === 'call.delta' && b.type === 'call.delta') return a.data.tool === b.data.tool
  return true
}

function textIn(event: DeltaEvent): string {
  return 'text' in event.data ? event.data.text : ''
}
