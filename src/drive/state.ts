/**
 * The states of one driver with one conversation, and the table of transitions between them. Pure: nothing here reads,
 * writes or waits. Only `ownership.ts` applies an event.
 *
 *              opens            claimed               ended
 *      free ──────────▶ opening ───────▶ driving ──────────────▶ free
 *      ▲ ▲ │               │                │ ├── closed ──────▶ holding ── ended ──▶ free
 *      │ │ └─ claimed ─────┼────────────────┼─┼──────────────────▶ holding
 *      │ │    to append    │                │ └── broke ───────▶ leaving ── ended ──▶ free
 *      │ └── refused ──────┘                │ lost
 *      └──── drained ────── draining ◀──────┘
 *
 * `lost` moves `holding` and `leaving` to `free` at once. `granted` and `advanced` stay in the state.
 *
 * S1  Only the owner appends, under the epoch of its state: `driving`, `holding`, `leaving` (R1).
 * S2  Only `free` and `opening` claim. A driver never has two claims under way.
 * S3  Effects start only in `driving`, for the loop that the state names (R3, R4).
 * S4  A loop belongs to one `opening` or `driving`. A transition out of that state closes the loop: it starts nothing
 *     more, and effects that outlast their grace only have their results posted (R4).
 * S5  An ownership ends when the end of its turn or a release is durable (`ended`), or when the store refuses its epoch
 *     (`lost`). A turn that breaks owes a release (`leaving`), due when its effects have ended or their grace is over,
 *     and retried until the store takes it or refuses it for good. A claim whose replies were all lost owes one, too: if
 *     the store has it, it is held (`claimed to append`) and released.
 * S6  `draining` begins nothing: effects of the lost turn still run here. It ends with them, or with their grace, after
 *     one attempt to post their results (R4). A later result is posted when it comes.
 * S7  An event that a state does not list is a broken invariant and throws.
 */

import type { Batch, Next } from '../loop/index.ts'
import type { HoldfastError } from '../protocol/index.ts'

/** A running loop, and the signals that stop it. */
export interface Loop {
  readonly batches: AsyncGenerator<Batch, boolean>
  /** Aborts when the turn is cancelled. */
  readonly cancel: AbortController
  /** Aborts on a cancel too, and when the turn was lost. */
  readonly interrupt: AbortController
  /** Aborts on an interrupt too, after it, and when the turn is to be released for a shutdown. */
  readonly release: AbortController
}

/** A loop that sees `release` alone leaves its turn to the next driver, so `interrupt` is aborted first. */
export function interruptLoop({ interrupt, release }: Loop): void {
  interrupt.abort()
  release.abort()
}

/**
 * The lease that the store granted to a claim. `at`: when the newest acknowledged claim, append or renewal was sent. The
 * store counts the lease from then or later, so it lasts at least `leaseMs` from `at`.
 */
export interface LeaseGrant {
  readonly epoch: number
  readonly at: number
}

/** A promise and its resolver. Declared here: public declarations must not need a newer type library. */
export interface Deferred {
  readonly promise: Promise<void>
  readonly resolve: () => void
}

/** Not the owner, and no loop. Another process may be. */
export interface Free {
  readonly is: 'free'
}

/** A turn is being opened, and its claim is not decided. `left` resolves when this state is left. */
export interface Opening {
  readonly is: 'opening'
  readonly left: Deferred
}

/** The owner, with a loop. `next`: the loop's next action once its last batch is durable. */
export interface Driving {
  readonly is: 'driving'
  readonly grant: LeaseGrant
  readonly loop: Loop
  readonly next: Next
}

/** The owner, without a loop: entries are buffered, an entry is recorded under a claim of its own, or a release comes next. */
export interface Holding {
  readonly is: 'holding'
  readonly grant: LeaseGrant
}

/** The owner of a turn that cannot continue here. A release is owed, and the journal in memory is forgotten. */
export interface Leaving {
  readonly is: 'leaving'
  readonly grant: LeaseGrant
}

/** No longer the owner. `why`: the error for the loop of the lost turn. */
export interface Draining {
  readonly is: 'draining'
  readonly why: HoldfastError
  readonly left: Deferred
}

export type State = Free | Opening | Driving | Holding | Leaving | Draining

export type Event =
  | { readonly type: 'opens' }
  | { readonly type: 'refused' }
  /** The claim opened a turn or took it over. */
  | { readonly type: 'claimed'; readonly grant: LeaseGrant; readonly loop: Loop }
  /** The claim was made to append entries between two turns; no loop runs. */
  | { readonly type: 'claimed to append'; readonly grant: LeaseGrant }
  /** An append or a renewal was acknowledged. */
  | { readonly type: 'granted'; readonly at: number }
  | { readonly type: 'advanced'; readonly next: Next }
  /** The loop has ended and the epoch is still held. */
  | { readonly type: 'closed' }
  /** An entry that ends ownership is durable: `turn.end` or `release`. */
  | { readonly type: 'ended' }
  | { readonly type: 'lost'; readonly why: HoldfastError }
  | { readonly type: 'broke' }
  | { readonly type: 'drained' }

type On<S extends State> = {
  readonly [T in Event['type']]?: (state: S, event: Extract<Event, { readonly type: T }>) => State
}

export type Transitions = { readonly [N in State['is']]: On<Extract<State, { readonly is: N }>> }

export const FREE: Free = { is: 'free' }

const free = (): State => FREE
const draining = (_: State, { why }: { readonly why: HoldfastError }): State => ({
  is: 'draining',
  why,
  left: Promise.withResolvers(),
})
const renewed = <S extends Driving | Holding | Leaving>(state: S, { at }: { readonly at: number }): S => ({
  ...state,
  grant: { epoch: state.grant.epoch, at },
})

export const TRANSITIONS: Transitions = {
  free: {
    opens: () => ({ is: 'opening', left: Promise.withResolvers() }),
    'claimed to append': (_, { grant }) => ({ is: 'holding', grant }),
  },
  opening: {
    refused: free,
    claimed: (_, { grant, loop }) => ({ is: 'driving', grant, loop, next: 'continue' }),
  },
  driving: {
    granted: renewed,
    advanced: (state, { next }) => ({ ...state, next }),
    closed: ({ grant }) => ({ is: 'holding', grant }),
    ended: free,
    lost: draining,
    broke: ({ grant }) => ({ is: 'leaving', grant }),
  },
  holding: {
    granted: renewed,
    ended: free,
    lost: free,
  },
  leaving: {
    granted: renewed,
    ended: free,
    lost: free,
  },
  draining: {
    drained: free,
  },
}

/** The state after an event. Throws for an event that the state does not list (S7). */
export function after(transitions: Transitions, state: State, event: Event): State {
  const on = transitions[state.is] as On<State>
  const transition = on[event.type] as ((state: State, event: Event) => State) | undefined
  if (transition !== undefined) return transition(state, event)
  throw new Error(`A driver that is ${state.is} met "${event.type}" (S7). This is a defect of holdfast.`)
}

/*
 * The sets of states that other files decide by:
 *
 *                 free  opening  driving  holding  leaving  draining
 *   isOwner                         ×        ×        ×               appends under the epoch of its grant (S1)
 *   isRunning              ×        ×                                 has a loop (S4)
 *   isKeptCurrent          ×        ×        ×                        relies on its journal without a read
 *   isActing                        ×*                                *after a batch that starts effects
 *   needsLease                      ×        ×*                       *while entries are buffered
 */

/** The grant of an owner (S1). */
export function grantOf(state: State): LeaseGrant | undefined {
  return state.is === 'driving' || state.is === 'holding' || state.is === 'leaving' ? state.grant : undefined
}

export function isOwner(state: State): boolean {
  return grantOf(state) !== undefined
}

export function isRunning({ is }: State): boolean {
  return is === 'opening' || is === 'driving'
}

/**
 * Receipts keep the journal of an owner current, and an opening relies on the journal that it was decided from. A
 * leaving owner has forgotten its journal, and loads it again for a caller that reads it before the release.
 */
export function isKeptCurrent({ is }: State): boolean {
  return is === 'opening' || is === 'driving' || is === 'holding'
}

/** True while effects of the last batch may run: their results must be stored before the turn stops. */
export function isActing(state: State): boolean {
  return state.is === 'driving' && (state.next === 'tools' || state.next === 'continue')
}

/** True if the lease has to be renewed: for a loop, or for buffered entries that only this epoch may append. */
export function needsLease({ is }: State, hasUnsaved: boolean): boolean {
  return is === 'driving' || (is === 'holding' && hasUnsaved)
}

/** While in this state: resolves when it is left. */
export function whenLeft(state: State, is: 'opening' | 'draining'): Promise<void> | undefined {
  return state.is === is ? state.left.promise : undefined
}
