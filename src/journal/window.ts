/**
 * The range of a journal that a prompt uses. Its cost depends on the window and not on the conversation (R13). It moves
 * in steps, so that a provider's prompt cache holds for many turns, and never splits a round (R11).
 */
import { type ContextKey, defined, type Entry, type EntryData, HoldfastError } from '../protocol/index.ts'
import { type Store, turnKey } from '../store/index.ts'
import {
  Backwards,
  entryTokens,
  openingId,
  type TokenBudget,
  type WindowLimits,
  windowSize,
} from './backwards.ts'
import { isKnown } from './format.ts'
import { countOf, messageCount } from './message-count.ts'
import { type Session, stillOpen } from './session.ts'

export interface WindowOptions {
  /** The most messages in a prompt, give or take the round that would be split. 100 if not given. */
  readonly maxMessages?: number
  /** The most tokens, summary and opening included. Exceeded only by a round that is larger by itself. */
  readonly tokens?: TokenBudget
}

const DEFAULT_MESSAGES = 100
const PAGE = 200
/** An estimate; a wrong one costs another page. */
const ENTRIES_PER_MESSAGE = 3

type Source = Pick<Store, 'read' | 'lookup'>

/**
 * Entries, oldest first, for `transcript`. Before the newest messages come the summary of compacted ones and, if the
 * window begins inside a turn, that turn's input.
 */
export async function readWindow(
  store: Source,
  key: ContextKey,
  view: WindowOptions & { session: Session },
): Promise<Entry[]> {
  return (await readRange(store, key, view)).entries
}

/**
 * The newest entries with at least so many messages, oldest first, for `transcript`. Unlike a window they do not move
 * in steps; they hold the summary only if they reach back to it, and the opening of a turn only with the turn.
 */
export async function readNewest(
  store: Source,
  key: ContextKey,
  { session, messages }: { readonly session: Session; readonly messages: number },
): Promise<Entry[]> {
  if (messages >= session.window.messages) return readWindow(store, key, { session, maxMessages: messages })
  const limits: WindowLimits = { maxMessages: messages, isExact: true }
  const entries = await readBack(store, key, { session, limits, from: session.window.from })
  const missing = await readMissing(store, key, { entries, positions: takenBy(entries) })
  return [...entries, ...missing].sort((a, b) => a.seq - b.seq)
}

/** A window, and the start of its contiguous range up to the newest entry. */
export interface WindowRange {
  readonly entries: Entry[]
  readonly from: number
}

/** `floor`: reads nothing before this position, except summary and opening. */
export async function readRange(
  store: Source,
  key: ContextKey,
  view: WindowOptions & { session: Session; floor?: number },
): Promise<WindowRange> {
  const { session, floor = 0 } = view
  const limits = limitsOf(view)
  const from = Math.max(session.window.from, floor)
  const entries = await readBack(store, key, { session, limits, from })
  const opening = await openingOf(store, key, { session, entries })
  const shown = [...entries, ...(await readMissing(store, key, { entries, positions: opening }))]
  const missing = await readMissing(store, key, { entries: shown, positions: takenBy(shown) })
  return {
    entries: [...shown, ...missing].sort((a, b) => a.seq - b.seq),
    from: entries[0]?.seq ?? session.seq + 1,
  }
}

/** The same for a window that only moves forward and has no token limit: the entries in memory suffice, so nothing is read. */
export function advancedRange(
  held: readonly Entry[],
  { session, from, maxMessages }: { session: Session; from: number; maxMessages: number },
): WindowRange {
  const end = indexAt(held, session.seq + 1)
  const start = advancedStart(held, { session, maxMessages, first: indexAt(held, from), end })
  const entries = held.slice(start, end)
  const opened = entries.find(isOfTurn)?.turn
  const earlier = held.slice(0, start)
  const starts = earlier.filter(({ type, turn }) => type === 'turn.start' && turn === opened)
  const wanted = new Set(openingPositions(starts, { session, entries }))
  for (const seq of takenBy(earlier.filter((entry) => wanted.has(entry.seq)))) wanted.add(seq)
  for (const seq of takenBy(entries)) wanted.add(seq)
  const around = earlier.filter(({ seq }) => wanted.has(seq))
  return { entries: around.concat(entries), from: entries[0]?.seq ?? session.seq + 1 }
}

interface AdvancedStart {
  readonly session: Session
  readonly maxMessages: number
  /** The contiguous range of the held entries, by their indexes. */
  readonly first: number
  readonly end: number
}

/** The index at which the window begins, as `Backwards` finds it. */
function advancedStart(held: readonly Entry[], { session, maxMessages, first, end }: AdvancedStart): number {
  let isInRound = stillOpen(session).calls.length > 0
  let left = windowSize(session.window.messages, maxMessages)
  let start = end
  while (start > first && (isInRound || left > 0)) {
    start -= 1
    const entry = held[start] as Entry
    if (!isKnown(entry)) continue
    left -= countOf(entry)
    if (entry.type === 'tool.end') isInRound = true
    else if (entry.type === 'model.end') isInRound = false
  }
  return start
}

/** The index of the first entry at or after a position. */
export function indexAt(entries: readonly Entry[], seq: number): number {
  let [low, high] = [0, entries.length]
  while (low < high) {
    const middle = (low + high) >> 1
    if ((entries[middle]?.seq ?? seq) < seq) low = middle + 1
    else high = middle
  }
  return low
}

export function limitsOf({ maxMessages = DEFAULT_MESSAGES, tokens }: WindowOptions): WindowLimits {
  if (!(maxMessages >= 1)) throw tooFew('maxMessages', maxMessages)
  if (tokens !== undefined && !(tokens.max >= 1)) throw tooFew('The number of tokens', tokens.max)
  return { maxMessages, ...defined({ tokens }) }
}

function tooFew(what: string, number: number): HoldfastError {
  return new HoldfastError('invalid-option', { message: `${what} must be at least 1, not ${number}.` })
}

async function readBack(
  store: Source,
  key: ContextKey,
  { session, limits, from }: { session: Session; limits: WindowLimits; from: number },
): Promise<Entry[]> {
  const found: Entry[] = []
  const scan = new Backwards(session, limits)
  for (let to = session.seq; to >= from && !scan.isDone; ) {
    const limit = Math.min(PAGE, 10 + ENTRIES_PER_MESSAGE * scan.left)
    const page = await store.read(key, { from, to, limit, order: 'newest' })
    const tokensOf = await counterFor(store, key, { page, limits, session })
    for (const entry of page) {
      if (scan.isDone) break
      found.push(entry)
      scan.read(entry, tokensOf(entry))
    }
    const last = page.at(-1)
    if (last === undefined) break
    to = last.seq - 1
  }
  const length = await lengthOf(store, key, { session, limits, scan, found })
  return found.slice(0, length).reverse()
}

async function counterFor(
  store: Source,
  key: ContextKey,
  { page, limits: { tokens }, session }: { page: readonly Entry[]; limits: WindowLimits; session: Session },
): Promise<(entry: Entry) => number> {
  if (tokens === undefined) return () => 0
  const inputs = [...page, ...(await readMissing(store, key, { entries: page, positions: takenBy(page) }))]
  const { trimmedUpTo } = session.window
  const input = (seq: number) => inputs.find((each) => each.seq === seq)
  return (entry) => entryTokens(entry, tokens.count, { input, trimmedUpTo })
}

/** Number of found entries, newest first, in the window: summary and opening use part of the tokens. */
async function lengthOf(
  store: Source,
  key: ContextKey,
  view: { session: Session; limits: WindowLimits; scan: Backwards; found: readonly Entry[] },
): Promise<number> {
  const { session, scan, found } = view
  const { tokens } = view.limits
  if (tokens === undefined) return scan.length()
  const positions = await openingOf(store, key, { session, entries: found.toReversed() })
  const extra = await readMissing(store, key, { entries: [], positions })
  const tokensOf = await counterFor(store, key, { page: extra, limits: view.limits, session })
  const opening = extra.find((entry) => scan.unopened !== undefined && openingId(entry) === scan.unopened)
  return scan.length({
    around: summaryTokens(extra, session, tokens),
    opening: opening === undefined ? 0 : tokensOf(opening),
  })
}

export function summaryTokens(entries: readonly Entry[], session: Session, { count }: TokenBudget): number {
  const entry = entries.find(({ seq }) => seq === session.window.summary)
  const { summary = '' } = (entry?.data ?? {}) as Partial<EntryData['compact']>
  return entry === undefined ? 0 : count({ role: 'user', content: summary })
}

/** Positions of the opening of a window, however far back. */
async function openingOf(
  store: Source,
  key: ContextKey,
  { session, entries }: { session: Session; entries: readonly Entry[] },
): Promise<readonly number[]> {
  const first = entries.find(isOfTurn)
  const starts =
    first === undefined ? [] : await store.lookup(key, { index: 'turn', key: turnKey(first.turn) })
  return openingPositions(starts, { session, entries })
}

function isOfTurn({ type, turn }: Entry): boolean {
  return turn > 0 && type !== 'claim'
}

/** `starts`: of the turn of the first entry. */
function openingPositions(
  starts: readonly { readonly seq: number }[],
  { session, entries }: { session: Session; entries: readonly Entry[] },
): readonly number[] {
  const { from, summary } = session.window
  const opening = [...starts.map(({ seq }) => seq), ...importStart(entries)]
  return [...opening, ...(summary === undefined ? [] : [summary])].filter((seq) => seq >= from)
}

/** The start of an imported exchange that the window begins inside of. */
function importStart(entries: readonly Entry[]): readonly number[] {
  const first = entries.find((entry) => messageCount(entry) > 0)
  if (first === undefined || !isKnown(first) || first.type !== 'import') return []
  return first.data.continues === undefined ? [] : [first.seq - first.data.continues]
}

function takenBy(entries: readonly Entry[]): readonly number[] {
  const taken: number[] = []
  for (const { takes } of entries) if (takes !== undefined) taken.push(...takes)
  return taken
}

async function readMissing(
  store: Source,
  key: ContextKey,
  { entries, positions }: { entries: readonly Entry[]; positions: readonly number[] },
): Promise<readonly Entry[]> {
  const missing = new Set(positions)
  if (missing.size > 0) for (const { seq } of entries) missing.delete(seq)
  if (missing.size === 0) return []
  const found = await Promise.all([...missing].map((seq) => store.read(key, { from: seq, to: seq })))
  return found.flat()
}
