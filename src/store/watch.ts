/** Watching by position: a bell says that something may have changed, reading says what (R18). */
import type { Entry } from '../protocol/index.ts'
import type { Head, WatchOptions } from './port.ts'
import { isOfErased } from './rules.ts'

const PAGE = 256

/** Tells whoever listens for a key. Ringing for nothing is harmless; a lost ring is not, so listen before you read. */
export class Bell {
  readonly #listeners = new Map<string, Set<() => void>>()

  /** How many keys somebody listens for. */
  get size(): number {
    return this.#listeners.size
  }

  /** Calls `heard` at each ring for the key, until the function that it returns is called. */
  listen(key: string, heard: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(heard))
    return () => {
      listeners.delete(heard)
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key)
    }
  }

  ring(key: string): void {
    for (const heard of this.#listeners.get(key) ?? []) heard()
  }

  ringAll(): void {
    for (const key of this.#listeners.keys()) this.ring(key)
  }
}

/** Is there nothing more for a watcher that has seen what is before `from`: was the conversation that it watches erased? */
export function isOver(head: Head, from: number): boolean {
  return head.status === 'erased' || (from > 1 && isOfErased(head, from - 1))
}

export interface Watched {
  readonly bell: Bell
  readonly key: string
  /** Entries from a position on, oldest first; `ended` when no more will ever come. */
  readonly read: (from: number, limit: number) => Promise<Page>
  /** Before the first read. If it fails, so does the watch, and `close` is not called. */
  readonly open?: () => Promise<void>
  /** When the watch is over, however it ends. */
  readonly close?: () => void
}

interface Page {
  readonly entries: readonly Entry[]
  readonly ended: boolean
}

/** Leaving it ends it at once, also while somebody waits for its next entry; whoever does is told that it is over. */
export interface Watch extends AsyncIterableIterator<Entry> {
  next(): Promise<IteratorResult<Entry, undefined>>
  return(): Promise<IteratorResult<Entry, undefined>>
}

export function watchEntries(watched: Watched, options: WatchOptions = {}): Watch {
  const over = new AbortController()
  const entries = follow(watched, options, over)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => entries.next(),
    return: () => {
      // The generator's own return would queue behind the very wait that it should end.
      over.abort()
      return entries.return(undefined)
    },
  }
}

async function* follow(
  watched: Watched,
  { since = 0, signal }: WatchOptions,
  over: AbortController,
): AsyncGenerator<Entry, undefined> {
  await watched.open?.()
  const stop = () => over.abort()
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    let position = since
    while (!over.signal.aborted) {
      const { entries, ended } = await nextPage(watched, position + 1, over.signal)
      for (const entry of entries) {
        if (over.signal.aborted) return
        position = entry.seq
        yield entry
      }
      if (ended) return
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    watched.close?.()
  }
}

/** What is there, or, if that is nothing, an empty page once there may be more or nobody wants it any more. */
async function nextPage({ bell, key, read }: Watched, from: number, over: AbortSignal): Promise<Page> {
  const changed = Promise.withResolvers<void>()
  const wake = () => changed.resolve()
  const leave = bell.listen(key, wake)
  over.addEventListener('abort', wake)
  try {
    const page = await read(from, PAGE)
    if (page.entries.length === 0 && !page.ended && !over.aborted) await changed.promise
    return page
  } finally {
    leave()
    over.removeEventListener('abort', wake)
  }
}
