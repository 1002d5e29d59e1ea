/** Kills its own process at a point of one conversation: before or after an append or an effect. */
import type { Store } from '../../../../src/store/index.ts'
import { faultyStore } from '../../../../src/testing/index.ts'
import { killSelf } from '../../../../src/testing/kill-self.ts'

/** Counted from the first append, or the first effect, of the conversation. */
export interface KillPoint {
  readonly of: 'append' | 'effect'
  readonly at: number
  readonly when: 'before' | 'after'
}

export interface PointCounts {
  readonly append: number
  readonly effect: number
}

export class KillSwitch {
  readonly #counts = { append: 0, effect: 0 }
  #contextId = ''
  #point: KillPoint | undefined

  /** Counts anew, for this conversation; without a point, it only counts. */
  arm(contextId: string, point?: KillPoint): void {
    this.#contextId = contextId
    this.#point = point
    this.#counts.append = 0
    this.#counts.effect = 0
  }

  get counts(): PointCounts {
    return { ...this.#counts }
  }

  /** The store with the kills of appends. */
  around(store: Store): Store {
    const isNext = (when: KillPoint['when']): boolean => this.#isNext('append', when)
    return faultyStore(store, [
      {
        at: ({ key }) => {
          if (key.contextId !== this.#contextId) return false
          this.#counts.append += 1
          return isNext('before')
        },
        how: 'kill',
        when: 'before',
      },
      { at: ({ key }) => key.contextId === this.#contextId && isNext('after'), how: 'kill', when: 'after' },
    ])
  }

  /** An effect with the kills before and after it. */
  effect(contextId: string, act: () => void): void {
    if (contextId === this.#contextId) this.#counts.effect += 1
    if (contextId === this.#contextId && this.#isNext('effect', 'before')) killSelf()
    act()
    if (contextId === this.#contextId && this.#isNext('effect', 'after')) killSelf()
  }

  #isNext(of: KillPoint['of'], when: KillPoint['when']): boolean {
    const point = this.#point
    return point?.of === of && point.at === this.#counts[of] && point.when === when
  }
}
