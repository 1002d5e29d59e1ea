/** The exit codes. Scripts rely on these numbers: codes may be added, and are never changed. */
import type { OutcomeReason } from 'holdfast'
import type { TaskEnd } from 'holdfast/flows'

export const EXIT = {
  done: 0,
  failed: 1,
  /** The arguments or the message cannot be used. */
  usage: 2,
  /** The config file, the model, the store or this Node cannot be used. */
  unusable: 3,
  /** A limit ended the turn; its partial text was printed. */
  limit: 4,
  inputRequired: 5,
  authRequired: 6,
  /** The verification of a task failed; its answer was printed. */
  notVerified: 7,
  /** A task ended without a verdict on its answer. */
  noVerdict: 8,
  /** 128 + SIGINT, as in shells. */
  cancelled: 130,
  /** 128 + SIGHUP: the terminal was closed. */
  hungUp: 129,
  /** 128 + SIGTERM: the turn was paused and can be continued. */
  terminated: 143,
} as const

const CODES: Readonly<Record<OutcomeReason, number>> = {
  stop: EXIT.done,
  'max-iterations': EXIT.limit,
  limit: EXIT.limit,
  'input-required': EXIT.inputRequired,
  'auth-required': EXIT.authRequired,
  cancelled: EXIT.cancelled,
  failed: EXIT.failed,
}

export function exitCodeOf(reason: OutcomeReason): number {
  return CODES[reason]
}

const TASK_CODES: Readonly<Record<TaskEnd, number>> = {
  verified: EXIT.done,
  'not-verified': EXIT.notVerified,
  'no-verdict': EXIT.noVerdict,
  limit: EXIT.limit,
  waiting: EXIT.inputRequired,
  cancelled: EXIT.cancelled,
  failed: EXIT.failed,
}

export function exitCodeOfTask(ended: TaskEnd): number {
  return TASK_CODES[ended]
}
