/**
 * The life of a turn: an async generator that yields before it acts. Whoever drives it makes each batch durable before
 * asking for the next, so every effect comes after its intent (R3), and nobody is told of what might be lost. It starts
 * wherever the session stands; recovery is the same generator from a later position.
 */
import type { StopWish } from '../protocol/index.ts'
import { begin } from './beginning.ts'
import type { Ending } from './ending.ts'
import { endsTurn, giveUp } from './giving-up.ts'
import { limitReached, type ReachedLimit } from './limits.ts'
import { closeIteration, finish, finishAtLimit, finishCancelled, isClosing } from './phases.ts'
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
    while (play.session.open !== undefined) {
      try {
        yield* isCancelled(play) ? finishCancelled(play) : nextPart(play)
      } catch (error) {
        await goOnIfTimeIsUp(play, error)
      }
    }
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

function isCancelled(play: Play): boolean {
  return play.cancelKey() !== undefined || play.scope.signal.aborted
}

/** A turn whose time is up waits for nothing more and goes on to its end; any other that was interrupted is lost. */
async function goOnIfTimeIsUp(play: Play, error: unknown): Promise<void> {
  if (!(error instanceof Interrupted)) throw error
  if (play.signal.aborted) return
  await play.scope.mayAct()
  throw error
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
