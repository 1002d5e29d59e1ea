/**
 * Decides which entries this version understands (R21). An entry of a newer type or format either may be skipped, or
 * the reader must decline: acting on half a history is worse than not acting.
 */
import { ENTRY_KINDS, type Entry, type EntryKind, HoldfastError, type KnownEntry } from '../protocol/index.ts'

export function isKnown(entry: Entry): entry is KnownEntry {
  return entry.v <= (ENTRY_KINDS.get(entry.type)?.v ?? 0)
}

/** The entry with its type; undefined if it may be skipped; throws `entry-not-understood`. `kind`: of its type. */
export function understand(
  entry: Entry,
  kind: EntryKind | undefined = ENTRY_KINDS.get(entry.type),
): KnownEntry | undefined {
  if (kind !== undefined && entry.v <= kind.v) return entry as KnownEntry
  if (entry.optional === true) return undefined
  throw new HoldfastError('entry-not-understood', {
    message: `Entry ${entry.seq} is a "${entry.type}" of format ${entry.v}, which this version of holdfast does not understand and must not skip. The conversation was left untouched; upgrade the holdfast package.`,
    details: { seq: entry.seq, type: entry.type, v: entry.v },
  })
}
