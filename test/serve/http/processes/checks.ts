/** The journal and the effects as they are on disk, against the events of a reader. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { type ContextKey, type Entry, LOCAL_OWNER } from '../../../../src/protocol/index.ts'
import type { Store } from '../../../../src/store/index.ts'
import { sqliteStore } from '../../../../src/store/sqlite/index.ts'

export function localKey(contextId: string): ContextKey {
  return { ...LOCAL_OWNER, contextId }
}

/** Opens the file of the servers for a look. */
export async function withStore<T>(folder: string, look: (store: Store) => Promise<T>): Promise<T> {
  const store = sqliteStore(join(folder, 'store.db'), { readOnly: true })
  try {
    return await look(store)
  } finally {
    await store.close()
  }
}

export async function storedEntries(store: Store, contextId: string): Promise<readonly Entry[]> {
  const stored: Entry[] = []
  for (let page: readonly Entry[] | undefined; page === undefined || page.length > 0; stored.push(...page))
    page = await store.read(localKey(contextId), { from: stored.length + 1 })
  return stored
}

/** Differences between the events of a reader and the journal; a reader that stops may miss releases at the end. */
export function entryProblems(seen: readonly Entry[], stored: readonly Entry[]): string[] {
  const problems: string[] = []
  for (const [at, entry] of seen.entries())
    if (JSON.stringify(entry) !== JSON.stringify(stored[at]))
      problems.push(
        `event ${at} is entry ${entry.seq} ${entry.type}, stored is ${stored[at]?.seq} ${stored[at]?.type}`,
      )
  const rest = stored.slice(seen.length).filter(({ type }) => type !== 'release')
  if (rest.length > 0) problems.push(`${rest.length} entries were not seen, from ${rest[0]?.seq} on`)
  return problems
}

/** How often each effect was done. */
export function effectCounts(folder: string): ReadonlyMap<string, number> {
  const path = join(folder, 'effects.log')
  const counts = new Map<string, number>()
  if (!existsSync(path)) return counts
  for (const name of readFileSync(path, 'utf8').trim().split('\n'))
    counts.set(name, (counts.get(name) ?? 0) + 1)
  return counts
}
