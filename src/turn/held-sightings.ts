/** Things that tools have shown, found in entries that are all in memory. */
import type { Seen } from '../grounding/index.ts'
import { type Entry, type EntryData, normalLabel } from '../protocol/index.ts'
import type { View } from './scope.ts'

/** What comes up to position `cleared` does not count. */
export function heldSightings(
  entries: readonly Entry[],
  cleared: () => number,
): Pick<View, 'seen' | 'listing'> {
  const shown = (entity: string): Seen[][] =>
    entries
      .filter(({ type, seq }) => type === 'tool.end' && seq > cleared())
      .map(({ data, at, seq }) => {
        const { seen = [] } = data as EntryData['tool.end']
        return seen.filter((one) => one.entity === entity).map((one) => ({ ...one, at, seq }))
      })
      .reverse()
  return {
    seen: async (entity, by) =>
      shown(entity)
        .flat()
        .filter(({ id, label }) =>
          'id' in by ? id === by.id : label !== undefined && normalLabel(label) === by.label,
        ),
    listing: async (entity) => shown(entity).find(({ length }) => length > 1),
  }
}
