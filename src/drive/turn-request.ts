/** What a caller wants of a conversation, and how the turn for it is asked for. */
import type { Continuation } from '../loop/index.ts'
import type { NewInboxEntry, Principal } from '../protocol/index.ts'
import type { Credentials } from '../tool/index.ts'
import type { Auth } from './auth.ts'
import type { JournalState } from './journal-state.ts'

/** What somebody wants of the conversation. */
export interface TurnRequest {
  /** What to post; `busy` is the number of the turn that runs, if one does. Throws to refuse. */
  readonly posts?: (busy: number | undefined) => readonly NewInboxEntry[]
  /** Go on without anything new. */
  readonly continuing?: Continuation
  readonly keys?: readonly string[]
  /** The key that the sender chose: it may have been heard before. */
  readonly repeats?: string
  readonly principal: Principal
  readonly credentials?: Credentials
  readonly signal?: AbortSignal
  /** Nobody drives it but `turn.step()`. */
  readonly manual?: boolean
  /** Looked at before anything is posted; rejects to refuse. */
  readonly check?: (journal: JournalState) => Promise<void>
}

/** How a turn is asked for. What is left out is the owner's. */
export interface Asking {
  readonly auth?: Auth
  readonly signal?: AbortSignal
  readonly manual?: boolean
}
