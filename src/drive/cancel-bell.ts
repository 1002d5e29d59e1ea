/** Tells the driver of a conversation that another object of the same process, on the same store, has posted a cancel. */
import { Bell, type Store } from '../store/index.ts'

const bells = new WeakMap<Store, Bell>()

/** Rings by the text of a key. A driver in another process, or on another store object, hears with its next heartbeat. */
export function cancelBell(store: Store): Bell {
  const bell = bells.get(store) ?? new Bell()
  bells.set(store, bell)
  return bell
}
