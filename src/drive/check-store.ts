/** Refuses what is given as a store and is none, with what to write. */
import { invalidOption, shown } from '../protocol/index.ts'

/** Undefined is for whoever has a default. */
export function checkStore(store: unknown): void {
  if (store === undefined) return
  const isStore = typeof store === 'object' && store !== null && 'append' in store && 'read' in store
  if (isStore) return
  const path = typeof store === 'string' ? store : 'x.db'
  throw invalidOption(
    'store',
    `must be a store such as sqliteStore('${path}') of holdfast/sqlite or memoryStore(), not ${shown(store)}`,
  )
}
