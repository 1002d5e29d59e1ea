/** A turn of an agent: model calls and rounds of tool calls, until the model has nothing more to ask for. */
import { type Batch, type Ending, type Failure, type LoopSteps, runLoop } from '../loop/index.ts'
import { NO_USAGE, type StopRequest } from '../protocol/index.ts'
import { begin } from './beginning.ts'
import { endTurn } from './ending.ts'
import { limitReached, type ReachedLimit } from './limits.ts'
import { isSteered, resumeAfterFailure, runModelStep } from './model-step.ts'
import { concludeOutput, hasOutput } from './output.ts'
import {
  beforeRound,
  closeIteration,
  finish,
  finishAtLimit,
  finishCancelled,
  isIterationEnding,
} from './phases.ts'
import { runRound } from './round.ts'
import type { TurnScope } from './scope.ts'
import { TurnRun } from './turn-run.ts'

export function turnLoop(scope: TurnScope): AsyncGenerator<Batch, boolean> {
  return runLoop(() => stepsOf(new TurnRun(scope)))
}

function stepsOf(run: TurnRun): LoopSteps {
  return {
    run: run,
    begin: () => begin(run),
    next: () => nextStep(run),
    cancel: () => finishCancelled(run),
    fail: (error) => endFailed(run, error),
  }
}

/** The turn's next step, from the session. Not a generator of its own: each one slows down every batch. */
function nextStep(run: TurnRun): AsyncGenerator<Batch, void> {
  const { stop, failed, calls } = run.open
  if (run.cancelledOrTimedOut.aborted) return finishAtLimit(run, timeIsUp(run))
  if (stop !== undefined) return finish(run, 'stop', stopped(stop))
  if (failed) return resumeAfterFailure(run)
  const kind = run.scope.definition.nodeTurn?.kind
  if (calls.length > 0) return kind === 'reply' ? handOnCalls(run) : runRound(run)
  if (!isIterationEnding(run)) return kind === 'round' ? finish(run, 'stop') : runModelStep(run)
  return run.hooks.isEmpty ? afterIteration(run) : closeAndContinue(run)
}

/** Ends a turn that is one model call: its caller gets the calls that no hook has settled. */
async function* handOnCalls(run: TurnRun): AsyncGenerator<Batch, void> {
  if (!run.hooks.isEmpty) yield* beforeRound(run)
  if (run.open.stop === undefined && run.open.calls.length > 0) yield* finish(run, 'stop', { handsOn: true })
}

/** Ends an iteration: no call is open. */
async function* closeAndContinue(run: TurnRun): AsyncGenerator<Batch, void> {
  yield* closeIteration(run)
  if (run.open.stop === undefined) yield* afterIteration(run)
}

function afterIteration(run: TurnRun): AsyncGenerator<Batch, void> {
  const { overCalls, replied } = run.open
  if (overCalls) return finish(run, 'limit', { limit: 'toolCalls', message: TOO_MANY_CALLS })
  if (isPartial(run)) return finish(run, 'stop')
  if (!replied || isSteered(run)) return runModelStep(run)
  return hasOutput(run) ? concludeOutput(run, runModelStep) : finish(run, 'stop')
}

function isPartial({ scope: { definition } }: TurnRun): boolean {
  const { kind = 'whole' } = definition.nodeTurn ?? {}
  return kind !== 'whole'
}

const TOO_MANY_CALLS = 'The turn has made as many tool calls as it may.'

function stopped(stop: StopRequest): Ending {
  const reason = stop.reason === undefined ? '' : `: ${stop.reason}`
  return { stopped: stop, why: `Not run: ${stop.by} ended the turn${reason}.` }
}

function timeIsUp(run: TurnRun): ReachedLimit {
  return limitReached(run) ?? { limit: 'durationMs', message: 'The time of the turn is up.' }
}

/** Ends the open model call with the turn. */
async function endFailed(run: TurnRun, error: Failure): Promise<void> {
  if (run.open.thinking)
    run.draft.append('model.end', {
      content: [],
      finish: 'error',
      usage: NO_USAGE,
      error: { kind: 'unknown', ...error, next: 'fail' },
    })
  await endTurn(run, 'failed', { error })
}
