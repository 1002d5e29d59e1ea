/**
 * Trouble on order: a decorator that makes chosen appends of any store fail, stall or take the process down with them,
 * before or after the write. What it does not touch goes through unchanged.
 */
import { HoldfastError, keyText } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Store } from '../store/index.ts'
import { killSelf } from './kill-self.ts'

export type Fault = Disturbance | Refusal

interface Chosen {
  /** Which appends: one by its number, counted from 1 over all calls, repetitions included; or all that a test says. */
  readonly at: number | ((request: AppendRequest, n: number) => boolean)
}

/** Trouble around the write. */
interface Disturbance extends Chosen {
  /**
   * `fail`: rejects as `ambiguous`, so the writer cannot know whether it was written. `stall`: goes on only when
   * `until` resolves, never if there is none. `kill`: ends this process at once and without a word, as a power cut would.
   */
  readonly how: 'fail' | 'stall' | 'kill'
  /** `before`: nothing has been written yet. `after`: the append is durable, but the writer has not heard of it. */
  readonly when: 'before' | 'after'
  readonly until?: Promise<unknown>
}

/** The store says no, nothing was written, and the writer knows it. */
interface Refusal extends Chosen {
  readonly how: 'refuse'
  /** There is no after: what was written cannot be refused. */
  readonly when?: 'before'
  /**
   * `store-failed` unless said otherwise: it broke, and asking again does not help. `store-full`: the disk is full.
   * `store-busy`: somebody else holds the lock. The last two may pass, so that they are asked again.
   *
   * A disk that is really full is had with `sqliteStore(path, { maxBytes })`, which lets the file grow so far and no
   * further; open it again with more, or erase something, and there is room.
   */
  readonly code?: 'store-failed' | 'store-full' | 'store-busy'
}

/**
 * The same store, with the faults of the plan. Each append suffers the first fault that applies before it, and the
 * first that applies after it.
 *
 * @example
 * const store = faultyStore(memoryStore(), [{ at: 3, how: 'fail', when: 'after' }])
 * await persist(store, request) // appends exactly once, although the third call says that it does not know
 *
 * @example
 * // In a process of its own: dies after its fifth append is durable and before anybody hears of it.
 * faultyStore(sqliteStore(path), [{ at: 5, how: 'kill', when: 'after' }])
 *
 * @example
 * // The disk is full for the turn of this conversation, and nobody makes room.
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
  return new Proxy(store, {
    get(target, name) {
      if (name === 'append') return append
      const value: unknown = Reflect.get(target, name)
      // Bound, because a proxy has no access to the private fields of its target.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value
    },
  })
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

function lost(request: AppendRequest, when: Disturbance['when']): HoldfastError {
  return new HoldfastError('ambiguous', {
    message: `The answer to append ${request.id} to ${keyText(request.key)} was lost on order (fault ${when} the write). Repeat it with the same id.`,
    retry: 'later',
    details: { id: request.id, contextId: request.key.contextId, when },
  })
}
