/** Ends a turn of a graph: settles everything open or leaves it to be continued, and accounts for late results. */

import { accountFor, appendTurnEnd, dataOf, effectEnd, lateResultOf } from '../loop/index.ts'
import { defined, type EntryData, isWaiting, type OutcomeReason } from '../protocol/index.ts'
import { UNKNOWN } from '../tool/index.ts'
import type { Run } from './run.ts'

export interface RunEnding {
  readonly error?: EntryData['turn.end']['error']
  readonly limit?: string
}

export function endRun(run: Run, outcome: OutcomeReason, ending: RunEnding = {}): undefined {
  run.queue.drain()
  if (!isWaiting(outcome)) settleOpen(run)
  const cancel = run.cancelKey()
  accountFor(run, run.open.turn, cancel)
  appendTurnEnd(run, outcome, { ...ending, ...defined({ cancel }) })
}

/** Ends every open request, and settles every open effect. */
export function settleOpen(run: Run): void {
  const { draft } = run
  for (const { requestId } of run.open.requests) draft.append('request.end', { requestId, how: 'cancelled' })
  settleEffects(run)
}

/** Settles unsettled effects; their real results may still be posted as late. */
export function settleEffects(run: Run): void {
  for (const { effects = [] } of run.session.graph?.tasks ?? [])
    for (const { callId, status } of effects) if (status === undefined) settleEffect(run, callId)
}

function settleEffect(run: Run, callId: string): void {
  const late = lateResultOf(run, callId)
  if (late?.key === undefined) {
    run.draft.append('effect.end', { callId, status: 'unknown', output: UNKNOWN })
    return
  }
  run.draft.append('effect.end', effectEnd(dataOf(late, 'late-result')), [late.key])
}
