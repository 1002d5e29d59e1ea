/**
 * The life of a turn: an async generator that yields before it acts. Whoever drives it makes each batch durable before
 * asking for the next, so every effect comes after its intent (R3), and nobody is told of what might be lost. It starts
 * wherever the session stands; recovery is the same generator from a later position.
 */
import type { StopWish } from '../protocol/index.ts'
import { begin } from './beginning.ts'
import { type Ending, endTurn } from './ending.ts'
import { endsTurn, giveUp } from './giving-up.ts'
import { limitReached, type ReachedLimit } from './limits.ts'
import { closeIteration, finish, finishAtLimit, isClosing } from './phases.ts'
import { Play } from './play.ts'
import type { Batch } from './play-scope.ts'
import { playRound } from './round.ts'
import type { TurnScope } from './scope.ts'
import { Interrupted } from './stage.ts'
import { goOnAfterFailure, hasSteering, think } from './thinking.ts'

/**
 * One turn, new or open. What it returns says whether there was one; without one, what had come in was accounted for.
 * A driver that cannot store a batch because of what is in it throws that error into the generator, and gets a batch
 * that ends the turn instead.
 */
export async function* playTurn(scope: TurnScope): AsyncGenerator<Batch, boolean> {
  const play = new Play(scope)
  try {
    const began = await begin(play)
    while (play.session.open !== undefined) yield* playOn(play)
    if (!play.draft.isEmpty) yield* play.commit('done')
    return began
  } catch (error) {
    if (!endsTurn(error)) throw error
    yield* giveUp(play, error)
    return true
  } finally {
    play.close()
  }
}

async function* playOn(play: Play): AsyncGenerator<Batch, void> {
  const { signal, mayAct } = play.scope
  try {
    if (play.cancelKey() !== undefined || signal.aborted)
      await endTurn(play, 'cancelled', { why: 'Not run: the turn was cancelled.' })
    else if (play.signal.aborted) yield* finishAtLimit(play, timeIsUp(play))
    else if (play.open.stop !== undefined) yield* finish(play, 'stop', stopped(play.open.stop))
    else if (play.open.failed) yield* goOnAfterFailure(play)
    else if (play.open.calls.length > 0) yield* playRound(play)
    else if (isClosing(play)) yield* playEnd(play)
    else yield* think(play)
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    if (play.signal.aborted) return
    await mayAct()
    throw error
  }
}

/** The end of an iteration: nothing is open. */
async function* playEnd(play: Play): AsyncGenerator<Batch, void> {
  if (!play.hooks.isEmpty) yield* closeIteration(play)
  const { stop, overCalls, replied } = play.open
  if (stop !== undefined) return
  if (overCalls) yield* finish(play, 'limit', { limit: 'toolCalls', message: TOO_MANY_CALLS })
  else if (replied && !hasSteering(play)) yield* finish(play, 'stop')
  else yield* think(play)
}

const TOO_MANY_CALLS = 'The turn has made as many tool calls as it may.'

function stopped(stop: StopWish): Ending {
  const reason = stop.reason === undefined ? '' : `: ${stop.reason}`
  return { stopped: stop, why: `Not run: ${stop.by} ended the turn${reason}.` }
}

function timeIsUp(play: Play): ReachedLimit {
  return limitReached(play) ?? { limit: 'durationMs', message: 'The time of the turn is up.' }
}
