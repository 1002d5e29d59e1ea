/** Watches by position: a notifier signals a possible change, reading finds it (R18). */
import type { Entry } from '../protocol/index.ts'
import type { Head, WatchOptions } from './port.ts'
import { isOfErased } from './rules.ts'

const PAGE = 256

/** Notifies the listeners of a key. A spurious notification is harmless and a lost one is not, so listen before you read. */
export class Notifier {
  readonly #listeners = new Map<string, Set<() => void>>()

  get size(): number {
    return this.#listeners.size
  }

  /** Calls the listener at each notification for the key, until the returned function is called. */
  listen(key: string, listener: () => void): () => void {
    const listeners = this.#listeners.get(key) ?? new Set()
    this.#listeners.set(key, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#listeners.get(key) === listeners) this.#listeners.delete(key)
    }
  }

  notify(key: string): void {
    for (const listener of this.#listeners.get(key) ?? []) listener()
  }

  notifyAll(): void {
    for (const key of this.#listeners.keys()) this.notify(key)
  }
}

/** True if the conversation of a watcher that has read up to `from` was erased: no entries will follow. */
export function isWatchOver(head: Head, from: number): boolean {
  return head.status === 'erased' || (from > 1 && isOfErased(head, from - 1))
}

export interface WatchSource {
  readonly notifier: Notifier
  readonly key: string
  /** Entries from a position on, oldest first; `ended` when no more will come. */
  readonly read: (from: number, limit: number) => Promise<Page>
  /** Called before the first read. If it rejects, so does the watch, and `close` is not called. */
  readonly open?: () => Promise<void>
  /** Called when the watch ends, for any reason. */
  readonly close?: () => void
}

interface Page {
  readonly entries: readonly Entry[]
  readonly ended: boolean
}

/** Leaving it ends it at once, also during a pending `next`, which then resolves as done. */
export interface Watch extends AsyncIterableIterator<Entry> {
  next(): Promise<IteratorResult<Entry, undefined>>
  return(): Promise<IteratorResult<Entry, undefined>>
}

export function watchEntries(source: WatchSource, options: WatchOptions = {}): Watch {
  const over = new AbortController()
  const entries = follow(source, options, over)
  return {
    [Symbol.asyncIterator]() {
      return this
    },
    next: () => entries.next(),
    return: () => {
      // The generator's own return would queue behind the wait that it should end.
      over.abort()
      return entries.return(undefined)
    },
  }
}

async function* follow(
  source: WatchSource,
  { since = 0, signal }: WatchOptions,
  over: AbortController,
): AsyncGenerator<Entry, undefined> {
  await source.open?.()
  const stop = () => over.abort()
  signal?.addEventListener('abort', stop)
  if (signal?.aborted) stop()
  try {
    let position = since
    while (!over.signal.aborted) {
      const { entries, ended } = await nextPage(source, position + 1, over.signal)
      for (const entry of entries) {
        if (over.signal.aborted) return
        position = entry.seq
        yield entry
      }
      if (ended) return
    }
  } finally {
    signal?.removeEventListener('abort', stop)
    source.close?.()
  }
}

/** Returns the available entries; without any, waits for a notification or the abort and returns an empty page. */
async function nextPage(
  { notifier, key, read }: WatchSource,
  from: number,
  over: AbortSignal,
): Promise<Page> {
  const changed = Promise.withResolvers<void>()
  const wake = () => changed.resolve()
  const leave = notifier.listen(key, wake)
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
