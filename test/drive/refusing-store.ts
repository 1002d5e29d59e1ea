/** Stores in memory for the tests of refusals: calls that wait for the test, and then fail or not. */
import { type ErrorCode, HoldfastError } from '../../src/protocol/index.ts'
import type { AppendRequest, Receipt, Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'
import { gate, KEY } from '../turn/kit.ts'

/** The same store with other methods. */
export function withMethods(store: Store, methods: Partial<Store>): Store {
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(name in methods ? methods : target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}

export interface HeldStore {
  readonly store: Store
  /** Resolves when the held append was requested. */
  readonly reached: Promise<void>
  readonly release: () => void
}

export interface HeldAppend {
  /** The first append for which this holds is held. */
  readonly at: (request: AppendRequest) => boolean
  /** The code that it is refused with; without one, it is written. */
  readonly code?: ErrorCode
}

/** Holds one append until `release`, and refuses it then, or not. */
export function holdingAppend({ at, code }: HeldAppend, store: Store = memoryStore()): HeldStore {
  const [reached, held] = [gate(), gate()]
  let isOver = false
  const append = async (request: AppendRequest): Promise<Receipt> => {
    if (isOver || !at(request)) return store.append(request)
    isOver = true
    reached.resolve()
    await held.promise
    if (code !== undefined) throw new HoldfastError(code, { message: 'The test refuses this append.' })
    return store.append(request)
  }
  return {
    store: withMethods(store, { append }),
    reached: reached.promise,
    release: () => held.resolve(),
  }
}

/** The keys of the messages and answers in the journal. */
export async function postedKeys(store: Store): Promise<readonly string[]> {
  return (await store.read(KEY)).flatMap(({ key }) => key ?? [])
}
