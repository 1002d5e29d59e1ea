/**
 * The stretch of a journal that a prompt is made from. Its cost depends on the window and not on the conversation (R13).
 * It moves in steps, so that a provider's prompt cache holds for many turns, and never splits a round (R11).
 */
import type { ContextKey, Entry } from '../protocol/index.ts'
import type { Store } from '../store/index.ts'
import { messageCount } from './fold.ts'
import type { Session } from './session.ts'

export interface WindowOptions {
  /** The most messages that a prompt gets, give or take the round that would be split. 100 if not given. */
  readonly maxMessages?: number
}

const DEFAULT_MESSAGES = 100
const PAGE = 200

/** Entries, oldest first, for `transcript`. If the window begins inside a turn, what that turn was asked comes first. */
export async function readWindow(
  store: Pick<Store, 'read'>,
  key: ContextKey,
  view: WindowOptions & { session: Session },
): Promise<Entry[]> {
  const { session, maxMessages = DEFAULT_MESSAGES } = view
  const wanted = windowSize(session.window.messages, maxMessages)
  const entries = await readBack(store, key, { session, wanted })
  const opening = await readOpening(store, key, entries)
  const missing = await readMissingInputs(store, key, [...opening, ...entries])
  return [...missing, ...opening, ...entries].sort((a, b) => a.seq - b.seq)
}

/** How many of the newest messages to show. Falls back by a quarter of the limit at a time, and grows again from there. */
export function windowSize(total: number, limit: number): number {
  if (total <= limit) return total
  const step = Math.max(1, Math.floor(limit / 4))
  return total - Math.ceil((total - limit) / step) * step
}

async function readBack(
  store: Pick<Store, 'read'>,
  key: ContextKey,
  view: { session: Session; wanted: number },
): Promise<Entry[]> {
  const { session, wanted } = view
  const found: Entry[] = []
  let messages = 0
  for (let to = session.seq; to >= session.window.from; ) {
    const page = await store.read(key, { from: session.window.from, to, limit: PAGE, order: 'newest' })
    for (const entry of page) {
      if (messages >= wanted && isBoundary(found.at(-1))) return found.reverse()
      found.push(entry)
      messages += messageCount(entry)
    }
    const last = page.at(-1)
    if (last === undefined) break
    to = last.seq - 1
  }
  return found.reverse()
}

/** May a window begin with this entry? Not with a result, whose call would be missing. */
function isBoundary(entry: Entry | undefined): boolean {
  return (
    entry === undefined || entry.type === 'turn.start' || entry.type === 'take' || entry.type === 'model.end'
  )
}

async function readOpening(
  store: Pick<Store, 'read'>,
  key: ContextKey,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const first = entries.find(({ type, turn }) => turn > 0 && type !== 'claim')
  if (first === undefined || first.type === 'turn.start') return []
  const turn = await store.read(key, { turn: first.turn, to: first.seq - 1 })
  return turn.filter(({ type }) => type === 'turn.start').slice(0, 1)
}

async function readMissingInputs(
  store: Pick<Store, 'read'>,
  key: ContextKey,
  entries: readonly Entry[],
): Promise<readonly Entry[]> {
  const present = new Set(entries.map(({ seq }) => seq))
  const missing = entries.flatMap(({ takes = [] }) => takes).filter((seq) => !present.has(seq))
  const found = await Promise.all(missing.map((seq) => store.read(key, { from: seq, to: seq })))
  return found.flat()
}
