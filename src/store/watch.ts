/** Watching by position: a bell says that something may have changed, reading says what (R18). */
import type { Entry } from '../protocol/index.ts'
import type { WatchOptions } from './port.ts'

const PAGE = 256

/** Wakes whoever waits for a key. Ringing for nothing is harmless; a lost ring is not, so listen before you read. */
export class Bell {
  #waiting = new Map<string, { promise: Promise<void>; resolve: () => void }>()

  listen(key: string): Promise<void> {
    const waiting = this.#waiting.get(key) ?? Promise.withResolvers<void>()
    this.#waiting.set(key, waiting)
    return waiting.promise
  }

  ring(key: string): void {
    this.#waiting.get(key)?.resolve()
    this.#waiting.delete(key)
  }

  ringAll(): void {
    for (const key of [...this.#waiting.keys()]) this.ring(key)
  }
}

export interface Watched {
  readonly bell: Bell
  readonly key: string
  /** Entries from a position on, oldest first; `ended` when no more will ever come. */
  readonly read: (from: number, limit: number) => Promise<{ entries: readonly Entry[]; ended: boolean }>
}

export async function* watchEntries(
  { bell, key, read }: Watched,
  options: WatchOptions = {},
): AsyncGenerator<Entry> {
  const { signal } = options
  const stop = () => bell.ring(key)
  signal?.addEventListener('abort', stop)
  try {
    let position = options.since ?? 0
    while (!signal?.aborted) {
      const changed = bell.listen(key)
      const { entries, ended } = await read(position + 1, PAGE)
      for (const entry of entries) {
        if (signal?.aborted) return
        position = entry.seq
        yield entry
      }
      if (ended) return
      if (entries.length === 0 && !signal?.aborted) await changed
    }
  } finally {
    signal?.removeEventListener('abort', stop)
  }
}
