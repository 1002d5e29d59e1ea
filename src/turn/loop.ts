/**
 * The life of a turn: an async generator that yields before it acts. Whoever drives it makes each batch durable before
 * asking for the next, so every effect comes after its intent (R3), and nobody is told of what might be lost. It starts
 * wherever the session stands; recovery is the same generator from a later position.
 */
import { begin } from './beginning.ts'
import { endTurn } from './ending.ts'
import { endsTurn, giveUp } from './giving-up.ts'
import { limitReached } from './limits.ts'
import { Interrupted, Play } from './play.ts'
import { playRound } from './round.ts'
import type { Batch, TurnScope } from './scope.ts'
import { think } from './thinking.ts'

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
    else if (play.signal.aborted) await endTurn(play, 'limit', sayLimit(play))
    else if (play.open.calls.length > 0) yield* playRound(play)
    else yield* think(play)
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error
    if (play.signal.aborted) return
    await mayAct()
    throw error
  }
}

function sayLimit(play: Play): { readonly limit: string } {
  const { limit = 'durationMs', message = 'The time of the turn is up.' } = limitReached(play) ?? {}
  play.draft.say('warning', { code: limit, message })
  return { limit }
}
