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
 * Cuts between two turns if one of them starts late enough, else between two rounds (R11). Undefined when there is
 * nothing to gain. `entries` are those of the window, oldest first, all of them durable.
 */
export function compaction(
  entries: readonly Entry[],
  session: Session,
  { keep, unsaved = 0 }: CompactionOptions,
): Compaction | undefined {
  const kept = messagesFrom(entries, unsaved)
  const fits = roundStarts(entries).filter((index) => (kept[index] ?? 0) <= keep)
  const cut = fits.find((index) => entries[index]?.type === 'turn.start') ?? fits[0]
  const first = cut === undefined ? undefined : entries[cut]
  if (cut === undefined || first === undefined || first.seq <= session.window.from) return undefined
  const stays = kept[cut] ?? 0
  const receipt = { strategy: 'sliding', dropped: session.window.messages - stays }
  return { upTo: first.seq - 1, kept: stays, receipt }
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

/** Where a window may begin: at a turn or a model call, when no round is open. */
function roundStarts(entries: readonly Entry[]): number[] {
  const open = new Set<string>()
  const starts: number[] = []
  entries.forEach(({ type, data }, index) => {
    if (open.size === 0 && (type === 'turn.start' || type === 'model.start')) starts.push(index)
    if (type === 'tool.end') open.delete((data as EntryData['tool.end']).callId)
    if (type !== 'model.end') return
    for (const part of (data as EntryData['model.end']).content)
      if (part.type === 'tool-call') open.add(part.callId)
  })
  return starts
}
