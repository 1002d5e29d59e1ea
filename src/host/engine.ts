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
  const failures = new Map<string, { readonly count: number; readonly until: number }>()
  /** Due conversations that cannot be driven here now: they must not hide those behind them. */
  let skipped = 0
  let stopped = false
  let cancel: (() => void) | undefined

  const drive = async (port: EnginePort, key: ContextKey, now: number): Promise<void> => {
    const name = keyText(key)
    try {
      await port.drive(key)
      failures.delete(name)
    } catch {
      const count = (failures.get(name)?.count ?? 0) + 1
      const wait = Math.min(FIRST_BACKOFF_MS * 2 ** (count - 1), LONGEST_BACKOFF_MS)
      failures.set(name, { count, until: now + wait })
    } finally {
      running.delete(name)
    }
  }

  const look = async (port: EnginePort, now: number): Promise<void> => {
    const heads = await port.store.due(Math.min(PAGE + skipped, MAX_LIMIT))
    skipped = 0
    for (const { key } of heads) {
      const name = keyText(key)
      if (stopped || running.has(name)) continue
      if ((failures.get(name)?.until ?? 0) > now || !port.isHosted(key.contextId)) skipped += 1
      else running.set(name, drive(port, key, now))
    }
  }

  const poll = async (port: EnginePort): Promise<void> => {
    // The store may be busy or away: the next round asks again.
    await look(port, performance.now()).catch(() => {})
    if (!stopped) cancel = port.timer.after(pollMs, () => void poll(port))
  }

  return {
    start: (port) => void poll(port),
    stop: async () => {
      stopped = true
      cancel?.()
      await Promise.all(running.values())
    },
  }
}
