/** Ends a turn as failed when its loop throws: not open for ever (R14), nor taken over again and again (R7). */
import { isStarted } from '../journal/index.ts'
import { type EntryData, HoldfastError, type JsonObject } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import type { Batch } from './driver-port.ts'
import { startWithUnusableInput } from './open-turn.ts'
import { Interrupted, originOf, type RunBase } from './run-base.ts'
import type { ErrorSource } from './telemetry.ts'

/** Ownership, store failures and entries of a newer version (R21): another driver may continue the turn. */
const LEAVES_TURN_OPEN: ReadonlySet<string> = new Set([
  ...['fenced', 'owned', 'moved', 'erased', 'ambiguous', 'not-pending', 'inbox-full'],
  ...['entry-not-understood', 'wrong-kind'],
])

export function endsTurn(error: unknown): boolean {
  if (error instanceof Interrupted) return false
  return !HoldfastError.is(error) || !(LEAVES_TURN_OPEN.has(error.code) || error.code.startsWith('store-'))
}

/** The stored reason of a failed turn. */
export type Failure = JsonObject & { readonly code: string; readonly message: string }

/** Appends the end of a turn that failed for this reason. */
export type EndFailed = (failure: Failure) => Promise<void> | void

/** Ends the turn from the draft; if that cannot be stored, from the durable session. Otherwise throws to the driver. */
export async function* failTurn(run: RunBase, error: unknown, end: EndFailed): AsyncGenerator<Batch, void> {
  run.threw(errorSourceOf(run, error), originOf(error))
  const { open, parked } = run.scope.view.session
  // The parked requests are untouched: they stay open, and can be answered after a repair.
  if (open === undefined && parked !== undefined && run.session.open?.calls.length) throw error
  for (let attempt = 1; ; attempt++) {
    try {
      if (run.session.open === undefined && !startWithUnusableInput(run)) throw error
      run.failedBy(error)
      settleDropped(run, attempt)
      await end(failureOf(run, error))
      yield run.commit('done')
      return
    } catch (again) {
      if (again === error || attempt > 1 || !endsTurn(again)) throw again
      run.drop()
    }
  }
}

/** The user code that fails the turn, if it is known. */
function errorSourceOf({ scope }: RunBase, error: unknown): Omit<ErrorSource, 'turn'> {
  const { code, details } = HoldfastError.is(error) ? error : { code: '', details: {} as JsonObject }
  if (code === 'hook-failed') return { kind: 'hook', name: details['hook'] as string }
  if (code === 'option-failed') return { kind: 'function', name: details['option'] as string }
  return { kind: 'turn', name: scope.key.contextId }
}

const UNSTORED = 'It came to an end, and its result could not be stored.'

/** Keeps results whose batch could not be stored; of a result that is itself refused, its status. */
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
