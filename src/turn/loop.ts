/** A turn of an agent: model calls and rounds of tool calls, until the model has nothing more to ask for. */
import { type Batch, type Ending, type Failure, type LoopSteps, runLoop } from '../loop/index.ts'
import { NO_USAGE, type StopWish } from '../protocol/index.ts'
import { begin } from './beginning.ts'
import { endTurn } from './ending.ts'
import { limitReached, type ReachedLimit } from './limits.ts'
import { closeIteration, finish, finishAtLimit, finishCancelled, isClosing } from './phases.ts'
import { Play } from './play.ts'
import { playRound } from './round.ts'
import type { TurnScope } from './scope.ts'
import { goOnAfterFailure, hasSteering, think } from './thinking.ts'

export function playTurn(scope: TurnScope): AsyncGenerator<Batch, boolean> {
  return runLoop(() => stepsOf(new Play(scope)))
}

function stepsOf(play: Play): LoopSteps {
  return {
    run: play,
    begin: () => begin(play),
    next: () => nextPart(play),
    cancel: () => finishCancelled(play),
    fail: (error) => endFailed(play, error),
  }
}

/** What the turn does next, from where it stands. No generator of its own: each one makes every batch take longer. */
function nextPart(play: Play): AsyncGenerator<Batch, void> {
  const { stop, failed, calls } = play.open
  if (play.signal.aborted) return finishAtLimit(play, timeIsUp(play))
  if (stop !== undefined) return finish(play, 'stop', stopped(stop))
  if (failed) return goOnAfterFailure(play)
  if (calls.length > 0) return playRound(play)
  if (!isClosing(play)) return think(play)
  return play.hooks.isEmpty ? afterIteration(play) : closeAndGoOn(play)
}

/** The end of an iteration: nothing is open. */
async function* closeAndGoOn(play: Play): AsyncGenerator<Batch, void> {
  yield* closeIteration(play)
  if (play.open.stop === undefined) yield* afterIteration(play)
}

function afterIteration(play: Play): AsyncGenerator<Batch, void> {
  const { overCalls, replied } = play.open
  if (overCalls) return finish(play, 'limit', { limit: 'toolCalls', message: TOO_MANY_CALLS })
  return replied && !hasSteering(play) ? finish(play, 'stop') : think(play)
}

const TOO_MANY_CALLS = 'The turn has made as many tool calls as it may.'

function stopped(stop: StopWish): Ending {
  const reason = stop.reason === undefined ? '' : `: ${stop.reason}`
  return { stopped: stop, why: `Not run: ${stop.by} ended the turn${reason}.` }
}

function timeIsUp(play: Play): ReachedLimit {
  return limitReached(play) ?? { limit: 'durationMs', message: 'The time of the turn is up.' }
}

/** A model call that is open ends with the turn. */
async function endFailed(play: Play, error: Failure): Promise<void> {
  if (play.open.thinking)
    play.draft.say('model.end', {
      content: [],
      finish: 'error',
      usage: NO_USAGE,
      error: { kind: 'unknown', ...error, next: 'fail' },
    })
  await endTurn(play, 'failed', { error })
}
