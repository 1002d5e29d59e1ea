/** Finds the newest entry of a type. */
import type { Entry, EntryOf, EntryType } from '../protocol/index.ts'

export function lastOf<T extends EntryType>(
  entries: readonly Entry[],
  type: T,
  isMeant: (entry: EntryOf<T>) => boolean = () => true,
): EntryOf<T> | undefined {
  return entries.findLast((entry): entry is EntryOf<T> => entry.type === type && isMeant(entry as EntryOf<T>))
}
