/** Compactions: where to cut so that about so many messages stay, and what is told about it. */
import { isKnown, messageCount, type Session, transcript } from '../journal/index.ts'
import { tokenCounter } from '../model/index.ts'
import type { Entry, EntryData, Message, Usage } from '../protocol/index.ts'
import type { CompactionPlan, CompactionStrategy } from './definition.ts'

export type Compaction = EntryData['compact']

/** What a compaction did. */
export type CompactionReceipt = {
  readonly strategy: CompactionStrategy
  /** Messages. */
  readonly dropped: number
  readonly kept: number
  /** Of the window, summaries included; system prompt and tools are not. */
  readonly tokensBefore: number
  readonly tokensAfter: number
  /** Counted by a tokenizer; else estimated. */
  readonly exact: boolean
  /** Who wrote the summary, and what that took, attempts that failed included. */
  readonly model?: string
  readonly summaryHash?: string
  readonly usage?: Usage
}

export interface CompactionOptions {
  /** How many messages may stay. */
  readonly keep: number
  /** Messages that were said after the newest of the entries. */
  readonly unsaved?: number
}

/** Everything up to a position goes. */
export interface Cut {
  readonly upTo: number
  /** Messages that stay, and that go. */
  readonly kept: number
  readonly dropped: number
}

/**
 * Cuts before a turn, and only where somebody speaks first (R9): before the first one that starts late enough, else
 * before the last one, however much it has said, because its calls mean nothing without what it was asked. Undefined when
 * there is nothing to gain. `entries` are those of the window, oldest first, all of them durable.
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

/** About how many messages stay if nobody has said: half of those that there are, or may be. */
export function keepOf(
  { keep, overMessages = Number.POSITIVE_INFINITY }: Pick<CompactionPlan, 'keep' | 'overMessages'>,
  messages: number,
): number {
  return keep ?? Math.max(1, Math.floor(Math.min(overMessages, messages) / 2))
}

/** What is cut away, as messages, the summary of what was cut before included. */
export function cutMessages(
  entries: readonly Entry[],
  { window }: Session,
  { upTo }: Cut,
): readonly Message[] {
  const gone = entries.filter(({ seq }) => seq <= upTo || seq === window.summary)
  return transcript([...gone, ...trimsAfter(entries, upTo)])
}

/** Of the turns after a cut, which of the results before it they show in a compact form. */
function trimsAfter(entries: readonly Entry[], upTo: number): readonly Entry[] {
  return entries
    .filter(({ seq, type }) => seq > upTo && type === 'turn.start')
    .map((start): Entry => ({ ...start, takes: [] }))
}

/** The entry for a cut. `entries` are those of the window. */
export async function compactEntry(
  entries: readonly Entry[],
  { upTo, kept, dropped }: Cut,
  told: Pick<CompactionReceipt, 'strategy' | 'model' | 'summaryHash' | 'usage'> & {
    readonly summary?: string
  },
): Promise<Compaction> {
  const { summary, strategy, ...more } = told
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

/** For each entry, how many messages there are from it to the end. */
function messagesFrom(entries: readonly Entry[], unsaved: number): number[] {
  const counts: number[] = []
  let messages = unsaved
  for (const entry of entries.toReversed()) {
    messages += messageCount(entry)
    counts.push(messages)
  }
  return counts.reverse()
}

/** Where a window may begin: at a turn, when no round is open (R11), if it is not a reply that is said next (R9). */
function turnStarts(entries: readonly Entry[]): number[] {
  const open = new Set<string>()
  const starts: number[] = []
  /** Turns since somebody last spoke: each begins with whoever speaks next. */
  let silent: number[] = []
  entries.forEach((entry, index) => {
    if (!isKnown(entry)) return
    const { type } = entry
    if (open.size === 0 && type === 'turn.start') silent.push(index)
    if (messageCount(entry) > 0) {
      if (type !== 'model.end') starts.push(...silent)
      silent = []
    }
    // What was imported begins with a user, except where it goes on with a long exchange.
    if (type === 'import' && entry.data.continues === undefined) starts.push(index)
    if (type === 'tool.end') open.delete(entry.data.callId)
    if (type !== 'model.end') return
    for (const part of entry.data.content) if (part.type === 'tool-call') open.add(part.callId)
  })
  return starts
}
