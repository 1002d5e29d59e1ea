/** Notifies the driver of a conversation of a cancel that another object of this process posted to the same store. */
import { Bell, type Store } from '../store/index.ts'

const bells = new WeakMap<Store, Bell>()

/** Rung by key. Drivers elsewhere, or on another store object, get the cancel with their next heartbeat. */
export function cancelBell(store: Store): Bell {
  const bell = bells.get(store) ?? new Bell()
  bells.set(store, bell)
  return bell
}
