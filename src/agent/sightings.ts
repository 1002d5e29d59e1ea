/** Finds sightings and the person's words in the store's indexes (R13). */
import { type PersonWords, type Seen, saidIn } from '../grounding/index.ts'
import {
  type ContextKey,
  type EntryData,
  idTokens,
  personsEntries,
  type Sighting,
} from '../protocol/index.ts'
import {
  type IndexRow,
  labelPrefix,
  listingKey,
  mentionPrefix,
  normalPrefix,
  type Store,
  seenPrefix,
  thingsPrefix,
} from '../store/index.ts'
import type { Sightings } from '../turn/index.ts'

const THINGS = 'thing'
const MENTIONS = 'mentioned'
/** How many messages with the same token are read. */
const MOST_MENTIONS = 8

/** Ignores sightings and words from before `clear()`. */
export function journalSightings(
  store: Pick<Store, 'lookup' | 'read'>,
  key: ContextKey,
  clearedAt: () => number,
): Sightings {
  const find = async (query: { readonly key: string } | { readonly prefix: string }) => {
    const rows = await store.lookup(key, { index: THINGS, ...query })
    return rows.filter(({ seq }) => seq > clearedAt()).toSorted((a, b) => b.seq - a.seq)
  }
  return {
    seen: async (entity, by) => {
      if ('id' in by)
        return (await find({ prefix: seenPrefix(entity, by.id) })).map(seenOf).filter(isOf(by.id))
      const prefix = 'label' in by ? labelPrefix(entity, by.label) : normalPrefix(entity, by.normal)
      return (await find({ prefix })).map(seenOf)
    },
    listing: async (entity) => {
      const [newest] = await find({ key: listingKey(entity) })
      if (newest === undefined) return undefined
      const [entry] = await store.read(key, { from: newest.seq, to: newest.seq })
      if (entry?.type !== 'tool.end') return undefined
      const { seen = [] } = entry.data as EntryData['tool.end']
      return seen
        .filter((one) => one.entity === entity)
        .map((one) => ({ ...one, at: entry.at, seq: entry.seq }))
    },
    lastList: async () => {
      const rows = await find({ prefix: listingKey() })
      const [newest] = rows
      if (newest === undefined) return undefined
      const entities = rows
        .filter(({ seq }) => seq === newest.seq)
        .map(({ value }) => value['entity'] as string)
      return { entities, at: newest.value['at'] as number }
    },
    said: (id) => saidWith(store, { key, id, cleared: clearedAt() }),
  }
}

/** The newest sightings after a position, oldest first, each merged with the earlier ones of the same thing. */
export async function newestSightings(
  store: Pick<Store, 'lookup'>,
  key: ContextKey,
  since = 0,
): Promise<readonly Sighting[]> {
  const all = await store.lookup(key, { index: THINGS, prefix: thingsPrefix() })
  const rows = all.filter(({ seq }) => seq > since)
  const things = new Map<string, Sighting>()
  for (const row of rows.toSorted((a, b) => a.seq - b.seq)) {
    const { at: _, seq: _seq, ...thing } = seenOf(row)
    const entity = row.key.split(':')[1] ?? ''
    const name = `${entity}\n${thing.id}`
    const before = things.get(name)
    things.delete(name)
    things.set(name, { ...before, entity, ...thing })
  }
  return [...things.values()].slice(-MOST)
}

/** The most sightings that a caller receives. */
const MOST = 100

/** The person's newest messages with the longest token of an id. An id without a token is not indexed. */
async function saidWith(
  store: Pick<Store, 'lookup' | 'read'>,
  { key, id, cleared }: { readonly key: ContextKey; readonly id: string; readonly cleared: number },
): Promise<readonly PersonWords[]> {
  const [token] = idTokens(id).toSorted((a, b) => b.length - a.length)
  if (token === undefined) return []
  const rows = await store.lookup(key, {
    index: MENTIONS,
    prefix: mentionPrefix(token),
    order: 'last',
    limit: MOST_MENTIONS,
  })
  const newest = rows.filter(({ seq }) => seq > cleared)
  const read = async (seqs: readonly number[]) =>
    (await Promise.all(seqs.map((seq) => store.read(key, { from: seq, to: seq })))).flat()
  const entries = await read(newest.map(({ seq }) => seq))
  const taken = await read(entries.flatMap(({ type, takes = [] }) => (type === 'request.end' ? takes : [])))
  const found = new Set(entries)
  return personsEntries([...entries, ...taken.filter(({ type }) => type === 'input')])
    .filter((entry) => found.has(entry))
    .flatMap(saidIn)
}

/** An id may contain the separator that ends a prefix. */
function isOf(wantedId: string): (seen: Seen) => boolean {
  return ({ id }) => id === wantedId
}

function seenOf({ seq, value }: IndexRow): Seen {
  return { ...(value as unknown as Omit<Seen, 'seq'>), seq }
}
