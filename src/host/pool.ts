/** The conversations that are open in this process: opened when they are needed, closed when they are idle, bounded. */
import type { Clock, Timer } from '../base/index.ts'
import { type ContextKey, HoldfastError, keyText } from '../protocol/index.ts'
import type { Hosted } from './hosted.ts'

export interface PoolOptions {
  readonly open: (key: ContextKey) => Promise<Hosted>
  /** The most conversations that are open at once. */
  readonly most: number
  /** How long a conversation stays open without use. */
  readonly idleMs: number
  readonly clock: Clock
  readonly timer: Timer
}

export interface UseOptions {
  /** The position that the conversation begins after. Default: 0. */
  readonly begunAfter?: number
  /** True: it is opened also if all are in use. */
  readonly isUrgent?: boolean
}

interface Slot {
  readonly hosted: Promise<Hosted>
  /** The position that the conversation began after. */
  readonly begunAfter: number
  users: number
  usedAt: number
}

export class Pool {
  readonly #options: PoolOptions
  /** By key, least recently used first. */
  readonly #slots = new Map<string, Slot>()
  /** Conversations that are closing, by key: one is not opened again before that. */
  readonly #closing = new Map<string, Promise<void>>()
  #cancelSweep: (() => void) | undefined
  #isClosed = false

  constructor(options: PoolOptions) {
    this.#options = options
  }

  get size(): number {
    return this.#slots.size
  }

  /**
   * Opens the conversation if it is not open, and keeps it open while `work` runs. One that was open before it was erased,
   * by whichever process, and begun anew is closed and opened again.
   */
  async use<T>(
    key: ContextKey,
    work: (hosted: Hosted) => T | Promise<T>,
    options: UseOptions = {},
  ): Promise<T> {
    const slot = await this.#enter(key, options)
    try {
      return await work(await slot.hosted)
    } finally {
      slot.users -= 1
      slot.usedAt = this.#options.clock.now()
      this.#moveToEnd(keyText(key), slot)
      if (this.#slots.size > this.#options.most) this.#closeIdle()
    }
  }

  #moveToEnd(name: string, slot: Slot): void {
    if (this.#slots.get(name) !== slot) return
    this.#slots.delete(name)
    this.#slots.set(name, slot)
  }

  isOpen(key: ContextKey): boolean {
    return this.#slots.has(keyText(key))
  }

  /** True while somebody uses the conversation here. */
  isUsed(key: ContextKey): boolean {
    const slot = this.#slots.get(keyText(key))
    return slot !== undefined && !isIdle(slot)
  }

  /** Throws `shutdown` or `overloaded` if no further conversation could be opened now. */
  checkRoom(): void {
    if (this.#isClosed) throw closedError()
    if (this.#slots.size < this.#options.most || [...this.#slots.values()].some(isIdle)) return
    throw overloadedError(this.#options.most)
  }

  /** Closes a conversation that is open, such as one that is to be deleted. */
  async close(key: ContextKey): Promise<void> {
    const slot = this.#slots.get(keyText(key))
    if (slot !== undefined) await this.#close(keyText(key), slot)
  }

  /** Closes all, after the effects under way, at most `graceMs`; opens none from now on. */
  async closeAll(graceMs?: number): Promise<void> {
    this.#isClosed = true
    this.#cancelSweep?.()
    await Promise.allSettled([...this.#slots].map(([name, slot]) => this.#close(name, slot, graceMs)))
    await Promise.allSettled(this.#closing.values())
  }

  /** The slot with its new user, counted in the same tick: it is never idle in between. */
  async #enter(key: ContextKey, { begunAfter = 0, isUrgent = false }: UseOptions): Promise<Slot> {
    const name = keyText(key)
    for (;;) {
      if (this.#isClosed) throw closedError()
      const known = this.#slots.get(name)
      if (known !== undefined && known.begunAfter >= begunAfter) {
        known.users += 1
        return known
      }
      if (known !== undefined) void this.#close(name, known).catch(() => {})
      const closing = this.#closing.get(name)
      if (closing === undefined) break
      await closing
    }
    const isFull = this.#slots.size >= this.#options.most
    if (isFull && !this.#closeIdle() && !isUrgent) throw overloadedError(this.#options.most)
    const hosted = this.#options.open(key)
    const slot: Slot = { hosted, begunAfter, users: 1, usedAt: this.#options.clock.now() }
    this.#slots.set(name, slot)
    hosted.catch(() => {
      if (this.#slots.get(name) === slot) this.#slots.delete(name)
    })
    this.#sweepLater()
    return slot
  }

  /** Closes the conversation that is idle for longest. False if none is. */
  #closeIdle(): boolean {
    for (const [name, slot] of this.#slots)
      if (isIdle(slot)) {
        void this.#close(name, slot).catch(() => {})
        return true
      }
    return false
  }

  async #close(name: string, slot: Slot, graceMs?: number): Promise<void> {
    this.#slots.delete(name)
    const closing = slot.hosted.then(
      (hosted) => hosted.close(graceMs),
      () => {},
    )
    const done = closing.catch(() => {}).finally(() => this.#closing.delete(name))
    this.#closing.set(name, done)
    await closing
  }

  #sweepLater(): void {
    if (this.#cancelSweep !== undefined || this.#isClosed) return
    this.#cancelSweep = this.#options.timer.after(Math.max(10, this.#options.idleMs / 2), () => {
      this.#cancelSweep = undefined
      this.#sweep()
    })
  }

  #sweep(): void {
    const before = this.#options.clock.now() - this.#options.idleMs
    for (const [name, slot] of [...this.#slots])
      if (isIdle(slot) && slot.usedAt <= before) void this.#close(name, slot).catch(() => {})
    if (this.#slots.size > 0) this.#sweepLater()
  }
}

function isIdle({ users }: Slot): boolean {
  return users === 0
}

function overloadedError(most: number): HoldfastError {
  return new HoldfastError('overloaded', {
    message: `This host has ${most} conversations open and all are in use. Nothing was stored. Send it again later.`,
    retry: 'later',
    details: { most },
  })
}

export function closedError(): HoldfastError {
  return new HoldfastError('shutdown', {
    message: 'This host is shutting down. Nothing was stored. Send it again to another, or later.',
    retry: 'later',
  })
}
