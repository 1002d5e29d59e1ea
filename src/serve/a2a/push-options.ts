/** The options of push notifications. */
import { type Clock, type Timer } from '../../base/index.ts'
import type { GuardedFetchOptions } from '../../net/index.ts'
import { checkOptions, type OptionSet } from '../../protocol/index.ts'

/** `allowOrigins`, `ca`, `resolve` and `connect` are those of a guarded fetch: only public addresses are reached. */
export interface PushOptions
  extends Pick<GuardedFetchOptions, 'allowOrigins' | 'ca' | 'resolve' | 'connect'> {
  /**
   * Signs every notification, and encrypts the receivers' credentials in the journal: `whsec_` and base64, or a text, of at
   * least 32 bytes. The same in all processes.
   */
  readonly secret: string
  /** How often a notification is sent in all. Default: 10, over about nine minutes. */
  readonly attempts?: number
  /** The limit of one attempt. Default: 10 s. */
  readonly timeoutMs?: number
  /** Another process goes on with the deliveries of one that is gone after so long. Default: 30 s. */
  readonly leaseMs?: number
  /** How often the store is asked for deliveries that are due. Default: 1 s. */
  readonly pollMs?: number
  /** Gets notifications that were given up. They are recorded in the journal, too. Default: a warning of the process. */
  readonly onFailure?: (failure: PushFailure) => void
  /** Time, for tests. */
  readonly clock?: Clock
  readonly timer?: Timer
}

export interface PushFailure {
  readonly tenant: string
  readonly actor: string
  readonly taskId: string
  readonly configId: string
  readonly url: string
  readonly attempts: number
  readonly reason: string
}

const PUSH: OptionSet<PushOptions> = {
  place: 'push of a2a()',
  options: {
    secret: 'a text',
    attempts: { least: 1 },
    timeoutMs: { leastMs: 1 },
    leaseMs: { leastMs: 1 },
    pollMs: { leastMs: 1 },
    onFailure: 'a function',
    allowOrigins: 'a list',
    ca: 'a text',
    resolve: 'a function',
    connect: 'a function',
    clock: 'an object',
    timer: 'a timer with wait() and after()',
  },
  foreign: { retries: 'attempts', signingSecret: 'secret', timeout: 'timeoutMs' },
}

export function checkPushOptions(options: PushOptions): void {
  checkOptions(options, PUSH)
}
