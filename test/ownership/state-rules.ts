/**
 * Checks rules S1 to S7 of the driver's states (`src/drive/state.ts`) from outside: its table, store, loops and effects
 * pass through here. One instance watches one driver, and counts the transitions.
 */
import {
  type Event,
  FREE,
  grantOf,
  type State,
  TRANSITIONS,
  type Transitions,
} from '../../src/drive/state.ts'
import type { Batch } from '../../src/loop/index.ts'
import type { AppendRequest, Receipt, Store } from '../../src/store/index.ts'
import { decorate } from './decorate.ts'

export interface StateReport {
  readonly violate: (rule: string, message: string) => void
  /** A transition was taken. */
  readonly taken: (transition: string) => void
}

type Loop = AsyncGenerator<Batch, boolean>

const EVENTS: readonly Event['type'][] = [
  'opens',
  'refused',
  'claimed',
  'claimed to append',
  'granted',
  'advanced',
  'closed',
  'ended',
  'lost',
  'broke',
  'drained',
]

/** Every transition of the table, as `state · event`. */
export const ALL_TRANSITIONS: readonly string[] = Object.entries(TRANSITIONS).flatMap(([is, on]) =>
  Object.keys(on).map((type) => `${is} · ${type}`),
)

/** The rule that a driver breaks if it stops in this state. */
const NO_END: Readonly<Record<Exclude<State['is'], 'free'>, string>> = {
  opening: 'S4',
  driving: 'S5',
  holding: 'S5',
  leaving: 'S5',
  draining: 'S6',
}

export class StateRules {
  readonly #driver: string
  readonly #report: StateReport
  readonly #open = new Set<Loop>()
  readonly #sent = new Set<string>()
  readonly #claims = new Set<string>()
  #epoch: number | undefined
  #effects = 0
  #isBroken = false
  #state: State = FREE

  constructor(driver: string, report: StateReport) {
    this.#driver = driver
    this.#report = report
  }

  /**
   * The table, watched. An unlisted event is reported and changes nothing: thrown, it could end in a promise that is
   * not awaited, unseen by the search.
   */
  table(transitions: Transitions = TRANSITIONS): Transitions {
    const watched = Object.keys(transitions).map((is) => {
      const on = transitions[is as State['is']] as Readonly<Record<string, Step | undefined>>
      return [is, Object.fromEntries(EVENTS.map((type) => [type, this.#step(is, type, on[type])]))]
    })
    return Object.fromEntries(watched) as Transitions
  }

  #step(is: string, type: string, step: Step | undefined): Step {
    return (state, event) => {
      if (step === undefined) {
        this.#violate('S7', `is ${is} and met "${type}"`)
        return state
      }
      this.#report.taken(`${is} · ${type}`)
      this.#state = step(state, event)
      return this.#state
    }
  }

  store(store: Store): Store {
    return decorate(store, {
      append: async (request) => {
        // A repeated append, under the same id, may meet another state (R5).
        if (!this.#sent.has(request.id)) this.#mayAppend(request)
        this.#sent.add(request.id)
        if (request.claim !== undefined) this.#claims.add(request.id)
        try {
          const receipt = await store.append(request)
          this.#acknowledged(request, receipt)
          return receipt
        } finally {
          this.#claims.delete(request.id)
        }
      },
    })
  }

  /** The epoch that the store has granted to this driver, until the driver has released it. */
  #acknowledged({ claim, epoch, entries = [] }: AppendRequest, receipt: Receipt): void {
    if (claim !== undefined) this.#epoch = receipt.epoch
    const isOver = entries.some(({ type }) => type === 'turn.end' || type === 'release')
    if (isOver && (claim !== undefined || epoch === this.#epoch)) this.#epoch = undefined
  }

  #mayAppend({ epoch, claim, id }: AppendRequest): void {
    const { is } = this.#state
    if (epoch !== undefined && (grantOf(this.#state)?.epoch !== epoch || this.#epoch !== epoch))
      this.#violate('S1', `is ${is}, has epoch ${this.#epoch} and appends under epoch ${epoch}`)
    if (claim === undefined) return
    if (this.#effects > 0) this.#violate('S6', `claims while its effects are under way`)
    else if (is !== 'free' && is !== 'opening') this.#violate('S2', `is ${is} and claims`)
    if (this.#claims.size > (this.#claims.has(id) ? 1 : 0)) this.#violate('S2', 'claims twice at once')
  }

  /** A loop that runs only in its own state, and is closed before there is another one. */
  loop(batches: Loop): Loop {
    if (this.#open.size > 0) this.#violate('S4', 'makes a loop while another one is open')
    let isActing = false
    const closing = async (result: Promise<IteratorResult<Batch, boolean>>) => {
      try {
        const { done, value } = await result
        isActing = !done && value.next === 'tools'
        if (done) this.#open.delete(loop)
      } catch {
        this.#open.delete(loop)
      }
      return result
    }
    const loop: Loop = {
      next: () => {
        this.#mayGoOn(loop)
        return closing(batches.next())
      },
      return: (value) => {
        if (isActing) this.#violate('R4', 'lets go of calls that it has started and not run')
        return closing(batches.return(value))
      },
      throw: (error) => closing(batches.throw(error)),
      [Symbol.asyncIterator]: () => loop,
      [Symbol.asyncDispose]: async () => void (await loop.return(true)),
    }
    this.#open.add(loop)
    return loop
  }

  #mayGoOn(loop: Loop): void {
    const state = this.#state
    const isOwn = state.is === 'opening' || (state.is === 'driving' && state.loop.batches === loop)
    if (!isOwn || !this.#open.has(loop))
      this.#violate('S4', `is ${state.is} and plays a loop of another state`)
  }

  async effect<T>(run: () => Promise<T>): Promise<T> {
    const { is } = this.#state
    if (is !== 'driving') this.#violate('S3', `is ${is} and starts an effect`)
    this.#effects += 1
    try {
      return await run()
    } finally {
      this.#effects -= 1
    }
  }

  /** The driver has nothing more to do. */
  end(): void {
    const { is } = this.#state
    if (is !== 'free') this.#violate(NO_END[is], `stops while it is ${is}`)
    if (this.#open.size > 0) this.#violate('S4', 'stops and leaves a loop open')
  }

  /** One violation leads to many. */
  #violate(rule: string, message: string): void {
    if (this.#isBroken) return
    this.#isBroken = true
    this.#report.violate(rule, `${this.#driver} ${message}`)
  }
}

type Step = (state: State, event: Event) => State
