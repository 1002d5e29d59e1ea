/** How a turn ends: everything open is settled or parked, everything that came in too late is accounted for (R2, R14). */
import { type Call, stillOpen } from '../journal/index.ts'
import {
  type Entry,
  type EntryData,
  isWaiting,
  type OutcomeReason,
  type StopWish,
} from '../protocol/index.ts'
import { type Compaction, compactEntry, compaction, keepOf } from './compaction.ts'
import { entriesSoFar, isDue, isWatched, warnIfFull, warnIfOver } from './context.ts'
import type { Play } from './play.ts'
import { dataOf, type Stage } from './stage.ts'

export interface Ending {
  readonly error?: EntryData['turn.end']['error']
  readonly limit?: string
  readonly stopped?: StopWish
  /** Why calls that were asked for are not run. */
  readonly why?: string
}

export async function endTurn(play: Play, outcome: OutcomeReason, ending: Ending = {}): Promise<void> {
  const { draft } = play
  const { why = 'Not run: the turn ended first.' } = ending
  const waiting = isWaiting(outcome)
  if (!waiting) settleRest(play, why)
  const cancel = play.cancelKey()
  accountFor(play, play.open.turn, cancel)
  const compact = waiting ? undefined : await compactionAtEnd(play)
  if (!waiting) warnIfOver(play)
  if (compact !== undefined) draft.say('compact', compact)
  sayTurnEnd(play, outcome, { ...ending, ...(cancel === undefined ? {} : { cancel }) })
}

/** The last words of a turn: how it ended, what it used, and when to look again if it waits. */
export function sayTurnEnd(
  play: Stage,
  outcome: OutcomeReason,
  { error, limit, stopped, cancel }: Ending & { readonly cancel?: string },
): void {
  const { usage, startedAt, requests } = play.open
  const maximum = limit === undefined ? undefined : (play.limits as Record<string, number | undefined>)[limit]
  const expiries = requests.flatMap(({ expiresAt }) => expiresAt ?? [])
  play.draft.say(
    'turn.end',
    {
      outcome,
      usage,
      durationMs: Math.max(0, play.scope.clock.now() - startedAt),
      ...(error === undefined ? {} : { error }),
      ...(limit === undefined ? {} : { limit }),
      ...(maximum === undefined ? {} : { maximum }),
      ...(stopped === undefined ? {} : { stopped }),
      ...(isWaiting(outcome) && expiries.length > 0 ? { wakeAt: Math.min(...expiries) } : {}),
    },
    cancel === undefined ? [] : [cancel],
  )
}

/** Ends every open request and call of the turn, as far as it can be said how. */
export function settleRest(play: Play, why: string): void {
  const { draft } = play
  for (const { requestId } of play.open.requests) draft.say('request.end', { requestId, how: 'cancelled' })
  for (const call of play.open.calls) {
    if (call.state === 'started') settleUnknown(play, call)
    else if (call.state === 'requested')
      draft.say('tool.end', { callId: call.callId, ...(expired(call) ?? { status: 'not-run', output: why }) })
    if (call.state === 'requested' && call.idempotencyKey !== undefined) play.scope.abandoned?.(call.callId)
  }
}

function expired({ answers }: Call): { readonly status: 'rejected'; readonly output: string } | undefined {
  return answers?.some(({ how }) => how === 'expired')
    ? { status: 'rejected', output: UNANSWERED }
    : undefined
}

export const UNANSWERED = 'Nobody answered in time.'

const UNKNOWN =
  'Started, and nobody can say whether it happened: the process that ran it is gone. Check before doing it again.'

/** With what whoever ran it has handed in since; else as unknown. */
export function settleUnknown(play: Play, { callId }: Call, why: string = UNKNOWN): void {
  const late = handedIn(play, callId)
  if (late?.key === undefined) {
    play.scope.abandoned?.(callId)
    play.draft.say('tool.end', { callId, status: 'unknown', output: why })
    return
  }
  play.draft.say('tool.end', { ...dataOf(late, 'late-result'), callId }, [late.key])
}

/** What whoever ran a call has handed in since. */
export function handedIn(play: Stage, callId: string): Entry | undefined {
  return play.inbox.find(
    (entry) => entry.type === 'late-result' && dataOf(entry, 'late-result').callId === callId,
  )
}

/**
 * Late results for calls that were settled as unknown are put on record; cancels of other turns, and late results of
 * calls that were settled otherwise, have come to nothing. A cancel of turn `ending`, and the one with the key `ends`, is
 * left for whoever ends that turn, and one of a turn to come is left alone.
 */
export function accountFor(play: Stage, ending: number, ends?: string): void {
  const open = new Set(stillOpen(play.session).calls.map(({ callId }) => callId))
  for (const entry of play.inbox) {
    const takes = entry.key === undefined ? [] : [entry.key]
    if (entry.type === 'late-result') {
      const { callId, status, output } = dataOf(entry, 'late-result')
      if (open.has(callId)) continue
      if (play.session.unknown?.some((call) => call.callId === callId))
        play.draft.say('tool.late', { callId, status, output }, takes)
      else play.draft.say('take', { as: 'nothing', reason: `${callId} was settled before` }, takes)
    } else if (entry.type === 'cancel' && entry.key !== ends) {
      const { turn } = dataOf(entry, 'cancel')
      if (turn < play.session.turn || (turn === play.session.turn && turn !== ending))
        play.draft.say('take', { as: 'nothing', reason: `turn ${turn} is over` }, takes)
    }
  }
}

/** Sliding only: a summary would keep the turn from ending, and may never be needed. */
async function compactionAtEnd(play: Play): Promise<Compaction | undefined> {
  const { session, scope } = play
  const { compact } = scope.definition
  if (!isWatched(scope.definition)) return undefined
  const entries = await entriesSoFar(play)
  const isNeeded = isDue(scope.definition, { entries, session })
  if (isNeeded && compact?.strategy === 'sliding') {
    const unsaved = session.window.messages - scope.view.session.window.messages
    const cut = compaction(await scope.view.window(), session, {
      keep: keepOf(compact, session.window.messages),
      unsaved,
    })
    if (cut !== undefined) return compactEntry(entries, cut, { strategy: 'sliding' })
  }
  if (!isNeeded || compact?.strategy === 'sliding') warnIfFull(play, entries)
  return undefined
}
