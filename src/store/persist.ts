/** The writer's half of R5: an append that is not settled is asked for again, under the same id, until it is. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Store } from './port.ts'

export interface PersistOptions {
  /** How often to ask before giving up with the last error. 5 if not given. */
  readonly attempts?: number
  readonly wait?: (ms: number) => Promise<void>
}

/** No number of attempts mends these. */
const MISTAKES = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * Appends once, whatever happens on the way. It asks again when the fate of the append is unknown (`ambiguous`, or an
 * error that is not the store's own word), and when the store is in trouble that may pass (`store-…` with `retry`
 * `later`). Refusals are thrown at once, because they are certain, and so are mistakes in the program.
 */
export async function persist(
  store: Pick<Store, 'append'>,
  request: AppendRequest,
  options: PersistOptions = {},
): Promise<Receipt> {
  const { attempts = 5, wait = sleep } = options
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.append(request)
    } catch (error) {
      if (!mayPass(error) || attempt >= attempts) throw error
    }
    await wait(10 * 2 ** attempt)
  }
}

function mayPass(error: unknown): boolean {
  if (!HoldfastError.is(error)) return !MISTAKES.some((mistake) => error instanceof mistake)
  return error.code === 'ambiguous' || (error.code.startsWith('store-') && error.retry === 'later')
}
