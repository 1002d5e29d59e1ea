/** A file with very many conversations, beside one with few. */
import { type ContextKey, LOCAL_OWNER } from 'holdfast'
import { loadSession } from 'holdfast/journal'
import { type SqliteStore, sqliteStore } from 'holdfast/sqlite'
import { growTalks } from '../kit/grow.ts'
import { buildRows, measurePair, type Operation, type Side } from '../kit/pair.ts'
import type { Case } from '../kit/result.ts'
import { newTalk, playTurn, scriptOf, type Talk } from '../kit/turn.ts'

const SMALL = 100
const PAGE = 20
/** Conversations that want a driver, in each file. */
const DUE = 10

/** `progress` hears how many conversations are written. */
export function manyCase(contexts: number, progress: (contexts: number) => void): Case {
  return {
    name: 'many',
    title: `${contexts.toLocaleString('en-US')} conversations in one file against ${SMALL}`,
    measured:
      'operations of the store on an open file, which lies in the memory of the system. Each conversation has ten entries; one in four is waiting for an answer, ten want a driver. Pages have 20 heads. A turn is four appends to a conversation in the middle.',
    notMeasured:
      'a cold disk, several processes, models and tools; many conversations that are driven at once.',
    run: async (lab) => {
      const paths = [lab.path('few.db'), lab.path('many.db')] as const
      const small = await build(paths[0], SMALL, () => {})
      const large = await build(paths[1], contexts, progress)
      const sides = (synchronous: 'FULL' | 'NORMAL') =>
        [open(paths[0], small, synchronous), open(paths[1], large, synchronous)] as const
      const normal = sides('NORMAL')
      const sizes = buildRows(normal, [small.seconds, large.seconds])
      const rows = await measurePair(normal, [...READING, appending('NORMAL'), beginning()])
      await closeAll(normal)
      const full = sides('FULL')
      const slow = await measurePair(full, [appending('FULL')])
      await closeAll(full)
      return [...sizes, ...rows, ...slow]
    },
  }
}

interface Built {
  readonly contexts: number
  readonly talk: Talk
  /** Where the page in the middle begins. */
  readonly cursor: string
  readonly seconds: number
}

async function build(path: string, contexts: number, progress: (contexts: number) => void): Promise<Built> {
  const started = performance.now()
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  const talks = Array.from({ length: contexts }, (_, i) => newTalk(`talk-${String(i).padStart(9, '0')}`))
  for (let done = 0; done < contexts; done += 1000) {
    const batch = talks.slice(done, done + 1000)
    await growTalks(
      store,
      batch.filter((_, i) => i % 4 === 0),
      { outcome: 'input-required' },
    )
    await growTalks(
      store,
      batch.filter((_, i) => i % 4 !== 0),
    )
    progress(done + batch.length)
  }
  for (const { key } of talks.slice(0, DUE)) await post(store, key)
  const seconds = (performance.now() - started) / 1000
  const cursor = await middle(store, contexts)
  await store.close()
  return { contexts, talk: talks[Math.floor(contexts / 2)] as Talk, cursor, seconds }
}

async function post(store: SqliteStore, key: ContextKey): Promise<void> {
  const { data } = scriptOf(1).input
  await store.append({
    key,
    id: `post ${key.contextId}`,
    since: 0,
    inbox: [{ type: 'input', key: 'more', data }],
  })
}

async function middle(store: SqliteStore, contexts: number): Promise<string> {
  let cursor: string | undefined
  for (let passed = 0; passed < contexts / 2; ) {
    const limit = Math.min(1000, Math.ceil(contexts / 2) - passed)
    const page = await store.list({ owner: LOCAL_OWNER, limit, ...(cursor === undefined ? {} : { cursor }) })
    cursor = page.next
    passed += page.heads.length
  }
  return cursor ?? ''
}

function open(path: string, facts: Built, synchronous: 'FULL' | 'NORMAL'): Side<Built> {
  return {
    name: facts.contexts.toLocaleString('en-US'),
    store: sqliteStore(path, { synchronous }),
    facts,
  }
}

async function closeAll(sides: readonly Side<Built>[]): Promise<void> {
  for (const { store } of sides) await store.close()
}

function appending(synchronous: string): Operation<Built> {
  return { what: `turn, ${synchronous}`, times: 25, run: (store, { talk }) => playTurn(store, talk) }
}

function beginning(): Operation<Built> {
  let named = 0
  return {
    what: 'first turn of a new one',
    times: 5,
    run: (store) => playTurn(store, newTalk(`new-${named++}`)),
  }
}

const owner = LOCAL_OWNER
const READING: readonly Operation<Built>[] = [
  { what: 'loadSession', times: 25, run: (store, { talk }) => loadSession(store, talk.key) },
  { what: 'head', times: 200, run: (store, { talk }) => store.head(talk.key) },
  { what: 'list, first page', times: 20, run: (store) => store.list({ owner, limit: PAGE }) },
  {
    what: 'list, a page in the middle',
    times: 20,
    run: (store, { cursor }) => store.list({ owner, limit: PAGE, cursor }),
  },
  {
    what: 'list, waiting',
    times: 20,
    run: (store) => store.list({ owner, limit: PAGE, status: 'waiting' }),
  },
  {
    what: 'list, waiting, in the middle',
    times: 20,
    run: (store, { cursor }) => store.list({ owner, limit: PAGE, status: 'waiting', cursor }),
  },
  {
    what: 'list, a prefix of ten',
    times: 20,
    run: (store) => store.list({ owner, limit: PAGE, prefix: 'talk-00000001' }),
  },
  {
    what: 'list, a prefix of all',
    times: 5,
    run: (store) => store.list({ owner, limit: PAGE, prefix: 'talk-' }),
  },
  {
    what: 'list, idle, in the middle',
    times: 20,
    run: (store, { cursor }) => store.list({ owner, limit: PAGE, status: 'idle', cursor }),
  },
  {
    what: 'list, running (none is)',
    times: 20,
    run: (store) => store.list({ owner, limit: PAGE, status: 'running' }),
  },
  {
    what: 'list, active in the last hour',
    times: 20,
    run: (store) => store.list({ owner, limit: PAGE, activeSince: Date.now() - 3_600_000 }),
  },
  { what: 'due, ten', times: 20, run: (store) => store.due() },
  {
    what: 'watch',
    times: 50,
    run: async (store, { talk }) => {
      for await (const _ of store.watch(talk.key, { since: talk.seq - 1 })) return
    },
  },
]
