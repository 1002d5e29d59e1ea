/** Looks for an inbox entry of the past, and for the turn that took it. Newest first: what is repeated is seldom old. */
import type { ContextKey, Entry, NewInboxEntry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'

const PAGE = 500

interface Posted {
  readonly entry: Entry
  /** The turn that took it; undefined while it waits. */
  readonly turn: number | undefined
}

/** The inbox entry that was posted under this key; undefined if there is none, or it was pruned. */
export async function findPosted(store: Store, key: ContextKey, posted: string): Promise<Posted | undefined> {
  const takers = new Map<number, Entry>()
  for (let to = Number.MAX_SAFE_INTEGER; to > 0; ) {
    const page = await store.read(key, { to, limit: PAGE, order: 'newest' })
    for (const entry of page) {
      for (const taken of entry.takes ?? []) takers.set(taken, entry)
      if (entry.key === posted) return { entry, turn: takers.get(entry.seq)?.turn }
    }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return undefined
}

const MOST_ENTRIES = 100_000

/**
 * What is said again to interrupt must not cancel the turn that it began: without the cancel, if `turn` is that turn.
 * Reads that turn and no more.
 */
export async function sparingOwnTurn(
  posts: readonly NewInboxEntry[],
  { store, key, turn, posted }: { store: Store; key: ContextKey; turn: number; posted: string },
): Promise<readonly NewInboxEntry[]> {
  const entries = await store.read(key, { turn, limit: MOST_ENTRIES })
  for (const seq of entries.flatMap(({ takes = [] }) => takes)) {
    const [taken] = await store.read(key, { from: seq, to: seq })
    if (taken?.key === posted) return posts.filter(({ type }) => type !== 'cancel')
  }
  return posts
}
