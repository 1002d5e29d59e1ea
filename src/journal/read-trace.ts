/** Reads the trace of a turn, or of a conversation, from a store. */
import { type ContextKey, defined, type Entry, type EntryData, type TraceEntry } from '../protocol/index.ts'
import { requireStore, type Store } from '../store/index.ts'
import { type TraceOptions, traceOf } from './trace.ts'

type Source = Pick<Store, 'read'>

const PAGE = 500

/** The cost depends on the turn, not on the conversation (R13). Empty if there is no such turn. */
export async function readTrace(
  store: Source,
  key: ContextKey,
  { turn }: TraceOptions = {},
): Promise<readonly TraceEntry[]> {
  requireStore('readTrace()', store)
  const entries = await readAll(store, key, defined({ turn }))
  const [first] = entries
  if (first === undefined || turn === undefined) return traceOf(entries)
  return traceOf([...(await readRequested(store, key, { entries, first: first.seq })), ...entries], { turn })
}

/** All entries of a turn, and those between an input that it takes and its start. */
export function readTurn(store: Source, key: ContextKey, turn: number): Promise<readonly Entry[]> {
  return readAll(store, key, { turn })
}

export async function readAll(
  store: Source,
  key: ContextKey,
  query: TraceOptions,
): Promise<readonly Entry[]> {
  const found: Entry[] = []
  for (let last: Entry | undefined; ; ) {
    const page = await store.read(key, { ...query, from: (last?.seq ?? 0) + 1, limit: PAGE })
    if (page.length === 0) return found
    found.push(...page)
    last = page.at(-1)
  }
}

/** The entries before a turn, back to the replies and requests that it goes on with. */
async function readRequested(
  store: Source,
  key: ContextKey,
  { entries, first }: { readonly entries: readonly Entry[]; readonly first: number },
): Promise<readonly Entry[]> {
  const missing = new Set(entries.flatMap((entry) => endedBy(entry)))
  for (const entry of entries) for (const callId of begunBy(entry)) missing.delete(callId)
  const found: Entry[] = []
  for (let to = first - 1; to > 0 && missing.size > 0; ) {
    const page = await store.read(key, { to, order: 'newest', limit: PAGE })
    for (const entry of page) for (const callId of begunBy(entry)) missing.delete(callId)
    found.push(...page)
    to = (page.at(-1)?.seq ?? 1) - 1
  }
  return found.reverse()
}

/** The call or request that an entry ends. */
function endedBy({ type, data }: Entry): readonly string[] {
  if (type === 'tool.end') return [(data as EntryData['tool.end']).callId]
  return type === 'request.end' ? [(data as EntryData['request.end']).requestId] : []
}

/** The calls or the request that an entry begins. */
function begunBy({ type, data }: Entry): readonly string[] {
  if (type === 'request.start') return [(data as EntryData['request.start']).requestId]
  if (type !== 'model.end') return []
  const { content } = data as EntryData['model.end']
  return content.flatMap((part) => (part.type === 'tool-call' ? [part.callId] : []))
}
