/** Refuses a `store` option that is no store. */
import { invalidOption, shown } from '../protocol/index.ts'

/** Undefined passes: the caller has a default. */
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
