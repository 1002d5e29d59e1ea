/**
 * One kill at a random moment. A child writes to three conversations at once and reports each acknowledged append; then
 * it is killed, and its reports are compared with the database.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import type { ContextKey, Entry } from '../../protocol/index.ts'
import type { Store } from '../../store/index.ts'
import { headIsRebuilt } from './assertions.ts'
import type { Child } from './child.ts'
import { keyOf } from './talk.ts'
import type { Job, Message, Written } from './worker.ts'

const LONGEST_LIFE_MS = 120

export interface CrashReport {
  /** Entries whose append was acknowledged. */
  readonly acknowledged: number
  /** Marks of acknowledged appends that are missing or incomplete. */
  readonly lost: readonly string[]
  /** Marks of incomplete appends, acknowledged or not. */
  readonly torn: readonly string[]
  /** Stored entries without an acknowledgement: the kill came between the commit and the answer. */
  readonly unacknowledged: number
}

export interface Crashing {
  readonly child: (job: Job) => Child
  readonly reopen: () => Promise<Store>
  /** The name of the conversations: the same name continues those of an earlier crash. */
  readonly name: string
}

export async function crash({ child: startChild, reopen, name }: Crashing): Promise<CrashReport> {
  const contexts = [1, 2, 3].map((i) => keyOf(`${name}-${i}`))
  const child = startChild({ do: 'write', keys: contexts })
  const first = await child.next()
  await sleep(Math.random() * LONGEST_LIFE_MS)
  child.signal('SIGKILL')
  const messages: Message[] = first === undefined ? [] : [first, ...(await child.rest())]
  await child.gone('SIGKILL')
  const written = messages.flatMap((message) => ('wrote' in message ? [message.wrote] : []))
  const store = await reopen()
  try {
    const life = { pid: child.pid, written }
    const reports = await Promise.all(contexts.map((key) => examine(store, key, life)))
    return reports.reduce(together)
  } finally {
    await store.close()
  }
}

interface Life {
  readonly pid: number
  readonly written: readonly Written[]
}

async function examine(store: Store, key: ContextKey, { pid, written }: Life): Promise<CrashReport> {
  const head = await store.head(key)
  if (head === undefined) return { acknowledged: 0, lost: [], torn: [], unacknowledged: 0 }
  await headIsRebuilt(store, key, 'after the crash')
  const own = new Map(written.filter(({ contextId }) => contextId === key.contextId).map((w) => [w.mark, w]))
  const markOf = ({ data }: Entry) => data['mark'] as string
  const entries = (await lastLife(store, key)).filter((entry) => markOf(entry).startsWith(`${pid}-`))
  const found = Map.groupBy(entries, markOf)
  const lost = [...own.values()].filter(({ first, last, mark }) => {
    const places = found.get(mark)?.map(({ seq }) => seq) ?? []
    return places[0] !== first || places.at(-1) !== last || places.length !== last - first + 1
  })
  const torn = [...found].filter(([, parts]) => parts.length !== parts[0]?.data['of'])
  return {
    acknowledged: [...own.values()].reduce((total, { first, last }) => total + last - first + 1, 0),
    lost: lost.map(({ mark }) => mark),
    torn: torn.map(([mark]) => mark),
    unacknowledged: entries.filter((entry) => !own.has(markOf(entry))).length,
  }
}

function together(a: CrashReport, b: CrashReport): CrashReport {
  return {
    acknowledged: a.acknowledged + b.acknowledged,
    lost: [...a.lost, ...b.lost],
    torn: [...a.torn, ...b.torn],
    unacknowledged: a.unacknowledged + b.unacknowledged,
  }
}

/** All entries after the newest claim. */
async function lastLife(store: Store, key: ContextKey): Promise<Entry[]> {
  const found: Entry[] = []
  for (let to = Number.MAX_SAFE_INTEGER; ; ) {
    const page = await store.read(key, { to, order: 'newest', limit: 200 })
    for (const entry of page) {
      if (entry.type === 'claim') return found.reverse()
      found.push(entry)
    }
    const last = page.at(-1)
    if (last === undefined) return found.reverse()
    to = last.seq - 1
  }
}
