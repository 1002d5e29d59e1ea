/**
 * The stretch of a journal that a prompt is made from. Its cost depends on the window and not on the conversation (R13).
 * It moves in steps, so that a provider's prompt cache holds for many turns, and never splits a round (R11).
 */
import { type ContextKey, type Entry, HoldfastError } from '../protocol/index.ts'
import { type Store, turnKey } from '../store/index.ts'
import { messageCount } from './fold.ts'
import { isKnown } from './format.ts'
import { type Session, stillOpen } from './session.ts'

export interface WindowOptions {
  /** The most messages that a prompt gets, give or take the round that would be split. 100 if not given. */
  readonly maxMessages?: number
}

const DEFAULT_MESSAGES = 100
const PAGE = 200
/** About; a guess that is wrong costs another page. */
const ENTRIES_PER_MESSAGE = 3

type Source = Pick<Store, 'read' | 'lookup'>

/**
 * Entries, oldest first, for `transcript`. Before the newest messages come the summary of what was compacted away and,
 * if the window begins inside a turn, what that turn was asked.
 */
export async function readWindow(
  store: Source,
  key: ContextKey,
  view: WindowOptions & { session: Session },
): Promise<Entry[]> {
  const { session, maxMessages = DEFAULT_MESSAGES } = view
  if (!(maxMessages >= 1)) {
    throw new HoldfastError('invalid-option', {
      message: `maxMessages must be at least 1, not ${maxMessages}.`,
    })
  }
  const wanted = windowSize(session.window.messages, maxMessages)
  const entries = await readBack(store, key, { session, wanted })
  const opening = await openingOf(store, key, { session, entries })
  const shown = [...entries, ...(await readMissing(store, key, { entries, wanted: opening }))]
  const inputs = shown.flatMap(({ takes = [] }) => takes)
  const missing = await readMissing(store, key, { entries: shown, wanted: inputs })
  return [...shown, ...missing].sort((a, b) => a.seq - b.seq)
}

/** How many of the newest messages to show. Falls back by a quarter of the limit at a time, and grows again from there. */
export function windowSize(total: number, limit: number): number {
  if (total <= limit) return total
  const step = Math.max(1, Math.floor(limit / 4))
  return total - Math.ceil((total - limit) / step) * step
}

async function readBack(
  store: Source,
  key: ContextKey,
  view: { session: Session; wanted: number },
): Promise<Entry[]> {
  const { session, wanted } = view
  const found: Entry[] = []
  const round = new Set(stillOpen(session).calls.map(({ callId }) => callId))
  let messages = 0
  for (let to = session.seq; to >= session.window.from; ) {
    const limit = Math.min(PAGE, 10 + ENTRIES_PER_MESSAGE * Math.max(0, wanted - messages))
    const page = await store.read(key, { from: session.window.from, to, limit, order: 'newest' })
    for (const entry of page) {
      if (messages >= wanted && round.size === 0) return found.reverse()
      found.push(entry)
      messages += messageCount(entry)
      if (!isKnown(entry)) continue
      if (entry.type === 'tool.end') round.add(entry.data.callId)
      if (entry.type === 'model.end') round.clear()
    }
    const last = page.at(-1)
    if (last === undefined) break
    to = last.seq - 1
  }
  return found.reverse()
}

/** Positions of what must be said before a window, whether or not it is far back. */
async function openingOf(
  store: Source,
  key: ContextKey,
  { session, entries }: { session: Session; entries: readonly Entry[] },
): Promise<readonly number[]> {
  const { from, summary } = session.window
  const first = entries.find(({ type, turn }) => turn > 0 && type !== 'claim')
  const starts =
    first === undefined ? [] : await store.lookup(key, { index: 'turn', key: turnKey(first.turn) })
  return [...starts.map(({ seq }) => seq), ...(summary === undefined ? [] : [summary])].filter(
    (seq) => seq >= from,
  )
}

async function readMissing(
  store: Source,
  key: ContextKey,
  { entries, wanted }: { entries: readonly Entry[]; wanted: readonly number[] },
): Promise<readonly Entry[]> {
  const present = new Set(entries.map(({ seq }) => seq))
  const missing = [...new Set(wanted)].filter((seq) => !present.has(seq))
  const found = await Promise.all(missing.map((seq) => store.read(key, { from: seq, to: seq })))
  return found.flat()
}
