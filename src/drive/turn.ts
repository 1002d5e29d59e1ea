/**
 * The turn that `executeTurn` returns: a stream for any number of readers, each at its own pace, and an outcome that
 * always comes. Reading starts nothing and stops nothing.
 */
import {
  addUsage,
  DELTA_TYPES,
  type DeltaEvent,
  ENTRY_KINDS,
  type EntryData,
  type EntryEvent,
  HoldfastError,
  type JsonObject,
  NO_USAGE,
  type OutcomeReason,
  type RequestData,
  type StopRequest,
  type TurnEvent,
  type Usage,
} from '../protocol/index.ts'
import { checkReason } from './refusal.ts'

export interface TurnOutcome<Output = unknown> {
  readonly reason: OutcomeReason
  /** The outcome as a task status: a limit completes the task with what was achieved. */
  readonly status: 'completed' | 'input-required' | 'auth-required' | 'failed' | 'cancelled'
  /** 0 if the turn never began. */
  readonly turn: number
  /** The model's last text in this turn; partial, if the turn was cut short. */
  readonly text: string
  /**
   * The last reply as data, if the agent or the turn has an `output` schema and the turn came to its end; absent after a
   * limit, a `stop()` of a hook, a failure and while a request waits.
   */
  readonly output?: Output
  readonly usage: Usage
  readonly durationMs: number
  readonly error?: TurnError
  /** The limit that stopped the turn, such as `iterations`. */
  readonly limit?: string
  /** The hook that ended the turn with `stop()`, and its reason; `executeTurn(null)` continues. */
  readonly stopped?: StopRequest
  /** The value of that limit. */
  readonly maximum?: number
  /** The error of user code that failed the turn, in this process. Not enumerable, and not in the journal. */
  readonly cause?: unknown
  /** The requests to answer before the turn can continue. */
  readonly requests: readonly RequestData[]
}

/**
 * Why a turn failed. `stored: true`: the message is in the journal, and the next driver runs it; send it again under
 * the same key to wait for its outcome. Other fields depend on the code.
 */
export type TurnError = JsonObject & { readonly code: string; readonly message: string }

/**
 * Attaches the thrown error to a failed outcome, in this process. Not enumerable: an outcome as JSON or in a comparison
 * stays equal to the journal. The first cause wins.
 */
export function attachCause<T extends { readonly cause?: unknown }>(outcome: T, cause: unknown): T {
  return cause === undefined || 'cause' in outcome
    ? outcome
    : Object.defineProperty(outcome, 'cause', { value: cause })
}

export interface Observer {
  readonly next?: (event: TurnEvent) => void
  readonly error?: (error: unknown) => void
  readonly complete?: () => void
}

export interface Subscription {
  unsubscribe(): void
  readonly closed: boolean
}

/** The public view of a turn. */
export class TurnView<Output = unknown> implements AsyncIterable<TurnEvent> {
  /** Never rejects. */
  readonly outcome: Promise<TurnOutcome<Output>>
  readonly #log: EventLog

  /** @param log the events, written by the driver or follower of the turn */
  constructor(log: EventLog) {
    this.#log = log
    // The journal holds what the schema accepted.
    this.outcome = log.outcome as Promise<TurnOutcome<Output>>
  }

  /** The number of the turn; 0 until it begins. */
  get number(): number {
    return this.#log.number
  }

  get isEnded(): boolean {
    return this.#log.isEnded
  }

  /**
   * Ends the turn as `cancelled`, whichever process drives it. Resolves when the cancel is posted; for a turn that has
   * not begun, at once, and the cancel is posted when the turn begins. If the store refuses it then, the turn runs on.
   */
  async cancel(reason?: string): Promise<void> {
    checkReason(reason)
    return this.#log.control.cancel(reason)
  }

  /** Does one step of a turn that was started with `manual`, and returns what comes next. */
  step(): Promise<TurnStep> {
    return this.#log.control.step()
  }

  [Symbol.asyncIterator](): AsyncIterableIterator<TurnEvent> {
    return this.#log.read()
  }

  /**
   * Passes each event to the observer, past events first. A turn that fails completes: see its outcome. `error` gets
   * what `next` and `complete` throw, and its own errors are dropped. Without it, they are thrown globally, as in RxJS.
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
        if (!closed) this.#log.complete(() => listener.complete?.())
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

/** The writable turn, for the driver or follower. */
export class Turn extends TurnView {
  readonly #log: EventLog

  constructor(control: TurnControl) {
    const log = new EventLog(control)
    super(log)
    this.#log = log
  }

  push(event: TurnEvent): void {
    this.#log.push(event)
  }

  end(reason: OutcomeReason, more: Partial<TurnOutcome> = {}): void {
    this.#log.end(reason, more)
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
    // The observer's own error handler failed: there is no other to call.
  }
}

/** Events that every reader gets one by one; the others are merged for slow readers. */
type LoggedEvent = EntryEvent | Extract<DeltaEvent, { readonly type: 'turn.refused' }>

/** The events of a turn, and its readers. */
class EventLog {
  readonly outcome: Promise<TurnOutcome>
  readonly control: TurnControl
  readonly #resolve: (outcome: TurnOutcome) => void
  readonly #entries: TurnEvent[] = []
  readonly #readers = new Set<Reader>()
  readonly #summary = new Summary()
  /** Deltas since the last entry, for later readers. */
  #deltas: DeltaEvent[] = []
  #ended = false
  /** True for a turn that never began, too. */
  #hasFailed = false

  constructor(control: TurnControl) {
    const { promise, resolve } = Promise.withResolvers<TurnOutcome>()
    this.outcome = promise
    this.#resolve = resolve
    this.control = control
  }

  get number(): number {
    return this.#summary.turn
  }

  get isEnded(): boolean {
    return this.#ended
  }

  read(): Reader {
    this.#deltas = merged(this.#deltas)
    const reader = new Reader(this.#entries, () => this.#readers.delete(reader), this.#deltas)
    if (this.#ended) reader.end()
    else this.#readers.add(reader)
    return reader
  }

  complete(notify: () => void): void {
    const { completing } = this.control
    if (completing === undefined || this.#hasFailed) notify()
    else completing(notify)
  }

  push(event: TurnEvent): void {
    if (this.#ended) return
    if (event.type !== 'turn.refused' && DELTA_TYPES.has(event.type)) this.#pushDelta(event as DeltaEvent)
    else this.#pushEntry(event as LoggedEvent)
  }

  #pushDelta(event: DeltaEvent): void {
    this.#deltas.push(event)
    if (this.#deltas.length > MAX_UNMERGED) this.#deltas = merged(this.#deltas)
    for (const reader of this.#readers) reader.delta(event)
  }

  #pushEntry(event: LoggedEvent): void {
    // An inbox entry does not end the text that streams.
    if (this.#deltas.length > 0 && !ENTRY_KINDS.get(event.type)?.inbox) this.#deltas = []
    this.#entries.push(event)
    if (event.type !== 'turn.refused') this.#summary.add(event)
    for (const reader of this.#readers) reader.wake()
  }

  end(reason: OutcomeReason, more: Partial<TurnOutcome>): void {
    if (this.#ended) return
    this.#ended = true
    for (const reader of this.#readers) reader.end()
    this.#readers.clear()
    this.#hasFailed = reason === 'failed' || this.number === 0
    const { cause, ...rest } = more
    const outcome = attachCause<TurnOutcome>({ ...this.#summary.outcome(reason), ...rest }, cause)
    this.control.ended?.(outcome)
    this.#resolve(outcome)
  }
}

/** The key that RxJS looks up: `from(turn)` subscribes. */
const OBSERVABLE = (Symbol as { readonly observable?: symbol }).observable ?? '@@observable'

Object.defineProperty(TurnView.prototype, OBSERVABLE, {
  value(this: TurnView) {
    return this
  },
})

export interface TurnControl {
  readonly cancel: (reason?: string) => Promise<void>
  readonly step: () => Promise<TurnStep>
  /** Calls `complete` of one observer of a turn that has not failed; the conversation counts as busy meanwhile. */
  readonly completing?: (notify: () => void) => void
  /** Called before `outcome` resolves. */
  readonly ended?: (outcome: TurnOutcome) => void
}

export interface TurnStep {
  readonly done: boolean
  /** The next step's action. */
  readonly next: 'model' | 'tools' | 'hooks' | 'wait' | 'continue' | 'done'
}

/** Collects the outcome from the events. */
class Summary {
  turn = 0
  #text = ''
  #usage: Usage = NO_USAGE
  #requests = new Map<string, RequestData>()
  #end: EntryData['turn.end'] | undefined

  add(event: EntryEvent): void {
    if (event.path !== undefined) return
    if (event.turn > 0) this.turn = event.turn
    if (event.type === 'model.end') this.#reply(event.data)
    else if (event.type === 'request.start') this.#requests.set(event.data.requestId, event.data)
    else if (event.type === 'request.end') this.#requests.delete(event.data.requestId)
    else if (event.type === 'turn.end') this.#end = event.data
  }

  outcome(reason: OutcomeReason): TurnOutcome {
    const { usage = this.#usage, durationMs = 0, error, limit, maximum, stopped, output } = this.#end ?? {}
    return {
      reason,
      status: statusOf(reason),
      turn: this.turn,
      text: this.#text,
      ...(output === undefined ? {} : { output }),
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
    let text = ''
    for (const part of content) if (part.type === 'text') text += part.text
    if (text !== '') this.#text = text
    if (usage !== undefined) this.#usage = addUsage(this.#usage, usage)
  }
}

function statusOf(reason: OutcomeReason): TurnOutcome['status'] {
  if (reason === 'stop' || reason === 'max-iterations' || reason === 'limit') return 'completed'
  return reason
}

/** One reader: a position in the list of entries, and the merged deltas since. So a slow one costs nothing (R18). */
class Reader implements AsyncIterableIterator<TurnEvent> {
  readonly #entries: readonly TurnEvent[]
  readonly #onReturn: () => void
  #at = 0
  /** Deltas after entry number `after`; dropped once the next entry is there. */
  #deltas: { after: number; list: DeltaEvent[] }
  /** Pending calls of `next`, oldest first. */
  #waiting: ((result: IteratorResult<TurnEvent>) => void)[] = []
  #over = false

  constructor(entries: readonly TurnEvent[], onReturn: () => void, deltas: readonly DeltaEvent[]) {
    this.#entries = entries
    this.#onReturn = onReturn
    this.#deltas = { after: entries.length, list: [...deltas] }
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
    this.#onReturn()
    return { done: true, value: undefined }
  }

  delta(event: DeltaEvent): void {
    const next = this.#waiting.shift()
    // A reader that waits has read everything before.
    if (next !== undefined) {
      next({ done: false, value: event })
      return
    }
    if (this.#deltas.after !== this.#entries.length) this.#deltas = { after: this.#entries.length, list: [] }
    merge(this.#deltas.list, event)
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

/** Deltas are merged for a new reader, or when there are this many. */
const MAX_UNMERGED = 256

function merged(deltas: readonly DeltaEvent[]): DeltaEvent[] {
  const list: DeltaEvent[] = []
  for (const delta of deltas) merge(list, delta)
  return list
}

/** Texts of one stream are concatenated; progress of a call replaces its earlier progress. */
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
  if (a.type === 'call.delta' && b.type === 'call.delta') return a.data.callId === b.data.callId
  return true
}

function textIn(event: DeltaEvent): string {
  return 'text' in event.data ? event.data.text : ''
}
