/** The writer's half of R5: an append whose fate is unknown is asked for again, under the same id, until it is known. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Store } from './port.ts'

export interface PersistOptions {
  /** How often to ask before giving up with the last error. 5 if not given. */
  readonly attempts?: number
  readonly wait?: (ms: number) => Promise<void>
}

/**
 * Appends once, whatever happens on the way. Refusals are thrown at once: they are certain. Anything else that is not
 * the store's own word counts as ambiguous too.
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
      const certain = HoldfastError.is(error) && error.code !== 'ambiguous'
      if (certain || attempt >= attempts) throw error
    }
    await wait(10 * 2 ** attempt)
  }
}
