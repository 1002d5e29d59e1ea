/** Ends an agent's turn: open calls and requests are settled or parked, late inbox entries accounted for (R2, R14). */
import type { MaybePromise } from '../base/index.ts'
import type { Call } from '../journal/index.ts'
import { accountFor, appendTurnEnd, dataOf, type Ending, lateResultOf } from '../loop/index.ts'
import { isWaiting, moreUsage, NO_USAGE, type OutcomeReason, type Usage } from '../protocol/index.ts'
import { UNKNOWN } from '../tool/index.ts'
import { type Compaction, compactEntry, compaction, keepOf } from './compaction.ts'
import { entriesSoFar, isCompactionDue, warnIfFull, warnIfOver, watchesFill } from './context-fill.ts'
import type { TurnRun } from './turn-run.ts'

export const NOT_RUN = 'Not run: the turn ended first.'

export function endTurn(run: TurnRun, outcome: OutcomeReason, ending: Ending = {}): MaybePromise<void> {
  const { draft } = run
  const { why = NOT_RUN, handsOn = false } = ending
  const waiting = isWaiting(outcome)
  if (!waiting && !handsOn) settleRest(run, why)
  const cancel = run.cancelKey()
  accountFor(run, run.open.turn, cancel)
  const isFilling = !waiting && watchesFill(run.scope.definition)
  const end = (compact?: Compaction): void => {
    if (!waiting && run.scope.definition.nodeTurn === undefined) warnIfOver(run)
    if (compact !== undefined) draft.append('compact', compact)
    appendTurnEnd(run, outcome, { ...ending, ...(cancel === undefined ? {} : { cancel }) })
  }
  return isFilling ? compactionAtEnd(run).then(end) : end()
}

/** Ends every open request and call of the turn. */
export function settleRest(run: TurnRun, why: string): void {
  const { draft } = run
  for (const { requestId } of run.open.requests) draft.append('request.end', { requestId, how: 'cancelled' })
  for (const call of run.open.calls) {
    if (call.state === 'started') settleUnknown(run, call)
    else if (call.state === 'requested')
      draft.append('tool.end', {
        callId: call.callId,
        ...(expired(call) ?? { status: 'not-run', output: why }),
      })
    if (call.state === 'requested' && call.idempotencyKey !== undefined) run.abandon(call.callId)
  }
}

function expired({ answers }: Call): { readonly status: 'rejected'; readonly output: string } | undefined {
  return answers?.some(({ how }) => how === 'expired')
    ? { status: 'rejected', output: UNANSWERED }
    : undefined
}

export const UNANSWERED = 'Nobody answered in time.'

/** Settles a started call with its late result, or as unknown. */
export function settleUnknown(run: TurnRun, call: Call, why: string = UNKNOWN): void {
  const { callId } = call
  const late = lateResultOf(run, callId)
  if (late?.key === undefined) {
    run.abandon(callId)
    run.draft.append('tool.end', { callId, status: 'unknown', output: why })
    return
  }
  const { usage: used, ...settled } = dataOf(late, 'late-result')
  const usage = used && uncounted(call, used)
  run.draft.append('tool.end', { ...settled, ...(usage === undefined ? {} : { usage }), callId }, [late.key])
}

/** The part of a sub-agent's usage that no turn has counted yet; undefined if there is none. */
export function uncounted(call: Pick<Call, 'used'> | undefined, used: Usage): Usage | undefined {
  const usage = moreUsage(used, call?.used ?? NO_USAGE)
  return usage.inputTokens + usage.outputTokens + usage.costUsd === 0 ? undefined : usage
}

/** Sliding only: a summary would delay the end of the turn, and may never be needed. */
async function compactionAtEnd(run: TurnRun): Promise<Compaction | undefined> {
  const { session, scope } = run
  const { compact } = scope.definition
  const entries = await entriesSoFar(run)
  const isNeeded = isCompactionDue(scope.definition, { entries, session })
  if (isNeeded && compact?.strategy === 'sliding') {
    const unsaved = session.window.messages - scope.view.session.window.messages
    const cut = compaction(await scope.view.window(), session, {
      keep: keepOf(compact, session.window.messages),
      unsaved,
    })
    if (cut !== undefined) return compactEntry(entries, cut, { strategy: 'sliding' })
  }
  if (!isNeeded || compact?.strategy === 'sliding') warnIfFull(run, entries)
  return undefined
}
