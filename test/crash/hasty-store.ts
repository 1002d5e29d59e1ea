/** Wrong on purpose: a store that acknowledges an append and writes it later, as a careless cache would. */
import type { AppendRequest, Receipt, Store } from '../../src/store/index.ts'
import { memoryStore } from '../../src/store/memory/index.ts'

/** Late enough for every kill to come first, on the slowest machine. */
const LATE_MS = 3_600_000

/** For a conversation that is new: what is in the store already is not seen through it. */
export function hastyStore(slow: Store): Store {
  const fast = memoryStore()
  let writing: Promise<unknown> = Promise.resolve()
  const append = async (request: AppendRequest): Promise<Receipt> => {
    const receipt = await fast.append(request)
    writing = later(writing, request)
    return receipt
  }
  const later = async (before: Promise<unknown>, request: AppendRequest): Promise<void> => {
    await before
    await new Promise((resolve) => setTimeout(resolve, LATE_MS))
    await slow.append(request)
  }
  return new Proxy(fast, {
    get: (target, name): unknown => {
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
}
