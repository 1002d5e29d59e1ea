/** The options of `trace()` and `fork()`. */
import type { TraceOptions } from '../journal/index.ts'
import type { OptionSet } from '../protocol/index.ts'

export interface ForkOptions {
  /** The last entry that the fork includes. Default: the newest. */
  readonly at?: number
}

export const TRACE: OptionSet<TraceOptions> = { place: 'trace()', options: { turn: 'a number' } }

export const FORK: OptionSet<ForkOptions> = { place: 'fork()', options: { at: 'a number' } }
