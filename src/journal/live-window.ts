/**
 * The window of a conversation being driven: read once, then updated with the appended entries. Gives the same messages
 * as a fresh `readWindow`, and holds no more entries than that needs (R13).
 */
import { chain, type MaybePromise } from '../base/index.ts'
import type { ContextKey, Entry, Message } from '../protocol/index.ts'
import type { IndexRow, Store } from '../store/index.ts'
import { Backwards, entryTokens, openingId, type WindowLimits, windowSize } from './backwards.ts'
import { messageCount } from './message-count.ts'
import { type Session, stillOpen } from './session.ts'
import { TranscriptBuilder } from './transcript.ts'
import {
  advancedRange,
  indexAt,
  limitsOf,
  readRange,
  summaryTokens,
  type WindowOptions,
  type WindowRange,
} from './window.ts'

type Source = Pick<Store, 'read' | 'lookup'>

/** A window's new start. `isCut`: it may be before the held entries. */
interface Move {
  readonly start: string
  readonly session: Session
  readonly isCut: boolean
}

export class LiveWindow {
  readonly #store: Source
  readonly #key: ContextKey
  readonly #limits: WindowLimits
  #entries: Entry[]
  /** Start of the contiguous range up to the newest entry; entries before it are summary and opening. */
  #from: number
  #isCounted = true
  /** The values that decide the start of the window: while they stay, nothing falls out of it. */
  #start: string
  /** The last session that fits the window. */
  #current: Session | undefined
  #messages: readonly Message[] | undefined
  /** Has read the first `read` entries. Recreated when anything but the end of the window changes. */
  #builder: { readonly by: TranscriptBuilder; read: number } | undefined

  private constructor(
    store: Source,
    key: ContextKey,
    view: { session: Session; limits: WindowLimits; range: WindowRange },
  ) {
    const { session, limits, range } = view
    this.#store = store
    this.#key = key
    this.#entries = range.entries
    this.#from = range.from
    this.#limits = limits
    this.#start = this.#startOf(session)
  }

  static async read(
    store: Source,
    key: ContextKey,
    view: WindowOptions & { session: Session },
  ): Promise<LiveWindow> {
    const { session } = view
    const range = await readRange(store, key, view)
    return new LiveWindow(store, key, { session, limits: limitsOf(view), range })
  }

  static over(
    entries: readonly Entry[],
    key: ContextKey,
    view: WindowOptions & { session: Session },
  ): Promise<LiveWindow> {
    return LiveWindow.read(heldSource(entries), key, view)
  }

  add(entries: readonly Entry[]): void {
    for (const entry of entries) {
      const last = this.#entries.at(-1)
      this.#entries.push(entry)
      if (last === undefined || last.seq <= entry.seq) continue
      this.#entries.sort((a, b) => a.seq - b.seq)
      this.#builder = undefined
    }
    this.#messages = undefined
    this.#current = undefined
    this.#isCounted = false
  }

  /** Removes entries that were added before they were stored. */
  remove(entries: ReadonlySet<Entry>): void {
    this.#entries = this.#entries.filter((entry) => !entries.has(entry))
    this.#messages = undefined
    this.#current = undefined
    this.#builder = undefined
  }

  get held(): readonly Entry[] {
    return this.#entries
  }

  /** Every entry from here on is held. */
  get from(): number {
    return this.#from
  }

  /** Cached between two appends. */
  entries(session: Session): MaybePromise<readonly Entry[]> {
    if (session === this.#current) return this.#entries
    const start = this.#startOf(session)
    if (start !== this.#start || this.#isTooLong(session)) return this.#moveTo(start, session)
    this.#current = session
    return this.#entries
  }

  messages(session: Session): MaybePromise<readonly Message[]> {
    return chain(this.entries(session), (entries) => {
      this.#messages ??= this.#readAll(entries).messages()
      return this.#messages
    })
  }

  #moveTo(start: string, session: Session): MaybePromise<readonly Entry[]> {
    const { maxMessages, tokens } = this.#limits
    // After a compaction or clear the window may begin before the held entries.
    const isCut = start.split(' ')[0] !== this.#start.split(' ')[0]
    const moved = { start, session, isCut }
    if (isCut || tokens !== undefined) return this.#readAgain(moved)
    return this.#replace(advancedRange(this.#entries, { session, from: this.#from, maxMessages }), moved)
  }

  async #readAgain(moved: Move): Promise<readonly Entry[]> {
    const { session, isCut } = moved
    const memory = heldSource(this.#entries)
    const source = isCut ? layered(memory, this.#store) : memory
    const view = { session, ...this.#limits, ...(isCut ? {} : { floor: this.#from }) }
    return this.#replace(await readRange(source, this.#key, view), moved)
  }

  #replace({ entries, from }: WindowRange, { start, session, isCut }: Move): readonly Entry[] {
    if (isCut || session.window.summary !== undefined) this.#builder = undefined
    else this.#keepOnly(entries, from)
    this.#entries = entries
    this.#from = from
    this.#start = start
    this.#messages = undefined
    this.#current = session
    return entries
  }

  #readAll(entries: readonly Entry[]): TranscriptBuilder {
    this.#builder ??= { by: new TranscriptBuilder(), read: 0 }
    const { by, read } = this.#builder
    for (let index = read; index < entries.length; index++) by.read(entries[index] as Entry)
    this.#builder.read = entries.length
    return by
  }

  /** Drops entries that fell out of the window. The rest reads the same as before. */
  #keepOnly(entries: readonly Entry[], from: number): void {
    const by = this.#builder && this.#readAll(this.#entries)
    const earlier = new Set<number>()
    for (const { seq } of entries) if (seq < from) earlier.add(seq)
    const isKept = by?.keep((seq) => seq >= from || earlier.has(seq))
    this.#builder = by && isKept ? { by, read: entries.length } : undefined
  }

  /**
   * An open round that fills the window holds it, and may be dropped once closed. Where tokens are counted, trimmed
   * results leave room for earlier messages.
   */
  #startOf(session: Session): string {
    const { from, messages, summary = 0 } = session.window
    const trimmed = this.#limits.tokens === undefined ? 0 : session.window.trimmedUpTo
    const size = windowSize(messages, this.#limits.maxMessages)
    const [call] = stillOpen(session).calls
    const holder = call !== undefined && this.#messagesInRound() >= size ? call.callId : ''
    return `${from}:${summary}:${trimmed ?? 0} ${messages - size} ${holder}`
  }

  /** True if the token limit requires a later start. */
  #isTooLong(session: Session): boolean {
    const { tokens } = this.#limits
    if (tokens === undefined || this.#isCounted) return false
    this.#isCounted = true
    const bySeq = new Map(this.#entries.map((entry) => [entry.seq, entry]))
    const { trimmedUpTo } = session.window
    const input = (seq: number) => bySeq.get(seq)
    const tokensOf = (entry: Entry) => entryTokens(entry, tokens.count, { input, trimmedUpTo })
    const held = this.#entries.slice(indexAt(this.#entries, this.#from)).reverse()
    const scan = new Backwards(session, this.#limits)
    for (const entry of held) {
      if (scan.isDone) break
      scan.read(entry, tokensOf(entry))
    }
    const opening = this.#entries.find(
      (entry) => scan.unopened !== undefined && openingId(entry) === scan.unopened,
    )
    const around = summaryTokens(this.#entries, session, tokens)
    return scan.length({ around, opening: opening === undefined ? 0 : tokensOf(opening) }) < held.length
  }

  #messagesInRound(): number {
    let count = 0
    for (let index = this.#entries.length - 1; index >= 0; index--) {
      const entry = this.#entries[index] as Entry
      if (entry.type === 'model.end') return count
      count += messageCount(entry)
    }
    return count
  }
}

/** The part of a store that a window is read from, over entries in memory. */
function heldSource(entries: readonly Entry[]): Source {
  return {
    read: async (_key, { from = 1, to = Number.MAX_SAFE_INTEGER, limit = 1000, order = 'oldest' } = {}) => {
      const [first, end] = [indexAt(entries, from), indexAt(entries, to + 1)]
      if (order === 'oldest') return entries.slice(first, Math.min(end, first + limit))
      return entries.slice(Math.max(first, end - limit), Math.max(first, end)).reverse()
    },
    lookup: async (_key, { key }) =>
      entries
        .filter(({ type, turn }) => type === 'turn.start' && turn === Number(key))
        .map(({ seq }): IndexRow => ({ key: key ?? '', seq, value: {} })),
  }
}

/** The store as it will be once the entries in memory are saved. */
export function withUnsaved(entries: readonly Entry[], store: Source): Source {
  return layered(heldSource(entries), store)
}

/** Reads memory first, and below it the store. */
function layered(held: Source, store: Source): Source {
  return {
    async read(key, range = {}) {
      const { limit = 1000, order = 'oldest' } = range
      const both = [...(await store.read(key, range)), ...(await held.read(key, range))]
      const bySeq = new Map(both.map((entry) => [entry.seq, entry]))
      const sorted = [...bySeq.values()].sort((a, b) => a.seq - b.seq)
      return order === 'oldest' ? sorted.slice(0, limit) : sorted.slice(-limit).reverse()
    },
    async lookup(key, query) {
      const found = await held.lookup(key, query)
      return found.length > 0 ? found : store.lookup(key, query)
    },
  }
}
