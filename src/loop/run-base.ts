/** State shared by a driver and the loop it runs: draft, inbox, secrets and time. Every kind of run extends it. */
import { chain, debugThrown, isPromise, type MaybePromise } from '../base/index.ts'
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
import { type ErrorSource, type ObservedStep, onceOnly, safeError } from './telemetry.ts'

type Signals = Pick<RunBase, 'cancelledOrTimedOut' | 'interrupted' | 'interruptedOrReleased'>

/** A wait ended because the turn was cancelled, out of time, or lost. */
export class Interrupted extends Error {}

export abstract class RunBase<S extends LoopScope = LoopScope> {
  readonly scope: S
  readonly draft: Draft
  /** The last draft that could not be stored. */
  dropped: readonly NewEntry[] = []
  /** Calls and tasks that the draft settles without another run. */
  #abandoned: string[] = []
  /** All credentials of the principal in this turn, and the program's secrets. */
  #secrets: Redactor | undefined
  #learned: Redactor = NO_SECRETS
  /** Stops the timer of the time limit, if there is one. */
  #over: (() => void) | undefined
  #signals: Signals | undefined
  #interruption: Interruption | undefined

  constructor(scope: S) {
    this.scope = scope
    this.draft = new Draft(scope, (type, data) => this.#hide(type, data))
  }

  /** The limits of the turn, by name. */
  abstract readonly limits: object

  /** The time limit of the turn. */
  protected abstract readonly durationMs: number | undefined

  /** Secrets of the program, for every principal. */
  protected get ownSecrets(): Redactor {
    return NO_SECRETS
  }

  get secrets(): Redactor {
    this.#secrets ??= this.ownSecrets
    return this.#secrets
  }

  /** The value without the turn's secrets (R19). */
  redacted<T extends Json>(value: T): T {
    return this.secrets.json(value)
  }

  #hide<T extends JsonObject>(type: string, data: T): T {
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

  /** The inbox entries that the draft does not take, oldest first. */
  get inbox(): readonly Entry[] {
    const { inbox } = this.scope.view
    return inbox.length === 0 ? inbox : inbox.filter(({ key }) => !this.draft.hasTaken(key))
  }

  /** For effects: aborts when the turn is cancelled or its time is up. */
  get cancelledOrTimedOut(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.cancelledOrTimedOut
  }

  /** For waits: aborts also when the turn is lost to another driver. */
  get interrupted(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.interrupted
  }

  /** For model calls: aborts also when the turn is released for a shutdown. */
  get interruptedOrReleased(): AbortSignal {
    this.#signals ??= this.#watchTime()
    return this.#signals.interruptedOrReleased
  }

  /** True if a model call under way is left to the next driver: this one only has to release the turn. */
  get isReleasing(): boolean {
    return this.interruptedOrReleased.aborted && !this.interrupted.aborted
  }

  /**
   * The draft as a batch, to be yielded at once. Results and replies that are too large for the store are cut; a draft that
   * cannot be stored at all is dropped.
   */
  commit(next: Next): Batch {
    return {
      entries: this.draft.entries,
      next,
      stored: this.#stored,
      refused: (refusal) => (this.#cut(refusal) ? this.commit(next) : undefined),
    }
  }

  readonly #stored = (): void => {
    this.draft.reset()
    for (const callId of this.#abandoned.splice(0)) this.scope.abandoned?.(callId)
  }

  /** The remaining work of this call or task stops once the draft is durable: a refused claim stops nothing. */
  abandon(callId: string): void {
    this.#abandoned.push(callId)
  }

  /** False if the draft could not be made smaller: it is dropped. */
  #cut(refusal: unknown): boolean {
    const { entries } = this.draft
    const smaller = HoldfastError.is(refusal, 'too-large') ? shortened(entries, refusal) : undefined
    if (smaller === undefined) this.drop()
    else this.draft.replace(smaller)
    return smaller !== undefined
  }

  /** Drops the draft, back to the durable session. */
  drop(): void {
    if (!this.draft.isEmpty) this.dropped = this.draft.entries
    this.#abandoned = []
    this.draft.reset()
  }

  /**
   * Waits for the host at most as long as the turn lasts, then rejects with `Interrupted`. Work that is done already
   * counts in any case.
   */
  within<T>(work: MaybePromise<T>): MaybePromise<T> {
    if (!isPromise(work)) return work
    this.#interruption ??= interruption(this.interrupted)
    return this.#interruption.within(work)
  }

  /** The key of the cancel that ends this turn, if one has come. */
  cancelKey(): string | undefined {
    const { inbox } = this
    if (inbox.length === 0) return undefined
    const { turn } = this.open
    const { open, parked } = this.scope.view.session
    // A turn opened to end a wait is cancelled, until it is durable, by the number of the turn that waits.
    const isWait = open === undefined && parked !== undefined
    const cancel = inbox.find(({ type, data }) => {
      return type === 'cancel' && (data['turn'] === turn || (isWait && data['turn'] === turn - 1))
    })
    return cancel?.key
  }

  get isCancelled(): boolean {
    return this.cancelKey() !== undefined || this.scope.cancelled.aborted
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
    // Credentials may be renewed while the turn runs, and the old ones stay secret.
    this.#secrets = this.secrets.with(secrets)
  }

  /** Runs a step that observers see. */
  observed<T>(step: () => ObservedStep, work: () => Promise<T>): Promise<T> {
    const { telemetry } = this.scope
    if (telemetry === undefined) return work()
    const once = onceOnly(work)
    telemetry.step(step(), once)
    return once()
  }

  /** Reports an exception of user code to those who look for its cause. */
  threw(by: Omit<ErrorSource, 'turn'>, error: unknown): void {
    debugThrown(`The ${by.kind} ${by.name}`, error)
    const { telemetry } = this.scope
    if (telemetry === undefined) return
    telemetry.thrown({ ...by, turn: this.session.turn }, safeError(error, this.secrets))
  }

  /** Reports the exception of user code that fails the turn. */
  failedBy(error: unknown): void {
    if (error !== undefined) this.scope.thrown?.(this.open.turn, originOf(error))
  }

  close(): void {
    this.#interruption?.end()
    this.#over?.()
  }

  #watchTime(): Signals {
    const { durationMs } = this
    const { cancelled, cancelledOrLost, cancelledLostOrReleased } = this.scope
    if (durationMs === undefined)
      return {
        cancelledOrTimedOut: cancelled,
        interrupted: cancelledOrLost,
        interruptedOrReleased: cancelledLostOrReleased,
      }
    const left = this.open.startedAt + durationMs - this.scope.clock.now()
    const deadline = new AbortController()
    this.#over = this.scope.timer.after(Math.max(0, left), () => deadline.abort())
    const { signal } = deadline
    return {
      cancelledOrTimedOut: AbortSignal.any([cancelled, signal]),
      interrupted: AbortSignal.any([cancelledOrLost, signal]),
      interruptedOrReleased: AbortSignal.any([cancelledLostOrReleased, signal]),
    }
  }
}

/** The exception of a hook or a route, without its wrapper. */
export function originOf(error: unknown): unknown {
  return HoldfastError.is(error) && error.cause !== undefined ? error.cause : error
}

/** The data of an entry of a known type. */
export function dataOf<T extends EntryType>(entry: Entry, type: T): EntryData[T] {
  if (entry.type !== type) throw new TypeError(`Entry ${entry.seq} is a ${entry.type}, not a ${type}.`)
  return entry.data as EntryData[T]
}

interface Interruption {
  readonly within: <T>(work: Promise<T>) => Promise<T>
  readonly end: () => void
}

/** One listener for all waits. Racing a promise that lasts as long as the turn would leak a reaction per race. */
function interruption(interrupted: AbortSignal): Interruption {
  const waiting = new Set<(why: Interrupted) => void>()
  const interrupt = (): void => {
    for (const reject of waiting) reject(new Interrupted('The turn did not wait for it any longer.'))
  }
  // Work that is done already wins.
  const interruptSoon = (): void => queueMicrotask(interrupt)
  interrupted.addEventListener('abort', interruptSoon, { once: true })
  return {
    within: (work) =>
      new Promise((resolve, reject) => {
        waiting.add(reject)
        const finish = <T>(deliver: (value: T) => void, value: T): void => {
          waiting.delete(reject)
          deliver(value)
        }
        work.then(
          (value) => finish(resolve, value),
          (error: unknown) => finish(reject, error),
        )
        if (interrupted.aborted) interruptSoon()
      }),
    end: () => interrupted.removeEventListener('abort', interruptSoon),
  }
}
