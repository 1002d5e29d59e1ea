/** The writer's half of R5: retries an append with unknown outcome, under the same id, until it is settled. Renewals, too. */
import { setTimeout as sleep } from 'node:timers/promises'
import { HoldfastError, keyText } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Renewal, RenewRequest, Store } from './port.ts'

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
 * programming errors at once. Gives up with `ambiguous` if the outcome of any attempt is unknown, else with the last
 * error.
 */
export async function persist(
  store: Pick<Store, 'append'>,
  request: AppendRequest,
  { attempts = 5, wait = sleep }: PersistOptions = {},
): Promise<Receipt> {
  let isUnknown = false
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.append(request)
    } catch (error) {
      isUnknown ||= isTransient(error) && !isOfStore(error)
      if (!isTransient(error) || attempt >= attempts)
        throw isUnknown && !isRefusal(error) ? ambiguous(request, error) : error
    }
    await wait(10 * 2 ** attempt)
  }
}

/** Renews a lease. Retries like `persist`, and gives up with a failure of the store or its refusal. */
export async function persistLease(
  store: Pick<Store, 'renew'>,
  request: RenewRequest,
  { attempts = 5, wait = sleep }: PersistOptions = {},
): Promise<Renewal> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await store.renew(request)
    } catch (error) {
      if (!isTransient(error)) throw error
      if (attempt >= attempts) throw HoldfastError.is(error) ? error : notRenewed(request, error)
    }
    await wait(10 * 2 ** attempt)
  }
}

function notRenewed({ key }: RenewRequest, cause: unknown): HoldfastError {
  return new HoldfastError('store-failed', {
    message: `The store did not renew the lease of ${keyText(key)}: ${textOf(cause)}.`,
    retry: 'later',
    details: { contextId: key.contextId },
    cause,
  })
}

function textOf(thrown: unknown): string {
  return thrown instanceof Error ? thrown.message : String(thrown)
}

function isTransient(error: unknown): boolean {
  if (!HoldfastError.is(error)) return !PROGRAMMING_ERRORS.some((type) => error instanceof type)
  return error.code === 'ambiguous' || (isOfStore(error) && error.retry === 'later')
}

/** A failure of the store itself: nothing was written by this attempt. */
function isOfStore(error: unknown): boolean {
  return HoldfastError.is(error) && error.code.startsWith('store-')
}

/** Certain for every attempt: a store recognises a repeated id before it refuses. */
function isRefusal(error: unknown): boolean {
  return HoldfastError.is(error) && error.code !== 'ambiguous' && !isOfStore(error)
}

function ambiguous({ id, key }: AppendRequest, cause: unknown): unknown {
  if (HoldfastError.is(cause, 'ambiguous')) return cause
  return new HoldfastError('ambiguous', {
    message: `The store did not say whether append ${id} to ${keyText(key)} was written (${textOf(cause)}). Repeat it with the same id.`,
    retry: 'later',
    details: { id, contextId: key.contextId },
    cause,
  })
}
