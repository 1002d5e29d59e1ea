/** Notifies the driver of a conversation of a cancel that another object of this process posted to the same store. */
import { Notifier, type Store } from '../store/index.ts'

const notifiers = new WeakMap<Store, Notifier>()

/**
 * Notifies by the text of a conversation's key. A driver in another process, or on another store object, gets the cancel
 * with its next heartbeat.
 */
export function cancelNotifier(store: Store): Notifier {
  const notifier = notifiers.get(store) ?? new Notifier()
  notifiers.set(store, notifier)
  return notifier
}
