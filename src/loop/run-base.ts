/** State shared by a driver and the loop that it runs: the draft, the inbox, secrets and time. Every kind of run extends it. */
import { chain, isPromise, type MaybePromise } from '../base/index.ts'
import type { OpenTurn, Session } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  type EntryType,
  HoldfastError,
  type Json,
  type JsonObject,
  type NewEntry,
} from '../protocol/index.ts'
import { type Credentials, NO_SECRETS, type Redactor, redactorOf } from '../tool/index.ts'
import { callConfig } from './config-function.ts'
import { Draft } from './draft.ts'
import type { Batch, LoopScope, Next } from './driver-port.ts'
import { redactEntry } from './redact-entry.ts'
import { shortened } from './shorten.ts'

type Signals = Pick<LoopScope, 'signal' | 'stop'>

/** What was waited for did not come before the turn was cancelled, out of time, or with somebody else. */
export class Interrupted extends Error {}

export abstract class RunBase<S extends LoopScope = LoopScope> {
  readonly scope: S
  readonly draft: Draft
  /** What was said last and could not be stored. */
  dropped: readonly NewEntry[] = []
  /** Knows the secrets of whoever asked, all that they have brought in this turn, and those of the program. */
  #secrets: Redactor | undefined
  #learned: Redactor = NO_SECRETS
  /** Ends the wait for the time limit, if there is one. */
  #over: (() => void) | undefined
  #signals: Signals | undefined
  #interruption: Interruption | undefined

  constructor(scope: S) {
    this.scope = scope
    this.draft = new Draft(scope, (type, data) => this.#hide(type, data))
  }

  /** What the turn may use at most, by name. */
  abstract readonly limits: object

  /** How long the turn may take in all. */
  protected abstract readonly durationMs: number | undefined

  /** Secrets that the program has, whoever asks. */
  protected get ownSecrets(): Redactor {
    return NO_SECRETS
  }

  get secrets(): Redactor {
    this.#secrets ??= this.ownSecrets
    return this.#secrets
  }

  /** Without the secrets that the turn knows (R19). */
  redacted<T extends Json>(value: T): T {
    return this.secrets.json(value)
  }

  #hide<T extends JsonObject>(type: string, data: T): T {
    if (this.secrets.isEmpty) return data
    const safe = redactEntry(type, data, this.secrets)
    this.scope.callArguments.follow(type, data, safe)
    return safe
  }

  get session(): Session {
    return this.draft.session
  }

  get open(): OpenTurn {
    return this.draft.open
  }

  /** What has come in and was not taken, oldest first. */
  get inbox(): readonly Entry[] {
    const { inbox } = this.scope.view
    return inbox.length === 0 ? inbox : inbox.filter(({ key }) => !this.draft.hasTaken(key))
  }

  /** For effects: aborts when the turn is cancelled or its time is up. */
  get signal(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.signal
  }

  /** For thinking: aborts also when the turn has gone to another driver. */
  get stop(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.stop
  }

  /**
   * Makes what was said durable; what follows may rely on it. Results and replies that are too large for the store are
   * cut. What cannot be stored at all was never said.
   */
  *commit(next: Next): Generator<Batch, void> {
    for (let isStored = false; !isStored; ) {
      try {
        yield this.draft.batch(next)
        isStored = true
      } catch (error) {
        this.#cut(error)
      }
    }
    this.draft.settle()
  }

  #cut(refusal: unknown): void {
    const { entries } = this.draft.batch('on')
    const smaller = HoldfastError.is(refusal, 'too-large') ? shortened(entries, refusal) : undefined
    if (smaller === undefined) {
      this.drop()
      throw refusal
    }
    this.draft.replace(smaller)
  }

  /** Back to what is durable. */
  drop(): void {
    if (!this.draft.isEmpty) this.dropped = this.draft.batch('on').entries
    this.draft.settle()
  }

  /**
   * What the host looks up may never come; the turn does not wait for it longer than it lasts itself. Rejects with
   * `Interrupted` then. What has come already is taken in any case.
   */
  within<T>(work: MaybePromise<T>): MaybePromise<T> {
    if (!isPromise(work)) return work
    this.#interruption ??= interruption(this.stop)
    return this.#interruption.within(work)
  }

  /** The key of the cancel that ends this turn, if one has come. */
  cancelKey(): string | undefined {
    const { turn } = this.open
    const { open, parked } = this.scope.view.session
    // A turn that was opened to end a wait, and is not durable yet, was cancelled by the number of the turn that waits.
    const isWait = open === undefined && parked !== undefined
    const cancel = this.inbox.find(({ type, data }) => {
      return type === 'cancel' && (data['turn'] === turn || (isWait && data['turn'] === turn - 1))
    })
    return cancel?.key
  }

  get isCancelled(): boolean {
    return this.cancelKey() !== undefined || this.scope.signal.aborted
  }

  credentials(): MaybePromise<Credentials | undefined> {
    return this.within(this.findCredentials())
  }

  protected findCredentials(): MaybePromise<Credentials | undefined> {
    const { principal } = this.open
    return chain(
      callConfig('credentials', () => this.scope.credentials(principal)),
      (credentials) => {
        if (credentials !== undefined) this.#learn(credentials)
        return credentials
      },
    )
  }

  #learn(credentials: Credentials): void {
    const secrets = redactorOf(credentials)
    if (secrets === this.#learned) return
    this.#learned = secrets
    // Credentials may be renewed while the turn runs, and the old ones are secret still.
    this.#secrets = this.secrets.with(secrets)
  }

  /** Hands on what the turn fails for, as user code threw it. */
  failedBy(error: unknown): void {
    if (error !== undefined) this.scope.thrown?.(this.open.turn, originOf(error))
  }

  close(): void {
    this.#interruption?.leave()
    this.#over?.()
  }

  #watchTime(): Signals {
    const { durationMs } = this
    if (durationMs === undefined) return this.scope
    const left = this.open.startedAt + durationMs - this.scope.clock.now()
    const deadline = new AbortController()
    this.#over = this.scope.timer.after(Math.max(0, left), () => deadline.abort())
    const { signal } = deadline
    return {
      signal: AbortSignal.any([this.scope.signal, signal]),
      stop: AbortSignal.any([this.scope.stop, signal]),
    }
  }
}

/** What was thrown first, by a hook or a route: their errors are wrapped. */
export function originOf(error: unknown): unknown {
  return HoldfastError.is(error) && error.cause !== undefined ? error.cause : error
}

/** The data of an entry that is known to be of this type. */
export function dataOf<T extends EntryType>(entry: Entry, type: T): EntryData[T] {
  if (entry.type !== type) throw new TypeError(`Entry ${entry.seq} is a ${entry.type}, not a ${type}.`)
  return entry.data as EntryData[T]
}

interface Interruption {
  readonly within: <T>(work: Promise<T>) => Promise<T>
  readonly leave: () => void
}

/**
 * One listener for all that is waited for. Not a promise that lasts as long as the turn: a race leaves something with it
 * each time, which is only let go with the promise itself.
 */
function interruption(stop: AbortSignal): Interruption {
  const waiting = new Set<(why: Interrupted) => void>()
  const interrupt = (): void => {
    for (const give of waiting) give(new Interrupted('The turn did not wait for it any longer.'))
  }
  // What has come already is heard first.
  const interruptSoon = (): void => queueMicrotask(interrupt)
  stop.addEventListener('abort', interruptSoon, { once: true })
  return {
    within: (work) =>
      new Promise((resolve, reject) => {
        waiting.add(reject)
        const settle = <T>(give: (value: T) => void, value: T): void => {
          waiting.delete(reject)
          give(value)
        }
        work.then(
          (value) => settle(resolve, value),
          (error: unknown) => settle(reject, error),
        )
        if (stop.aborted) interruptSoon()
      }),
    leave: () => stop.removeEventListener('abort', interruptSoon),
  }
}
