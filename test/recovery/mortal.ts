/**
 * A process that dies on order, inside this one: from its death on, nothing that it asked for is answered, its tools do
 * nothing any more, and the store knows that it is gone. What it had made durable stays.
 */
import type { Ids, Liveness, Timer } from '../../src/base/index.ts'
import type { Store } from '../../src/store/index.ts'
import { CountingIds } from '../../src/testing/index.ts'

export interface Death {
  /** Counted over all appends, or all effects, of the process. */
  readonly of: 'append' | 'effect'
  readonly at: number
  readonly when: 'before' | 'after'
}

export class Mortal {
  readonly name: string
  readonly store: Store
  readonly ids: Ids
  readonly died: Promise<void>
  /** How many appends and effects there were. */
  readonly counts: { append: number; effect: number } = { append: 0, effect: 0 }
  readonly #death: Death | undefined
  readonly #dead = Promise.withResolvers<void>()
  #alive = true

  constructor(name: string, store: Store, death?: Death) {
    const counting = new CountingIds()
    this.name = name
    this.#death = death
    this.died = this.#dead.promise
    this.ids = { next: (prefix) => `${name}.${counting.next(prefix)}` }
    this.store = this.#overseen(store)
  }

  get isAlive(): boolean {
    return this.#alive
  }

  die(): void {
    this.#alive = false
    this.#dead.resolve()
  }

  /** Something that the process does: not at all if it is dead, and unheard of if it dies of it. */
  async act<T>(of: Death['of'], perform: () => T | Promise<T>): Promise<T> {
    if (!this.#alive) return forever()
    const n = ++this.counts[of]
    const strikes = this.#death?.of === of && this.#death.at === n ? this.#death.when : undefined
    if (strikes === 'before') this.die()
    if (!this.#alive) return forever()
    const done = await perform()
    if (strikes === 'after') this.die()
    return this.#alive ? done : forever()
  }

  #overseen(store: Store): Store {
    return new Proxy(store, {
      get: (target, name): unknown => {
        const method: unknown = Reflect.get(target, name)
        if (typeof method !== 'function') return method
        const call = (...given: unknown[]) => Reflect.apply(method, target, given) as unknown
        if (name === 'watch') return call
        if (name === 'append') return (...given: unknown[]) => this.act('append', () => call(...given))
        return async (...given: unknown[]) => (this.#alive ? await call(...given) : forever())
      },
    })
  }
}

/** Knows who is dead by the names that drivers carry after their process: `…#name.agent_1`. */
export function livenessOf(mortals: readonly Mortal[]): (driver: string) => Liveness {
  return (driver) => {
    const owner = mortals.find(({ name }) => driver.includes(`#${name}.`))
    return owner === undefined ? 'unknown' : owner.isAlive ? 'alive' : 'dead'
  }
}

/** Waiting takes no time; only what waits in the background, such as for a deadline, waits for ever. */
export const eagerTimer: Timer = {
  wait: (_, { signal, background } = {}) =>
    new Promise((resolve) => {
      if (signal?.aborted) return resolve()
      signal?.addEventListener('abort', () => resolve(), { once: true })
      if (!background) setImmediate(resolve)
    }),
  after: () => () => {},
}

function forever(): Promise<never> {
  return new Promise(() => {})
}
