/** Things that the tools of a conversation have shown, found in the index that its store keeps (R13). */
import type { Seen } from '../grounding/index.ts'
import type { ContextKey, EntryData, Sighting } from '../protocol/index.ts'
import { type IndexRow, labelPrefix, type Store, seenKey } from '../store/index.ts'
import type { View } from '../turn/index.ts'

const INDEX = 'sighting'

/** What was shown before the conversation was cleared does not count. */
export function journalSightings(
  store: Pick<Store, 'lookup' | 'read'>,
  key: ContextKey,
  clearedAt: () => number,
): Pick<View, 'seen' | 'listing'> {
  const find = async (query: { readonly key: string } | { readonly prefix: string }) => {
    const rows = await store.lookup(key, { index: INDEX, ...query })
    return rows.filter(({ seq }) => seq > clearedAt())
  }
  return {
    seen: async (entity, by) => {
      const query = 'id' in by ? { key: seenKey(entity, by.id) } : { prefix: labelPrefix(entity, by.label) }
      return (await find(query)).map(seenOf)
    },
    listing: async (entity) => {
      const [newest] = await find({ key: `n:${entity}` })
      if (newest === undefined) return undefined
      const [entry] = await store.read(key, { from: newest.seq, to: newest.seq })
      if (entry?.type !== 'tool.end') return undefined
      const { seen = [] } = entry.data as EntryData['tool.end']
      return seen
        .filter((one) => one.entity === entity)
        .map((one) => ({ ...one, at: entry.at, seq: entry.seq }))
    },
  }
}

/** The things that were shown last, oldest first. */
export async function newestSightings(
  store: Pick<Store, 'lookup'>,
  key: ContextKey,
): Promise<readonly Sighting[]> {
  const rows = await store.lookup(key, { index: INDEX, prefix: SEEN_PREFIX })
  return rows
    .toSorted((a, b) => a.seq - b.seq)
    .slice(-MOST)
    .map((row) => {
      const { at: _, seq: _seq, ...thing } = seenOf(row)
      return { entity: row.key.split(':')[1] ?? '', ...thing }
    })
}

const SEEN_PREFIX = seenKey('', '').slice(0, -1)
/** A caller is told of so many things at most. */
const MOST = 100

function seenOf({ seq, value }: IndexRow): Seen {
  return { ...(value as unknown as Omit<Seen, 'seq'>), seq }
}
