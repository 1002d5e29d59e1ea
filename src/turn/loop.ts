/**
 * The life of a turn: an async generator that yields before it acts. Whoever drives it makes each batch durable before
 * asking for the next, so every effect comes after its intent (R3), and nobody is told of what might be lost. It starts
 * wherever the session stands; recovery is the same generator from a later position.
 */
import { begin } from './beginning.ts'
import { endTurn } from './ending.ts'
import { limitReached } from './limits.ts'
import { Play } from './play.ts'
import { playRound } from './round.ts'
import type { Batch, TurnScope } from './scope.ts'
import { think } from './thinking.ts'

/** One turn, new or open. What it returns says whether there was one; without one, what had come in was accounted for. */
export async function* playTurn(scope: TurnScope): AsyncGenerator<Batch, boolean> {
  const play = new Play(scope)
  try {
    const began = await begin(play)
    while (play.session.open !== undefined) {
      if (play.cancelKey() !== undefined || scope.signal.aborted)
        await endTurn(play, 'cancelled', { why: 'Not run: the turn was cancelled.' })
      else if (play.signal.aborted) await endTurn(play, 'limit', sayLimit(play))
      else if (play.open.calls.length > 0) yield* playRound(play)
      else yield* think(play)
    }
    if (!play.draft.isEmpty) yield* play.commit('done')
    return began
  } finally {
    play.close()
  }
}

function sayLimit(play: Play): { readonly limit: string } {
  const { limit = 'durationMs', message = 'The time of the turn is up.' } = limitReached(play) ?? {}
  play.draft.say('warning', { code: limit, message })
  return { limit }
}
