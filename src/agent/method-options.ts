/** The options of `trace()`, `fork()` and `shutdown()`. */
import type { TraceOptions } from '../journal/index.ts'
import type { OptionSet } from '../protocol/index.ts'

export interface ForkOptions {
  /** The last entry that the fork includes. Default: the newest. */
  readonly at?: number
}

export interface ShutdownOptions {
  /** Default: true, an entry records the shutdown. */
  readonly save?: boolean
  /** The time that effects and functions of the config under way have to end. Default: 30 seconds. */
  readonly graceMs?: number
}

export const TRACE: OptionSet<TraceOptions> = { place: 'trace()', options: { turn: 'a number' } }

export const FORK: OptionSet<ForkOptions> = { place: 'fork()', options: { at: 'a number' } }

export const SHUTDOWN: OptionSet<ShutdownOptions> = {
  place: 'shutdown()',
  options: { save: 'true or false', graceMs: { leastMs: 0 } },
}
