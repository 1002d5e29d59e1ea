/** Notifies the driver of a conversation of a cancel that another object of this process posted to the same store. */
import { Notifier, type Store } from '../store/index.ts'

const bells = new WeakMap<Store, Notifier>()

/** Rung by key. Drivers elsewhere, or on another store object, get the cancel with their next heartbeat. */
export function cancelBell(store: Store): Notifier {
  const bell = bells.get(store) ?? new Notifier()
  bells.set(store, bell)
  return bell
}
