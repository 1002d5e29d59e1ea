/** How a turn comes to be: from what was said, from answers, from expired requests, or because somebody asks it to go on. */
import { trimPoint } from '../journal/index.ts'
import {
  checkAsked,
  dataOf,
  expire,
  hasExpired,
  noProgress,
  openTurn,
  startTurn,
  type Trim,
  wrongKind,
} from '../loop/index.ts'
import { type Entry, textOf } from '../protocol/index.ts'
import { endTurn, settleRest } from './ending.ts'
import type { Play } from './play.ts'

/** Opens a turn or takes up the open one. False if there is no reason for one: then what came in is accounted for. */
export async function begin(play: Play): Promise<boolean> {
  checkKind(play)
  if (play.session.open !== undefined) {
    await takeUp(play)
    return true
  }
  const trim = Number.isFinite(play.scope.definition.toolResultTurns) ? await trimOf(play) : {}
  const take = { start: (entry: Entry) => startFrom(play, entry, trim), queue: () => {} }
  const reason = await openTurn(play, take, trim)
  const { metadata } = play.scope
  if (play.session.open !== undefined && metadata !== undefined && play.session.metadata === undefined)
    play.draft.say('state', { metadata })
  if (reason === 'continued') await nudge(play)
  return reason !== 'none'
}

/** Results are trimmed between two turns and never inside of one, so that the prompts of a turn begin the same. */
async function trimOf({ scope, session }: Play): Promise<Trim> {
  const { toolResultTurns: turns } = scope.definition
  const { trimmedUpTo } = session.window
  const upTo = trimPoint(await scope.view.window(), { turns, trimmedUpTo })
  return upTo === undefined ? {} : { trimmedUpTo: upTo }
}

/** What a graph has begun is for that graph to go on with: an agent declines and leaves it untouched. */
function checkKind({ session, scope }: Play): void {
  if (session.graph === undefined) return
  const { graph } = session.graph
  throw wrongKind(
    scope.key.contextId,
    `${scope.key.contextId} is a conversation of the graph ${graph}, not of an agent. Run it with that graph, or use another contextId.`,
    { graph },
  )
}

/** A model that is to go on after its own words needs somebody to say so: no prompt ends with a reply (R9). */
async function nudge(play: Play): Promise<void> {
  const messages = await play.scope.view.messages()
  if (play.open.calls.length === 0 && messages.at(-1)?.role === 'assistant')
    play.draft.say('note', { text: 'Go on.', from: 'runtime' })
}

async function takeUp(play: Play): Promise<void> {
  const error = noProgress(play)
  if (error !== undefined) await endTurn(play, 'failed', { error })
}

function startFrom(play: Play, entry: Entry, trim: Trim): void {
  const { message, ...asked } = dataOf(entry, 'input')
  checkAsked(asked)
  const takes = entry.key === undefined ? [] : [entry.key]
  const [request, ...others] = play.session.parked?.requests ?? []
  if (request?.kind === 'text' && others.length === 0 && !hasExpired(play, [request])) {
    startTurn(play, asked, trim)
    const { requestId } = request
    const posted = asked.origin === undefined ? {} : { origin: asked.origin }
    play.draft.say('request.end', { requestId, how: 'answered', value: textOf(message), ...posted }, takes)
    return
  }
  startTurn(play, asked, { takes, ...trim })
  expire(play)
  settleRest(play, 'Not run: the person said something else instead.')
}
