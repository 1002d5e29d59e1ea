/**
 * Trouble on order: a decorator that makes chosen appends of any store fail, stall or take the process down with them,
 * before or after the write. What it does not touch goes through unchanged.
 */
import { HoldfastError, keyText } from '../protocol/index.ts'
import type { AppendRequest, Receipt, Store } from '../store/index.ts'

export interface Fault {
  /** Which appends: one by its number, counted from 1 over all calls, repetitions included; or all that a test says. */
  readonly at: number | ((request: AppendRequest, n: number) => boolean)
  /**
   * `fail`: rejects as `ambiguous`, so the writer cannot know whether it was written. `stall`: goes on only when
   * `until` resolves, never if there is none. `kill`: ends this process at once and without a word, as a power cut would.
   */
  readonly how: 'fail' | 'stall' | 'kill'
  /** `before`: nothing has been written yet. `after`: the append is durable, but the writer has not heard of it. */
  readonly when: 'before' | 'after'
  readonly until?: Promise<unknown>
}

/**
 * The same store, with the faults of the plan. Each append suffers the first fault that applies before it, and the
 * first that applies after it.
 *
 * @example
 * const store = faultyStore(memoryStore(), [{ at: 3, how: 'fail', when: 'after' }])
 * await persist(store, request) // appends exactly once, although the third call says that it does not know
 */
export function faultyStore<S extends Store>(store: S, plan: readonly Fault[]): S {
  let appends = 0
  const append = async (request: AppendRequest): Promise<Receipt> => {
    appends += 1
    const faults = plan.filter(({ at }) => (typeof at === 'number' ? at === appends : at(request, appends)))
    await suffer(
      faults.find(({ when }) => when === 'before'),
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
  if (fault.how === 'fail') throw lost(request, fault.when)
  if (fault.how === 'kill') process.kill(process.pid, 'SIGKILL')
  // A kill is delivered a moment later, and must find nothing done in between.
  await (fault.until ?? new Promise(() => {}))
}

function lost(request: AppendRequest, when: Fault['when']): HoldfastError {
  return new HoldfastError('ambiguous', {
    message: `The answer to append ${request.id} to ${keyText(request.key)} was lost on order (fault ${when} the write). Repeat it with the same id.`,
    retry: 'later',
    details: { id: request.id, contextId: request.key.contextId, when },
  })
}
