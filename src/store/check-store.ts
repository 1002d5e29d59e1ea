/** Refuses a value that is no store, where one is expected. */
import { invalidOption, isObject, shown } from '../protocol/index.ts'

/** Undefined passes: the caller has a default. */
export function checkStore(store: unknown): void {
  if (store === undefined || (isObject(store) && 'append' in store && 'read' in store)) return
  const path = typeof store === 'string' ? store : 'x.db'
  throw invalidOption('store', `must be a store such as ${example(path)}, not ${shown(store)}`)
}

/** For a function that has no default: a store, or the part of one that it uses. */
export function requireStore(place: string, store: unknown): void {
  if (isObject(store) && ('append' in store || 'read' in store)) return
  throw invalidOption(place, `needs a store, such as ${example('x.db')}, not ${shown(store)}`)
}

function example(path: string): string {
  return `sqliteStore('${path}') of holdfast/sqlite or memoryStore()`
}
