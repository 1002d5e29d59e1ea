/** One conversation that never ends, beside a short one. */
import type { ContextKey } from 'holdfast'
import { loadSession, readWindow } from 'holdfast/journal'
import { type SqliteStore, sqliteStore } from 'holdfast/sqlite'
import { turnKey } from 'holdfast/store'
import { growTalk } from '../kit/grow.ts'
import { buildRows, measurePair, type Operation, type Side } from '../kit/pair.ts'
import type { Case } from '../kit/result.ts'
import { ENTRIES_PER_TURN, newTalk, playTurn, type Talk } from '../kit/turn.ts'

const SMALL = 1000

/** `progress` hears how many entries are written. */
export function longCase(entries: number, progress: (entries: number) => void): Case {
  return {
    name: 'long',
    title: `one conversation of ${entries.toLocaleString('en-US')} entries against one of ${SMALL.toLocaleString('en-US')}`,
    measured:
      'operations of the store on an open file, which lies in the memory of the system: a turn is four appends; the session is loaded from a snapshot that is ten turns old; watch is from the call to the first entry.',
    notMeasured: 'a cold disk, several processes, models and tools.',
    run: async (lab) => {
      const paths = [lab.path('short.db'), lab.path('long.db')] as const
      const small = await build(paths[0], SMALL, () => {})
      const large = await build(paths[1], entries, progress)
      const sides = (synchronous: 'FULL' | 'NORMAL') =>
        [open(paths[0], small, synchronous), open(paths[1], large, synchronous)] as const
      const normal = sides('NORMAL')
      const sizes = buildRows(normal, [small.seconds, large.seconds])
      const rows = await measurePair(normal, [...READING, appending('NORMAL')])
      await closeAll(normal)
      const full = sides('FULL')
      const slow = await measurePair(full, [appending('FULL')])
      await closeAll(full)
      return [...sizes, ...rows, ...slow]
    },
  }
}

interface Built {
  readonly entries: number
  readonly talk: Talk
  readonly seconds: number
}

async function build(path: string, entries: number, progress: (entries: number) => void): Promise<Built> {
  const started = performance.now()
  const store = sqliteStore(path, { synchronous: 'NORMAL' })
  const talk = newTalk('talk')
  await growTalk(store, talk, {
    turns: entries / ENTRIES_PER_TURN,
    lag: 10,
    progress: (turns) => progress(turns * ENTRIES_PER_TURN),
  })
  await store.close()
  return { entries, talk, seconds: (performance.now() - started) / 1000 }
}

function open(path: string, { entries, talk }: Built, synchronous: 'FULL' | 'NORMAL'): Side<Talk> {
  return { name: entries.toLocaleString('en-US'), store: sqliteStore(path, { synchronous }), facts: talk }
}

async function closeAll(sides: readonly Side<Talk>[]): Promise<void> {
  for (const { store } of sides) await store.close()
}

function appending(synchronous: string): Operation<Talk> {
  const run = (store: SqliteStore, talk: Talk) => playTurn(store, talk)
  return { what: `turn, ${synchronous}`, times: 25, run }
}

const READING: readonly Operation<Talk>[] = [
  { what: 'loadSession', times: 25, run: (store, { key }) => loadSession(store, key) },
  { what: 'head', times: 200, run: (store, { key }) => store.head(key) },
  {
    what: 'newest 100',
    times: 20,
    run: (store, { key }) => store.read(key, { order: 'newest', limit: 100 }),
  },
  {
    what: 'a turn in the middle',
    times: 50,
    run: (store, { key, turn }) => store.read(key, { turn: Math.floor(turn / 2) }),
  },
  {
    what: 'outcome of a turn',
    times: 100,
    run: (store, { key, turn }) =>
      store.lookup(key, { index: 'outcome', key: turnKey(Math.floor(turn / 2)) }),
  },
  {
    what: 'newest 20 outcomes',
    times: 50,
    run: (store, { key }) => store.lookup(key, { index: 'outcome', order: 'last', limit: 20 }),
  },
  { what: 'window of 100', times: 10, run: window },
  { what: 'watch', times: 50, run: (store, { key, seq }) => firstWatched(store, key, seq - 1) },
]

async function window(store: SqliteStore, { key }: Talk): Promise<void> {
  await readWindow(store, key, { session: await loadSession(store, key) })
}

async function firstWatched(store: SqliteStore, key: ContextKey, since: number): Promise<void> {
  for await (const _ of store.watch(key, { since })) return
}
