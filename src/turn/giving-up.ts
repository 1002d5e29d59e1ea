/**
 * A turn that cannot be played to its end: whatever broke inside of the loop, it ends as failed and says why, so that it
 * is neither open for ever (R14) nor taken up again and again (R7).
 */
import { debugThrown } from '../base/index.ts'
import { type EntryData, HoldfastError, type JsonObject, NO_USAGE } from '../protocol/index.ts'
import { thrownText } from '../tool/index.ts'
import { startBare } from './beginning.ts'
import { endTurn } from './ending.ts'
import type { Play } from './play.ts'
import type { Batch } from './play-scope.ts'
import { Interrupted } from './stage.ts'

/** Who owns the turn, what the store can do, and what a newer version wrote (R21): somebody else may go on with it. */
const ELSEWHERE: ReadonlySet<string> = new Set([
  ...['fenced', 'owned', 'moved', 'erased', 'ambiguous', 'not-pending', 'inbox-full'],
  ...['entry-not-understood', 'wrong-kind'],
])

export function endsTurn(error: unknown): boolean {
  if (error instanceof Interrupted) return false
  return !HoldfastError.is(error) || !(ELSEWHERE.has(error.code) || error.code.startsWith('store-'))
}

/** From where the draft stands; if that cannot be stored either, from what is durable. Else the error is the driver's. */
export async function* giveUp(play: Play, error: unknown): AsyncGenerator<Batch, void> {
  debugThrown(`The turn of ${play.scope.key.contextId}`, error)
  const { open, parked } = play.scope.view.session
  // Nothing was said yet to what is parked: the question stays, and can be answered when this is repaired.
  if (open === undefined && parked !== undefined && play.session.open?.calls.length) throw error
  for (let attempt = 1; ; attempt++) {
    try {
      if (play.session.open === undefined && !startBare(play)) throw error
      play.failedBy(error)
      await endFailed(play, error, attempt)
      yield* play.commit('done')
      return
    } catch (again) {
      if (again === error || attempt > 1 || !endsTurn(again)) throw again
      play.drop()
    }
  }
}

async function endFailed(play: Play, error: unknown, attempt: number): Promise<void> {
  const said = failureOf(play, error)
  if (play.open.thinking)
    play.draft.say('model.end', {
      content: [],
      finish: 'error',
      usage: NO_USAGE,
      error: { kind: 'unknown', ...said, next: 'fail' },
    })
  settleDropped(play, attempt)
  await endTurn(play, 'failed', { error: said })
}

const UNSTORED = 'It came to an end, and its result could not be stored.'

/** Results are not lost with what could not be stored beside them; of one that cannot be stored itself, its status is kept. */
function settleDropped(play: Play, attempt: number): void {
  for (const { type, data } of play.dropped) {
    if (type !== 'tool.end') continue
    const { callId, status, ...end } = data as EntryData['tool.end']
    if (!play.open.calls.some((call) => call.callId === callId && call.state === 'started')) continue
    const rest = attempt === 1 ? end : ({ output: UNSTORED, cut: true } as const)
    play.draft.say('tool.end', { callId, status, ...rest })
  }
}

function failureOf(play: Play, error: unknown): JsonObject {
  const code = HoldfastError.is(error) ? error.code : 'unexpected'
  const hook = HoldfastError.is(error, 'hook-failed') ? error.details : {}
  return { code, message: thrownText(error, play.secrets), ...hook }
}
