/** Chooses where a compaction cuts the window, and builds its entry. */
import { isKnown, messageCount, type Session, transcript } from '../journal/index.ts'
import { tokenCounter } from '../model/index.ts'
import type { Entry, EntryData, Message, Usage } from '../protocol/index.ts'
import type { CompactionPlan, CompactionStrategy } from './definition.ts'

export type Compaction = EntryData['compact']

/** The result of a compaction. */
export type CompactionReceipt = {
  readonly strategy: CompactionStrategy
  /** In messages. */
  readonly dropped: number
  readonly kept: number
  /** Tokens of the window, summaries included; without system prompt and tools. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** True if counted by a tokenizer; otherwise estimated. */
  readonly exact: boolean
  /** The model that wrote the summary, and its usage, failed attempts included. */
  readonly model?: string
  readonly summaryHash?: string
  readonly usage?: Usage
}

export interface CompactionOptions {
  /** The number of messages to keep. */
  readonly keep: number
  /** Messages of the draft, after the newest of the entries. */
  readonly unsaved?: number
}

/** Removes everything up to a position. */
export interface Cut {
  readonly upTo: number
  /** In messages. */
  readonly kept: number
  readonly dropped: number
}

/**
 * Cuts before a turn that begins with a user's message (R9): the first one that starts late enough, else the last one,
 * whatever its length, because its calls mean nothing without their input. Undefined if there is nothing to gain.
 * `entries`: those of the window, oldest first, all durable.
 */
export function compaction(
  entries: readonly Entry[],
  session: Session,
  { keep, unsaved = 0 }: CompactionOptions,
): Cut | undefined {
  const kept = messagesFrom(entries, unsaved)
  const starts = turnStarts(entries)
  const cut = starts.find((index) => (kept[index] ?? 0) <= keep) ?? starts.at(-1)
  const first = cut === undefined ? undefined : entries[cut]
  if (cut === undefined || first === undefined || first.seq <= session.window.from) return undefined
  const stays = kept[cut] ?? 0
  const dropped = session.window.messages - stays
  if (dropped <= 0) return undefined
  return { upTo: first.seq - 1, kept: stays, dropped }
}

/** The number of messages to keep; by default half of those that there are, or may be. */
export function keepOf(
  { keep, overMessages = Number.POSITIVE_INFINITY }: Pick<CompactionPlan, 'keep' | 'overMessages'>,
  messages: number,
): number {
  return keep ?? Math.max(1, Math.floor(Math.min(overMessages, messages) / 2))
}

/** The messages that are cut, an earlier summary included. */
export function cutMessages(
  entries: readonly Entry[],
  { window }: Session,
  { upTo }: Cut,
): readonly Message[] {
  const gone = entries.filter(({ seq }) => seq <= upTo || seq === window.summary)
  return transcript([...gone, ...trimsAfter(entries, upTo)])
}

/** The starts of turns after a cut, which say which results before it are shown compact. */
function trimsAfter(entries: readonly Entry[], upTo: number): readonly Entry[] {
  return entries
    .filter(({ seq, type }) => seq > upTo && type === 'turn.start')
    .map((start): Entry => ({ ...start, takes: [] }))
}

/** The entry for a cut. `entries`: those of the window. */
export async function compactEntry(
  entries: readonly Entry[],
  { upTo, kept, dropped }: Cut,
  details: Pick<CompactionReceipt, 'strategy' | 'model' | 'summaryHash' | 'usage'> & {
    readonly summary?: string
  },
): Promise<Compaction> {
  const { summary, strategy, ...more } = details
  const { messages, exact } = await tokenCounter()
  const left = transcript(
    entries.filter(({ seq, type }) => type === 'input' || (seq > upTo && type !== 'compact')),
  )
  const opening: Message[] = summary === undefined ? [] : [{ role: 'user', content: summary }]
  const receipt: CompactionReceipt = {
    strategy,
    dropped,
    kept,
    tokensBefore: messages(transcript(entries)),
    tokensAfter: messages([...opening, ...left]),
    exact,
    ...more,
  }
  return { upTo, kept, ...(summary === undefined ? {} : { summary }), receipt }
}

/** The number of messages from each entry to the end. */
function messagesFrom(entries: readonly Entry[], unsaved: number): number[] {
  const counts: number[] = []
  let messages = unsaved
  for (const entry of entries.toReversed()) {
    messages += messageCount(entry)
    counts.push(messages)
  }
  return counts.reverse()
}

/** Where a window may begin: at a turn, while no round is open (R11), whose first message is no reply or result (R9). */
function turnStarts(entries: readonly Entry[]): number[] {
  const open = new Set<string>()
  const starts: number[] = []
  /** Turns without a message so far: each begins with the next one. */
  let silent: number[] = []
  entries.forEach((entry, index) => {
    if (!isKnown(entry)) return
    const { type } = entry
    if (open.size === 0 && type === 'turn.start') silent.push(index)
    if (messageCount(entry) > 0) {
      if (type !== 'model.end' && type !== 'tool.end') starts.push(...silent)
      silent = []
    }
    // An import begins with a user, except where it continues a long exchange.
    if (type === 'import' && entry.data.continues === undefined) starts.push(index)
    if (type === 'tool.end') open.delete(entry.data.callId)
    if (type !== 'model.end') return
    for (const part of entry.data.content) if (part.type === 'tool-call') open.add(part.callId)
  })
  return starts
}
