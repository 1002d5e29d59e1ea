/** How a turn ends, whatever ran in it: everything that came in too late is accounted for, and there is one outcome (R2, R14). */
import { type Request, stillOpen } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  isWaiting,
  type OutcomeReason,
  type StopRequest,
} from '../protocol/index.ts'
import { dataOf, type RunBase } from './run-base.ts'

export interface Ending {
  readonly error?: EntryData['turn.end']['error']
  readonly limit?: string
  readonly stopped?: StopRequest
  /** Why calls that were asked for are not run. */
  readonly why?: string
}

/** The last words of a turn: how it ended, what it used, and when to look again if it waits. */
export function sayTurnEnd(
  run: RunBase,
  outcome: OutcomeReason,
  { error, limit, stopped, cancel }: Ending & { readonly cancel?: string },
): void {
  const { usage, startedAt, requests } = run.open
  const maximum = limit === undefined ? undefined : (run.limits as Record<string, number | undefined>)[limit]
  const expiries = requests.flatMap(({ expiresAt }) => expiresAt ?? [])
  run.draft.append(
    'turn.end',
    {
      outcome,
      usage,
      durationMs: Math.max(0, run.scope.clock.now() - startedAt),
      ...(error === undefined ? {} : { error }),
      ...(limit === undefined ? {} : { limit }),
      ...(maximum === undefined ? {} : { maximum }),
      ...(stopped === undefined ? {} : { stopped }),
      ...(isWaiting(outcome) && expiries.length > 0 ? { wakeAt: Math.min(...expiries) } : {}),
    },
    cancel === undefined ? [] : [cancel],
  )
}

/** How a turn ends that cannot go on before these are answered. */
export function waitingFor(requests: readonly Request[]): OutcomeReason {
  return requests.some(({ kind }) => kind === 'auth') ? 'auth-required' : 'input-required'
}

/** What whoever ran a call has handed in since. */
export function handedIn(run: RunBase, callId: string): Entry | undefined {
  return run.inbox.find(
    (entry) => entry.type === 'late-result' && dataOf(entry, 'late-result').callId === callId,
  )
}

/**
 * Late results for calls that were settled as unknown are put on record; cancels of other turns, and late results of
 * calls that were settled otherwise, have come to nothing. A cancel of turn `ending`, and the one with the key `ends`, is
 * left for whoever ends that turn, and one of a turn to come is left alone.
 */
export function accountFor(run: RunBase, ending: number, ends?: string): void {
  const { inbox } = run
  if (inbox.length === 0) return
  const open = new Set(stillOpen(run.session).calls.map(({ callId }) => callId))
  for (const entry of inbox) {
    const takes = entry.key === undefined ? [] : [entry.key]
    if (entry.type === 'late-result') {
      const { callId, status, output } = dataOf(entry, 'late-result')
      if (open.has(callId)) continue
      if (run.session.unknown?.some((call) => call.callId === callId))
        run.draft.append('tool.late', { callId, status, output }, takes)
      else run.draft.append('take', { as: 'nothing', reason: `${callId} was settled before` }, takes)
    } else if (entry.type === 'cancel' && entry.key !== ends) {
      const { turn } = dataOf(entry, 'cancel')
      if (turn < run.session.turn || (turn === run.session.turn && turn !== ending))
        run.draft.append('take', { as: 'nothing', reason: `turn ${turn} is over` }, takes)
    }
  }
}
