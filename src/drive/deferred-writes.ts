/**
 * Writes that the store could not take yet: results of ended effects, and the release of a conversation whose turn
 * could not continue. They belong to the process, not to one driver: the next driver here finds them.
 *
 * D1. A result is kept until it is stored or the store refuses it for good.
 * D2. A driver writes everything that is owed before it claims a turn, and again before it takes one over, so its process
 *     settles no call as unknown whose result it had by then.
 * D3. Owed writes are retried now and then, for drivers in other processes. The retry keeps no process alive.
 */
import { hash } from 'node:crypto'
import type { Timer } from '../base/index.ts'
import { cutResult } from '../loop/index.ts'
import {
  type ContextKey,
  type EntryData,
  type ErrorCode,
  HoldfastError,
  keyText,
  type NewInboxEntry,
} from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { Ownership } from './ownership.ts'

interface LateResult extends NewInboxEntry {
  readonly data: EntryData['late-result']
}

const RETRY_MS = 1000

const LONGEST_KEY = 256

/** Refusals that a retry cannot change. */
const FINAL: readonly ErrorCode[] = [
  'erased',
  'key-reused',
  'invalid-entry',
  'store-closed',
  'store-read-only',
]

const owed = new WeakMap<Store, Map<string, DeferredWrites>>()

/** The deferred writes of a conversation, shared by its drivers in this process; made when the first write is owed. */
export function deferredWrites({ store, key, timer }: WriteTarget): DeferredWrites {
  const known = owed.get(store) ?? new Map<string, DeferredWrites>()
  owed.set(store, known)
  const name = keyText(key)
  const found = known.get(name)
  if (found !== undefined) return found
  const made: DeferredWrites = new DeferredWrites(timer, () => {
    if (known.get(name) === made) known.delete(name)
  })
  known.set(name, made)
  return made
}

/** The deferred writes of a conversation, if there are any. */
export function findDeferredWrites({
  store,
  key,
}: Pick<WriteTarget, 'store' | 'key'>): DeferredWrites | undefined {
  return owed.get(store)?.get(keyText(key))
}

interface WriteTarget {
  readonly store: Store
  readonly key: ContextKey
  readonly timer: Timer
}

export class DeferredWrites {
  readonly #timer: Timer
  /** Removes this object from the conversation's, unless another has taken its place. */
  readonly #remove: () => void
  readonly #results = new Map<string, LateResult>()
  /** Ownerships without a loop, to be released with this entry. */
  readonly #releases = new Map<Ownership, EntryData['release']>()
  /** The attempt under way. */
  #trying: Promise<void> | undefined
  #isWaiting = false

  constructor(timer: Timer, remove: () => void) {
    this.#timer = timer
    this.#remove = remove
  }

  get isEmpty(): boolean {
    return this.#results.size + this.#releases.size === 0
  }

  /** Posts the result of an effect, now or as soon as the store takes it. */
  postResult(result: EntryData['late-result'], driver: string, ownership: Ownership): void {
    const key = keyOf(result.callId, driver)
    this.#results.set(key, { type: 'late-result', key, data: result })
    this.#try(ownership)
  }

  /** Releases the conversation of `ownership`, now or as soon as the store takes it. The last request counts. */
  release(ownership: Ownership, data: EntryData['release'] = { reason: 'trouble' }): void {
    this.#releases.set(ownership, data)
    this.#try(ownership)
  }

  /** Resolves when every result was tried once, and every release unless a result is still owed. */
  async tried(): Promise<void> {
    await this.#trying
  }

  /** Writes everything that is owed; rejects if the store cannot take it now. */
  async flush(ownership: Ownership): Promise<void> {
    await this.tried()
    await this.#writeAll(ownership)
    this.#forget()
  }

  #try(ownership: Ownership): void {
    this.#trying ??= this.#attempt(ownership)
  }

  async #attempt(ownership: Ownership): Promise<void> {
    try {
      await this.#writeAll(ownership)
      this.#forget()
    } catch {
      if (!this.#isWaiting) void this.#tryLater(ownership)
    } finally {
      this.#trying = undefined
    }
    // A write may have been added since the last check.
    if (!this.isEmpty && !this.#isWaiting) void this.#tryLater(ownership)
  }

  /** Writes additions made meanwhile, too. A release comes after the results: the next driver finds them. */
  async #writeAll(ownership: Ownership): Promise<void> {
    while (!this.isEmpty) {
      const failures: unknown[] = []
      for (const result of this.#results.values())
        await this.#post(result, ownership).catch((error: unknown) => failures.push(error))
      if (failures.length > 0) throw failures[0]
      for (const [owner, data] of this.#releases) await this.#release(owner, data)
    }
  }

  async #tryLater(ownership: Ownership): Promise<void> {
    this.#isWaiting = true
    await this.#timer.wait(RETRY_MS, { background: true })
    this.#isWaiting = false
    if (this.isEmpty) this.#forget()
    else this.#try(ownership)
  }

  /** A write may have been added since the last check: then it stays owed (D2). */
  #forget(): void {
    if (this.isEmpty) this.#remove()
  }

  async #post(result: LateResult, ownership: Ownership): Promise<void> {
    const { key, data } = result
    try {
      await ownership.post([result])
    } catch (error) {
      const smaller = HoldfastError.is(error, 'too-large') ? cutResult(data) : undefined
      if (smaller !== undefined) {
        this.#results.set(key, { ...result, data: smaller })
        return this.#post({ ...result, data: smaller }, ownership)
      }
      if (!isFinal(error)) throw error
    }
    this.#results.delete(key)
  }

  async #release(owner: Ownership, data: EntryData['release']): Promise<void> {
    try {
      await owner.release(data)
    } catch (error) {
      if (!isFinal(error) && !HoldfastError.is(error, 'fenced')) throw error
    }
    this.#releases.delete(owner)
  }
}

/** Each driver posts its own result of a call. A key of the inbox has at most 256 characters, as a driver's name may have. */
function keyOf(callId: string, driver: string): string {
  const key = `late:${callId}:${driver}`
  return key.length <= LONGEST_KEY ? key : `late:${hash('sha256', key)}`
}

function isFinal(error: unknown): boolean {
  return HoldfastError.is(error) && (FINAL.includes(error.code) || error.code === 'too-large')
}
