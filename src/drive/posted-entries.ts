/** Finds a past inbox entry and the turns that came of it, newest first: repeated keys are seldom old. */
import type { MaybePromise } from '../base/index.ts'
import { readTurn } from '../journal/index.ts'
import type { ContextKey, Entry, NewInboxEntry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import type { JournalState } from './journal-state.ts'
import type { TurnRequest } from './turn-request.ts'

const PAGE = 500

interface Posted {
  readonly entry: Entry
  /** The entry that took it; undefined while it waits. */
  readonly taker?: Entry
  /** The turn that took the entry, or the newest that continued that one; undefined if none has used it. */
  readonly turn?: number
  /** True if another input has begun a turn since. */
  readonly isOver?: boolean
}

/** The inbox entry posted under this key; undefined if there is none, or it was pruned. */
export async function findPosted(store: Store, key: ContextKey, posted: string): Promise<Posted | undefined> {
  const takers = new Map<number, Entry>()
  const turns = new BegunTurns()
  let newest = 0
  for (let to = Number.MAX_SAFE_INTEGER; to > 0; ) {
    const page = await store.read(key, { to, limit: PAGE, order: 'newest' })
    for (const entry of page) {
      for (const taken of entry.takes ?? []) takers.set(taken, entry)
      newest = Math.max(newest, entry.turn)
      turns.see(entry)
      if (entry.key !== posted) continue
      const taker = takers.get(entry.seq)
      if (taker === undefined) return { entry }
      if (isUnused(taker)) return { entry, taker }
      const next = turns.after(taker.turn)
      return { entry, taker, turn: next === undefined ? newest : next - 1, isOver: next !== undefined }
    }
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return undefined
}

/** The turns that begin something new, seen newest first: with an input, or with a run of a graph that was queued. */
class BegunTurns {
  readonly #byInput: number[] = []
  readonly #byQueue: number[] = []
  readonly #starting = new Set<number>()
  readonly #queueing = new Set<number>()

  see(entry: Entry): void {
    const { type, turn } = entry
    if (type === 'graph.start') this.#starting.add(turn)
    if (type === 'graph.queue') this.#queueing.add(turn)
    // A turn that only queues a run leaves the one that waits as it is.
    const isKept = this.#queueing.has(turn) && !this.#starting.has(turn)
    if (beginsWithInput(entry) && !isKept) this.#byInput.push(turn)
    else if (type === 'turn.start' && this.#starting.has(turn)) this.#byQueue.push(turn)
  }

  /** The first that does not continue this turn. A queued run is what the turn that queued it came to. */
  after(turn: number): number | undefined {
    const others = this.#queueing.has(turn) ? [] : this.#byQueue
    const later = [...this.#byInput, ...others].filter((other) => other > turn)
    return later.length === 0 ? undefined : Math.min(...later)
  }
}

/** True for a turn that begins with an input. Others continue the turn before: after an answer, an expiry, or null. */
function beginsWithInput({ type, takes = [] }: Entry): boolean {
  return type === 'turn.start' && takes.length > 0
}

function isUnused({ type, data }: Entry): boolean {
  return type === 'take' && data['as'] === 'nothing'
}

/** True if the entry posted under this key is in the inbox. */
export async function isUntaken(
  { store, key: conversation }: Pick<JournalState, 'store' | 'key'>,
  posted: string,
): Promise<boolean> {
  return (await store.inbox(conversation)).some(({ key }) => key === posted)
}

/** The posts of a request. A message that is sent again is not refused because of the turn that it began. */
export function requestedPosts(
  { posts = () => [], repeats }: TurnRequest,
  { store, key, session }: Pick<JournalState, 'store' | 'key' | 'session'>,
): MaybePromise<readonly NewInboxEntry[]> {
  const turn = session.open?.turn
  try {
    return posts(turn)
  } catch (error) {
    if (turn === undefined || repeats === undefined) throw error
    return isOfTurn({ store, key }, turn, repeats).then((isOwn) => {
      if (!isOwn) throw error
      return posts(undefined)
    })
  }
}

/** True if the input posted under this key began this turn, or one that it continues. Reads no turn before that one. */
async function isOfTurn(
  { store, key }: { readonly store: Store; readonly key: ContextKey },
  turn: number,
  posted: string,
): Promise<boolean> {
  for (let at = turn; at > 0; at--) {
    const entries = await readTurn(store, key, at)
    for (const seq of entries.flatMap(({ takes = [] }) => takes)) {
      const [taken] = await store.read(key, { from: seq, to: seq })
      if (taken?.key === posted) return true
    }
    if (entries.length === 0 || entries.some(beginsWithInput)) return false
  }
  return false
}
