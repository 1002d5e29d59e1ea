/** The sliding compaction: where to cut so that about so many messages stay. Pure. */
import { messageCount, type Session } from '../journal/index.ts'
import type { Entry, EntryData } from '../protocol/index.ts'

export type Compaction = EntryData['compact']

export interface CompactionOptions {
  /** How many messages may stay. */
  readonly keep: number
  /** Messages that were said after the newest of the entries. */
  readonly unsaved?: number
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
): Compaction | undefined {
  const kept = messagesFrom(entries, unsaved)
  const starts = turnStarts(entries)
  const cut = starts.find((index) => (kept[index] ?? 0) <= keep) ?? starts.at(-1)
  const first = cut === undefined ? undefined : entries[cut]
  if (cut === undefined || first === undefined || first.seq <= session.window.from) return undefined
  const stays = kept[cut] ?? 0
  const dropped = session.window.messages - stays
  if (dropped <= 0) return undefined
  return { upTo: first.seq - 1, kept: stays, receipt: { strategy: 'sliding', dropped } }
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
    const { type, data } = entry
    if (open.size === 0 && type === 'turn.start') silent.push(index)
    if (messageCount(entry) > 0) {
      if (type !== 'model.end') starts.push(...silent)
      silent = []
    }
    if (type === 'tool.end') open.delete((data as EntryData['tool.end']).callId)
    if (type !== 'model.end') return
    for (const part of (data as EntryData['model.end']).content)
      if (part.type === 'tool-call') open.add(part.callId)
  })
  return starts
}
