/** The port for engines. An engine drives conversations without a caller: unfinished turns, unread input, expired requests. */
import type { Timer } from '../base/index.ts'
import { type ContextKey, checkOptions, keyText, type OptionSet } from '../protocol/index.ts'
import { MAX_LIMIT, type Store } from '../store/index.ts'

/** An engine decides when and where a conversation goes on; the host knows how. */
export interface Engine {
  /** Called once, when the host starts. */
  start(port: EnginePort): void
  /** Drives nothing new from now on; resolves when nothing that it started runs. */
  stop(): Promise<void>
}

export interface EnginePort {
  readonly store: Store
  readonly timer: Timer
  /** True for a conversation of one of the host's agents or graphs. */
  readonly isHosted: (contextId: string) => boolean
  /** The most conversations to drive at once: more would take the places of messages that wait. */
  readonly most: number
  /** Goes on with a conversation in this process until there is nothing to do now. */
  readonly drive: (key: ContextKey) => Promise<void>
}

export interface EmbeddedEngineOptions {
  /** How often the store is asked for work. Default: 1 second. */
  readonly pollMs?: number
}

const PAGE = 1000
const FIRST_BACKOFF_MS = 1000
const LONGEST_BACKOFF_MS = 60_000

const ENGINE: OptionSet<EmbeddedEngineOptions> = {
  place: 'embeddedEngine()',
  options: { pollMs: { leastMs: 1 } },
}

/** Asks the store for due conversations, and drives them here. Several processes may do so on one store: a claim decides. */
export function embeddedEngine(options: EmbeddedEngineOptions = {}): Engine {
  checkOptions(options, ENGINE)
  const { pollMs = 1000 } = options
  const running = new Map<string, Promise<void>>()
  const backoffs = new Backoffs()
  /** Due conversations that cannot be driven here now: they must not hide those behind them. */
  let skipped = 0
  /** True if due conversations are left that wait for others to end. */
  let hasMore = false
  let isLooking = false
  let stopped = false
  let cancel: (() => void) | undefined

  const drive = async (port: EnginePort, key: ContextKey): Promise<void> => {
    const name = keyText(key)
    try {
      await port.drive(key)
      backoffs.end(name)
    } catch {
      backoffs.begin(name, port.timer)
    } finally {
      running.delete(name)
      if (hasMore && running.size <= port.most / 2) void poll(port)
    }
  }

  const look = async (port: EnginePort): Promise<void> => {
    const heads = await port.store.due(Math.min(PAGE + skipped, MAX_LIMIT))
    skipped = 0
    hasMore = false
    for (const { key } of heads) {
      const name = keyText(key)
      if (stopped || running.has(name)) continue
      if (backoffs.has(name) || !port.isHosted(key.contextId)) skipped += 1
      else if (running.size >= port.most) hasMore = true
      else running.set(name, drive(port, key))
    }
  }

  const poll = async (port: EnginePort): Promise<void> => {
    if (isLooking || stopped) return
    isLooking = true
    cancel?.()
    // The store may be busy or away: the next round asks again.
    await look(port).catch(() => {})
    isLooking = false
    if (!stopped) cancel = port.timer.after(pollMs, () => void poll(port))
  }

  return {
    start: (port) => void poll(port),
    stop: async () => {
      stopped = true
      cancel?.()
      await Promise.all(running.values())
      backoffs.cancel()
    },
  }
}

/** Conversations that wait after a failure. */
class Backoffs {
  /** How often each conversation has failed since it was last driven to its end. */
  readonly #failures = new Map<string, number>()
  /** By conversation, the function that cancels its wait. */
  readonly #waits = new Map<string, () => void>()

  has(name: string): boolean {
    return this.#waits.has(name)
  }

  /** Counts from the failure: a drive may have run for longer than the backoff. */
  begin(name: string, timer: Timer): void {
    const count = (this.#failures.get(name) ?? 0) + 1
    this.#failures.set(name, count)
    const wait = Math.min(FIRST_BACKOFF_MS * 2 ** (count - 1), LONGEST_BACKOFF_MS)
    this.#waits.set(
      name,
      timer.after(wait, () => this.#waits.delete(name)),
    )
  }

  end(name: string): void {
    this.#failures.delete(name)
  }

  cancel(): void {
    for (const cancelWait of this.#waits.values()) cancelWait()
  }
}
