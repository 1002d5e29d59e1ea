/** Ends a turn of any loop: late inbox entries are accounted for, and there is one outcome (R2, R14). */
import { isStarted, isUnknown, type Request, stillOpen } from '../journal/index.ts'
import {
  defined,
  type Entry,
  type EntryData,
  isWaiting,
  type Json,
  type OutcomeReason,
  type StopRequest,
} from '../protocol/index.ts'
import { dataOf, type RunBase } from './run-base.ts'

export interface Ending {
  readonly error?: EntryData['turn.end']['error']
  readonly limit?: string
  readonly stopped?: StopRequest
  readonly output?: Json
  /** The reason given for calls that are not run. */
  readonly why?: string
  /** Open calls are the caller's: they stay unsettled. */
  readonly handsOn?: boolean
}

/** Appends `turn.end`: the outcome, the usage, and when to wake up if the turn waits. */
export function appendTurnEnd(
  run: RunBase,
  outcome: OutcomeReason,
  { error, limit, stopped, cancel, output, handsOn = false }: Ending & { readonly cancel?: string },
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
      ...defined({ error, limit, maximum, stopped, output }),
      ...(handsOn ? { handedOn: openCalls(run) } : {}),
      ...(isWaiting(outcome) && expiries.length > 0 ? { wakeAt: Math.min(...expiries) } : {}),
    },
    cancel === undefined ? [] : [cancel],
  )
}

function openCalls({ open }: RunBase): readonly string[] {
  return open.calls.filter(({ state }) => state !== 'settled').map(({ callId }) => callId)
}

/** The outcome of a turn that waits for these requests. */
export function waitingFor(requests: readonly Request[]): OutcomeReason {
  return requests.some(({ kind }) => kind === 'auth') ? 'auth-required' : 'input-required'
}

/** The late result of a call, if its former driver has handed one in. */
export function lateResultOf(run: RunBase, callId: string): Entry | undefined {
  return run.inbox.find(
    (entry) => entry.type === 'late-result' && dataOf(entry, 'late-result').callId === callId,
  )
}

/**
 * Takes the inbox entries that no turn needs. Late results settle effects of nodes that wait, and those of unknown calls become
 * `tool.late`; other late results, and cancels of earlier turns, are taken as nothing. A cancel of turn `ending`, the one with key `ends`, and cancels of
 * later turns stay.
 */
export function accountFor(run: RunBase, ending: number, ends?: string): void {
  const { inbox } = run
  if (inbox.length === 0) return
  const open = new Set(stillOpen(run.session).calls.map(({ callId }) => callId))
  for (const entry of inbox) {
    const takes = entry.key === undefined ? [] : [entry.key]
    if (entry.type === 'late-result') {
      const late = dataOf(entry, 'late-result')
      const { callId } = late
      if (open.has(callId)) continue
      if (isStarted(run.session, callId)) run.draft.append('effect.end', effectEnd(late), takes)
      else if (isUnknown(run.session, callId)) run.draft.append('tool.late', lateEnd(run, late), takes)
      else run.draft.append('take', { as: 'nothing', reason: `${callId} was settled before` }, takes)
    } else if (entry.type === 'cancel' && entry.key !== ends) {
      const { turn } = dataOf(entry, 'cancel')
      if (turn < run.session.turn || (turn === run.session.turn && turn !== ending))
        run.draft.append('take', { as: 'nothing', reason: `turn ${turn} is over` }, takes)
    }
  }
}

/** The end of a node's effect by its late result. */
export function effectEnd({
  callId,
  status,
  output,
  cut,
}: EntryData['late-result']): EntryData['effect.end'] {
  return { callId, status, output, ...(cut ? { cut } : {}) }
}

/** A part of an effect's result counts as an error: `tool.late` has no mark for it, and a node must not take it for the whole. */
function lateEnd({ session }: RunBase, late: EntryData['late-result']): EntryData['tool.late'] {
  const { callId, status, output, cut } = late
  if (!cut || status !== 'ok' || session.graph === undefined) return { callId, status, output }
  const error =
    'It was done and will not be done again, but its result is too large to be stored. Return less, or write it into an artifact.'
  return { callId, status: 'error', output: { error, code: 'too-large' } }
}
