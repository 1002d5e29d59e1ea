/**
 * Fault injection for stores: a decorator that makes selected appends of any store fail, stall or kill the process,
 * before or after the write. Other calls pass unchanged.
 */
import { HoldfastError, keyText } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Store } from '../store/index.ts'
import { killSelf } from './kill-self.ts'
import { withMethod } from './with-method.ts'

export type Fault = WriteFault | Refusal

interface Chosen {
  /** The appends to disturb: one by its number, counted from 1 with retries, or those for which the function returns true. */
  readonly at: number | ((request: AppendRequest, n: number) => boolean)
}

/** A fault before or after the write. */
interface WriteFault extends Chosen {
  /**
   * `fail`: rejects as `ambiguous`, so the writer cannot know the result. `stall`: waits until `until` resolves, forever
   * without it. `kill`: ends this process at once, as a power cut would.
   */
  readonly how: 'fail' | 'stall' | 'kill'
  /** `before`: nothing has been written yet. `after`: the append is durable, but the writer has no receipt. */
  readonly when: 'before' | 'after'
  readonly until?: Promise<unknown>
}

/** The store refuses: nothing was written, and the writer knows it. */
interface Refusal extends Chosen {
  readonly how: 'refuse'
  /** Only before: a written append cannot be refused. */
  readonly when?: 'before'
  /**
   * `store-failed`, the default: the store is broken, and a retry does not help. `store-full`: the disk is full.
   * `store-busy`: another process holds the lock. The last two may pass, so writers retry them.
   *
   * For a file that is really full, use `sqliteStore(path, { maxBytes })`; to make room, open it again with more, or erase
   * a conversation.
   */
  readonly code?: 'store-failed' | 'store-full' | 'store-busy'
}

/**
 * The same store, with the faults of the plan: for each append, the first that applies before it and the first that
 * applies after it.
 *
 * @example
 * const store = faultyStore(memoryStore(), [{ at: 3, how: 'fail', when: 'after' }])
 * await persist(store, request) // appends exactly once, although the third call rejects as ambiguous
 *
 * @example
 * // In a process of its own: dies after its fifth append is durable and before its receipt.
 * faultyStore(sqliteStore(path), [{ at: 5, how: 'kill', when: 'after' }])
 *
 * @example
 * // The disk stays full for the turn of this conversation.
 * faultyStore(store, [{ at: ({ entries }) => entries !== undefined, how: 'refuse', code: 'store-full' }])
 */
export function faultyStore<S extends Store>(store: S, plan: readonly Fault[]): S {
  let appends = 0
  const append = async (request: AppendRequest): Promise<Receipt> => {
    appends += 1
    const faults = plan.filter(({ at }) => (typeof at === 'number' ? at === appends : at(request, appends)))
    await suffer(
      faults.find(({ when = 'before' }) => when === 'before'),
      request,
    )
    const receipt = await store.append(request)
    await suffer(
      faults.find(({ when }) => when === 'after'),
      request,
    )
    return receipt
  }
  return withMethod(store, 'append', append)
}

async function suffer(fault: Fault | undefined, request: AppendRequest): Promise<void> {
  if (fault === undefined) return
  if (fault.how === 'refuse') throw refusal(request, fault.code ?? 'store-failed')
  if (fault.how === 'fail') throw lost(request, fault.when)
  if (fault.how === 'kill') killSelf()
  await (fault.until ?? new Promise(() => {}))
}

function refusal(request: AppendRequest, code: NonNullable<Refusal['code']>): HoldfastError {
  return new HoldfastError(code, {
    message: `Append ${request.id} to ${keyText(request.key)} was refused on order. Nothing was written.`,
    ...(code === 'store-failed' ? {} : { retry: 'later' }),
    details: { id: request.id, contextId: request.key.contextId },
  })
}

function lost(request: AppendRequest, when: WriteFault['when']): HoldfastError {
  return new HoldfastError('ambiguous', {
    message: `The answer to append ${request.id} to ${keyText(request.key)} was lost on order (fault ${when} the write). Repeat it with the same id.`,
    retry: 'later',
    details: { id: request.id, contextId: request.key.contextId, when },
  })
}
