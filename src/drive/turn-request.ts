/** A request for a turn, as the conversation and as callers state it. */
import type { Continuation } from '../loop/index.ts'
import type { NewInboxEntry, Principal } from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'
import type { Auth } from './auth.ts'
import type { JournalState } from './journal-state.ts'
import type { TurnView } from './turn.ts'

export interface TurnRequest {
  /** The posts; `busy` is the number of the running turn, if there is one. Throws to refuse. */
  readonly posts?: (busy: number | undefined) => readonly NewInboxEntry[]
  /** Continue without a new input. */
  readonly continuing?: Continuation
  /** With `continuing`: the newest turn that the caller knows. If a later one has begun, the request gets that one. */
  readonly after?: number
  /** With `continuing`: begins a turn although there is nothing to continue. */
  readonly isUnprompted?: boolean
  readonly keys?: readonly string[]
  /** The key that the sender chose: it may have been posted before. */
  readonly repeats?: string
  readonly principal: Principal
  readonly credentials?: Credentials
  readonly signal?: AbortSignal
  /** Only `turn.step()` drives the turn. */
  readonly manual?: boolean
  /** Runs it in the async context of the caller; for observers only. */
  readonly within?: <T>(work: () => T) => T
  /** Runs before anything is posted; rejects to refuse. */
  readonly check?: (journal: JournalState) => Promise<void>
}

export function cancelOnAbort(signal: AbortSignal, turn: TurnView): void {
  const cancel = () => void turn.cancel('aborted').catch(() => {})
  signal.addEventListener('abort', cancel)
  void turn.outcome.finally(() => signal.removeEventListener('abort', cancel))
}

/** Marks the options of a request to continue that may be a repeated one: `after` of the request. */
export const CONTINUE_AFTER: unique symbol = Symbol('holdfast.continue-after')

/** The options of a turn request. `auth` defaults to the owner. */
export interface TurnRequestOptions {
  readonly [CONTINUE_AFTER]?: number
  readonly auth?: Auth
  readonly signal?: AbortSignal
  readonly manual?: boolean
}
