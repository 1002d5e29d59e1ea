/** The writer's half of R5: retries an append with unknown outcome, under the same id, until it is settled. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Store } from './port.ts'

export interface PersistOptions {
  /** Attempts before the last error is thrown. 5 if not given. */
  readonly attempts?: number
  readonly wait?: (ms: number) => Promise<void>
}

/** Programming errors, which no retry mends. */
const PROGRAMMING_ERRORS = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * Appends exactly once. Retries when the outcome is unknown (`ambiguous`, or an error that is not the store's own), and
 * when the store's failure may pass (`store-…` with `retry` `later`). Throws refusals, which are certain, and
 * programming errors at once.
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
      if (!isTransient(error) || attempt >= attempts) throw error
    }
    await wait(10 * 2 ** attempt)
  }
}

function isTransient(error: unknown): boolean {
  if (!HoldfastError.is(error)) return !PROGRAMMING_ERRORS.some((type) => error instanceof type)
  return error.code === 'ambiguous' || (error.code.startsWith('store-') && error.retry === 'later')
}
