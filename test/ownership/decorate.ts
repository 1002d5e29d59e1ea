/** A store with some of its methods replaced, to observe it or to break a rule on purpose. */
import type { Store } from '../../src/store/index.ts'

export function decorate(store: Store, changes: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name): unknown {
      const method: unknown = Reflect.get(changes, name) ?? Reflect.get(target, name)
      // Stores keep their state in private fields, which a proxy does not have.
      return typeof method === 'function'
        ? (...args: unknown[]) => Reflect.apply(method, target, args) as unknown
        : method
    },
  })
}
