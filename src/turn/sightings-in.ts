/** Finds sightings and the person's texts in entries that are all in memory. */
import { type Seen, saidIn } from '../grounding/index.ts'
import { type Entry, type EntryData, normalLabel, personsEntries } from '../protocol/index.ts'
import type { Sightings } from './scope.ts'

/** Entries up to position `cleared` do not count. */
export function sightingsIn(entries: readonly Entry[], cleared: () => number): Sightings {
  const newest = (is: (entry: Entry) => boolean): Entry[] =>
    entries.filter((entry) => entry.seq > cleared() && is(entry)).reverse()
  const results = (): Entry[] => newest(({ type }) => type === 'tool.end')
  const shown = (entity: string): Seen[][] =>
    results().map(({ data, at, seq }) => {
      const { seen = [] } = data as EntryData['tool.end']
      return seen.filter((one) => one.entity === entity).map((one) => ({ ...one, at, seq }))
    })
  return {
    seen: async (entity, by) =>
      shown(entity)
        .flat()
        .filter(({ id, label, normal }) => {
          if ('id' in by) return id === by.id
          if ('normal' in by) return normal === by.normal
          return label !== undefined && normalLabel(label) === by.label
        }),
    listing: async (entity) => shown(entity).find(({ length }) => length > 1),
    lastList: async () => {
      for (const { data, at } of results()) {
        const kinds = Map.groupBy((data as EntryData['tool.end']).seen ?? [], ({ entity }) => entity)
        const several = [...kinds].filter(([, group]) => group.length > 1).map(([entity]) => entity)
        if (several.length > 0) return { entities: several, at }
      }
      return undefined
    },
    said: async () => personsEntries(newest(() => true)).flatMap(saidIn),
  }
}
