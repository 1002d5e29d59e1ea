/** How a turn of a graph ends: everything open is settled or stays to be gone on with, and what came too late is accounted for. */

import { accountFor, appendTurnEnd, dataOf, lateResultOf } from '../loop/index.ts'
import { defined, type EntryData, isWaiting, type OutcomeReason } from '../protocol/index.ts'
import { UNKNOWN } from './effects.ts'
import type { Run } from './run.ts'

export interface Ending {
  readonly error?: EntryData['turn.end']['error']
  readonly limit?: string
}

export function endRun(run: Run, outcome: OutcomeReason, ending: Ending = {}): undefined {
  run.queue.drain()
  if (!isWaiting(outcome)) settleRest(run)
  const cancel = run.cancelKey()
  accountFor(run, run.open.turn, cancel)
  appendTurnEnd(run, outcome, { ...ending, ...defined({ cancel }) })
}

/** Ends every open request, and every effect of which nobody will know more. */
export function settleRest(run: Run): void {
  const { draft } = run
  for (const { requestId } of run.open.requests) draft.append('request.end', { requestId, how: 'cancelled' })
  settleEffects(run)
}

/** Of those that are still under way it may come to be known later. */
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
  const { status, output, cut } = dataOf(late, 'late-result')
  run.draft.append('effect.end', { callId, status, output, ...(cut ? { cut } : {}) }, [late.key])
}
