/**
 * A turn that cannot be run to its end: whatever broke inside of the loop, it ends as failed and says why, so that it is
 * neither open for ever (R14) nor taken up again and again (R7).
 */
import { debugThrown } from '../base/index.ts'
import { isStarted } from '../journal/index.ts'
import { type EntryData, HoldfastError, type JsonObject } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import type { Batch } from './driver-port.ts'
import { startBare } from './open-turn.ts'
import { Interrupted, type RunBase } from './run-base.ts'

/** Who owns the turn, what the store can do, and what a newer version wrote (R21): somebody else may go on with it. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...['fenced', 'owned', 'moved', 'erased', 'ambiguous', 'not-pending', 'inbox-full'],
  ...['entry-not-understood', 'wrong-kind'],
])

export function endsTurn(error: unknown): boolean {
  if (error instanceof Interrupted) return false
  return !HoldfastError.is(error) || !(ELSEWHERE.has(error.code) || error.code.startsWith('store-'))
}

/** Why a turn failed, as the journal has it. */
export type Failure = JsonObject & { readonly code: string; readonly message: string }

/** Appends the end of a turn that failed for this reason. */
export type EndFailed = (failure: Failure) => Promise<void> | void

/** From where the draft stands; if that cannot be stored either, from what is durable. Else the error is the driver's. */
export async function* failTurn(run: RunBase, error: unknown, end: EndFailed): AsyncGenerator<Batch, void> {
  debugThrown(`The turn of ${run.scope.key.contextId}`, error)
  const { open, parked } = run.scope.view.session
  // Nothing was said yet to what is parked: the question stays, and can be answered when this is repaired.
  if (open === undefined && parked !== undefined && run.session.open?.calls.length) throw error
  for (let attempt = 1; ; attempt++) {
    try {
      if (run.session.open === undefined && !startBare(run)) throw error
      run.failedBy(error)
      settleDropped(run, attempt)
      await end(failureOf(run, error))
      yield* run.commit('done')
      return
    } catch (again) {
      if (again === error || attempt > 1 || !endsTurn(again)) throw again
      run.drop()
    }
  }
}

const UNSTORED = 'It came to an end, and its result could not be stored.'

/** Results are not lost with what could not be stored beside them; of one that cannot be stored itself, its status is kept. */
function settleDropped(run: RunBase, attempt: number): void {
  for (const { type, data } of run.dropped) {
    if (type !== 'tool.end' && type !== 'effect.end') continue
    const { callId, status, ...end } = data as EntryData['tool.end']
    const rest = attempt === 1 ? end : ({ output: UNSTORED, cut: true } as const)
    if (isStarted(run.session, callId)) run.draft.append(type, { callId, status, ...rest })
  }
}

function failureOf(run: RunBase, error: unknown): Failure {
  const code = HoldfastError.is(error) ? error.code : 'unexpected'
  const isNamed = HoldfastError.is(error, 'hook-failed') || HoldfastError.is(error, 'option-failed')
  return { code, message: thrownText(error, run.secrets), ...(isNamed ? error.details : {}) }
}
